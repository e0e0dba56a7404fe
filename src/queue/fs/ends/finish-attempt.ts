import { parseTime } from "../../../base/duration.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import type { HistoryRecord, Outcome } from "../../attempt.ts";
import { afterChoke, chokesIn, failuresSinceChoke, mayTry, newChoke } from "../../choke.ts";
import { NO_PROOF } from "../../proof-state.ts";
import { afterFailure, countsAsFailure } from "../../retry.ts";
import type { ClaimRef, CompletionOptions, Ended, FailureReport } from "../../store.ts";
import type { Task } from "../../task.ts";
import { isLoneChoke, takersOf } from "../claims/choked-tasks.ts";
import { assertOwnName } from "../claims/register.ts";
import { statIfThere, tokenOf, translate } from "../files/atomic.ts";
import { type FsRun, type HeldClaim, isNewLedger, recordDone } from "../fs-run.ts";
import { claimOf, folderOf } from "../layout.ts";
import { attemptNumber, historyAt, readHistory } from "../record/attempts.ts";
import { Afterwards } from "./afterwards.ts";
import {
  applyEnding,
  attemptRecord,
  creditOf,
  type Ending,
  end,
  finishRecorded,
  follow,
  markUncertain,
  move,
  notSynced,
  orUncertain,
  takeBackRecord,
} from "./end-claim.ts";
import {
  claimLost,
  endMadeBefore,
  type Held,
  isSameClaim,
  readHeld,
  recordedEnd,
} from "./held-claim.ts";

/**
 * complete, fail and release. Step 1 of ending an attempt (the others are in end-claim.ts): the
 * claim must still be the one that the caller holds. The same end asked for again, because the
 * first call brought an error or no answer, is made once.
 */
export function completeTask(run: FsRun, ref: ClaimRef, options: CompletionOptions): Ended {
  const { note } = options;
  if (options.handIn) return handIn(run, ref, note);
  return withClaim(run, ref, "done", (held) => {
    const ending = doneEnding(run, held, options);
    if (note) return end(run, held, { ...ending, note });
    return orUncertain(run, held, () => {
      const by = { ...held, worker: creditOf(run, held) };
      recordDone(run, held.id, by, ending, run.durability === "safe");
      return applyEnding(run, held, ending, false);
    });
  });
}

/** The same for a process that has other things to do while the disk works. */
export async function completeInBackground(
  run: FsRun,
  ref: ClaimRef,
  options: CompletionOptions,
): Promise<Ended> {
  if (run.durability !== "safe" || options.note || options.handIn) {
    return completeTask(run, ref, options);
  }
  return withClaim(run, ref, "done", async (held) => {
    const ending = doneEnding(run, held, options);
    try {
      const by = { ...held, worker: creditOf(run, held) };
      recordDone(run, held.id, by, ending, false);
      await syncLedger(run);
      const moved = move(run, held, ending, false);
      const after = new Afterwards();
      await after.tryAsync(notSynced(held.id), async () => {
        // In this order: see syncMove.
        await run.syncs.of(run.paths.state[ending.to]);
        await run.syncs.of(folderOf(run.paths, held.worker));
      });
      return follow(run, held, ending, moved, after);
    } catch (error) {
      markUncertain(run, held);
      throw translate(error, `ending ${held.id}`);
    }
  });
}

async function syncLedger(run: FsRun): Promise<void> {
  const { path } = run.ledger;
  await run.syncs.of(path);
  if (!isNewLedger(run)) return;
  await run.syncs.of(run.paths.ledger);
  run.memo.syncedLedger = path;
}

/** Where it goes, and whether that is with the proof that it asks for. */
function doneEnding(run: FsRun, held: Held, { review, proof }: CompletionOptions): Ending {
  let facts: Pick<HeldClaim, "review" | "asksProof"> | undefined = run.memo.claims.get(held.id);
  if (facts === undefined && !(review && proof)) {
    const task = readHeld(run, held);
    facts = { review: task.review === true, asksProof: task.done_when !== undefined };
  }
  const to = review || facts?.review ? "review" : "done";
  if (proof) return { outcome: "done", to, proof: "passed", commit: proof.commit };
  return { outcome: "done", to, unproven: facts?.asksProof ? NO_PROOF : undefined };
}

/** Costs no attempt, and is no success: the task waits for a worker that proves it. */
function handIn(run: FsRun, ref: ClaimRef, note?: string): Ended {
  return withClaim(run, ref, "handed_in", (held) =>
    end(run, held, { outcome: "handed_in", to: "pending", note }),
  );
}

export function releaseTask(run: FsRun, ref: ClaimRef, note?: string): Ended {
  return withClaim(run, ref, "released", (held) =>
    end(run, held, { outcome: "released", to: "pending", note }),
  );
}

/**
 * A failed attempt, in the order in which it is judged:
 *   failed    final, or its attempts are used up
 *   pending   the same failure for the third time in a row: for another worker, if there is one
 *   waiting   all else: once more, after a rest
 */
