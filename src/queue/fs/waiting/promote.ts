import { existsSync, type Stats } from "node:fs";
import { machineErrorOf } from "../../../base/errno.ts";
import { isName } from "../../../base/names.ts";
import type { Task } from "../../task.ts";
import { readTaskOrQuarantine, reserveId } from "../enqueue/task-file.ts";
import { namesIn, overwrite, renameIfThere, statIfThere, syncMove } from "../files/atomic.ts";
import { type FsRun, record } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { isMet } from "../locate.ts";
import {
  attemptNumber,
  cameBack,
  hasHistory,
  missedHistory,
  readHistory,
  restsUntil,
} from "../record/attempts.ts";
import { completedTasks } from "../record/status-file.ts";
import {
  addDependent,
  dependentsOf,
  forgetDependents,
  isTaken,
  takeDependents,
} from "./dependents.ts";
import { addDue, dueBy, hasDue } from "./due.ts";

/**
 * From waiting/ to pending/. No wake-up is lost: an enqueuer first notes the task in the
 * dependents index, then publishes it, then checks whether its dependencies are done; a worker that
 * finishes a task first moves it to done/, then reads the index. One of the two sees the other.
 */

export function unmetOf(run: FsRun, task: Task): string[] {
  return task.depends_on.filter((id) => !isMet(run, id, () => completedTasks(run)));
}

/** 0 when the task may run at once. `stats`: of its file, if it has been published. */
export function readyAt(run: FsRun, task: Task, stats?: Stats): number {
  const notBefore = task.not_before ? Date.parse(task.not_before) : 0;
  const history = pastOf(run, task, stats);
  const rests = history === null ? 0 : restsUntil(history);
  return Math.max(Number.isNaN(notBefore) ? 0 : notBefore, rests);
}

/** Null when it has none. A task that waits for nothing else rests after an attempt: it has one. */
function pastOf(run: FsRun, task: Task, stats: Stats | undefined) {
  const { task_id: id, depends_on, not_before } = task;
  if (hasHistory(run, id)) return readHistory(run, id);
  if (stats === undefined || run.paths.layout.isFlat) return null;
  const isMissing = cameBack(run, stats) || (depends_on.length === 0 && !not_before);
  return isMissing ? missedHistory(run, id) : null;
}

/**
 * Moves one waiting task to pending/ if nothing holds it back. False when something does.
 * `isNoteUsedUp`: the note that has led here goes, so another must wake the task.
 */
export function tryPromote(run: FsRun, id: string, isNoteUsedUp = false): boolean {
  if (!isName(id)) return false;
  const from = fileOf(run.paths, "waiting", id);
  const found = readTaskOrQuarantine(run, from, id);
  if (found === null) return offerForeign(run, id);
  const { task, stats } = found;
  if (isHeldBack(run, task, isNoteUsedUp)) return false;
  const at = readyAt(run, task, stats);
  if (at > run.machine.clock.now()) {
    addDue(run, id, at);
    return false;
  }
  const to = fileOf(run.paths, "pending", id);
  if (!renameIfThere(from, to)) return false;
  if (run.durability === "safe") syncMove(from, to);
  run.lanes.offer(task, stats, nextAttempt(run, id));
  record(run, { event: "promoted", task: id, from: "waiting", to: "pending" });
  return true;
}

/**
 * A dependency that was done when the task was noted may have gone back since, so one of those that
 * are left gets a note, as at enqueueing: noted first, then looked at once more.
 */
function isHeldBack(run: FsRun, task: Task, isNoteUsedUp: boolean): boolean {
  const isOpen = (id: string) => !isMet(run, id, () => completedTasks(run));
  for (;;) {
    const first = task.depends_on.find(isOpen);
    if (first === undefined) return false;
    if (!isNoteUsedUp) return true;
    addDependent(run, first, task.task_id);
    if (isOpen(first)) return true;
  }
}

function nextAttempt(run: FsRun, id: string): number {
  return hasHistory(run, id) ? attemptNumber(readHistory(run, id)) : 1;
}

/** A foreign task lies in pending/ though it depends on others: it becomes visible instead. */
function offerForeign(run: FsRun, id: string): boolean {
  const path = fileOf(run.paths, "pending", id);
  const found = readTaskOrQuarantine(run, path, id);
  if (found === null || found.task.depends_on.length === 0) return false;
  if (unmetOf(run, found.task).length > 0) return false;
  reserveId(run, id, path);
  run.lanes.offer(found.task, found.stats, nextAttempt(run, id));
  return true;
}

/** After `id` was done: wakes the tasks that waited for it. Cheap when none did. */
export function promoteDependents(run: FsRun, id: string): number {
  // Taken, so that what is noted meanwhile stays: `id` may leave done/ again at any moment.
  const taken = takeDependents(run, id);
  return taken === null ? 0 : promoteNoted(run, taken);
}

