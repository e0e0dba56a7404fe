import { growingPause, withJitter } from "../base/growing-pause.ts";
import {
  type AttemptRecord,
  type FailureOutcome,
  type HistoryRecord,
  isAttempt,
} from "./attempt.ts";
import type { Task } from "./task.ts";

/** The death of a worker is no failure, unless the task keeps killing its workers. */
export const MAX_ABANDONS = 10;

const BASE_DELAY_MS = 1_000;
const MAX_DELAY_MS = 15 * 60_000;
/** Longer than any use, and short enough to be a date. */
const MAX_FIRST_DELAY_MS = 365 * 86_400_000;

export type Verdict = { to: "failed" } | { to: "waiting"; delayMs: number };

/** The attempts that count: those since a person last requeued the task. */
export function attemptsSinceRetry(history: readonly HistoryRecord[]): AttemptRecord[] {
  const attempts: AttemptRecord[] = [];
  for (const record of history) {
    if (isAttempt(record)) attempts.push(record);
    else attempts.length = 0;
  }
  return attempts;
}

const COUNTS: Record<AttemptRecord["outcome"], boolean> = {
  done: false,
  failed: true,
  unproven: true,
  timed_out: true,
  rate_limited: false,
  setup_failed: false,
  abandoned: false,
  released: false,
  handed_in: false,
  cancelled: false,
};

/** Does this end use up one of the task's attempts? */
export function countsAsFailure(outcome: AttemptRecord["outcome"]): boolean {
  return COUNTS[outcome];
}

export interface FailureOptions {
  /** Between 0 and 1. */
  random: number;
  final?: boolean;
  /** The route's limit; the task's own wins. */
  maxAttempts?: number;
  /** The first delay. */
  backoffMs?: number;
  /** How many failures count for the delay, with this one (default: all). */
  repeats?: number;
}

/** Decides where a failed attempt sends its task. `history` does not contain this attempt yet. */
export function afterFailure(
  task: Task,
  history: readonly HistoryRecord[],
  outcome: FailureOutcome,
  options: FailureOptions,
): Verdict {
  if (options.final) return { to: "failed" };
  const past = attemptsSinceRetry(history);
  const { random, backoffMs, maxAttempts } = options;
  if (!COUNTS[outcome]) {
    // A rate limit that outlasts the rest needs a longer one, whatever failed before.
    return { to: "waiting", delayMs: backoff(inARow(past, outcome) + 1, random, backoffMs) };
  }
  const failures = past.filter((a) => COUNTS[a.outcome]).length + 1;
  if (failures >= (task.max_attempts ?? maxAttempts ?? 1)) return { to: "failed" };
  // After a choke the next worker begins with the first pause.
  const { repeats = failures } = options;
  return { to: "waiting", delayMs: backoff(Math.max(1, repeats), random, backoffMs) };
}

/** How many attempts in a row, up to the last, had this outcome. */
function inARow(attempts: readonly AttemptRecord[], outcome: AttemptRecord["outcome"]): number {
  return attempts.length - 1 - attempts.findLastIndex((a) => a.outcome !== outcome);
}

/** Decides where the reaper sends a task whose worker is gone. */
export function afterAbandonment(history: readonly HistoryRecord[]): "pending" | "failed" {
  const abandoned = inARow(attemptsSinceRetry(history), "abandoned") + 1;
  return abandoned >= MAX_ABANDONS ? "failed" : "pending";
}

/** Exponential, with "equal jitter": between half and all of the full delay. */
export function backoff(failures: number, random: number, firstMs = BASE_DELAY_MS): number {
  const first = Math.min(firstMs, MAX_FIRST_DELAY_MS);
  // A first delay that is longer than the longest does not grow.
  const longest = Math.max(MAX_DELAY_MS, first);
  return withJitter(growingPause(failures, { first, longest }), random);
}
