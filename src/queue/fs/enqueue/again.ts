import type { Stats } from "node:fs";
import { isVivError, VivError } from "../../../base/errors.ts";
import { canonicalJson, parseExactly } from "../../../base/json.ts";
import type { Enqueued } from "../../store.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { Afterwards } from "../ends/afterwards.ts";
import {
  discard,
  errno,
  linkIfFree,
  readRegular,
  renameIfThere,
  renameOver,
  statIfThere,
  unlinkIfThere,
  writeNew,
} from "../files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../fs-run.ts";
import { fileOf, idLinkOf } from "../layout.ts";
import { locate, type Place } from "../locate.ts";
import { attemptNumber, readHistory } from "../record/attempts.ts";
import { projectLocked } from "../record/project.ts";
import { completedTasks, withStatusLock } from "../record/status-file.ts";
import { cycleError, findCycle } from "../waiting/dependents.ts";
import { finishPublish, isBlocked, isSomewhere } from "./publish.ts";
import {
  closeHistory,
  isEnded,
  keepArtifacts,
  openRound,
  recordAgain,
  retire,
  syncRound,
  unretire,
} from "./rounds.ts";
import { readTask } from "./task-file.ts";

/**
 * An id that is taken, enqueued once more, as swarm-lib's scripts do: a handler that runs again after
 * a crash, a daily job with a fixed id, a failed task that is to be tried again.
 *   not ended   nothing is written; an error if the task there is another one
 *   ended       a new round: the task is enqueued again, and its history stays
 *   removed     from every state, by a person: the same, there is only nothing to move
 * Two requests for one id come one after the other, by the lock of status.json. The steps of a round:
 *   1. write the new file in tmp/ (and sync it), keep the artifacts, close the history
 *   2. link ids/<id> to the new file: this decides; after a crash, recovery goes on from here
 *   3. move the old file from done/ or failed/ to artifacts/<id>.rounds/
 *   4. record it
 *   5. rename the new file from tmp/ into pending/
 */
export function enqueueAgain(run: FsRun, task: Task, refusal: VivError): Promise<Enqueued> {
  return withStatusLock(run, () => {
    const result = decide(run, task, refusal);
    if (!result.created) return result;
    const after = new Afterwards(result.warnings);
    after.try(
      `${task.task_id} may still be listed in completed_tasks; viv doctor --fix updates it`,
      () => projectLocked(run),
    );
    return { ...result, ...after.result };
  });
}

function decide(run: FsRun, task: Task, refusal: VivError): Enqueued {
  const id = task.task_id;
  finishPublish(run, id); // a round that a crash cut short
  for (let look = 0; look < 50; look++) {
    const place = isSomewhere(run, id) ? locate(run, id) : null;
    const isOpen = place !== null && !isEnded(place);
    const result = isOpen ? sameAs(task, place, refusal) : newRound(run, task, place);
    if (result !== null) return result;
  }
  throw refusal;
}

/** The parts of a task that its requester decides. A handler that runs again has another worker. */
const COMPARED = ["task_type", "payload", "depends_on", "tier_hint"] as const;

/** Null when it has moved meanwhile. */
function sameAs(task: Task, place: Place, refusal: VivError): Enqueued | null {
  const { task_id: id } = task;
  let there: Partial<Task>;
  try {
    const file = readRegular(place.path, MAX_TASK_BYTES);
    if (file === null) return null;
    there = parseExactly(file.text) as Partial<Task>;
  } catch {
    throw refusal; // no task can be read there: certainly not this one
  }
  const other = COMPARED.find((key) => canonicalJson(there[key]) !== canonicalJson(task[key]));
  if (other === undefined) return { id, state: place.state as Enqueued["state"], created: false };
  throw new VivError("TASK_EXISTS", refusal.message, { ...refusal.details, other });
}

/** A new round, and what it puts an end to. */
interface Round {
  id: string;
  tmp: string;
  stats: Stats;
  /** Null: its file was removed from every state, or is in quarantine. */
  was: Place | null;
  inode: number;
  folder: string;
}

