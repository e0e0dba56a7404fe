import type * as z from "zod/mini";
import type { attemptRecord, retryRecord } from "./schemas.ts";

/** How an attempt (one claim of one task by one worker) can end. */
export const OUTCOMES = [
  "done",
  "failed",
  "unproven",
  "timed_out",
  "rate_limited",
  "setup_failed", // its workspace could not be made ready: no fault of the task
  "abandoned",
  "released",
  "handed_in", // the work is done, its proof is left to the next worker
  "cancelled",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes of a failure that a worker may report. */
export const FAILURE_OUTCOMES = [
  "failed",
  "unproven",
  "timed_out",
  "rate_limited",
  "setup_failed",
] as const;
export type FailureOutcome = (typeof FAILURE_OUTCOMES)[number];

export type AttemptRecord = z.output<typeof attemptRecord>;

/** The task was requeued, by a person or because its work could not land: earlier attempts no longer count against it. */
export type RetryRecord = z.output<typeof retryRecord>;

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

/** A person approved the attempt with this token although its proof did not count, for this reason. */
export interface ApprovalRecord {
  approved: string;
  unproven: string;
}

export type HistoryRecord = AttemptRecord | RetryRecord;

export function isAttempt(record: HistoryRecord): record is AttemptRecord {
  return !("retried" in record);
}

/** How `done_when` ended, as it is kept in `artifacts/<id>.proof.json`. */
export interface Proof {
  attempt: number;
  command: string;
  exit: number | null;
  signal: string | null;
  timed_out: boolean;
  duration_ms: number;
  at: string;
  /** The end of its output; all of it is in the log. */
  output: string;
  /** Bytes that the log does not have. */
  dropped: number;
}

/** Why an attempt failed, kept for people and for the next attempt. */
export interface Evidence {
  attempt: number;
  worker: string;
  outcome: string;
  note: string;
  at: string;
  proof?: Proof;
}
