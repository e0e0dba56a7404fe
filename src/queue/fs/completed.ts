import { statIfThere } from "./atomic.ts";
import type { FsRun } from "./run.ts";
import { readStatusLeniently } from "./status.ts";

/** completed_tasks of status.json, read again only when the file was replaced. */
export function completedTasks(run: FsRun): ReadonlySet<string> {
  const stats = statIfThere(run.paths.status);
  if (!stats) return new Set();
  const key = `${stats.ino}.${stats.mtimeMs}.${stats.size}`;
  if (run.memo.completedSeen?.key !== key) {
    const list = readStatusLeniently(run.paths)?.checkpoint.completed_tasks ?? [];
    run.memo.completedSeen = { key, ids: new Set(list) };
  }
  return run.memo.completedSeen.ids;
}
