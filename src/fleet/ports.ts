import type { Machine } from "../base/clock.ts";
import { definePort } from "../operation/operation.ts";
import type { Children, Timers } from "../platform/processes/children.ts";
import type { Handlers } from "../platform/processes/handlers.ts";
import type { UnitFiles } from "../platform/systemd/unit-files.ts";
import type { RunContext } from "../queue/operation.ts";
import type { WorkerView } from "../queue/store.ts";
import type { WorkInput } from "../work/operations/work.ts";
import type { UpFiles } from "./up-files.ts";

/** What `viv up` and `viv status --config` need of the machine. */
export interface UpHost {
  machine: Machine;
  timers: Timers;
  /** For what runs for long. */
  children: Children;
  /** For what runs now and then: ended with its whole tree when its time is up. */
  handlers: Handlers;
  filesIn(pit: string): UpFiles;
  /** The text of a file; throws what the system says. */
  readText(path: string): string;
  isFolder(path: string): boolean;
  /** Who holds what in that pit. */
  workersIn(pit: string): Promise<WorkerView[]>;
  /** A value that nobody else has, to mark a tree of processes with. */
  newMark(): string;
}

export const upPort = definePort<UpHost>("up");

/** This very program, for what starts it again. */
export interface Program {
  /** Absolute, both. */
  node: string;
  viv: string;
  unitFiles(): Promise<UnitFiles>;
}

export const programPort = definePort<Program>("program");

/** Finds mistakes in the flags of a worker as `viv work` would; starts none. */
export const workerCheckPort =
  definePort<(context: RunContext, given: WorkInput) => Promise<void>>("worker check");
