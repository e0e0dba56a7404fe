import { errno, linkIfFree } from "./atomic.ts";
import { fileOf } from "./layout.ts";
import type { FsRun } from "./run.ts";

/** From now on the id of a task that lies at `path` is taken, for our enqueue as well. */
export function reserveId(run: FsRun, id: string, path: string): void {
  try {
    linkIfFree(path, fileOf(run.paths.ids, id));
  } catch (error) {
    if (errno(error) !== "ENOENT") throw error; // claimed a moment ago: its state says it is taken
  }
}
