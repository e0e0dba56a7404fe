import type { Stats } from "node:fs";
import { VivError } from "../../model/errors.ts";
import { type Priority, priorityOf, type Task } from "../../model/task.ts";
import type { Enqueued, EnqueueOptions } from "../store.ts";
import {
  errno,
  ifThereIsRoom,
  linkIfFree,
  namesIn,
  renameIfThere,
  statIfThere,
  unlinkIfThere,
  writeNew,
} from "./atomic.ts";
import { cycleError, findCycle } from "./cycle.ts";
import { hasDependents } from "./dependents.ts";
import { type LaneEntry, laneEntry } from "./lanes.ts";
import { fileOf, idLinkOf } from "./layout.ts";
import { locate, lookOnce } from "./locate.ts";
import { noteReasons, readyAt, tryPromote, unmetOf, wake } from "./promote.ts";
import { type FsRun, recordAll, temporaryPath } from "./run.ts";

/**
 * Publishing a task, step by step. A crash after any of them leaves either nothing that counts or
 * something that recovery finishes:
 *   1. write the whole file under a name of its own in tmp/ (and sync it)
 *   2. link it to ids/<id>: the one step that decides who owns the id, for good
 *   3. note what it waits for
 *   4. rename it from tmp/ into waiting/ or pending/ (and sync the folder); only that one file
 *      can ever make this step, whoever makes it, so helping a dead publisher is safe
 *   5. tell claimers: a line on a lane, a line in the ledger
 */

export interface Staged {
  task: Task;
  tmp: string;
  stats: Stats;
}

export interface Published extends Staged {
  state: "pending" | "waiting";
}

/** Steps 2 to 4. `workers`: who may hold a foreign task of that name, if the caller knows. */
export function publish(
  run: FsRun,
  staged: Staged,
  options: EnqueueOptions,
  workers?: readonly string[],
): Enqueued {
  for (let round = 0; ; round++) {
    try {
      return publishOnce(
        run,
        round === 0 ? staged : restage(run, staged, options),
        options,
        workers,
      );
    } catch (error) {
      if (round === 10 || !(error instanceof Lost)) throw error;
    }
  }
}

/** Somebody removed the file from tmp/ (with `.viv/`, say) before it was published. */
class Lost extends Error {
  constructor(id: string) {
    super(`the file of ${id} was removed from .viv/tmp before it was published; enqueue it again.`);
  }
}

function restage(run: FsRun, { task }: Staged, { durability }: EnqueueOptions): Staged {
  const tmp = temporaryPath(run, task.task_id);
  const isSafe = (durability ?? run.durability) === "safe";
  return { task, tmp, stats: writeNew(tmp, run.paths.layout.write(task), isSafe) };
}

function publishOnce(
  run: FsRun,
  staged: Staged,
  options: EnqueueOptions,
  workers?: readonly string[],
): Enqueued {
  const { task, tmp } = staged;
  const id = task.task_id;
  const idLink = idLinkOf(run.paths, id);
  const cycle = task.depends_on.length > 0 ? findCycle(run, task) : null;
  if (cycle) throw cycleError(id, cycle);
  if (!reserve(staged, idLink)) return alreadyThere(run, staged, options);
  // Ours now, unless a foreign writer put it into a state folder without asking.
  const foreign = lookOnce(run, id, workers);
  if (foreign) {
    unlinkIfThere(idLink);
    return refuse(staged, foreign, options);
  }
  try {
    return place(run, staged, options);
  } catch (error) {
    // If our file still waits in tmp/, nobody has published it: the id is free again.
    if (unlinkIfThere(tmp)) unlinkIfThere(idLink);
    throw error;
  }
}

function reserve({ task, tmp }: Staged, idLink: string): boolean {
  try {
    return linkIfFree(tmp, idLink);
  } catch (error) {
    if (errno(error) === "ENOENT" && !statIfThere(tmp)) throw new Lost(task.task_id);
    throw error;
  }
}

