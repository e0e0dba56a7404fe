import { existsSync, lstatSync, type Stats } from "node:fs";
import { troubleOf } from "../../../base/errno.ts";
import { isVivError, VivError } from "../../../base/errors.ts";
import { renameSync } from "../../../platform/files/beneath.ts";
import { chokedWorkers } from "../../choke.ts";
import type { Claim, ClaimRequest } from "../../store.ts";
import { MAX_TASK_BYTES, PRIORITIES, type Task } from "../../task.ts";
import { assertWorker, parseIn } from "../enqueue/parse.ts";
import { errno, readRegular, renameIfThere, tokenOf, translate } from "../files/atomic.ts";
import { type FsRun, quarantine, recordClaim } from "../fs-run.ts";
import { adopt, adoptIfDue } from "../lanes/adopt.ts";
import type { Cursor } from "../lanes/lane.ts";
import { type Candidate, LaneReader } from "../lanes/lane-reader.ts";
import { encodeType, stampOf } from "../lanes/lanes.ts";
import { covers, filterOf, keyOf, type TypeFilter, wantedBy } from "../lanes/type-filter.ts";
import { claimOf, fileOf, folderOf } from "../layout.ts";
import { attemptNumber, readHistory } from "../record/attempts.ts";
import {
  noteReasons,
  promoteDue,
  promoteMetIfDue,
  unmetOf,
  wakeWaitingIfDue,
} from "../waiting/promote.ts";
import { isLeftToOthers } from "./choke.ts";
import { makeWorkerFolder, workerFolder, writeHeartbeat } from "./heartbeat.ts";
import { claimName } from "./register.ts";
import { assertReviewLimit, isReviewFull } from "./review-limit.ts";

/**
 * Claiming: one rename into the worker's folder. Losing the race is normal and silent. What makes
 * it cheap is knowing which name to try: see lanes.ts.
 */
export async function claimTasks(run: FsRun, request: ClaimRequest): Promise<Claim[]> {
  const worker = assertWorker(run, request.worker);
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
    workerFolder(run, worker);
    if (isReviewFull(run, request.reviewLimit)) return [];
    promoteDue(run);
    const reader = readerFor(run, filterOf(request, run.paths.layout.reservedTypes));
    adoptIfDue(run, reader, begin);
    for (const force of [false, true]) {
      while (claims.length < max) {
        const claim = claimNext(run, worker, reader, force);
        if (claim === null) break;
        claims.push(claim);
      }
    }
    // The lanes are empty. What foreign workers finished may have unblocked others; what else lies
    // in pending/ is foreign itself, or was cut off from its line.
    if (claims.length === 0 && (await findMore(run, worker, reader))) {
      for (;;) {
        const claim = claims.length < max ? claimNext(run, worker, reader, true) : null;
        if (claim === null) break;
        claims.push(claim);
      }
    }
  } catch (error) {
    // The caller must learn of its claims. If the error lasts, the next call throws it.
    if (claims.length === 0) throw translate(error, "claiming");
  }
  if (claims.length > 0 && request.heartbeat !== false) {
    try {
      beat(run, worker, claims.at(-1)?.task.task_id ?? "", types, begin);
    } catch (error) {
      // Without a heartbeat the age of the claim counts; that is no reason to lose it.
      if (troubleOf(error) === undefined) throw error;
    }
  }
  return claims;
}

async function findMore(run: FsRun, worker: string, reader: LaneReader): Promise<boolean> {
  const found = promoteMetIfDue(run) + (await adoptPatiently(run, worker, reader));
  return found + wakeWaitingIfDue(run) > 0;
}

/** A worker looks again anyway. A command that ends would miss what was written a moment ago. */
async function adoptPatiently(run: FsRun, worker: string, reader: LaneReader): Promise<number> {
  const adopted = adopt(run, reader);
  if (adopted > 0 || !run.memo.hasUnripe || !run.paths.layout.isFlat) return adopted;
  if (run.memo.registered.has(worker)) return 0;
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return adopt(run, reader);
}

/** A one-shot claim starts a lease; a registered worker beats by its timer, unless it is too busy. */
function beat(
  run: FsRun,
  worker: string,
  note: string,
  types: readonly string[] | null,
  now: number,
): void {
  const last = run.memo.registered.get(worker);
  if (last !== undefined) {
    if (now - last < 5_000) return;
    run.memo.registered.set(worker, now);
  }
  writeHeartbeat(run, worker, note, types);
}

/** So many filters are in use at a time; what is closed and opened again makes new ones. */
const MAX_READERS = 16;

