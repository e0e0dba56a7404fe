import { existsSync } from "node:fs";
import { TASK_STATES, type TaskState } from "../states.ts";
import { findClaim } from "./claims/claimed.ts";
import { namesIn } from "./files/atomic.ts";
import type { FsRun } from "./fs-run.ts";
import { fileOf, idLinkOf } from "./layout.ts";

export interface Place {
  state: TaskState;
  path: string;
  worker?: string;
}

/**
 * Where a task lies. Tasks move meanwhile, forwards and back, so the search for a known task is
 * repeated until it is found.
 */
export function locate(run: FsRun, id: string): Place | null {
  for (let round = 0; round < 50; round++) {
    // Asked before the look: what leaves tmp/ after it would be in neither.
    const mayCome = round <= 3 || isMoving(run, id);
    const place = lookOnce(run, id);
    if (place !== null) return place;
    if (!mayCome || !existsSync(idLinkOf(run.paths, id))) return null;
  }
  return null;
}

/** One search through all states; may miss a task that moves meanwhile. `names`: see findClaim. */
export function lookOnce(
  run: FsRun,
  id: string,
  names: readonly string[] = namesIn(run.paths.state.claimed),
): Place | null {
  for (const state of TASK_STATES) {
    if (state === "claimed") {
      const claim = findClaim(run.paths, id, names);
      if (claim) return { state, path: claim.path, worker: claim.worker };
      continue;
    }
    const path = fileOf(run.paths, state, id);
    if (existsSync(path)) return { state, path };
  }
  return null;
}

/** A publisher that is between reserving the id and moving the file has it in tmp/. */
function isMoving(run: FsRun, id: string): boolean {
  return namesIn(run.paths.tmp).some((name) => name.startsWith(`${id}~`));
}

/** A dependency is met when its task is done, or when status.json lists it (a foreign worker's). */
export function isMet(run: FsRun, id: string, completed: () => ReadonlySet<string>): boolean {
  return existsSync(fileOf(run.paths, "done", id)) || completed().has(id);
}
