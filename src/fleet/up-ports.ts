import type { Machine } from "../base/clock.ts";
import type { Config } from "../base/section.ts";
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
  /** Long-lived processes. */
  children: Children;
  /** Runs with a time limit: ended with their whole tree. */
  handlers: Handlers;
  filesIn(pit: string): UpFiles;
  /** The text of a file; throws the system's error. */
  readText(path: string): string;
  isFolder(path: string): boolean;
  /** The workers of that pit and their claims. */
  workersIn(pit: string): Promise<WorkerView[]>;
  /** Follows the viv.toml that counts; `handing` are the variables that hand its last good content on. */
  followConfig(config: Config | undefined): {
    handing(): Readonly<Record<string, string>>;
    stop(): void;
  };
  /** A unique value, to mark a tree of processes with. */
  newMark(): string;
}

export const upPort = definePort<UpHost>("up");

/** What `viv up` reports, one JSON object per line. */
export type UpEvent =
  | { kind: "up"; pid: number; pit: string; agents: string[] }
  /** A run of an earlier `viv up` that was still there. */
  | { kind: "leftover"; name: string; pid: number; survivors: number[] }
  /** A worker of an earlier `viv up` that is still at its food, and ends after it. */
  | { kind: "lingers"; name: string; pid: number; digesting: string[] }
  | { kind: "started"; name: string; pid: number }
  | { kind: "ended"; name: string; exit: number | string | null; note: string }
  | { kind: "restarts"; name: string; after_ms: number }
  /** Another worker still has its name. */
  | { kind: "waits" | "parked"; name: string; note: string }
  | { kind: "runs"; name: string; pid: number | null }
  | {
      kind: "ran";
      name: string;
      exit: number | string | null;
      duration_ms: number;
      next_run: string | null;
      note: string;
    }
  | { kind: "trouble"; name: string; message: string }
  | { kind: "stopping"; working: string[] }
  | { kind: "finished" };

/** The running program, for services that start it again. */
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