export function readerFor(run: FsRun, filter: TypeFilter): LaneReader {
  const { readers } = run.memo;
  const key = keyOf(filter);
  let reader = readers.get(key);
  if (!reader) {
    for (const [oldest] of readers) {
      if (readers.size < MAX_READERS) break;
      forgetReader(run, oldest);
    }
    reader = new LaneReader(run.paths, filter, run.random, placesFor(run, filter));
    readers.set(key, reader);
  }
  return reader;
}

/** Where readers are that want all that this one wants: it need not try again what they tried. */
function placesFor(run: FsRun, filter: TypeFilter): Cursor[][] {
  const others = [...run.memo.readers.values()].filter((other) => covers(other.filter, filter));
  const places = others.map((other) => other.places(isPendingIn(run)));
  return PRIORITIES.map((_, lane) => places.flatMap((place) => place[lane] ?? []));
}

function forgetReader(run: FsRun, key: string): void {
  const reader = run.memo.readers.get(key);
  if (!reader) return;
  reader.saveCursors(isPendingIn(run));
  reader.close();
  run.memo.readers.delete(key);
  run.memo.pendingSeen.delete(reader);
}

function isPendingIn(run: FsRun): (id: string) => boolean {
  return (id) => existsSync(fileOf(run.paths, "pending", id));
}

function claimNext(run: FsRun, worker: string, reader: LaneReader, force: boolean): Claim | null {
  const folder = folderOf(run.paths, worker);
  const isThere = isPendingIn(run);
  for (;;) {
    const candidate = reader.next(isThere, force, worker, run.machine.clock);
    if (candidate === null) return null;
    if (candidate.attempt > 1 && isLeftToOthers(run, worker, candidate)) continue;
    const to = claimOf(run.paths, worker, candidate.id);
    if (!take(run, fileOf(run.paths, "pending", candidate.id), to, folder)) {
      candidate.lane.missed(candidate.line);
      continue;
    }
    const claim =
      claimFromLine(run, worker, candidate, to) ??
      readClaim(run, worker, candidate, to, reader.filter);
    if (claim === null) continue;
    recordClaim(run, candidate.id, claim);
    return claim;
  }
}

function take(run: FsRun, from: string, to: string, folder: string): boolean {
  for (;;) {
    try {
      renameSync(from, to);
      return true;
    } catch (error) {
      if (errno(error) !== "ENOENT") throw error;
      if (existsSync(folder)) return false;
      // Not the task but the worker's folder is gone (a cleanup by hand): make it and try again.
      makeWorkerFolder(run, folder);
    }
  }
}

/** Reads what was just claimed. What turns out to be unusable is quarantined, with the reason. */
function readClaim(
  run: FsRun,
  worker: string,
  candidate: Candidate,
  path: string,
  filter: TypeFilter,
): Claim | null {
  const { id } = candidate;
  let task: Task;
  let stats: Stats;
  try {
    const file = readRegular(path, MAX_TASK_BYTES);
    if (file === null) return null; // taken back within microseconds
    stats = file.stats;
    task = parseIn(run, file, id);
  } catch (error) {
    if (!isVivError(error)) throw error;
    quarantine(run, path, error.message);
    return null;
  }
  // Only a foreign task can have open dependencies here: its file may have been replaced.
  if (task.depends_on.length > 0 && unmetOf(run, task).length > 0) {
    giveBackBlocked(run, task, path);
    return null;
  }
  const history = readHistory(run, id, candidate.attempt);
  const attempt = attemptNumber(history);
  // A line of an earlier attempt, which was not ticked off: its place now is behind the others.
  if (candidate.attempt < attempt) {
    giveBack(run, task, path, stats, attempt);
    return null;
  }
  // Written on since it was offered: now it is for another worker.
  if (wantedBy(filter)?.has(encodeType(task.task_type)) === false) {
    giveBack(run, task, path, stats, attempt);
    return null;
  }
  if (attempt > 1 && chokedWorkers(history).has(worker)) {
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
  const review = task.review === true;
  run.memo.claims.set(task.task_id, {
    worker,
    token,
    attempt,
    review,
    at: performance.now(),
    isUncertain: false,
  });
  return { task, worker, token, attempt };
}

/**
 * The line was an old one: of before its worker choked on the task, or of when it had another type.
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

function giveBackBlocked(run: FsRun, task: Task, path: string): void {
  noteReasons(run, task, unmetOf(run, task), 0);
  renameIfThere(path, fileOf(run.paths, "pending", task.task_id));
}
