import { type AttemptRecord, type HistoryRecord, isAttempt } from "../model/attempt.ts";
import type { Task } from "../model/task.ts";

/** A worker that dies is nobody's failure, unless the task keeps killing its workers. */
export const MAX_ABANDONS = 10;

const BASE_DELAY_MS = 1_000;
const MAX_DELAY_MS = 15 * 60_000;

export type Verdict =
  | { to: "failed"; reason: "attempts_used" | "final" | "keeps_killing" }
  | { to: "waiting"; delayMs: number }
  | { to: "pending" };

/** The attempts that count: those since a person last sent the task round again. */
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
  abandoned: false,
  released: false,
  cancelled: false,
};

/** Decides where a failed attempt sends its task. `history` does not contain this attempt yet. */
export function afterFailure(
  task: Task,
  history: readonly HistoryRecord[],
  outcome: "failed" | "unproven" | "timed_out" | "rate_limited",
  options: { final?: boolean; random: number },
): Verdict {
  if (options.final) return { to: "failed", reason: "final" };
  const past = attemptsSinceRetry(history);
  const failures = past.filter((a) => COUNTS[a.outcome]).length + (COUNTS[outcome] ? 1 : 0);
  if (COUNTS[outcome] && failures >= (task.max_attempts ?? 1)) {
    return { to: "failed", reason: "attempts_used" };
  }
  return { to: "waiting", delayMs: backoff(Math.max(1, failures), options.random) };
}

/** Decides where the reaper sends a task whose worker is gone. */
export function afterAbandonment(history: readonly HistoryRecord[]): Verdict {
  const past = attemptsSinceRetry(history);
  let abandoned = 1;
  for (let i = past.length - 1; i >= 0 && past[i]?.outcome === "abandoned"; i--) abandoned++;
  return abandoned >= MAX_ABANDONS ? { to: "failed", reason: "keeps_killing" } : { to: "pending" };
}

/** Exponential, with "equal jitter": between half and all of the full delay. */
export function backoff(failures: number, random: number): number {
  const full = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** (failures - 1));
  return Math.round(full / 2 + (full / 2) * random);
}

/** Three identical failures in a row: the task, not the worker, is the trouble. */
export function isChoked(history: readonly HistoryRecord[]): AttemptRecord | null {
  const failures = attemptsSinceRetry(history).filter((a) => COUNTS[a.outcome]);
  const last = failures.at(-1);
  if (!last?.fingerprint || failures.length < 3) return null;
  return failures.slice(-3).every((a) => a.fingerprint === last.fingerprint) ? last : null;
}
