import type { Machine, ProcessIdentity } from "../base/clock.ts";
import type { Config } from "../base/section.ts";
import { definePort } from "../operation/operation.ts";
import type { Child, Children, Timers } from "../platform/processes/children.ts";
import type { ConfigRead } from "../work/host.ts";
import type { FleetFiles } from "./fleet-files.ts";
import type { PartEvent } from "./part-news.ts";
import type { FleetFacts, PartKind } from "./parts.ts";

/** What the supervisor needs of the machine and of the other rooms. */
export interface FleetHost {
  machine: Machine;
  timers: Timers;
  children: Children;
  files: FleetFiles;
  /** How to start viv itself, with its environment and folder. */
  viv: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Further variables, which hand this viv.toml on: it counts for them while the file has mistakes. */
  handing(config: Config | undefined): Readonly<Record<string, string>>;
  cwd: string;
  /** The run's folder. */
  run: string;
  /** Whether it is there. */
  hasRun(): boolean;
  /** What this viv.toml declares; undefined: there is none. */
  facts(config: Config | undefined): Promise<FleetFacts>;
  /** A clock of this process, which reports as a program does. */
  startClock(
    kind: PartKind,
    config: () => Config | undefined,
    onEvent: (event: PartEvent) => void,
  ): Child;
  /** Calls back when viv.toml has changed; returns what ends that. */
  watchConfig(act: (read: ConfigRead) => void): () => void;
  /** Ends a process of an earlier supervisor: asks, then kills. False: it is still there. */
  endProcess(process: ProcessIdentity): Promise<boolean>;
}

/** What the supervisor reports. An event of a part has its name in `part`. */
export type FleetEvent =
  | { kind: "up"; pid: number; run: string; parts: string[] }
  | { kind: "ready"; parts: number; address: string | null }
  /** A process of an earlier supervisor that was still there, and was ended. */
  | { kind: "leftover"; part: string; pid: number; survivors: number[] }
  /** A worker of an earlier one that is still at its task, and ends after it. */
  | { kind: "lingers"; part: string; pid: number }
  | { kind: "begun"; part: string; pid: number | null }
  | { kind: "gone"; part: string; exit: number | string | null; note: string }
  | { kind: "restarts"; part: string; after_ms: number }
  | { kind: "waits" | "parked"; part: string; note: string }
  /** It is no longer declared, or has new settings. */
  | { kind: "leaves"; part: string; why: "removed" | "changed" }
  | { kind: "said"; part: string; of: PartKind; event: PartEvent }
  | { kind: "read_anew"; file: string; notes: string[] }
  | { kind: "config_bad"; note: string; message: string }
  | { kind: "trouble"; part?: string; message: string }
  | { kind: "empty"; message: string }
  | { kind: "draining"; working: string[] }
  | { kind: "down" }
  /** The answer of `viv up --detach`. */
  | {
      kind: "detached";
      pid: number;
      address: string | null;
      log: string;
      /** Those that could not start. */
      parked: { part: string; note: string }[];
      /** Those that have ended at once, and are tried again. */
      resting: { part: string; note: string }[];
      /** Of an earlier viv up, and still there. */
      left: { part: string; pid: number }[];
    };

/** What `viv ps`, `viv down` and `viv up --detach` need of the machine. */
export interface FleetPort {
  filesIn(run: string): FleetFiles;
  /** The run of the nearest viv.toml, which cannot be used or is gone; null: none. */
  runNamed(): string | null;
  /** The run of a viv up that runs with this viv.toml. */
  startedWith(file: string): string | null;
  /** The runs that commands of this user have opened. */
  knownRuns(): string[];
  machine: Machine;
  timers: Timers;
  /** Starts `viv up` in a session of its own. */
  detach(logPath: string, args: readonly string[]): DetachedStart;
  /** SIGTERM, and SIGINT for the second time; SIGKILL is for a group, by its negative pid. */
  ask(pid: number, signal: "SIGTERM" | "SIGINT" | "SIGKILL"): void;
  /** The address in `.viv/server.json`, if its process is there. */
  addressIn(run: string): string | null;
}

export interface DetachedStart {
  pid: number | null;
  /** What it wrote to stderr, when it ended; never rejects. */
  ended: Promise<{ status: number | null; stderr: string }>;
  /** Lets this process end before it. */
  leave(): void;
}

export const fleetPort = definePort<FleetPort>("fleet");
