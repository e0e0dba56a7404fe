import { existsSync, type Stats } from "node:fs";
import { basename } from "node:path";
import { isVivError, VivError } from "../../../base/errors.ts";
import { isName } from "../../../base/names.ts";
import { MAX_TASK_BYTES } from "../../task.ts";
import { historyOfPending } from "../ends/after-move.ts";
import { noteForeignRound } from "../enqueue/rounds.ts";
import { parseIn, reserveId, type TaskFile } from "../enqueue/task-file.ts";
import { namesIn, readRegular, statIfThere } from "../files/atomic.ts";
import { type FsRun, quarantine, record } from "../fs-run.ts";
import { fileOf, idLinkOf } from "../layout.ts";
import { attemptNumber } from "../record/attempts.ts";
import { addDependent, dependentsOf } from "../waiting/dependents.ts";
import { isMarkYoung, leaveMark, promoteMet, unmetOf } from "../waiting/promote.ts";
import type { LaneReader } from "./lane-reader.ts";

/**
 * Finds files in pending/ that are on no lane: tasks that swarm-lib or a person put there, and those
 * of a process that died between the two steps. Valid tasks get their line; those with open
 * dependencies are noted for promotion; other files are quarantined.
 */

/** A file that is being written by hand right now is not broken yet. */
const GRACE_MS = 5_000;

/** Also while the lanes have work, but for at most half a percent of the time. */
export function adoptIfDue(run: FsRun, reader: LaneReader, now: number): void {
  if (now - run.memo.adoptedAt < Math.max(2_000, 200 * run.memo.adoptCost)) return;
  const isYoung = isMarkYoung(markOf(run), 2_000, 200);
  if (isYoung !== false) {
    run.memo.adoptedAt = now;
    if (isYoung === undefined) leaveMark(markOf(run), 0);
    return;
  }
  // A foreign worker may have unblocked a more urgent task than those at hand.
  promoteMet(run);
  adopt(run, reader);
  run.memo.adoptCost += run.memo.metCost;
}

/** Looks at all of pending/, unless nothing has moved there since this reader's last look. */
export function adopt(run: FsRun, reader: LaneReader): number {
  run.recoverIfLost();
  return adoptPending(run, reader);
}

/** The look itself, also a part of recovery: then lines were lost, and none of them is still to come. */
export function adoptPending(run: FsRun, reader: LaneReader, areLost = false): number {
  const folder = run.paths.state.pending;
  const begin = performance.now();
  run.lanes.prepare();
  reader.refresh();
  // The mark is taken before the look: a move meanwhile is seen next time.
  const changed = statIfThere(folder)?.mtimeMs ?? 0;
  const settled = Date.now() - changed > 50;
  const seen = `${changed} ${reader.losses}`;
  if (settled && run.memo.pendingSeen.get(reader) === seen) return 0;
  const names = namesIn(folder);
  let adopted = 0;
  let unripe = false;
  // A one-shot claim does not look again.
  const waits = !areLost && run.memo.registered.size > 0;
  if (names.length > 0) {
    const known = new Set(reader.ahead());
    for (const id of reader.passedOver()) known.add(id);
    const strangers: TaskFile[] = [];
    for (const name of names) {
      const id = run.paths.layout.idOf("pending", name);
      if (name.startsWith(".") || (id !== null && known.has(id))) continue;
      if (waits && id !== null && isBeingOffered(run, id, `${folder}/${name}`)) {
        unripe = true;
        continue;
      }
      const found = examine(run, `${folder}/${name}`, id);
      if (found === "unripe" || (found && wasJustOffered(run, reader, found))) unripe = true;
      else if (found) strangers.push(found);
    }
    strangers.sort(firstComeFirst);
    for (const stranger of strangers) {
      if (!offer(run, stranger)) continue;
      adopted++;
      noteOffer(run, reader, stranger.task.task_id);
    }
  }
  run.memo.pendingSeen.set(reader, unripe ? "" : seen);
  run.memo.hasUnripe = unripe;
  run.memo.adoptedAt = performance.now();
  run.memo.adoptCost = run.memo.adoptedAt - begin;
  leaveMark(markOf(run), run.memo.adoptCost);
  return adopted;
}

function firstComeFirst(a: TaskFile, b: TaskFile): number {
  return a.stats.mtimeMs - b.stats.mtimeMs || (a.task.task_id < b.task.task_id ? -1 : 1);
}

