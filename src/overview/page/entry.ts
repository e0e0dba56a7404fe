import { compareIds } from "../../base/compare-ids.ts";
import type { LandingState } from "../../merge/landing.ts";
import type { TaskState, TaskWord } from "../../queue/states.ts";

/** The columns of the board, in its order. */
export const COLUMNS = ["waiting", "ready", "working", "review", "done", "failed"] as const;
export type Column = (typeof COLUMNS)[number];

const STATES: Record<Column, TaskState> = {
  waiting: "waiting",
  ready: "pending",
  working: "claimed",
  review: "review",
  done: "done",
  failed: "failed",
};

const COLUMN_OF: ReadonlyMap<string, Column> = new Map(
  COLUMNS.map((column) => [STATES[column], column]),
);

/** Null for a place that is no column: quarantined, or none. */
export function columnOf(state: string | null): Column | null {
  return (state !== null && COLUMN_OF.get(state)) || null;
}

export type CardProof = "passed" | "failed";

/** In the place of a time. Times are whole milliseconds, and 0 is one: of a disk that keeps none. */
export const UNDATED = -0.5;

/**
 * What is kept of a task. A hundred thousand of them are in memory: few fields, no copies of texts, and
 * always the same fields in the same order.
 */
export class Entry {
  readonly id: string;
  /** Null: it has no file in any state; other tasks, or the ledger, name it. */
  column: Column | null = null;
  isCancelled = false;
  /** When it came there, in milliseconds since 1970; `UNDATED`: it is done, and that is not known yet. */
  since = 0;
  /** The worker that holds it. */
  holder: string | null = null;
  /** The worker of its last attempt that ended. */
  lastWorker: string | null = null;
  /** By its file; null before that is read, or when it cannot be. */
  type: string | null = null;
  title = "";
  /** 0 high, 1 normal, 2 low. */
  priority = 1;
  maxAttempts: number | null = null;
  /** Its file was read. */
  isRead = false;
  needs: Entry[] | null = null;
  neededBy: Entry[] | null = null;
  parent: Entry | null = null;
  children: Entry[] | null = null;
  /** Not before this time, by its file; and after a failure, by the ledger. */
  notBefore = 0;
  restsUntil = 0;
  attempt = 0;
  proof: CardProof | null = null;
  landing: LandingState | null = null;
  usd = 0;
  isChoked = false;
  /** How its last attempt failed, or why it was stopped. */
  failure: string | null = null;
  /** The views that show it, a bit for each. */
  views = 0;
  /** The listing that saw it last. */
  seenIn = 0;

  constructor(id: string) {
    this.id = id;
  }

  get isUndated(): boolean {
    return this.since === UNDATED && this.column === "done";
  }
}

/** That holds it, or tried it last. */
export function workerOf({ column, holder, lastWorker }: Entry): string | null {
  return column === "working" ? holder : lastWorker;
}

export function stateOf(entry: Entry): TaskWord | null {
  if (entry.column === null) return null;
  return entry.isCancelled ? "cancelled" : STATES[entry.column];
}

/**
 * Ready and waiting tasks stand in the order in which they are given out, as far as their files tell;
 * those at work and in review, the longest first; ended ones, the latest first.
 */
export function compareIn(column: Column): (a: Entry, b: Entry) => number {
  switch (column) {
    case "waiting":
    case "ready":
      return (a, b) => a.priority - b.priority || a.since - b.since || compareIds(a.id, b.id);
    case "working":
    case "review":
      return (a, b) => a.since - b.since || compareIds(a.id, b.id);
    case "done":
    case "failed":
      return (a, b) => b.since - a.since || compareIds(b.id, a.id);
  }
}
