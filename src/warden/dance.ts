import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { parseSeedDance } from "./seed-dance.ts";
import type { Bound, Warrant } from "./warrant.ts";

/** A dance: the work of one dog on one warrant. */
export const DANCE_STATES = [
  "idle",
  "interrogating", // it was asked, and has time to answer
  "evaluating", // did it answer, or work?
  "pardoned",
  "executing", // its tree is being ended
  "complete",
  "failed", // no verdict was reached, or carried out
] as const;
export type DanceState = (typeof DANCE_STATES)[number];

export type DanceEvent =
  | "allocated"
  | "answered"
  | "timed_out"
  | "alive"
  | "silent" // with attempts left
  | "silent_at_last"
  | "withdrawn"
  | "gone" // it ended by itself
  | "unknown" // it cannot be identified, or may not be typed to
  | "dead"
  | "survived"
  | "recorded"
  | "released"; // by hand: the warrant waits again

/** An event that is missing in a state cannot happen there. */
export const DANCE: Record<DanceState, Partial<Record<DanceEvent, DanceState>>> = {
  idle: { allocated: "interrogating" },
  interrogating: {
    answered: "evaluating",
    timed_out: "evaluating",
    withdrawn: "pardoned",
    gone: "complete",
    unknown: "failed",
    released: "idle",
  },
  evaluating: {
    alive: "pardoned",
    silent: "interrogating",
    silent_at_last: "executing",
    withdrawn: "pardoned",
    gone: "complete",
    unknown: "failed",
    released: "idle",
  },
  pardoned: { recorded: "complete" },
  executing: {
    alive: "pardoned", // an answer before the first signal
    gone: "complete",
    unknown: "failed",
    dead: "complete",
    survived: "failed",
  },
  complete: {},
  failed: {},
};

export function afterEvent(from: DanceState, event: DanceEvent): DanceState {
  const to = DANCE[from][event];
  if (to !== undefined) return to;
  throw new VivError("WRONG_STATE", `a dance that is ${from} cannot be ${event}.`, { from, event });
}

/** It can still be withdrawn or released. */
export function isUndecided({ state }: Pick<Dance, "state">): boolean {
  return DANCE[state].withdrawn !== undefined || state === "idle";
}

export const VERDICTS = ["pardoned", "executed", "already_dead", "failed"] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface SeenProcess {
  pid: number;
  started: string;
  parent: number;
  command: string;
}

/** Its end: the signal after which it was gone, and when that was seen. */
export interface ProcessEnd extends SeenProcess {
  /** "none": it was gone before any signal. */
  signal: "none" | "SIGTERM" | "SIGKILL";
  gone_at: string | null;
}

/** A process as one program: each exec changes `image`. */
export interface ProgramId {
  pid: number;
  started: string;
  image: string;
  /** Its later children belong to it: an agent's tools, not a shell's next program. */
  covers?: true;
}

/** The programs of a pane when the question was put; without a terminal, the process itself. */
export interface AskedPane {
  pane: string;
  /** `idle`: a shell that waits. `other`: it cannot be asked. */
  is: "agent" | "idle" | "other";
  /** The pane's own process. */
  root: ProgramId;
  programs: ProgramId[];
}

/** The programs that a question was put to. Only these may be ended because of it. */
export interface AskedPrograms {
  /** In ticks since boot. */
  at: number;
  panes: AskedPane[];
}

/** How many agents an execution ends, for the breaker. */
export function agentsIn({ attempts }: Pick<Dance, "attempts">): number {
  const panes = attempts.at(-1)?.standing?.panes ?? [];
  return Math.max(1, panes.filter((one) => one.is !== "idle").length);
}

