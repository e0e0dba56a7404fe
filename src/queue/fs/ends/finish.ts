import { assertName } from "../../../base/names.ts";
import type { Outcome } from "../../attempt.ts";
import type { ClaimRef, CompletionOptions, Ended } from "../../store.ts";
import { claimLost, type Held, isSameClaim, readHeld } from "../claims/held.ts";
import { statIfThere, tokenOf, translate } from "../files/atomic.ts";
import { type FsRun, type HeldClaim, isNewLedger, recordDone } from "../fs-run.ts";
import { claimOf, folderOf } from "../layout.ts";
import { attemptNumber, historyAt } from "../record/attempts.ts";
import { Afterwards } from "./afterwards.ts";
import {
  applyEnding,
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
import { endMadeBefore, type RecordedEnd, recordedEnd } from "./recorded-end.ts";

/**
 * What the holder of a claim does with it. Step 1 of ending an attempt (the others are in end-claim.ts):
 * the claim must still be the one that the caller holds. The same end asked for again, because the first
 * time brought an error or no answer, is made once.
 */
export function completeTask(run: FsRun, ref: ClaimRef, options: CompletionOptions): Ended {
  const { note } = options;
  return withClaim(run, ref, "done", (held) => {
    const to = destination(run, held, options);
    if (note) return end(run, held, { outcome: "done", to, note });
    return orUncertain(run, held, () => {
      recordDone(run, held.id, held, to, run.durability === "safe");
      return applyEnding(run, held, { outcome: "done", to }, false);
    });
  });
}

/** The same for a process that has other things to do while the disk works. */
export async function completeInBackground(
  run: FsRun,
  ref: ClaimRef,
  options: CompletionOptions,
): Promise<Ended> {
  if (run.durability !== "safe" || options.note) return completeTask(run, ref, options);
  return withClaim(run, ref, "done", async (held) => {
    const ending: Ending = { outcome: "done", to: destination(run, held, options) };
    try {
      recordDone(run, held.id, held, ending.to as "done", false);
      await syncLedger(run);
      const moved = move(run, held, ending, false);
      const after = new Afterwards();
      try {
        // In this order: see syncMove.
        await run.syncs.of(run.paths.state[ending.to]);
        await run.syncs.of(folderOf(run.paths, held.worker));
      } catch (error) {
        after.add(notSynced(held.id), error);
      }
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

function destination(run: FsRun, held: Held, options: CompletionOptions): "review" | "done" {
  const review =
    options.review === true ||
    (run.memo.claims.get(held.id)?.review ?? readHeld(run, held).review === true);
  return review ? "review" : "done";
}

export function releaseTask(run: FsRun, ref: ClaimRef, note?: string): Ended {
  return withClaim(run, ref, "released", (held) =>
    end(run, held, { outcome: "released", to: "pending", note }),
  );
}

/** Step 1, and `act` with the claim; or the end that this very claim has had already. */
export function withClaim<T extends Ended | Promise<Ended>>(
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
  const stats = statIfThere(path);
  const token = stats === undefined ? undefined : tokenOf(stats);
  if (stats === undefined || token === undefined || !isMeant(run, ref, token)) {
    const before = ref.token ? endMadeBefore(run, { id, token: ref.token }, outcome) : null;
    if (before === null) throw claimLost(run, id, worker);
    run.memo.claims.delete(id);
    return endedBefore(id, before);
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
  // The reaper meant to give it to another worker and died: its worker is there after all.
  if (recorded.ending.outcome === "abandoned") {
    takeBackRecord(run, held, recorded.ending, true);
    return act(held);
  }
  const ended = orUncertain(run, held, () => finishRecorded(run, held, recorded));
  if (recorded.ending.outcome === outcome) return ended;
  throw claimLost(run, id, worker);
}

/** Without a token in the reference, lying in the worker's folder is proof enough. */
function isMeant(run: FsRun, { id, worker, token: meant }: ClaimRef, token: string): boolean {
  if (meant === undefined || meant === token || isSameClaim(run, id, meant, token)) return true;
  // Its end is recorded, and its file was touched since.
  return recordedEnd(run, { id, worker, token })?.token === meant;
}

function endedBefore(id: string, { ending, attempt }: RecordedEnd): Ended {
  const { to, retryAt } = ending;
  return { id, from: "claimed", to, attempt, retryAt };
}

/**
 * A claim this process made under its registered name within the last second needs no look: nobody
 * else may claim under that name while we live, and if it was taken back, the rename finds nothing.
 */
function isFresh(run: FsRun, worker: string, own: HeldClaim, now: number): boolean {
  if (own.worker !== worker || own.isUncertain || now - own.at >= 1_000) return false;
  return run.memo.registered.has(worker);
}
