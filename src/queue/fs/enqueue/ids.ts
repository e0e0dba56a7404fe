import type { TaskState } from "../../states.ts";
import { MAX_TASK_BYTES } from "../../task.ts";
import { errno, linkIfFree, readDerived, writeNew } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { idLinkOf } from "../layout.ts";

/** From now on the id of a task that lies at `path` is taken, for our enqueue as well. */
export function reserveId(run: FsRun, id: string, path: string): void {
  try {
    linkIfFree(path, idLinkOf(run.paths, id));
  } catch (error) {
    if (errno(error) !== "ENOENT") throw error; // claimed a moment ago: its state says it is taken
  }
}

/** The same for a task that was registered before and may be claimed now. A link gives a file a new
 * change time, and with it a claim a new token: claims get a copy. */
export function reserveAgain(
  run: FsRun,
  id: string,
  place: { state: TaskState; path: string },
): void {
  if (place.state !== "claimed") {
    reserveId(run, id, place.path);
    return;
  }
  const file = readDerived(place.path, MAX_TASK_BYTES);
  if (file === null) return;
  try {
    writeNew(idLinkOf(run.paths, id), file.text, false);
  } catch (error) {
    if (errno(error) !== "EEXIST") throw error; // another process has registered it
  }
}
