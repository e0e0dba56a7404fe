import { errno, linkIfFree } from "./atomic.ts";
import { idLinkOf } from "./layout.ts";
import type { FsRun } from "./run.ts";

/** From now on the id of a task that lies at `path` is taken, for our enqueue as well. */
export function reserveId(run: FsRun, id: string, path: string): void {
  try {
    linkIfFree(path, idLinkOf(run.paths, id));
  } catch (error) {
    if (errno(error) !== "ENOENT") throw error; // claimed a moment ago: its state says it is taken
  }
}