function promoteNoted(run: FsRun, taken: string): number {
  let promoted = 0;
  for (const dependent of dependentsOf(run, taken)) {
    if (tryPromote(run, dependent, true)) promoted++;
  }
  forgetDependents(run, taken);
  return promoted;
}

/** Notes a task's dependencies and its time, so that it will be woken. */
export function noteReasons(run: FsRun, task: Task, unmet: readonly string[], at: number): void {
  for (const dependency of unmet) addDependent(run, dependency, task.task_id);
  if (at > 0) addDue(run, task.task_id, at);
}

/** For every task that others wait for, if it is done by now. Also what another process has taken: it may be dead. */
export function promoteMet(run: FsRun): number {
  const begin = performance.now();
  let promoted = 0;
  for (const id of namesIn(run.paths.dependents)) {
    if (isTaken(id)) promoted += promoteNoted(run, id);
    else if (existsSync(fileOf(run.paths, "done", id)) || completedTasks(run).has(id)) {
      promoted += promoteDependents(run, id);
    }
  }
  run.memo.metAt = performance.now();
  run.memo.metCost = run.memo.metAt - begin;
  return promoted;
}

/** The same, at most a twentieth of the time. */
export function promoteMetIfDue(run: FsRun): number {
  const restsFor = run.memo.metAt + 20 * run.memo.metCost - performance.now();
  return restsFor > 0 ? 0 : promoteMet(run);
}

/** For a waiting task whose notes may be missing: writes them again, then promotes if it can. */
export function wake(run: FsRun, id: string, noted = new Map<string, Set<string>>()): boolean {
  const found = readTaskOrQuarantine(run, fileOf(run.paths, "waiting", id), id);
  if (found === null) return false;
  const { task, stats } = found;
  for (const dependency of unmetOf(run, task)) {
    const known = noted.get(dependency) ?? new Set(dependentsOf(run, dependency));
    noted.set(dependency, known);
    if (!known.has(id)) addDependent(run, dependency, id);
    known.add(id);
  }
  const at = readyAt(run, task, stats);
  if (at > 0 && !hasDue(run, id, at)) addDue(run, id, at);
  // Also when its notes are new: a task done before they were written has not read them.
  return tryPromote(run, id);
}

/**
 * Looks at all of waiting/. Tasks are usually woken by the notes in dependents/ and due/; if those
 * were lost (a power cut leaves them empty), this finds the tasks.
 */
export function wakeWaiting(run: FsRun): number {
  const begin = performance.now();
  const noted = new Map<string, Set<string>>();
  let promoted = 0;
  for (const name of namesIn(run.paths.state.waiting)) {
    const id = run.paths.layout.idOf("waiting", name);
    if (isName(id) && wake(run, id, noted)) promoted++;
  }
  run.memo.areNotesLost = false;
  run.memo.wokenAt = performance.now();
  run.memo.wokenCost = run.memo.wokenAt - begin;
  leaveMark(wokenMark(run), run.memo.wokenCost);
  return promoted;
}

const WAKE_EVERY_MS = 5_000;

/** Now and then, by an idle worker: at most a hundredth of the time goes into it. */
export function wakeWaitingIfDue(run: FsRun): number {
  const { memo } = run;
  const wait = Math.max(WAKE_EVERY_MS, 100 * memo.wokenCost);
  if (!memo.areNotesLost) {
    if (performance.now() - memo.wokenAt < wait) return 0;
    memo.wokenAt = performance.now();
    if (isMarkYoung(wokenMark(run), WAKE_EVERY_MS, 100)) return 0;
  }
  return wakeWaiting(run);
}

function wokenMark(run: FsRun): string {
  return `${run.paths.viv}/woken`;
}

/** Promotes tasks that have become due. Looks at most every 50 ms. */
export function promoteDue(run: FsRun, force = false): number {
  const now = run.machine.clock.now();
  if (!force && Math.abs(now - run.memo.dueCheckedAt) < 50) return 0;
  run.memo.dueCheckedAt = now;
  let promoted = 0;
  for (const { id, remove } of dueBy(run, now)) {
    if (tryPromote(run, id, true)) promoted++;
    remove();
  }
  return promoted;
}

/**
 * `.viv/adopted`, `.viv/woken`: when a process last looked at a whole folder (the mark's mtime), and
 * the cost (its size, in milliseconds). One process looks for all: it saves time only.
 */
const MOST_MS = 10_000;

/** Has any process looked within `atLeast` ms, or within the cost of a look times `share`? */
export function isMarkYoung(mark: string, atLeast: number, share: number): boolean | undefined {
  const stats = statIfThere(mark);
  if (!stats?.isFile()) return undefined;
  const wait = Math.max(atLeast, Math.min(MOST_MS, stats.size) * share);
  return Math.abs(Date.now() - stats.mtimeMs) < wait;
}

export function leaveMark(mark: string, cost: number): void {
  try {
    overwrite(mark, ".".repeat(Math.min(MOST_MS, Math.max(0, Math.round(cost)))));
  } catch (error) {
    if (machineErrorOf(error) !== "DISK_FULL") throw error;
  }
}