/** Null when the ended task has moved meanwhile: by `viv retry`, say. */
function newRound(run: FsRun, asked: Task, was: Place | null): Enqueued | null {
  const id = asked.task_id;
  const old = was && statIfThere(was.path);
  if (old === undefined) return null;
  const task = underSameTerms(run, asked, was?.path ?? idLinkOf(run.paths, id));
  const cycle = task.depends_on.length > 0 ? findCycle(run, task) : null;
  if (cycle) throw cycleError(id, cycle);
  const by = task.created_by ?? undefined;
  const from = was?.state ?? (completedTasks(run).has(id) ? "done" : undefined);
  const folder = openRound(run, id);
  const tmp = temporaryPath(run, id);
  const stats = writeNew(tmp, run.paths.layout.write(task), run.durability === "safe");
  const round: Round = { id, tmp, stats, was, inode: old?.ino ?? 0, folder };
  const after = new Afterwards();
  try {
    keepArtifacts(run, id, from ?? "failed", folder);
    closeHistory(run, id, { retried: true, by: by ?? "swarm-cli", at: nowIso(run) });
    linkId(run, id, tmp);
    if (was && !retire(was, round.inode, folder)) {
      withdraw(run, round);
      return null;
    }
    after.try(`the ledger has no line about this; ${id} is enqueued all the same`, () =>
      recordAgain(run, id, from, by),
    );
    // Not there: a sweep took us for dead and did this step, or it was removed (with `.viv/`, say).
    const isIn = renameIfThere(tmp, fileOf(run.paths, "pending", id));
    if (!isIn && withdraw(run, round)) return null;
  } catch (error) {
    const isLost = errno(error) === "ENOENT" && statIfThere(tmp) === undefined;
    if (withdraw(run, round)) {
      if (isLost) return null;
      throw error;
    }
  }
  if (run.durability === "safe") {
    after.try(
      `that ${id} has moved could not be synced: a power cut may undo it, then enqueue it again`,
      () => syncRound(run, was, folder),
    );
  }
  after.try(
    `${id} is not offered to workers yet; their next look through pending/ finds it`,
    () => {
      if (isBlocked(run, task)) return;
      run.lanes.offer(task, stats, attemptNumber(readHistory(run, id)));
    },
  );
  return { id, state: "pending", created: true, ...after.result };
}

/** What only `viv enqueue` can ask for: a task that a person wants to see stays one. */
const TERMS = ["done_when", "max_attempts", "priority", "review", "timeout"];

function underSameTerms(run: FsRun, task: Task, path: string): Task {
  try {
    const before = readTask(run, path, task.task_id)?.task ?? {};
    const terms = Object.entries(before).filter(([key]) => TERMS.includes(key));
    return { ...Object.fromEntries(terms), ...task };
  } catch (error) {
    if (!isVivError(error)) throw error;
    return task; // nothing can be read there
  }
}

/** ids/<id> becomes the new file, in one step. */
function linkId(run: FsRun, id: string, path: string): void {
  const link = temporaryPath(run, "id");
  linkIfFree(path, link);
  try {
    renameOver(link, idLinkOf(run.paths, id));
  } finally {
    discard(link); // a rename onto the same file leaves it
  }
}

/** Undoes steps 2 and 3. False when the new file is published. */
function withdraw(run: FsRun, { id, tmp, stats, was, inode, folder }: Round): boolean {
  if (!unlinkIfThere(tmp) && isPublished(run, id, stats.ino)) return false;
  if (was) unretire(was, inode, folder);
  const place = locate(run, id);
  if (place !== null && place.state !== "claimed") linkId(run, id, place.path);
  return true;
}

/** Looked at more than once: it may be on the move. */
function isPublished(run: FsRun, id: string, inode: number): boolean {
  return [1, 2, 3].some(() => {
    const place = locate(run, id);
    return place !== null && (!isEnded(place) || statIfThere(place.path)?.ino === inode);
  });
}
