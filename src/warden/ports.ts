import type { Machine } from "../base/clock.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { BreakerSettings } from "./breaker.ts";
import type { HeldNotice, Receipt, Verdict } from "./dance.ts";
import type { WardenFiles } from "./files.ts";
import type { Suspects } from "./suspects/suspect.ts";
import type { Unasked } from "./warrant.ts";

export interface WardenSettings {
  pool: number;
  /** Of the attempts, in order. */
  timeoutsMs: readonly number[];
  killAfterMs: number;
  breaker: BreakerSettings;
  /** Unless the warrant says otherwise. */
  unasked: Unasked;
  patienceMs: number;
}

/** What the warden needs of its surroundings. Tests bring their own. */
export interface WardenHost {
  machine: Machine;
  timers: Timers;
  files: WardenFiles;
  suspects: Suspects;
  /** New for each question, and nothing that anybody could guess or have in a file. */
  newNonce(): string;
  /** Notifies the requester. Never rejects: errors are in the result. */
  notifyVerdict(receipt: Receipt): Promise<Receipt["told"]>;
  notifyHeld(notice: HeldNotice): Promise<Receipt["told"]>;
  /** Gives back the claims of an executed worker; the ids of their tasks. */
  reap(receipt: Receipt): Promise<string[]>;
}

export type WardenEvent =
  | { kind: "up"; pid: number; pool: number; state: string }
  | { kind: "begins"; dog: string; target: string; warrant: string; reason: string }
  | { kind: "resumes"; dog: string; target: string; state: string }
  | {
      kind: "asked";
      dog: string;
      target: string;
      attempt: number;
      timeout_ms: number;
      channel: string;
    }
  /** It could not be asked, and is only watched. */
  | { kind: "watched"; dog: string; target: string; attempt: number; why: string }
  /** It holds the question back until its turn ends. */
  | { kind: "turn"; dog: string; target: string; attempt: number }
  /** It waits for a person. */
  | { kind: "needs_you"; dog: string; target: string; why: string }
  | { kind: "holds"; dog: string; target: string; why: string }
  | { kind: "executes"; dog: string; target: string; processes: number }
  | { kind: "verdict"; dog: string; target: string; verdict: Verdict; why: string }
  | { kind: "rejected"; name: string; why: string }
  | { kind: "withdrawn" | "released"; warrant: string; target: string }
  | { kind: "queued"; warrant: string; target: string; why: string }
  | { kind: "paused"; why: string }
  | { kind: "resumed" }
  | { kind: "trouble"; what: string }
  | { kind: "stopped" };