export function failTask(run: FsRun, ref: ClaimRef, report: FailureReport): Ended {
  assertNumbers(report);
  const wanted = report.retryAt && parseTime(report.retryAt, run.machine.clock.now(), "retryAt");
  const { outcome = "failed", note, fingerprint, final, backoffMs } = report;
  return withClaim(run, ref, outcome, (held) => {
    const task = readHeld(run, held);
    const history = readHistory(run, held.id, held.attempt);
    const verdict = afterFailure(task, history, outcome, {
      repeats: chokesIn(history).length > 0 ? failuresSinceChoke(history) + 1 : undefined,
      final,
      maxAttempts: report.maxAttempts ?? run.paths.layout.maxAttempts,
      backoffMs,
      random: run.random(),
    });
    if (countsAsFailure(outcome)) run.hooks?.beforeFailure(run, held.id);
    const ending = { outcome, note, fingerprint };
    if (verdict.to !== "waiting") return end(run, held, { ...ending, to: verdict.to });
    const choked = chokedEnding(run, held, { ...ending, to: "pending" }, task, history);
    if (choked !== null) return end(run, held, choked);
    const backoffEnds = run.machine.clock.now() + verdict.delayMs;
    const retryAt = wanted || new Date(backoffEnds).toISOString();
    return end(run, held, { ...ending, to: "waiting", retryAt });
  });
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
  const waitsForLater = isLoneChoke(run, history);
  return { ...ending, ...afterChoke(choke, others, { note: ending.note, waitsForLater }) };
}

function assertNumbers({ maxAttempts, backoffMs }: FailureReport): void {
  if (maxAttempts !== undefined && !(Number.isSafeInteger(maxAttempts) && maxAttempts >= 1)) {
    throw new VivError("INVALID", "maxAttempts must be a whole number of at least 1.");
  }
  if (backoffMs !== undefined && !(Number.isFinite(backoffMs) && backoffMs >= 0)) {
    throw new VivError("INVALID", "backoffMs must be a number of milliseconds, 0 or more.");
  }
}

/** Step 1, and `act` with the claim; or the end that this very claim has had already. */
function withClaim<T extends Ended | Promise<Ended>>(
  run: FsRun,
  ref: ClaimRef,
  outcome: Outcome,
  act: (held: Held) => T,
): T | Ended {
  const id = assertName("task id", ref.id);
  const worker = assertName("worker name", ref.worker);
  const path = claimOf(run.paths, worker, id);
  const seenAt = performance.now();
  const own = run.memo.claims.get(id);
  if (own !== undefined && ref.token === own.token && isFresh(run, worker, own, seenAt)) {
    return act({ id, worker, path, token: own.token, attempt: own.attempt, seenAt });
  }
  if (ref.token === undefined) assertOwnName(run, worker, `${id} is`);
  const stats = statIfThere(path);
  const token = stats && tokenOf(stats);
  if (stats === undefined || token === undefined || !isMeant(run, ref, token)) {
    const before = ref.token ? endMadeBefore(run, { id, token: ref.token }, outcome) : null;
    if (before === null) throw claimLost(run, id, worker);
    run.memo.claims.delete(id);
    const { to, retryAt } = before.ending;
    return { id, from: "claimed", to, attempt: before.attempt, retryAt };
  }
  const isKnown = own !== undefined && (own.token === token || own.token === ref.token);
  if (!isKnown) run.memo.claims.delete(id);
  if (isKnown && !own.isUncertain) {
    return act({ id, worker, path, token, attempt: own.attempt, seenAt });
  }
  const held: Held = { id, worker, path, token, attempt: 0, seenAt };
  const recorded = recordedEnd(run, held);
  if (recorded === undefined) {
    held.attempt = isKnown ? own.attempt : attemptNumber(historyAt(run, id, stats));
    return act(held);
  }
  held.attempt = recorded.attempt;
  // The reaper died before it gave the task to another worker, and this worker is alive after all.
  if (recorded.ending.outcome === "abandoned") {
    takeBackRecord(run, held, recorded.ending, true);
    return act(held);
  }
  const ended = orUncertain(run, held, () => finishRecorded(run, held, recorded));
  if (recorded.ending.outcome === outcome) return ended;
  throw claimLost(run, id, worker);
}

/** Null when the claim is gone, is another one, or has ended. */
export function currentToken(run: FsRun, ref: ClaimRef): string | null {
  const id = assertName("task id", ref.id);
  const worker = assertName("worker name", ref.worker);
  const stats = statIfThere(claimOf(run.paths, worker, id));
  if (stats === undefined) return null;
  const token = tokenOf(stats);
  if (ref.token === token) return token;
  return isMeant(run, ref, token) && !recordedEnd(run, { id, worker, token }) ? token : null;
}

/** Without a token in the reference, the place in the worker's folder is proof enough. */
function isMeant(run: FsRun, { id, worker, token: meant }: ClaimRef, token: string): boolean {
  if (meant === undefined || meant === token || isSameClaim(run, id, meant, token)) return true;
  // Its end is recorded, and its file was touched since.
  return recordedEnd(run, { id, worker, token })?.token === meant;
}

/**
 * A claim this process made under its registered name within the last second needs no look: no
 * other process may claim under that name, and if it was taken back, the rename finds nothing.
 */
function isFresh(run: FsRun, worker: string, own: HeldClaim, now: number): boolean {
  if (own.worker !== worker || own.isUncertain || now - own.at >= 1_000) return false;
  return run.memo.registered.has(worker);
}
