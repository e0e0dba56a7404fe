import type { Stats } from "node:fs";
import { isVivError, VivError } from "../../../base/errors.ts";
import type { Enqueued, EnqueueOptions } from "../../store.ts";
import { type Priority, priorityOf, type Task } from "../../task.ts";
import { Afterwards } from "../ends/afterwards.ts";
import {
  discard,
  errno,
  linkIfFree,
  namesIn,
  renameIfThere,
  statIfThere,
  translate,
  unlinkIfThere,
  writeNew,
} from "../files/atomic.ts";
import { type FsRun, recordAll, temporaryPath } from "../fs-run.ts";
import { type LaneEntry, laneEntry } from "../lanes/lanes.ts";
import { fileOf, idLinkOf, quarantinedOf } from "../layout.ts";
import { locate, lookOnce } from "../locate.ts";
import { linesAbout } from "../record/ledger-files.ts";
import { cycleError, findCycle, hasDependents } from "../waiting/dependents.ts";
import { noteReasons, readyAt, tryPromote, unmetOf, wake } from "../waiting/promote.ts";
import { isEnded, lastEnd, openRound, recordAgain, retire } from "./rounds.ts";

/**
 * Publishing a task, step by step. After a crash at any point, either nothing counts or recovery
 * finishes it:
 *   1. write the whole file under a name of its own in tmp/ (and sync it)
 *   2. link it to ids/<id>: the one step that decides which publisher owns the id, for good
 *   3. note its dependencies and its time
 *   4. rename it from tmp/ into waiting/ or pending/ (and sync the folder); only that one file
 *      can ever make this step, in any process, so helping a dead publisher is safe
 *   5. announce it: a line on a lane, a line in the ledger
 */

export interface Staged {
  task: Task;
  tmp: string;
  stats: Stats;
}

export interface Published extends Staged {
  state: "pending" | "waiting";
}

/** Steps 2 to 4. `workers`: the names in claimed/, if the caller has listed it. */
export function publish(
  run: FsRun,
  staged: Staged,
  options: EnqueueOptions,
  workers?: readonly string[],
): Enqueued {
  let current = staged;
  for (let round = 0; ; round++) {
    try {
      return publishOnce(run, current, options, workers);
    } catch (error) {
      if (round === 10 || !(error instanceof Lost)) throw error;
    }
    const tmp = temporaryPath(run, staged.task.task_id);
    const isSafe = (options.durability ?? run.durability) === "safe";
    current = { ...staged, tmp, stats: writeNew(tmp, run.paths.layout.write(staged.task), isSafe) };
  }
}

/** The file was removed from tmp/ (with `.viv/`, say) before it was published. */
class Lost extends Error {
  constructor(id: string) {
    super(`the file of ${id} was removed from .viv/tmp before it was published; enqueue it again.`);
  }
}

function publishOnce(
  run: FsRun,
  staged: Staged,
  options: EnqueueOptions,
  workers?: readonly string[],
): Enqueued {
  const { task } = staged;
  const id = task.task_id;
  const idLink = idLinkOf(run.paths, id);
  const cycle = task.depends_on.length > 0 ? findCycle(run, task) : null;
  if (cycle) throw cycleError(id, cycle);
  if (!reserve(staged, idLink)) return alreadyThere(run, staged, options);
  let placed: Enqueued;
  try {
    // Ours now, unless a foreign writer put it into a state folder without asking.
    const foreign = lookOnce(run, id, workers);
    if (foreign) unlinkIfThere(idLink);
    placed = foreign ? refuse(run, staged, foreign, options) : place(run, staged, options);
  } catch (error) {
    if (error instanceof Lost || isVivError(error, "TASK_EXISTS")) throw error;
    if (withdraw(run, staged, idLink, error)) throw error;
    placed = { id, state: "waiting", created: true };
  }
  if (placed.created && placed.state === "waiting") refuseLateCycle(run, task, placed);
  return placed;
}

