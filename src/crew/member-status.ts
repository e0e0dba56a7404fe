import type { ClaimTree, ProcessIdentity } from "../base/clock.ts";

/**
 * The state of a member, as in `status-NAME.json`.
 *
 * - waiting: for its time.
 * - checking: its RUN-IF runs.
 * - queued: at the gate.
 * - running: its engine runs.
 * - backing_off: it found nothing to do or failed, and its next tick is later than its interval; or it
 *   crashed, and is started again after a pause.
 * - held: its account is closed, or its budget used up.
 * - paused: by hand. parked: until a mistake is corrected. stopped: together with the crew.
 */
export const MEMBER_STATES = [
  "waiting",
  "checking",
  "queued",
  "running",
  "backing_off",
  "held",
  "paused",
  "parked",
  "stopped",
] as const;
export type MemberState = (typeof MEMBER_STATES)[number];

export const TICK_OUTCOMES = ["done", "no_work", "failed", "killed", "crashed"] as const;
export type TickOutcome = (typeof TICK_OUTCOMES)[number];

export interface MemberStatus {
  name: string;
  state: MemberState;
  /** When it came into that state, ISO. */
  since: string;
  /** The tree of the current run: the next supervisor ends the run of a dead one. */
  run: ClaimTree | null;
  /** The end of its last tick; the note is about that, or about its state. */
  outcome: TickOutcome | null;
  note: string;
  last_run: string | null;
  next_tick: string | null;
  /** Ticks in a row that found nothing to do. */
  streak: number;
  /** Bad ends in a row: crashed, failed or killed. */
  crashes: number;
  lifecycle: string | null;
  /** Ticks that its RUN-IF saved, in all. */
  saved: number;
  /** Dollars on `day` (UTC). */
  cost_today: number;
  day: string;
  /** Dollars of the current run, not in `cost_today` yet; a supervisor that finds them at its start adds them. */
  run_usd?: number;
  /** Dollars per day; missing: no limit. */
  budget_usd_day?: number;
  thought: string | null;
  engine: string;
  mode: string;
}

/** One line of `_steps.jsonl`: a step, a thought, or how a run ended. */
export type CrewLine =
  | { tool: string; target: string; ts: number; agent: string }
  | { thought: string; ts: number; agent: string }
  | {
      run: TickOutcome;
      ts: number;
      agent: string;
      seconds: number;
      usd: number | null;
      note: string;
    };

/** `crew.json` in the state folder, written by its supervisor. */
export interface CrewJson extends ProcessIdentity {
  manifest: string;
  singleton: boolean;
  members: string[];
  /** Of /_activity. */
  port: number | null;
  since: string;
  /** Of the singleton, which has no manifest: its settings, for a `viv crew tick` without it. */
  keeper?: KeeperSettings;
  /** The supervisor stopped, though its process may live on. */
  ended?: string;
}

/** The singleton's properties, as in a manifest. Paths are absolute. */
export interface KeeperSettings {
  engine?: string;
  command?: string;
  model?: string;
  lifecycle?: string;
  workdir?: string;
  run_if?: string;
  budget_usd_day?: string;
  continuous?: boolean;
  mode?: "plan" | "edit";
}

/** In the crew's state folder: the warden's open question to this member. */
export function questionFileOf(member: string): string {
  return `question-${member}.txt`;
}

export function parseMemberStatus(text: string): MemberStatus | null {
  try {
    const value = JSON.parse(text) as MemberStatus;
    const isOne = typeof value?.name === "string" && MEMBER_STATES.includes(value.state);
    return isOne ? value : null;
  } catch {
    return null; // torn by a power loss: it is written anew at the next change
  }
}

/** The holder of a state folder's lock: a crew, the singleton, or one `viv crew tick` without a crew. */
export interface Holder extends ProcessIdentity {
  kind: "crew" | "keeper" | "tick";
  member?: string;
}

export function holderFrom(value: unknown): Holder | null {
  const { host, boot, pid, started, kind, member } = (value ?? {}) as Partial<Holder>;
  const isOne =
    [host, boot, started, member ?? ""].every((one) => typeof one === "string") &&
    Number.isSafeInteger(pid) &&
    (kind === "crew" || kind === "keeper" || kind === "tick");
  return isOne ? (value as Holder) : null;
}
