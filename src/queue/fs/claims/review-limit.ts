import { VivError } from "../../../base/errors.ts";
import { namesIn, statIfThere } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";

/** A folder's time moves in ticks: what changed so recently may change again within the same one. */
const SETTLED_MS = 50;

export function assertReviewLimit(limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return;
  throw new VivError("INVALID", "reviewLimit must be a whole number of at least 1.");
}

/** Do so many tasks wait for people that there should be no more? Lists review/ when it changed. */
export function isReviewFull(run: FsRun, limit: number | undefined): boolean {
  if (limit === undefined) return false;
  const folder = run.paths.state.review;
  // The mark is taken before the look: what moves meanwhile is seen next time.
  const changed = statIfThere(folder)?.mtimeMs ?? 0;
  if (run.memo.reviewSeenAt !== changed) {
    run.memo.inReview = namesIn(folder).filter(
      (name) => run.paths.layout.idOf("review", name) !== null,
    ).length;
    run.memo.reviewSeenAt = Date.now() - changed > SETTLED_MS ? changed : Number.NaN;
  }
  return run.memo.inReview >= limit;
}