/** Once it is written, the question with this nonce may have been typed. */
export interface Attempt {
  number: number;
  nonce: string;
  timeout_ms: number;
  /** ISO; null until the question was submitted. */
  asked_at: string | null;
  /** When its wait began, asked or not. */
  began_at?: string | null;
  /** Why the target, or a part of it, could not be asked and is only watched. */
  unasked?: string | null;
  /** The program holds the question back until its turn ends, so the wait was extended. */
  queued?: boolean;
  /** Usage of its processes when the wait began. */
  work?: WorkSample[];
  standing?: AskedPrograms;
  /** `pane %3`, or a file. */
  channel: string | null;
  /** Whether the text was seen in its input, and then seen to leave it. */
  arrived: boolean;
  submitted: boolean;
  reply?: string;
  bursts: Burst[];
  ended_at: string | null;
  ended: AttemptEnd | null;
}

export type AttemptEnd =
  | "answered"
  | "replied" // in other words
  | "progress"
  | "work" // of its children, or on its files
  | "waiting" // for a person: a dialog, a password
  | "silent"
  | "gone"
  | "unknown"
  | "withdrawn";

/** Usage of a process below the agent so far. */
export interface WorkSample {
  pid: number;
  started: string;
  command: string;
  age_ms: number;
  cpu_ms: number;
  /** Bytes read and written. */
  io: number;
}

export interface Burst {
  at: string;
  /** `screen`, `another pane`, or the path of a watched file. */
  source: string;
  /** The first new lines, or by how much the file grew. */
  what: string;
}

export interface Outcome {
  verdict: Verdict;
  why: string;
  ended_at: string;
  evidence: string[];
  screen_after: string[];
  exit: ProcessEnd[];
  survivors: number[];
}

/** Whether any process was ended, also where others survived. */
export function hasKilled({ verdict, exit = [] }: Partial<Outcome>): boolean {
  return verdict === "executed" || exit.some(({ signal }) => signal !== "none");
}

/** `active/DOG.json`. The keys up to `next_timeout` are the seed's. */
export interface Dance {
  id: string;
  warrant: Warrant;
  state: DanceState;
  attempt: number;
  started_at: string;
  last_message_at: string | null;
  next_timeout: string | null;
  /** The same in seconds of uptime within that boot: the clock may jump. */
  deadline: { boot: string; uptime: number } | null;
  bound: Bound | null;
  attempts: Attempt[];
  screen_before: string[];
  /** At the last look: after a restart, newer lines are new. */
  screen_last: string[];
  /** The same of the terminals beside it. */
  beside_last?: string[];
  files: Record<string, number>;
  tree: SeenProcess[];
  /** In another boot these pids belong to other processes. */
  tree_boot?: string;
  /** The state in which the seed left it; removed by our first write. */
  seed?: DanceState;
  /** Its execution waits for a person: the pause of the pool, and when the requester was notified. */
  held?: { since: string; why: string; told_at: string | null };
  outcome: Outcome | null;
}

/** For hook, webhook and inbox: an execution is held until `todo` is typed. */
export interface HeldNotice {
  event: "held";
  dog: string;
  warrant: Warrant;
  /** The pause of the pool: its time, a person or the breaker, and the reason. */
  since: string;
  by: string;
  why: string;
  todo: string;
}

/** `completed/DOG.json`. */
export interface Receipt
  extends Outcome,
    Pick<Dance, "warrant" | "bound" | "started_at" | "attempts" | "screen_before" | "tree"> {
  dog: string;
  duration_ms: number;
  /** Tasks of an executed worker that were given back. */
  reaped: string[];
  /** How the requester was notified, and the error if that failed. */
  told: { by: "inbox" | "hook" | "webhook"; trouble: string | null }[];
}

/** Also one that the seed has left. */
export function parseDance(text: string, fileTime = 0): Dance | null {
  try {
    const value = JSON.parse(text) as Dance | null;
    if (typeof value?.id !== "string" || !DANCE_STATES.includes(value.state)) return null;
    if (!("attempts" in value)) return parseSeedDance(value, fileTime);
    const isOne =
      typeof value.warrant?.target === "string" &&
      isName(value.warrant.id) &&
      Array.isArray(value.attempts);
    return isOne ? value : null;
  } catch {
    return null; // torn by a power loss, or no dance at all
  }
}
