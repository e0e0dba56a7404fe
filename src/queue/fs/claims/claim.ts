import { existsSync, lstatSync, type Stats } from "node:fs";
import { VivError } from "../../../base/errors.ts";
import { renameSync } from "../../../platform/files/beneath.ts";
import { chokedWorkers } from "../../choke.ts";
import type { Claim, ClaimRequest } from "../../store.ts";
import { PRIORITIES, type Task } from "../../task.ts";
import { readTaskOrQuarantine } from "../enqueue/task-file.ts";
import {
  errno,
  ignoreMachineErrors,
  namesIn,
  renameIfThere,
  statIfThere,
  tokenOf,
  translate,
} from "../files/atomic.ts";
import { type FsRun, recordClaim } from "../fs-run.ts";
import { assertThere } from "../gone.ts";
import { adopt, adoptIfDue } from "../lanes/adopt.ts";
import type { Cursor } from "../lanes/lane.ts";
import {
  type Candidate,
  covers,
  filterOf,
  keyOf,
  LaneReader,
  type TypeFilter,
  wantedBy,
} from "../lanes/lane-reader.ts";
import { encodeType, stampOf } from "../lanes/lanes.ts";
import { claimOf, fileOf, folderOf } from "../layout.ts";
import { isPaused } from "../pause.ts";
import { attemptNumber, readHistory } from "../record/attempts.ts";
import {
  noteReasons,
  promoteDue,
  promoteMetIfDue,
  unmetOf,
  wakeWaitingIfDue,
} from "../waiting/promote.ts";
import { isLeftToOthers } from "./choked-tasks.ts";
import { claimName } from "./register.ts";
import { assertNewWorker, makeWorkerFolder, writeHeartbeat } from "./vital-signs.ts";

/**
 * Claiming: one rename into the worker's folder. Losing the race is normal and silent. Knowing
 * which name to try makes it cheap: see lanes.ts.
 */
export async function claimTasks(run: FsRun, request: ClaimRequest): Promise<Claim[]> {
  const worker = assertNewWorker(run, request.worker);
  const max = request.max ?? 1;
  if (!Number.isSafeInteger(max) || max < 1) {
    throw new VivError("INVALID", "max must be a whole number of at least 1.");
  }
  assertReviewLimit(request.reviewLimit);
  const types = request.types && request.types.length > 0 ? request.types : null;
  const begin = performance.now();
  const claims: Claim[] = [];
  try {
    const freed = claimName(run, worker);
    if (freed) await freed;
    makeWorkerFolder(run, worker);
    if (isPaused(run, worker) || isReviewFull(run, request.reviewLimit)) return [];
    promoteDue(run);
    const reader = readerFor(run, filterOf(request, run.paths.layout.reservedTypes));
    adoptIfDue(run, reader, begin);
    const fill = (force: boolean) => {
      if (isPaused(run, worker)) return;
      while (claims.length < max) {
        const claim = claimNext(run, worker, reader, force);
        if (claim === null) return;
        claims.push(claim);
      }
    };
    fill(false);
    fill(true);
    // The lanes are empty. Foreign workers may have unblocked tasks; other files in pending/ are
    // foreign themselves, or were cut off from their lines.
    if (claims.length === 0 && (await findMore(run, worker, reader))) fill(true);
  } catch (error) {
    // The caller must learn of its claims. If the error lasts, the next call throws it.
    if (claims.length === 0) assertThere(run);
    if (claims.length === 0) throw translate(error, "claiming");
  }
  if (claims.length === 0) assertThere(run); // an empty queue looks the same
  const last = claims.at(-1)?.task.task_id;
  if (last !== undefined && request.heartbeat !== false && isBeatDue(run, worker, begin)) {
    // Without a heartbeat the age of the claim counts; that is no reason to lose it.
    ignoreMachineErrors(() => writeHeartbeat(run, worker, last, types));
  }
  return claims;
}

/** A one-shot claim starts a lease; a registered worker beats by its timer, unless it is too busy. */
function isBeatDue(run: FsRun, worker: string, now: number): boolean {
  const last = run.memo.registered.get(worker);
  if (last === undefined) return true;
  if (now - last < 5_000) return false;
  run.memo.registered.set(worker, now);
  return true;
}

/** A folder's mtime moves in ticks: a recent change may be followed by another within the same. */
const SETTLED_MS = 50;

export function assertReviewLimit(limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return;
  throw new VivError("INVALID", "reviewLimit must be a whole number of at least 1.");
}

/** Are there as many tasks in review/ as the limit allows? Lists it only when it has changed. */
export function isReviewFull(run: FsRun, limit: number | undefined): boolean {
  if (limit === undefined) return false;
  const folder = run.paths.state.review;
  // The mark is taken before the look: a move meanwhile is seen next time.
  const changed = statIfThere(folder)?.mtimeMs ?? 0;
  if (run.memo.reviewSeenAt !== changed) {
    const isTask = (name: string) => run.paths.layout.idOf("review", name) !== null;
    run.memo.inReview = namesIn(folder).filter(isTask).length;
    run.memo.reviewSeenAt = Date.now() - changed > SETTLED_MS ? changed : Number.NaN;
  }
  return run.memo.inReview >= limit;
}

async function findMore(run: FsRun, worker: string, reader: LaneReader): Promise<boolean> {
  const found = promoteMetIfDue(run) + (await adoptPatiently(run, worker, reader));
  return found + wakeWaitingIfDue(run) > 0;
}