/** Steps 3 and 4. */
function place(run: FsRun, { task, tmp, stats }: Staged, options: EnqueueOptions): Enqueued {
  const id = task.task_id;
  const unmet = options.straightToPending ? [] : unmetOf(run, task);
  const at = options.straightToPending ? 0 : readyAt(run, task);
  const waits = unmet.length > 0 || at > run.machine.clock.now();
  const state = waits ? "waiting" : "pending";
  if (waits) noteReasons(run, task, unmet, at);
  // Not there: somebody took us for dead and did this step. The task is published all the same.
  if (!renameIfThere(tmp, fileOf(run.paths, state, id)) && !isSomewhere(run, id)) {
    if (statIfThere(idLinkOf(run.paths, id))?.ino === stats.ino) {
      unlinkIfThere(idLinkOf(run.paths, id));
    }
    throw new Lost(id);
  }
  if (waits && hasDependents(run, id)) {
    // Two that depend on each other, enqueued at the same moment, are seen by the later one here.
    const late = findCycle(run, task);
    if (late) {
      unlinkIfThere(fileOf(run.paths, "waiting", id));
      unlinkIfThere(idLinkOf(run.paths, id));
      throw cycleError(id, late);
    }
  }
  return { id, state, created: true };
}

/** Looked at more than once: it may be on the move. */
function isSomewhere(run: FsRun, id: string): boolean {
  return [1, 2, 3].some(() => locate(run, id) !== null);
}

function alreadyThere(run: FsRun, staged: Staged, options: EnqueueOptions): Enqueued {
  const id = staged.task.task_id;
  let place = locate(run, id);
  if (place === null && finishPublish(run, id)) place = locate(run, id);
  return refuse(staged, place, options);
}

function refuse(
  staged: Staged,
  place: { state: string; worker?: string | undefined } | null,
  options: EnqueueOptions,
): Enqueued {
  const id = staged.task.task_id;
  unlinkIfThere(staged.tmp);
  const state = place?.state ?? "gone";
  if (options.ifAbsent) return { id, state: state as Enqueued["state"], created: false };
  const where =
    place === null
      ? "was enqueued before and its file has since been removed; run viv doctor --fix to free the id"
      : `is there already: ${state}${place.worker ? ` by ${place.worker}` : ""}; choose another id, or pass --if-absent`;
  throw new VivError("TASK_EXISTS", `task ${id} ${where}.`, {
    id,
    state,
    ...(place?.worker ? { worker: place.worker } : {}),
  });
}

/** A task may lie in waiting/ though its dependency was done a moment ago: look once more. */
export function settle(run: FsRun, task: Task): void {
  if (task.depends_on.length > 0 && unmetOf(run, task).length === 0) tryPromote(run, task.task_id);
}

/** Step 5. */
export function announce(run: FsRun, published: readonly Published[]): void {
  const byLane = new Map<Priority, LaneEntry[]>();
  for (const { task, stats, state } of published) {
    if (state === "pending" && unmetAfterwards(run, task).length === 0) {
      const lane = byLane.get(priorityOf(task)) ?? [];
      lane.push(laneEntry(task, stats, 1));
      byLane.set(priorityOf(task), lane);
    }
  }
  for (const [priority, entries] of byLane) {
    ifThereIsRoom(() => run.lanes.append(priority, entries));
  }
  for (const { task } of published) ifThereIsRoom(() => run.customs?.onNew(run, task));
  ifThereIsRoom(() =>
    recordAll(
      run,
      published.map(({ task, state }) => ({
        event: "enqueued",
        task: task.task_id,
        type: task.task_type,
        to: state,
        ...(task.created_by ? { by: task.created_by } : {}),
        ...(task.parent ? { parent: task.parent } : {}),
      })),
    ),
  );
}

/** What straightToPending published with open dependencies is not shown to claimers yet. */
function unmetAfterwards(run: FsRun, task: Task): string[] {
  if (task.depends_on.length === 0) return [];
  const unmet = unmetOf(run, task);
  if (unmet.length > 0) noteReasons(run, task, unmet, 0);
  return unmet.length > 0 ? unmetOf(run, task) : unmet;
}

/**
 * Finishes what a dead publisher began: its file has the id (step 2) and waits in tmp/. Safe even
 * if it is not dead, because only one rename of that file can succeed.
 */
export function finishPublish(run: FsRun, id: string, tmpName?: string): boolean {
  const owner = statIfThere(idLinkOf(run.paths, id));
  if (!owner) return false;
  const names = tmpName ? [tmpName] : namesOfPublishers(run, id);
  for (const name of names) {
    const path = `${run.paths.tmp}/${name}`;
    if (statIfThere(path)?.ino !== owner.ino) continue;
    // waiting/ is right for either kind: promotion moves it on at once if nothing holds it.
    if (renameIfThere(path, fileOf(run.paths, "waiting", id))) {
      wake(run, id);
      return true;
    }
  }
  return false;
}

function namesOfPublishers(run: FsRun, id: string): string[] {
  return namesIn(run.paths.tmp).filter((name) => name.startsWith(`${id}~`));
}
