import { existsSync } from "node:fs";
import type { TaskState } from "../../model/states.ts";
import { namesIn } from "./atomic.ts";
import { fileOf } from "./layout.ts";
import type { FsRun } from "./run.ts";

export interface Place {
  state: TaskState;
  path: string;
  worker?: string;
}

/**
 * Where a task lies. Tasks move while we look, forwards and back, so a task that is known but was
 * not met is looked for again: it cannot slip past for ever.
 */
export function locate(run: FsRun, id: string): Place | null {
  for (let round = 0; round < 50; round++) {
    const place = lookOnce(run, id);
    if (place !== null) return place;
    if (!existsSync(fileOf(run.paths.ids, id))) return null;
    if (round > 3 && !isMoving(run, id)) return null;
  }
  return null;
}

const IN_ORDER = ["waiting", "pending", "claimed", "review", "done", "failed"] as const;

/** One look through all states; may miss a task that moves meanwhile. */
export function lookOnce(
  run: FsRun,
  id: string,
  workers: readonly string[] = namesIn(run.paths.state.claimed),
): Place | null {
  for (const state of IN_ORDER) {
    if (state === "claimed") {
      for (const worker of workers) {
        const path = fileOf(`${run.paths.state.claimed}/${worker}`, id);
        if (existsSync(path)) return { state, path, worker };
      }
      continue;
    }
    const path = fileOf(run.paths.state[state], id);
    if (existsSync(path)) return { state, path };
  }
  return null;
}

/** A publisher that is between reserving the id and moving the file has it in tmp/. */
function isMoving(run: FsRun, id: string): boolean {
  return namesIn(run.paths.tmp).some((name) => name.startsWith(`${id}~`));
}

/** A dependency is met when its task is done, or when status.json says so (mixed company). */
export function isMet(run: FsRun, id: string, completed: () => ReadonlySet<string>): boolean {
  return existsSync(fileOf(run.paths.state.done, id)) || completed().has(id);
}