/** A worker looks again anyway. A command that ends would miss a file written a moment ago. */
async function adoptPatiently(run: FsRun, worker: string, reader: LaneReader): Promise<number> {
  const adopted = adopt(run, reader);
  if (adopted > 0 || !run.memo.hasUnripe || !run.paths.layout.isFlat) return adopted;
  if (run.memo.registered.has(worker)) return 0;
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return adopt(run, reader);
}

/** Filters in use at a time. */
const MAX_READERS = 16;

export function readerFor(run: FsRun, filter: TypeFilter): LaneReader {
  const { readers } = run.memo;
  const key = keyOf(filter);
  const known = readers.get(key);
  if (known) return known;
  for (const [oldest, reader] of readers) {
    if (readers.size < MAX_READERS) break;
    reader.saveCursors();
    reader.close();
    readers.delete(oldest);
    run.memo.pendingSeen.delete(reader);
  }
  const reader = new LaneReader(run, filter, placesFor(run, filter));
  readers.set(key, reader);
  return reader;
}

/** The places of readers whose filters cover this one: it need not try again what they tried. */
function placesFor(run: FsRun, filter: TypeFilter): Cursor[][] {
  const others = [...run.memo.readers.values()].filter((other) => covers(other.filter, filter));
  const places = others.map((other) => other.places());
  return PRIORITIES.map((_, lane) => places.flatMap((place) => place[lane] ?? []));
}

function claimNext(run: FsRun, worker: string, reader: LaneReader, force: boolean): Claim | null {
  for (;;) {
    const candidate = reader.next(force, worker);
    if (candidate === null) return null;
    if (candidate.attempt > 1 && isLeftToOthers(run, worker, candidate)) continue;
    if (run.hooks?.waitsForProof(run, candidate.id)) {
      candidate.lane.leave(candidate.line, worker);
      continue;
    }
    const to = claimOf(run.paths, worker, candidate.id);
    if (!take(run, worker, fileOf(run.paths, "pending", candidate.id), to)) {
      candidate.lane.missed(candidate.line);
      continue;
    }
    if (isPaused(run, worker)) {
      putBack(run, candidate, to);
      return null;
    }
    const claim =
      claimFromLine(run, worker, candidate, to) ??
      readClaim(run, worker, candidate, to, reader.filter);
    if (claim === null) continue;
    recordClaim(run, candidate.id, claim);
    return claim;
  }
}

/** The run, or the worker, was paused while we took it. */
function putBack(run: FsRun, { id, attempt }: Candidate, path: string): void {
  const file = readTaskOrQuarantine(run, path, id);
  if (file !== null) giveBack(run, file.task, path, file.stats, attempt);
}

function take(run: FsRun, worker: string, from: string, to: string): boolean {
  for (;;) {
    try {
      renameSync(from, to);
      return true;
    } catch (error) {
      if (errno(error) !== "ENOENT") throw error;
      if (existsSync(folderOf(run.paths, worker))) return false;
      // Not the task but the worker's folder is gone (a cleanup by hand): make it and try again.
      run.memo.workerFolders.delete(worker);
      makeWorkerFolder(run, worker);
    }
  }
}

/** The claim of a task whose file had to be read; null when this worker must not have it. */
function readClaim(
  run: FsRun,
  worker: string,
  candidate: Candidate,
  path: string,
  filter: TypeFilter,
): Claim | null {
  const { id } = candidate;
  const file = readTaskOrQuarantine(run, path, id);
  if (file === null) return null; // or taken back within microseconds
  const { task, stats } = file;
  // Only a foreign task can have open dependencies here: its file may have been replaced.
  const unmet = unmetOf(run, task);
  if (unmet.length > 0) {
    noteReasons(run, task, unmet, 0);
    renameIfThere(path, fileOf(run.paths, "pending", id));
    return null;
  }
  const history = readHistory(run, id, candidate.attempt);
  const attempt = attemptNumber(history);
  const isOld = candidate.attempt < attempt; // its place now is behind the others
  const isUnwanted = wantedBy(filter)?.has(encodeType(task.task_type)) === false;
  if (isOld || isUnwanted || (attempt > 1 && chokedWorkers(history).has(worker))) {
    giveBack(run, task, path, stats, attempt);
    return null;
  }
  return holdClaim(run, worker, task, tokenOf(stats), attempt);
}

/** The usual case: the lane had the task's text, and the file is the one it was taken from. */
function claimFromLine(
  run: FsRun,
  worker: string,
  candidate: Candidate,
  path: string,
): Claim | null {
  if (candidate.stamp === "") return null;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile() || stampOf(stats) !== candidate.stamp) return null;
  let task: Task;
  try {
    task = JSON.parse(candidate.body) as Task;
  } catch {
    return null; // a torn line: the file has it whole
  }
  if (task.task_id !== candidate.id) return null;
  return holdClaim(run, worker, task, tokenOf(stats), candidate.attempt);
}

function holdClaim(run: FsRun, worker: string, task: Task, token: string, attempt: number): Claim {
  const [review, at] = [task.review === true, performance.now()];
  const asksProof = task.done_when !== undefined;
  const held = { worker, token, attempt, review, asksProof, at, isUncertain: false };
  run.memo.claims.set(task.task_id, held);
  return { id: task.task_id, type: task.task_type, task, worker, token, attempt };
}

/**
 * The line was an old one: its worker has choked on the task since, or the task's type has changed.
 * A claimer that read the new line while we had the task took it for gone, so write another one.
 */
function giveBack(run: FsRun, task: Task, path: string, stats: Stats, attempt: number): void {
  // Not there: it was cancelled meanwhile, or taken back.
  if (!renameIfThere(path, fileOf(run.paths, "pending", task.task_id))) return;
  try {
    run.lanes.offer(task, stats, attempt);
  } catch {
    // It is back; without its line, adopt finds it.
  }
}
