import { parseTime } from "../../../base/duration.ts";
import { VivError } from "../../../base/errors.ts";
import type { HistoryRecord } from "../../attempt.ts";
import { afterChoke, chokesIn, failuresSinceChoke, mayTry, newChoke } from "../../choke.ts";
import { afterFailure } from "../../retry.ts";
import type { ClaimRef, Ended, FailureReport } from "../../store.ts";
import type { Task } from "../../task.ts";
import { takersOf } from "../claims/choke.ts";
import { type Held, readHeld } from "../claims/held.ts";
import type { FsRun } from "../fs-run.ts";
import { readHistory } from "../record/attempts.ts";
import { attemptRecord, type Ending, end } from "./end-claim.ts";
import { withClaim } from "./finish.ts";

/**
 * A failed attempt, in the order in which it is judged:
 *   failed    final, or its attempts are used up
 *   pending   the same failure for the third time in a row: for another worker, if there is one
 *   waiting   all else: once more, after a rest
 */
export function failTask(run: FsRun, ref: ClaimRef, report: FailureReport): Ended {
  assertNumbers(report);
  const wanted = report.retryAt && parseTime(report.retryAt, run.machine.clock.now(), "retryAt");
  return withClaim(run, ref, report.outcome ?? "failed", (held) => {
    return endAsFailed(run, held, report, wanted);
  });
}

function endAsFailed(
  run: FsRun,
  held: Held,
  report: FailureReport,
  wanted: string | undefined,
): Ended {
  const task = readHeld(run, held);
  const history = readHistory(run, held.id, held.attempt);
  const { outcome = "failed", note, fingerprint, final, backoffMs } = report;
  const maxAttempts = report.maxAttempts ?? run.paths.layout.maxAttempts;
  const verdict = afterFailure(task, history, outcome, {
    repeats: chokesIn(history).length > 0 ? failuresSinceChoke(history) + 1 : undefined,
    final,
    maxAttempts,
    backoffMs,
    random: run.random(),
  });
  if (outcome !== "rate_limited") run.hooks?.beforeFailure(run, held.id);
  const ending = { outcome, note, fingerprint };
  if (verdict.to !== "waiting") return end(run, held, { ...ending, to: verdict.to });
  const choked = chokedEnding(run, held, { ...ending, to: "pending" }, task, history);
  if (choked !== null) return end(run, held, choked);
  const backoffEnds = run.machine.clock.now() + verdict.delayMs;
  const retryAt = wanted || new Date(backoffEnds).toISOString();
  return end(run, held, { ...ending, to: "waiting", retryAt });
}

function chokedEnding(
  run: FsRun,
  held: Held,
  ending: Ending,
  task: Task,
  past: readonly HistoryRecord[],
): Ending | null {
  if (!ending.fingerprint) return null;
  const history = [...past, attemptRecord(run, held, ending)];
  const choke = newChoke(history);
  if (choke === null) return null;
  const type = task.task_type;
  const others = mayTry(takersOf(run, type), type, history);
  run.hooks?.beforeChoke(run, task, choke, history);
  return { ...ending, ...afterChoke(choke, others, ending.note) };
}

function assertNumbers({ maxAttempts, backoffMs }: FailureReport): void {
  if (maxAttempts !== undefined && !(Number.isSafeInteger(maxAttempts) && maxAttempts >= 1)) {
    throw new VivError("INVALID", "maxAttempts must be a whole number of at least 1.");
  }
  if (backoffMs !== undefined && !(Number.isFinite(backoffMs) && backoffMs >= 0)) {
    throw new VivError("INVALID", "backoffMs must be a number of milliseconds, 0 or more.");
  }
}
