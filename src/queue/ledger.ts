import type { Outcome } from "./attempt.ts";
import type { TaskState } from "./states.ts";

/** One line of the ledger: a fact about a task. */
export interface LedgerLine {
  at: string;
  event: LedgerEvent;
  task?: string;
  worker?: string;
  token?: string;
  attempt?: number;
  from?: TaskState;
  to?: TaskState;
  outcome?: Outcome;
  by?: string;
  note?: string;
  type?: string;
  parent?: string;
  retry_at?: string;
  fingerprint?: string;
  receipt?: string;
  proof?: "passed";
  commit?: string;
  /** Of a cancelled task that no person stopped: `choked`, `dependency`. */
  because?: string;
  /** Why the task is done, or approved, without a proof. */
  unproven?: string;
  [key: string]: unknown;
}

export const LEDGER_EVENTS = [
  "enqueued",
  "adopted", // a foreign task was seen for the first time
  "promoted",
  "claimed",
  "ended", // an attempt ended: outcome and to say how and where
  "void", // the `ended` line with this token had no effect: the claim was lost
  "executed", // the attempt with this token ended because the warden ended its worker: see receipt
  "approved",
  "rejected",
  "cancelled",
  "retried",
  "reworked", // a done task went back: `why` says for what kind of reason
  "paused", // the run: no task is claimed
  "resumed",
  "step", // an action of a model run: see usage.ts
  "usage", // tokens and money of an attempt's model runs
  "reserved", // the possible cost of an attempt's next step, out of a budget that it shares
  "landed", // its work is in the target branch: commit, target, repository, strategy, proof
  "conflict", // it cannot be merged; note says with what
  "merge_red", // merged, its proof failed
  "needs_you", // its way to the target ends here until a person acts: note, target, commit
  "held", // its landing waits for something; note says for what
  "pr_opened", // a pull request for its branch: url, number, branch, target, commit
  "pr_closed", // it was closed without a merge
  "account_closed", // by its worker: account, reason, until (null: until a person opens it)
  "account_opened", // a run with it succeeded before that time
  "quarantined",
  "repaired",
  "worker_started",
  "worker_stopped",
] as const;
export type LedgerEvent = (typeof LEDGER_EVENTS)[number];

/** Facts that other rooms add about a task: model runs, and the way of its work into a branch. */
export type ToldEvent = Extract<
  LedgerEvent,
  | ("step" | "usage" | "reserved" | "landed" | "conflict" | "merge_red" | "held")
  | ("needs_you" | "pr_opened" | "pr_closed" | "account_closed" | "account_opened")
>;
