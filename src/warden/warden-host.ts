import type { Machine, ProcessIdentity } from "../base/clock.ts";
import type { Config } from "../base/section.ts";
import { definePort } from "../operation/operation.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { RuleName, WardenConfig } from "./config.ts";
import type { HeldNotice, Receipt, Verdict } from "./dance.ts";
import type { Lookup } from "./resolve.ts";
import type { Suspects } from "./suspects/suspect.ts";
import type { WardenFiles } from "./warden-files.ts";
import type { Bound, TargetKind, Warrant } from "./warrant.ts";

export type WardenSettings = Pick<
  WardenConfig,
  "pool" | "timeoutsMs" | "killAfterMs" | "breaker" | "unasked" | "patienceMs" | "tmuxSocket"
>;

/** What the rules watch. */
export type RulesSettings = Pick<
  WardenConfig,
  "rules" | "runs" | "crews" | "sessions" | "tmuxSocket"
>;

/** What the pool needs of its surroundings. Tests bring their own. */
export interface WardenHost {
  machine: Machine;
  timers: Timers;
  files: WardenFiles;
  suspects: Suspects;
  /** A new value for each question, which cannot be guessed and is in no file. */
  newNonce(): string;
  /** Notifies the requester. Never rejects: errors are in the result. */
  notify(notice: Receipt | HeldNotice): Promise<Receipt["told"]>;
  /** Gives back the claims of an executed worker; the ids of their tasks. */
  reap(receipt: Receipt): Promise<string[]>;
}

type DogEvent =
  | { kind: "begins"; warrant: string; reason: string }
  | { kind: "resumes"; state: string }
  | { kind: "asked"; attempt: number; timeout_ms: number; channel: string }
  /** It could not be asked, and is only watched. */
  | { kind: "watched"; attempt: number; why: string }
  /** It holds the question back until its turn ends. */
  | { kind: "turn"; attempt: number }
  /** It waits for a person. */
  | { kind: "needs_you"; why: string }
  | { kind: "holds"; why: string }
  | { kind: "executes"; processes: number }
  | { kind: "verdict"; verdict: Verdict; why: string };

export type RuleEvent =
  | { kind: "observed"; rule: RuleName; target: string; of: TargetKind; evidence: string }
  | { kind: "ceased"; rule: RuleName; target: string; of: TargetKind }
  | {
      kind: "filed";
      rule: RuleName;
      target: string;
      of: TargetKind;
      evidence: string;
      warrant: string;
    }
  | { kind: "trouble"; message: string };

/** What `viv warden up` reports, one JSON object per line. */
export type WardenEvent =
  | { kind: "up"; pid: number; pool: number; state: string }
  | ({ dog: string; target: string } & DogEvent)
  | { kind: "rejected"; name: string; why: string }
  | { kind: "withdrawn" | "released"; warrant: string; target: string }
  | { kind: "queued"; warrant: string; target: string; why: string }
  | { kind: "paused"; why: string }
  | { kind: "resumed" }
  | { kind: "trouble"; what: string }
  | { kind: "stopped" }
  | RuleEvent;

/** What the warden's commands need of the machine. */
export interface WardenPorts extends Lookup {
  machine: Machine;
  /** The user's own state folder of the warden. */
  defaultState: string;
  filesIn(state: string): WardenFiles;
  /** `[crew] state` of a viv.toml, as it is written. */
  crewState(config: Config): string | undefined;
  /** Dollars that a task of this type may cost by its route: in all, else in one attempt. */
  budgetFor(config: Config, type: string): ReturnType<WardenOptions["budgetFor"]>;
  /** The nearest `.crew`, here or above. Throws for one that another user can write. */
  findCrew(): string | null;
  /** The session or process that this warrant names now. */
  bind(warrant: Warrant): Promise<BindResult>;
  /** The target of this warrant as it is now: only a look. `log`: the end of the one it wrote to last. */
  look(warrant: Warrant, files: WardenFiles): Promise<Seen>;
  /** From this process up to the first. */
  ancestors(): Pick<ProcessIdentity, "pid" | "started">[];
  /** The state folder of the warden that wrote this question; null when there is no question. */
  wardenOf(question: string): string | null;
  newId(): string;
  /** The pool, with its rules. */
  service(options: WardenOptions, emit: (event: WardenEvent) => void): Promise<WardenService>;
}

export type Seen =
  | { is: "there"; screen: string[]; log: { path: string; lines: string[] } | null }
  | { is: "gone" | "unknown"; why: string };

export const wardenPort = definePort<WardenPorts>("warden");

export type BindResult =
  | { is: "there"; bound: Bound }
  /** `isMissing`: the server, or the kernel, has answered that there is none. */
  | { is: "gone"; why: string; isMissing?: boolean }
  | { is: "unknown"; why: string };

export interface WardenOptions {
  state: string;
  /** With absolute paths. */
  config: WardenConfig;
  /** Where the hook runs. */
  cwd: string;
  /** Dollars that a task of this type may cost; null: no limit. */
  budgetFor(type: string): { usd: number; of: "task" | "attempt" } | null;
}

export interface WardenService {
  run(): Promise<void>;
  stop(): void;
}
