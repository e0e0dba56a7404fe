import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { parseSeedDance, type SeedState } from "./seed-dance.ts";
import type { Bound, Warrant } from "./warrant.ts";

/** A dance: the work of one dog on one warrant. The whole machine is `DANCE` below. */
export const DANCE_STATES = [
  "idle",
  "interrogating", // it was asked, and has time to answer
  "evaluating", // did it answer, or work?
  "pardoned",
  "executing", // its tree is being ended
  "complete",
  "failed", // no verdict could be reached, or carried out
] as const;
export type DanceStateName = (typeof DANCE_STATES)[number];

export const DANCE_EVENTS = [
  "allocated",
  "answered",
  "timed_out",
  "alive",
  "silent", // and there are attempts left
  "silent_at_last",
  "withdrawn",
  "gone", // it ended by itself
  "unknown", // it cannot be identified, or may not be typed to
  "dead",
  "survived",
  "recorded",
  "released", // by hand: the warrant waits again
] as const;
export type DanceEvent = (typeof DANCE_EVENTS)[number];

/** A missing target means that the event cannot happen in that state. */
export const DANCE: Record<DanceStateName, Record<DanceEvent, DanceStateName | null>> = {
  idle: row({ allocated: "interrogating" }),
  interrogating: row({
    answered: "evaluating",
    timed_out: "evaluating",
    withdrawn: "pardoned",
    gone: "complete",
    unknown: "failed",
    released: "idle",
  }),
  evaluating: row({
    alive: "pardoned",
    silent: "interrogating",
    silent_at_last: "executing",
    withdrawn: "pardoned",
    gone: "complete",
    unknown: "failed",
    released: "idle",
  }),
  pardoned: row({ recorded: "complete" }),
  executing: row({
    alive: "pardoned", // an answer, before anything was signalled
    dead: "complete",
    survived: "failed",
    gone: "complete",
    unknown: "failed",
  }),
  complete: row({}),
  failed: row({}),
};

function row(
  allowed: Partial<Record<DanceEvent, DanceStateName>>,
): Record<DanceEvent, DanceStateName | null> {
  const full = {} as Record<DanceEvent, DanceStateName | null>;
  for (const event of DANCE_EVENTS) full[event] = allowed[event] ?? null;
  return full;
}

export function afterEvent(from: DanceStateName, event: DanceEvent): DanceStateName {
  const to = DANCE[from][event];
  if (to !== null) return to;
  throw new VivError("WRONG_STATE", `a dance that is ${from} cannot be ${event}.`, { from, event });
}

/** It may still be withdrawn, or called back. */
export function isUndecided({ state }: Pick<Dance, "state">): boolean {
  return DANCE[state].withdrawn !== null || state === "idle";
}

