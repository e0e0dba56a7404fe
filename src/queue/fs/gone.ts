import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { VivError } from "../../base/errors.ts";
import { statIfThere } from "./files/atomic.ts";
import type { FsRun } from "./fs-run.ts";

/** Whether the run was removed, or moved away, under this process. */
export function isGone({ paths }: Pick<FsRun, "paths">): boolean {
  return statIfThere(paths.state.claimed) === undefined;
}

/** At the end of a command, which a disk that fails now must not turn into an error. */
export function isSurelyGone(run: Pick<FsRun, "paths">): boolean {
  try {
    return isGone(run);
  } catch {
    return false; // what follows says what is wrong
  }
}

export function assertThere({ paths }: FsRun): void {
  if (!isGone({ paths })) return;
  const path = paths.root;
  throw new VivError("RUN_NOT_FOUND", `the run ${path} is gone.`, { path });
}

/**
 * A `.viv/` that is all that is left: it was written while another process removed the run, which then
 * could not remove the folder. One that still knows tasks is kept: `mv run/*` leaves it behind, and
 * the person may come back for it.
 */
export function removeRemains(run: FsRun): void {
  const { root, viv, ids, attempts } = run.paths;
  if (run.readOnly) return;
  try {
    if (readdirSync(root).join() !== ".viv") return;
    if ([ids, attempts].some((folder) => hasEntries(folder))) return;
    rmSync(viv, { recursive: true, force: true });
    rmdirSync(root); // only if it is empty
  } catch {
    // it is being removed by another process
  }
}

function hasEntries(folder: string): boolean {
  return statIfThere(folder) !== undefined && readdirSync(folder).length > 0;
}
