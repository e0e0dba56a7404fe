import { isName } from "../../../base/names.ts";
import { namesIn, replaceFile, statIfThere, unlinkIfThere } from "../files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../fs-run.ts";
import { fileOf } from "../layout.ts";

/**
 * `.viv/cancelled/<id>`: a task in failed/ that a person stopped, and did not fail. Derived: the
 * ledger has it, and recovery writes it again. It is made before the move and void outside failed/;
 * a task that comes back, or fails later, loses it.
 */
function markOf({ paths }: FsRun, id: string): string {
  return `${paths.cancelled}/${id}`;
}

export function markCancelled(run: FsRun, id: string): void {
  replaceFile(markOf(run, id), temporaryPath(run, "cancelled"), `${nowIso(run)}\n`, false);
}

export function unmarkCancelled(run: FsRun, id: string): void {
  unlinkIfThere(markOf(run, id));
}

/** Of a task in failed/. */
export function isCancelled(run: FsRun, id: string): boolean {
  return isName(id) && statIfThere(markOf(run, id)) !== undefined;
}

export function countCancelled(run: FsRun): number {
  return namesIn(run.paths.cancelled).filter((id) => isName(id) && isFailed(run, id)).length;
}

export function restoreCancelled(run: FsRun, cancelled: ReadonlySet<string>): void {
  for (const id of cancelled) {
    if (isFailed(run, id) && !isCancelled(run, id)) markCancelled(run, id);
  }
}

function isFailed({ paths }: FsRun, id: string): boolean {
  return statIfThere(fileOf(paths, "failed", id)) !== undefined;
}
