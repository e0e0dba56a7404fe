import type { Stats } from "node:fs";
import { ifThere, unlessTaken } from "../../../base/errno.ts";
import { isVivError } from "../../../base/errors.ts";
import type { TaskState } from "../../states.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { linkIfFree, readDerived, readRegular, writeNew } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { idLinkOf } from "../layout.ts";

/** The file of a task, and the link in ids/ that makes its id unique for good. */
export interface TaskFile {
  task: Task;
  stats: Stats;
}

/** Null when there is no such file. Throws CORRUPT when it holds no task. */
export function readTask(run: FsRun, path: string, id: string): TaskFile | null {
  const file = readRegular(path, MAX_TASK_BYTES);
  return file && { task: parseIn(run, file, id), stats: file.stats };
}

/** The same; a file that holds no task is quarantined, with the reason. */
export function readTaskOrQuarantine(run: FsRun, path: string, id: string): TaskFile | null {
  try {
    return readTask(run, path, id);
  } catch (error) {
    if (!isVivError(error)) throw error;
    quarantine(run, path, error.message);
    return null;
  }
}

/** A task from its file's text, as the run's layout writes it. Throws CORRUPT. */
export function parseIn(run: FsRun, file: { text: string; stats: Stats }, id: string): Task {
  // The mtime moves on when a task comes back; the birth time does not.
  const { birthtimeMs, mtimeMs } = file.stats;
  const createdAt = new Date(Math.min(birthtimeMs || mtimeMs, mtimeMs)).toISOString();
  return run.paths.layout.parse(file.text, id, { runId: run.runId, createdAt });
}

/** From now on the id of the task at `path` is taken, for our enqueue as well. */
export function reserveId(run: FsRun, id: string, path: string): void {
  // Claimed a moment ago: its state shows it is taken.
  ifThere(() => linkIfFree(path, idLinkOf(run.paths, id)));
}

/**
 * The same for a task that was registered before and may be claimed now. A link gives a file a new
 * change time, and so a claim a new token: claims get a copy.
 */
export function reserveAgain(
  run: FsRun,
  id: string,
  { state, path }: { state: TaskState; path: string },
): void {
  if (state !== "claimed") {
    reserveId(run, id, path);
    return;
  }
  const file = readDerived(path, MAX_TASK_BYTES);
  if (file === null) return;
  unlessTaken(() => writeNew(idLinkOf(run.paths, id), file.text, false)); // by another process
}
