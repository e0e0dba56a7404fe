import { VivError } from "../../base/errors.ts";
import { mkdirSync } from "../../platform/files/beneath.ts";
import { errno, statIfThere, syncFolder, translate } from "./atomic.ts";
import { folderOf } from "./layout.ts";
import type { FsRun } from "./run.ts";

/** The worker's folder in claimed/, made when missing. A link or file in its place is refused. */
export function workerFolder(run: FsRun, worker: string): string {
  const folder = folderOf(run.paths, worker);
  if (run.memo.workerFolders.has(worker)) return folder;
  const stats = statIfThere(folder);
  if (!stats) {
    try {
      makeWorkerFolder(run, folder);
    } catch (error) {
      throw translate(error, `creating ${folder}`);
    }
  } else if (!stats.isDirectory()) {
    throw new VivError("RUN_INVALID", `claimed/${worker} is not a folder; run: viv doctor --fix`);
  }
  run.memo.workerFolders.add(worker);
  return folder;
}

/** What lies in it is synced later, one by one, and is lost with the folder's own name. */
export function makeWorkerFolder(run: FsRun, folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errno(error) !== "EEXIST") throw error;
  }
  if (run.durability === "safe") syncFolder(run.paths.state.claimed);
}