/**
 * Undoes step 2. False when the file is no longer in tmp/: then it is published, by us or by a
 * process that took us for dead.
 */
function withdraw(run: FsRun, { task, tmp }: Staged, idLink: string, error: unknown): boolean {
  const id = task.task_id;
  try {
    if (!unlinkIfThere(tmp) && isSomewhere(run, id)) return false;
  } catch {
    const cause = translate(error, `enqueueing ${id}`);
    if (!(cause instanceof VivError)) throw error;
    // Neither made nor taken back. Another request for the same id makes one task, not two.
    const message = `${cause.message} A sweep may still enqueue it: pass --id ${id} --if-absent then.`;
    throw new VivError(cause.code, message, { ...cause.details, id }, { cause: error });
  }
  discard(idLink);
  return true;
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
  const unmet = options.asSwarmLib ? [] : unmetOf(run, task);
  const at = options.asSwarmLib ? 0 : readyAt(run, task);
  const waits = unmet.length > 0 || at > run.machine.clock.now();
  const state = waits ? "waiting" : "pending";
  if (waits) noteReasons(run, task, unmet, at);
  // Not there: another process took us for dead and did this step. The task is published all the same.
  if (!renameIfThere(tmp, fileOf(run.paths, state, id)) && !isSomewhere(run, id)) {
    if (statIfThere(idLinkOf(run.paths, id))?.ino === stats.ino) {
      unlinkIfThere(idLinkOf(run.paths, id));
    }
    throw new Lost(id);
  }
  return { id, state, created: true };
}

/** Of two tasks that close a cycle at the same moment, the later one is refused here. */
function refuseLateCycle(run: FsRun, task: Task, placed: Enqueued): void {
  const id = task.task_id;
  const after = new Afterwards();
  let late: string[] | null = null;
  after.try(`whether ${id} and another wait for each other is not known; see: viv doctor`, () => {
    late = hasDependents(run, id) ? findCycle(run, task) : null;
    if (late !== null && !unlinkIfThere(fileOf(run.paths, "waiting", id))) late = null;
  });
  if (late !== null && after.warnings.length === 0) {
    discard(idLinkOf(run.paths, id));
    throw cycleError(id, late);
  }
  Object.assign(placed, after.result);
}

/** Looked at more than once: it may be on the move. */
export function isSomewhere(run: FsRun, id: string): boolean {
  return [1, 2, 3].some(() => locate(run, id) !== null);
}

function alreadyThere(run: FsRun, staged: Staged, options: EnqueueOptions): Enqueued {
  const id = staged.task.task_id;
  let place = locate(run, id);
  if (place === null && finishPublish(run, id)) place = locate(run, id);
  if (place === null && wasNeverPublished(run, id)) {
    discard(staged.tmp);
    unlinkIfThere(idLinkOf(run.paths, id));
    throw new Lost(id); // the next round takes the id
  }
  return refuse(run, staged, place, options);
}

/**
 * Its publisher died, and its file in tmp/ is gone as well: the task was never acknowledged, and no
 * process will publish it. In a pit, a task that is nowhere may have been done by hand.
 */
function wasNeverPublished(run: FsRun, id: string): boolean {
  if (run.paths.layout.isFlat || isSomewhere(run, id)) return false;
  return linesAbout(run.paths.ledger, id).next().done === true;
}

function refuse(
  run: FsRun,
  staged: Staged,
  place: { state: string; worker?: string } | null,
  options: EnqueueOptions,
): Enqueued {
  const id = staged.task.task_id;
  discard(staged.tmp);
  const state = place?.state ?? "gone";
  if (options.ifAbsent) return { id, state: state as Enqueued["state"], created: false };
  const where = statIfThere(quarantinedOf(run.paths, id))
    ? "is in quarantine/; choose another id, or move it from there and run viv doctor --fix to free the id"
    : "was enqueued before and its file has since been removed; run viv doctor --fix to free the id";
  const what =
    place === null
      ? where
      : `is there already: ${state}${place.worker ? ` by ${place.worker}` : ""}; choose another id, or pass --if-absent`;
  throw new VivError("TASK_EXISTS", `task ${id} ${what}.`, { id, state, worker: place?.worker });
}

