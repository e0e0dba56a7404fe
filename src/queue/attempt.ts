import type { TaskState } from "./states.ts";

/** How an attempt (one claim of one task by one worker) can end. */
export const OUTCOMES = [
  "done",
  "failed",
  "unproven",
  "timed_out",
  "rate_limited",
  "abandoned",
  "released",
  "cancelled",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes a worker may report for a failure, in contrast to those that others decide. */
export const FAILURE_OUTCOMES = ["failed", "unproven", "timed_out", "rate_limited"] as const;
export type FailureOutcome = (typeof FAILURE_OUTCOMES)[number];

export interface AttemptRecord {
  /** 1 for the first claim of the task, counting those that did not count as well. */
  attempt: number;
  worker: string;
  token: string;
  outcome: Outcome;
  /** Where the attempt's end sent the task. */
  to: TaskState;
  at: string;
  note?: string;
  /** Failures with the same fingerprint are the same failure. */
  fingerprint?: string;
  /** The task rests until then. */
  retry_at?: string;
  /** The warden ended its worker: where that is written. */
  receipt?: string;
}

/** A person sent the task round again: what came before no longer counts against it. */
export interface RetryRecord {
  retried: true;
  by: string;
  at: string;
  note?: string;
}

/** The attempt with this token and outcome did not count: its claim was lost before it ended. */
export interface VoidRecord {
  void: string;
  outcome: Outcome;
}

/** The attempt with this token ended because of an execution that has this receipt. */
export interface ReceiptRecord {
  executed: string;
  receipt: string;
}

export type HistoryRecord = AttemptRecord | RetryRecord;

export function isAttempt(record: HistoryRecord): record is AttemptRecord {
  return !("retried" in record);
}