function examine(run: FsRun, path: string, id: string | null): TaskFile | "unripe" | null {
  if (id === null && run.paths.layout.isBeside("pending", basename(path))) return null;
  if (id === null) {
    const stats = statIfThere(path);
    if (stats && Date.now() - stats.mtimeMs < GRACE_MS) return "unripe";
    quarantine(run, path, `not a task: its name does not end in ${run.paths.layout.suffix}`);
    return null;
  }
  try {
    const file = readRegular(path, MAX_TASK_BYTES);
    if (file === null) return null;
    if (isStillWritten(run, id, file.stats)) return "unripe";
    try {
      const task = parseIn(run, file, id);
      const why = run.paths.layout.whyNotId(id);
      if (why !== null) throw new VivError("CORRUPT", why);
      if (run.paths.layout.isFlat && !isName(id)) {
        const message =
          "its name may have only letters, digits, dots, - and _; rename it, then move it to food/";
        throw new VivError("CORRUPT", message);
      }
      // A sound task under an id that ours cannot have is for foreign workers; doctor lists it.
      return isName(id) ? { task, stats: file.stats } : null;
    } catch (error) {
      if (Date.now() - file.stats.mtimeMs < GRACE_MS) return "unripe";
      throw error;
    }
  } catch (error) {
    if (!isVivError(error)) throw error;
    quarantine(run, path, error.message);
    return null;
  }
}

/**
 * Registered, and moved here a moment ago: the process that did it writes its line now. Adopted, the
 * task would look like one of a foreign tool. If that process has died, a second does no harm.
 */
const OFFERED_WITHIN_MS = 1_000;

function isBeingOffered(run: FsRun, id: string, path: string): boolean {
  const stats = statIfThere(path);
  if (stats === undefined || Math.abs(Date.now() - stats.ctimeMs) >= OFFERED_WITHIN_MS)
    return false;
  return statIfThere(idLinkOf(run.paths, id))?.ino === stats.ino;
}

/** A shell writes food in its final place: half of it may have no `done-when` yet. */
const SETTLES_MS = 1_000;

function isStillWritten(run: FsRun, id: string, { mtimeMs }: Stats): boolean {
  if (!run.paths.layout.isFlat || existsSync(idLinkOf(run.paths, id))) return false;
  return Math.abs(Date.now() - mtimeMs) < SETTLES_MS;
}

function offer(run: FsRun, { task, stats }: TaskFile): boolean {
  const unmet = unmetOf(run, task);
  for (const dependency of unmet) {
    if (!dependentsOf(run, dependency).includes(task.task_id)) {
      addDependent(run, dependency, task.task_id);
    }
  }
  if (unmet.length > 0 && unmetOf(run, task).length > 0) return false;
  const path = fileOf(run.paths, "pending", task.task_id);
  if (!run.paths.layout.isFlat) noteForeignRound(run, task.task_id, { state: "pending", path });
  reserveId(run, task.task_id, path);
  run.hooks?.onNew(run, task);
  run.lanes.offer(task, stats, attemptNumber(historyOfPending(run, task.task_id)));
  record(run, { event: "adopted", task: task.task_id, type: task.task_type, to: "pending" });
  return true;
}

/** When the line of a task that has not moved is written again. */
const OFFER_AGAIN_MS = 2_000;
const MAX_OFFERS = 50_000;

/**
 * Bounds the growth of a damaged lane: one process writes at most one line for a task that has not
 * moved, unless the lanes were lost meanwhile, or some time has passed.
 */
function wasJustOffered(run: FsRun, reader: LaneReader, { task, stats }: TaskFile): boolean {
  const last = run.memo.offered.get(task.task_id);
  return (
    last?.changed === stats.ctimeMs &&
    last.losses === reader.losses &&
    performance.now() - last.at < OFFER_AGAIN_MS
  );
}

function noteOffer(run: FsRun, reader: LaneReader, id: string): void {
  const { offered } = run.memo;
  if (offered.size >= MAX_OFFERS) offered.clear();
  // As it is now: the link in ids/ has changed it.
  const changed = statIfThere(fileOf(run.paths, "pending", id))?.ctimeMs ?? 0;
  offered.set(id, { changed, losses: reader.losses, at: performance.now() });
}

function markOf(run: FsRun): string {
  return `${run.paths.viv}/adopted`;
}