/** A task may lie in waiting/ though its dependency was done a moment ago: look once more. */
export function settle(run: FsRun, task: Task, after: Afterwards): void {
  const { task_id: id, depends_on } = task;
  if (depends_on.length === 0) return;
  after.try(`whether ${id} still has to wait is not known; the next sweep finds out`, () => {
    if (unmetOf(run, task).length === 0) tryPromote(run, id);
  });
}

/** Step 5. */
export function announce(run: FsRun, published: readonly Published[], after: Afterwards): void {
  const byLane = new Map<Priority, LaneEntry[]>();
  const notOffered = "not offered to workers yet; their next look through pending/ finds";
  for (const { task, stats, state } of published) {
    if (state !== "pending") continue;
    after.try(`${task.task_id} is ${notOffered} it`, () => {
      if (isBlocked(run, task)) return;
      const lane = byLane.get(priorityOf(task)) ?? [];
      lane.push(laneEntry(task, stats, 1));
      byLane.set(priorityOf(task), lane);
    });
  }
  for (const [priority, entries] of byLane) {
    const tasks = entries.length === 1 ? `${entries[0]?.id} is` : `${entries.length} tasks are`;
    after.try(`${tasks} ${notOffered} ${entries.length === 1 ? "it" : "them"}`, () =>
      run.lanes.append(priority, entries),
    );
  }
  for (const { task } of published) {
    after.try(`${task.task_id} is not noted as part of another`, () => run.hooks?.onNew(run, task));
  }
  const lines = published.map(({ task, state }) => ({
    event: "enqueued" as const,
    task: task.task_id,
    type: task.task_type,
    to: state,
    by: task.created_by || undefined,
    parent: task.parent || undefined,
  }));
  after.try("the ledger has no line about this; the tasks are there all the same", () =>
    recordAll(run, lines),
  );
}

/** A task that was published into pending/ with open dependencies is not shown to claimers yet. */
export function isBlocked(run: FsRun, task: Task): boolean {
  const unmet = unmetOf(run, task);
  if (unmet.length === 0) return false;
  noteReasons(run, task, unmet, 0);
  return unmetOf(run, task).length > 0;
}

/**
 * Finishes the work of a dead publisher: its file has the id (step 2) and lies in tmp/. Safe even
 * if it is not dead, because only one rename of that file can succeed.
 */
export function finishPublish(run: FsRun, id: string, tmpName?: string): boolean {
  const owner = statIfThere(idLinkOf(run.paths, id));
  if (!owner) return false;
  const isOf = (name: string) => name.startsWith(`${id}~`);
  for (const name of tmpName ? [tmpName] : namesIn(run.paths.tmp).filter(isOf)) {
    const path = `${run.paths.tmp}/${name}`;
    if (statIfThere(path)?.ino !== owner.ino) continue;
    const place = lookOnce(run, id);
    const inode = place && statIfThere(place.path)?.ino;
    // Of the round before: see again.ts.
    const isEarlier = place !== null && isEnded(place) && inode !== owner.ino;
    // A power cut may bring a name back that was renamed: a task in a state is published.
    if (place !== null && !isEarlier) {
      discard(path);
      continue;
    }
    if (isEarlier && !retire(place, inode ?? 0, openRound(run, id))) continue;
    const from = lastEnd(run, id);
    if (from !== undefined) recordAgain(run, id, from);
    // waiting/ is right for either kind: promotion moves it on at once if nothing holds it.
    if (renameIfThere(path, fileOf(run.paths, "waiting", id))) {
      wake(run, id);
      return true;
    }
  }
  return false;
}
