import { VivError } from "../../base/errors.ts";
import { isName } from "../../base/names.ts";
import { isAttempt } from "../../queue/attempt.ts";
import { UNSEEN } from "../../queue/choke.ts";
import { findClaim } from "../../queue/fs/claims/claimed.ts";
import { isByHand } from "../../queue/fs/claims/holdings.ts";
import { assertWorker } from "../../queue/fs/claims/vital-signs.ts";
import { afterMove } from "../../queue/fs/ends/after-move.ts";
import { Afterwards } from "../../queue/fs/ends/afterwards.ts";
import { finishRecorded } from "../../queue/fs/ends/end-claim.ts";
import { recordedEnd } from "../../queue/fs/ends/held-claim.ts";
import { parseIn, reserveId } from "../../queue/fs/enqueue/task-file.ts";
import {
  linkIfFree,
  namesIn,
  readRegular,
  renameIfThere,
  statIfThere,
  syncFolder,
  tokenOf,
  unlinkIfThere,
  viaTemporary,
  withLock,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, record, recordClaim, temporaryPath } from "../../queue/fs/fs-run.ts";
import { claimOf, fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { locate } from "../../queue/fs/locate.ts";
import { attemptNumber, readHistory } from "../../queue/fs/record/attempts.ts";
import { notProjectedYet } from "../../queue/fs/record/project.ts";
import { completedTasks } from "../../queue/fs/record/status-file.ts";
import type { Claim } from "../../queue/store.ts";
import { MAX_TASK_BYTES, type Task } from "../../queue/task.ts";
import { NOBODY, numberOf, resultIdOf, resultName, unprovenName } from "../food-names.ts";
import { type HandResult, isProver } from "../pit-store.ts";
import { restoreTo, snakeOf } from "./hand-claims.ts";
import { reserveNumber } from "./numbers.ts";

/**
 * Results that a snake put into done/ by hand: with its food gone, still claimed, or moved there as
 * well. They count when they are proven.
 */

/** A younger result may still be being written. */
const SETTLED_MS = 2_000;
/** The tick of the file system's clock. */
const CLOCKS_DIFFER_BY_MS = 20;
/** In the protocol the claim goes after the result; a snake needs no longer for that. */
const STILL_CLAIMED_MS = 10_000;

export function handResults(run: FsRun): HandResult[] {
  const { foods, results } = resultsWithoutFood(run);
  return [...results, ...movedByHand(run, foods)];
}

function resultsWithoutFood(run: FsRun): { foods: Set<string | null>; results: HandResult[] } {
  const results: HandResult[] = [];
  const names = namesIn(run.paths.state.done);
  const foods = new Set(names.map((name) => run.paths.layout.idOf("done", name)));
  for (const name of names) {
    const id = resultIdOf(name);
    if (id === null || !isName(id) || foods.has(id)) continue;
    const result = judgeResult(run, id);
    if (result) results.push(result);
  }
  return { foods, results };
}

/** Food that is nowhere, with a result: eaten. Without a look at its food, nothing is proven. */
export function eatenByHand(run: FsRun): { id: string; path: string; why: string }[] {
  return resultsWithoutFood(run).results.flatMap(({ id, state }) => {
    const result = `${run.paths.state.done}/${resultName(id)}`;
    if (state === "unknown") return [{ id, path: result, why: UNKNOWN_FOOD }];
    const why = "a result by hand, not proven yet; the next sweep does that: viv pit sweep";
    return state === "gone" ? [{ id, path: idLinkOf(run.paths, id), why }] : [];
  });
}

const UNKNOWN_FOOD = "eaten by hand, not proven: its food was gone before viv saw it";

/**
 * Enters results into the books whose food was gone before one of our processes saw it: a food in
 * its place comes to done/, and says so. It cannot be proven. Returns the ids.
 */
export async function countUnknown(run: FsRun): Promise<string[]> {
  const isOne = ({ state, ready }: HandResult) => state === "unknown" && ready;
  if (!resultsWithoutFood(run).results.some(isOne)) return [];
  return withLock(`${run.paths.viv}/proof.lock`, () => {
    const ids = resultsWithoutFood(run)
      .results.filter(isOne)
      .map(({ id }) => id);
    for (const id of ids) countOne(run, id);
    if (ids.length > 0 && run.durability === "safe") syncFolder(run.paths.state.done);
    for (const id of ids) afterMove(run, id, "done", new Afterwards());
    return ids;
  });
}

function countOne(run: FsRun, id: string): void {
  const result = statIfThere(`${run.paths.state.done}/${resultName(id)}`);
  const task: Task = {
    task_id: id,
    task_type: "food",
    run_id: run.runId,
    created_at: new Date(Math.min(result?.mtimeMs ?? Infinity, Date.now())).toISOString(),
    created_by: null,
    depends_on: [],
    payload: {
      task: `not known; done/${resultName(id)} tells what was done`,
      unproven: UNKNOWN_FOOD,
    },
    tier_hint: null,
    deadline: null,
  };
  const target = fileOf(run.paths, "done", id);
  // The line first: food in done/ without one would be taken for food to prove.
  record(run, { event: "adopted", task: id, type: "food", to: "done", note: UNKNOWN_FOOD });
  const tmp = temporaryPath(run, `eaten-${id}`);
  viaTemporary(tmp, run.paths.layout.write(task), false, () => linkIfFree(tmp, target));
  reserveId(run, id, target);
  const number = numberOf(id);
  if (number !== null) reserveNumber(run, number);
}

function handResult(run: FsRun, id: string): HandResult | undefined {
  const isInDone = statIfThere(fileOf(run.paths, "done", id)) !== undefined;
  return isInDone ? movedByHand(run, new Set([id]))[0] : (judgeResult(run, id) ?? undefined);
}

/** Food that lies in done/, though no end is recorded. */
function movedByHand(run: FsRun, foods: ReadonlySet<string | null>): HandResult[] {
  if (!statIfThere(run.paths.status)) return []; // without it, finished food is not known
  // In this order: a task that ends meanwhile is in one of the two.
  const underway = new Set(notProjectedYet(run));
  const completed = completedTasks(run);
  const results: HandResult[] = [];
  for (const id of foods) {
    if (!isName(id) || completed.has(id) || underway.has(id)) continue;
    const stats = statIfThere(fileOf(run.paths, "done", id));
    if (stats === undefined || Date.now() - stats.ctimeMs <= SETTLED_MS) continue;
    results.push({ id, snake: snakeOf(run, id), state: "done", ready: true });
  }
  return results;
}

function judgeResult(run: FsRun, id: string): (HandResult & { isOlder?: boolean }) | null {
  const stats = statIfThere(`${run.paths.state.done}/${resultName(id)}`);
  if (!stats?.isFile()) return null;
  // Its writer may date it freely: a date in the future is no reason to wait for it.
  const ageMs = Date.now() - Math.min(stats.mtimeMs, stats.ctimeMs);
  const place = locate(run, id);
  const holder = place?.worker;
  const isNone = holder === undefined || holder === NOBODY || isProver(holder);
  const snake = isNone ? snakeOf(run, id) : holder;
  if (place === null) {
    const isKnown = statIfThere(idLinkOf(run.paths, id)) !== undefined;
    if (isKnown) return { id, snake, state: "gone", ready: ageMs > SETTLED_MS };
    return { id, snake, state: "unknown", ready: ageMs > STILL_CLAIMED_MS };
  }
  const { state, worker = "" } = place;
  // A result older than its food is about another food that had this name.
  const bornAt = statIfThere(place.path)?.birthtimeMs ?? 0;
  const isOlder = bornAt > stats.ctimeMs + CLOCKS_DIFFER_BY_MS;
  const isHandClaim = state === "claimed" && isByHand(run, worker, id);
  const isSettled =
    state === "pending" ? ageMs > SETTLED_MS : isHandClaim && ageMs > STILL_CLAIMED_MS;
  return { id, snake, state, ready: !isOlder && isSettled, isOlder };
}

/**
 * Makes such a food a claim of `rawWorker`, which proves it. Under a lock: food that is gone would
 * otherwise be brought back twice. Null when it cannot be taken any more.
 */
export async function takeForProof(
  run: FsRun,
  id: string,
  rawWorker: string,
): Promise<Claim | null> {
  const worker = assertWorker(run, rawWorker);
  return withLock(`${run.paths.viv}/proof.lock`, () => {
    const current = handResult(run, id);
    if (!current?.ready || current.state === "unknown") return null;
    if (current.state === "done" && wasInReview(run, id)) {
      // It was proven; then a person moved it, by mv or by an `approve` whose line was lost.
      record(run, { event: "approved", task: id, from: "review", to: "done", by: "hand" });
      return null;
    }
    if (current.state === "claimed" && madeRecordedEnd(run, id)) return null;
    const target = claimOf(run.paths, worker, id);
    if (!fetchTo(run, id, current, target)) return null;
    const file = readRegular(target, MAX_TASK_BYTES);
    if (file === null) return null;
    const task = parseIn(run, file, id);
    const token = tokenOf(file.stats);
    const attempt = attemptNumber(readHistory(run, id));
    recordClaim(run, id, { worker, token, attempt });
    if (!proving.has(run)) proving.set(run, new Map());
    proving.get(run)?.set(id, { worker, snake: current.snake });
    return { id, type: task.task_type, task, worker, token, attempt };
  });
}

/** Claims that this process made to prove the work of another. */
const proving = new WeakMap<FsRun, Map<string, { worker: string; snake: string | null }>>();

/** The snake whose result a claim is there to prove. */
export function creditOf(
  run: FsRun,
  { id, worker }: { id: string; worker: string },
): string | null {
  const found = proving.get(run)?.get(id);
  if (found?.worker === worker) return found.snake ?? UNSEEN;
  return isProver(worker) ? (snakeOf(run, id) ?? UNSEEN) : null;
}

/** Its snake has written a result: the food is eaten, though it lies in food/. */
export function waitsForProof(run: FsRun, id: string): boolean {
  if (!statIfThere(`${run.paths.state.done}/${resultName(id)}`)) return false;
  const result = judgeResult(run, id);
  return result?.state === "pending" && !result.isOlder;
}

/**
 * A prover was killed. In food/ the food would be eaten again: it becomes a claim by hand, of no name
 * that a worker could need, and the next sweep proves it.
 */
export function giveBackProof(
  run: FsRun,
  { id, worker, path }: { id: string; worker: string; path: string },
): boolean {
  if (!isProver(worker)) return false;
  // Without a result: it was refuted, and the prover died before it could record that.
  if (!statIfThere(`${run.paths.state.done}/${resultName(id)}`)) return false;
  const target = claimOf(run.paths, NOBODY, id);
  if (statIfThere(target) || !renameIfThere(path, target)) return false;
  const note = "the process that proved it is gone; the next sweep proves it";
  record(run, { event: "adopted", task: id, to: "claimed", note });
  return true;
}

function wasInReview(run: FsRun, id: string): boolean {
  const last = readHistory(run, id).at(-1);
  return last !== undefined && isAttempt(last) && last.outcome === "done" && last.to === "review";
}

/** The command that ended the claim was killed before it moved the food. */
function madeRecordedEnd(run: FsRun, id: string): boolean {
  const claim = findClaim(run.paths, id);
  const seenAt = performance.now();
  const stats = claim === null ? undefined : statIfThere(claim.path);
  if (claim === null || stats === undefined) return false;
  const token = tokenOf(stats);
  const recorded = recordedEnd(run, { ...claim, token });
  if (recorded === undefined) return false;
  finishRecorded(run, { ...claim, token, attempt: recorded.attempt, seenAt }, recorded);
  return true;
}

function fetchTo(run: FsRun, id: string, { state }: HandResult, target: string): boolean {
  if (state === "gone") return restoreTo(run, id, target);
  const place = locate(run, id);
  return place !== null && place.state === state && renameIfThere(place.path, target);
}

/** Renames the result to a free `.unproven-N` name. Null when there is no result. */
export function markUnproven(run: FsRun, id: string): string | null {
  const from = `${run.paths.state.done}/${resultName(id)}`;
  if (!statIfThere(from)?.isFile()) return null; // the food was moved to done/ without one
  for (let n = 1; n < 10_000; n++) {
    const name = unprovenName(id, n);
    if (!linkIfFree(from, `${run.paths.state.done}/${name}`)) continue;
    unlinkIfThere(from);
    return name;
  }
  throw new VivError("WRONG_STATE", `${id} has ten thousand unproven results; look at them.`);
}
