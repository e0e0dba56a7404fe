import { troubleOf } from "../../../base/errno.ts";
import { overwrite, statIfThere } from "../files/atomic.ts";

/**
 * `.viv/adopted`, `.viv/woken`: when a process last looked at a whole folder (the mark's mtime), and
 * the cost (its size, in milliseconds). One process looks for all: it saves time only.
 */
const MOST = 10_000;

/** Has any process looked within `atLeast` ms, or within the cost of a look times `share`? */
export function isMarkYoung(mark: string, atLeast: number, share: number): boolean | undefined {
  const stats = statIfThere(mark);
  if (!stats?.isFile()) return undefined;
  const wait = Math.max(atLeast, Math.min(MOST, stats.size) * share);
  return Math.abs(Date.now() - stats.mtimeMs) < wait;
}

export function leaveMark(mark: string, cost: number): void {
  try {
    overwrite(mark, ".".repeat(Math.min(MOST, Math.max(0, Math.round(cost)))));
  } catch (error) {
    if (troubleOf(error) !== "DISK_FULL") throw error;
  }
}