export const VERDICTS = ["pardoned", "executed", "already_dead", "failed"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One process of a target's tree, as it was seen. */
export interface SeenProcess {
  pid: number;
  started: string;
  parent: number;
  command: string;
}

/** How one of them ended: after which signal it was gone, and when that was seen. */
export interface ProcessEnd extends SeenProcess {
  /** "none": it was gone before any signal. */
  signal: "none" | "SIGTERM" | "SIGKILL";
  gone_at: string | null;
}

/** A process as one program: `image` is another one after each exec. */
export interface ProgramId {
  pid: number;
  started: string;
  image: string;
  /** What it starts after the question belongs to it: an agent's tools, not a shell's next program. */
  covers?: true;
}

/** What ran in a pane when the question was put; of a target without a terminal, the process itself. */
export interface AskedPane {
  pane: string;
  /** `agent`: it can be asked. `idle`: a shell that waits. `other`: it cannot be asked. */
  is: "agent" | "idle" | "other";
  /** The pane's own process. */
  root: ProgramId;
  /** In its foreground. */
  programs: ProgramId[];
}

/** The programs that a question was put to: nothing else may be ended because of it. */
export interface AskedPrograms {
  /** Ticks since boot. */
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
  /** ISO. Null until the question was submitted: what was not submitted was not asked. */
  asked_at: string | null;
  /** When its wait began, whether it could be asked or not. */
  began_at?: string | null;
  /** Why it, or a part of it, could not be asked: then it is only watched. */
  unasked?: string | null;
  /** The program holds the question back until its turn ends; the wait was made longer for that. */
  queued?: boolean;
  /** What its processes had used when the wait began. */
  work?: WorkSample[];
  /** What the question was put to: only that may be ended. */
  standing?: AskedPrograms;
  /** Where, in words: `pane %3`, or a file. */
  channel: string | null;
  /** Whether the text was seen in its input, and then seen gone from it. */
  arrived: boolean;
  submitted: boolean;
  /** Its answer in other words than those it was asked for. */
  reply?: string;
  /** When something new was seen, and what. */
  bursts: Burst[];
  ended_at: string | null;
  ended: AttemptEnd | null;
}

export type AttemptEnd =
  | "answered"
  | "replied" // in other words
  | "progress"
  | "work" // its children, its files
  | "waiting" // for a person: a dialog, a password
  | "silent"
  | "gone"
  | "unknown"
  | "withdrawn";

/** What a process below the agent has used so far. */
export interface WorkSample {
  pid: number;
  started: string;
  command: string;
  /** How long it had run. */
  age_ms: number;
  cpu_ms: number;
  /** Bytes read and written. */
  io: number;
}

export interface Burst {
  at: string;
  /** `screen`, `another pane`, or the path of a watched file. */
  source: string;
  /** The first new lines, or how much the file grew. */
  what: string;
}

export interface Outcome {
  verdict: Verdict;
  /** In one sentence. */
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

/** `active/DOG.json`. The first keys are the seed's. */
export interface Dance {
  id: string;
  warrant: Warrant;
  state: DanceStateName;
  attempt: number;
  started_at: string;
  last_message_at: string | null;
  next_timeout: string | null;
  /** The same on the machine's uptime, for a clock that jumps: seconds, within that boot. */
  deadline: { boot: string; uptime: number } | null;
  bound: Bound | null;
  attempts: Attempt[];
  screen_before: string[];
  /** The last one that was looked at: what is new after a restart is new since then. */
  screen_last: string[];
  /** The same of the terminals beside it. */
  beside_last?: string[];
  files: Record<string, number>;
  tree: SeenProcess[];
  /** The boot in which it was seen: in another one these numbers belong to other processes. */
  tree_boot?: string;
  /** Found in the seed's shape, in this state; gone with the first thing that we write. */
  seed?: SeedState;
  /** Its execution waits for a person: since which pause of the pool, and when its requester was notified. */
  held?: { since: string; why: string; told_at: string | null };
  outcome: Outcome | null;
}

/** What hook, webhook and inbox get when an execution is held: it goes on only after `todo`. */
export interface HeldNotice {
  event: "held";
  dog: string;
  warrant: Warrant;
  /** Since when the pool is paused; by a person or by the breaker; and why. */
  since: string;
  by: string;
  why: string;
  /** The command that lets the pool go on. */
  todo: string;
}

/** `completed/DOG.json`. */
export interface Receipt extends Outcome {
  dog: string;
  warrant: Warrant;
  bound: Bound | null;
  started_at: string;
  duration_ms: number;
  attempts: Attempt[];
  screen_before: string[];
  tree: SeenProcess[];
  /** Claims of an executed worker that were given back: task ids. */
  reaped: string[];
  /** How the requester was notified, and the error if that failed. */
  told: { by: "inbox" | "hook" | "webhook"; trouble: string | null }[];
}

/** Also one that the seed has left. */
export function parseDance(text: string, fileTime = 0): Dance | null {
  try {
    const value = JSON.parse(text) as Dance;
    if (typeof value === "object" && value !== null && !("attempts" in value)) {
      return parseSeedDance(value, fileTime);
    }
    const isOne =
      typeof value?.id === "string" &&
      DANCE_STATES.includes(value.state) &&
      typeof value.warrant?.target === "string" &&
      isName(value.warrant.id) &&
      Array.isArray(value.attempts);
    return isOne ? value : null;
  } catch {
    return null; // torn by a power loss, or no dance at all
  }
}

/** The picture in docs/spec/warden.md, made from the table so that it cannot drift from it. */
export function danceMermaid(): string {
  const lines = ["stateDiagram-v2"];
  for (const from of DANCE_STATES) {
    for (const event of DANCE_EVENTS) {
      const to = DANCE[from][event];
      if (to !== null) lines.push(`  ${from} --> ${to}: ${event}`);
    }
  }
  return lines.join("\n");
}
