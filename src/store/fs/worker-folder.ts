import { mkdirSync } from "../../files/beneath.ts";
import { VivError } from "../../model/errors.ts";
import { errno, statIfThere, translate } from "./atomic.ts";
import { folderOf } from "./layout.ts";
import type { FsRun } from "./run.ts";

/** The worker's folder in claimed/, made when missing. A link or file in its place is refused. */
export function workerFolder(run: FsRun, worker: string): string {
  const folder = folderOf(run.paths, worker);
  if (run.memo.workerFolders.has(worker)) return folder;
  const stats = statIfThere(folder);
  if (!stats) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if (errno(error) !== "EEXIST") throw translate(error, `creating ${folder}`);
    }
  } else if (!stats.isDirectory()) {
    throw new VivError("RUN_INVALID", `claimed/${worker} is not a folder; run: viv doctor --fix`);
  }
  run.memo.workerFolders.add(worker);
  return folder;
}
