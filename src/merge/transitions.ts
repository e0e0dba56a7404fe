import { VivError } from "../base/errors.ts";
import { LANDING_STATES, type Landing, type LandingState } from "./landing.ts";

/** What can happen to a landing. Each is one replacement of its file. */
export const LANDING_EVENTS = [
  "begin", // its merge is tried
  "merged",
  "empty", // there is nothing to merge
  "conflicts",
  "split", // proven together with others, the proof failed: it is tried again with fewer of them
  "proven",
  "failed", // its proof did
  "landed", // the target has moved
  "found", // the target has its commits already
  "moved", // the target is not where the merge began
  "hold",
  "resume", // of a held one whose proof still holds
  "interrupted", // its queue was stopped or died
  "sent_back",
  "given_up", // the reworks are used up
  "again", // the task is done again, or a person has resolved it
  "opened", // its pull request
  "closed",
] as const;
export type LandingEvent = (typeof LANDING_EVENTS)[number];

type Row = Partial<Record<LandingEvent, LandingState>>;

const WENT_WRONG: Row = {
  sent_back: "reworked",
  given_up: "needs_you",
  interrupted: "queued",
  again: "queued",
  found: "landed",
};

/** The whole state machine: an event without a target is refused in that state. */
export const LANDING_TABLE: Record<LandingState, Row> = {
  queued: {
    begin: "merging",
    empty: "no_changes",
    found: "landed",
    hold: "held",
    again: "queued",
    opened: "pull_request",
    closed: "closed",
  },
  merging: {
    merged: "proving",
    empty: "no_changes",
    conflicts: "conflict",
    hold: "held",
    interrupted: "queued",
  },
  proving: {
    proven: "landing",
    failed: "red",
    split: "queued",
    hold: "held",
    interrupted: "queued",
  },
  landing: {
    landed: "landed",
    found: "landed",
    moved: "queued",
    hold: "held",
    interrupted: "queued",
  },
  landed: { again: "queued" },
  no_changes: { again: "queued" },
  conflict: WENT_WRONG,
  red: WENT_WRONG,
  reworked: { again: "queued", found: "landed", opened: "pull_request", closed: "closed" },
  needs_you: { again: "queued", found: "landed", opened: "pull_request", closed: "closed" },
  held: {
    begin: "merging",
    empty: "no_changes",
    resume: "landing",
    moved: "queued",
    hold: "held",
    again: "queued",
    found: "landed",
    opened: "pull_request",
    closed: "closed",
  },
  pull_request: {
    opened: "pull_request",
    hold: "held",
    found: "landed",
    closed: "closed",
    sent_back: "reworked",
    given_up: "needs_you",
    again: "queued",
  },
  closed: { again: "queued", found: "landed", opened: "pull_request" },
};

/** What a state says besides; it is gone in the next one unless that says it anew. */
type Told = Partial<
  Pick<
    Landing,
    | ("branch" | "base" | "head" | "target" | "strategy")
    | ("from" | "to" | "proof" | "reason" | "command" | "files" | "evidence" | "reworks")
    | "pull_request"
  >
>;

/** The landing after `event`. Throws for one that its state does not allow: that would be a bug. */
export function advance(one: Landing, event: LandingEvent, at: string, told: Told = {}): Landing {
  const state = LANDING_TABLE[one.state][event];
  if (state === undefined) {
    const message = `${one.task} is ${one.state}, and cannot be ${event}.`;
    throw new VivError("WRONG_STATE", message, { state: one.state });
  }
  const { task, repository, branch, base, head, target, strategy, reworks, pull_request } = one;
  const same = { task, repository, branch, base, head, target, strategy, reworks };
  return { ...same, ...(pull_request && { pull_request }), ...told, state, at };
}

/** Its way is over, until its task is done again. */
export function isSettled(state: LandingState): boolean {
  return state === "landed" || state === "no_changes";
}

/** The queue has something to do about a done task whose landing is in this state. */
export function isOpen(state: LandingState): boolean {
  return !isSettled(state) && !["needs_you", "pull_request", "closed"].includes(state);
}

/** The diagram in docs/spec/merge.md, made from the table. */
export function mermaid(): string {
  const lines = ["stateDiagram-v2", "  [*] --> queued"];
  for (const from of LANDING_STATES) {
    for (const event of LANDING_EVENTS) {
      const to = LANDING_TABLE[from][event];
      if (to !== undefined && to !== from) lines.push(`  ${from} --> ${to}: ${event}`);
    }
  }
  return lines.join("\n");
}
