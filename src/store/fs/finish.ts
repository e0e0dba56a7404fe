import { utimesSync } from "../../files/beneath.ts";
import type { AttemptRecord, Outcome } from "../../model/attempt.ts";
import { isVivError, VivError } from "../../model/errors.ts";
import type { LedgerLine } from "../../model/ledger.ts";
import { assertName } from "../../model/names.ts";
import type { TaskState } from "../../model/states.ts";
import { MAX_TASK_BYTES, type Task } from "../../model/task.ts";
import type { ClaimRef, CompletionOptions, Ended } from "../store.ts";
import {
  errno,
  ifThereIsRoom,
  readRegular,
  renameIfThere,
  statIfThere,
  syncFolder,
  tokenOf,
  translate,
} from "./atomic.ts";
import { appendHistory, attemptNumber, readHistory } from "./attempts.ts";
import { addDue } from "./due.ts";
import { failDependents } from "./fail-dependents.ts";
import { claimOf, fileOf } from "./layout.ts";
import { readLedger } from "./ledger.ts";
import { locate } from "./locate.ts";
import { parseIn } from "./parse.ts";
import { projectSoon } from "./project.ts";
import { promoteDependents } from "./promote.ts";
import { quarantine } from "./quarantine.ts";
import { type FsRun, type HeldClaim, nowIso, record, recordDone } from "./run.ts";

/**
 * Ending an attempt:
 *   1. the claim must still be the one we hold (the token)
 *   2. the outcome goes to the ledger (and the attempt log): from here on, whoever finds the claim
 *      with this token finishes the job instead of giving the task out again
 *   3. one rename moves the task; if it finds nothing, the claim was lost, and a `void` line says so
 *   4. what follows from the new state: dependents wake, claimers learn of it
 */

/** The current claim, seen from disk or remembered from claiming. */
export interface Held {
  id: string;
  worker: string;
  path: string;
  token: string;
  attempt: number;
  /** When the token was looked at, by performance.now(). */
  seenAt: number;
}

/** Longer between looking and moving, and we may have been paused: see `isStillOurs`. */
const LONG_PAUSE_MS = 500;

export interface Ending {
  outcome: Outcome;
  to: TaskState;
  note?: string | undefined;
  fingerprint?: string | undefined;
  retryAt?: string | undefined;
  by?: string | undefined;
  receipt?: string | undefined;
}

export function completeTask(run: FsRun, ref: ClaimRef, options: CompletionOptions): Ended {
  const { note } = options;
  const held = hold(run, ref);
  const to = destination(run, held, options);
  if (note) return end(run, held, { outcome: "done", to, note });
  try {
    recordDone(run, held.id, held, to, run.durability === "safe");
    return applyEnding(run, held, { outcome: "done", to }, false);
  } catch (error) {
    throw translate(error, `ending ${held.id}`);
  }
}

/** The same for a process that has other things to do while the disk works. */
export async function completeInBackground(
  run: FsRun,
  ref: ClaimRef,
  options: CompletionOptions,
): Promise<Ended> {
  if (run.durability !== "safe" || options.note) return completeTask(run, ref, options);
  const held = hold(run, ref);
  const to = destination(run, held, options);
  const ending: Ending = { outcome: "done", to };
  try {
    recordDone(run, held.id, held, to, false);
    await run.syncs.of(run.ledger.path);
    const moved = move(run, held, ending, false);
    await run.syncs.of(run.paths.state[to]);
    return follow(run, held, ending, moved);
  } catch (error) {
    throw translate(error, `ending ${held.id}`);
  }
}

function destination(run: FsRun, held: Held, options: CompletionOptions): "review" | "done" {
  const review =
    options.review === true ||
    (run.memo.claims.get(held.id)?.review ?? readHeld(run, held).review === true);
  return review ? "review" : "done";
}

export function releaseTask(run: FsRun, ref: ClaimRef, note?: string): Ended {
  return end(run, hold(run, ref), { outcome: "released", to: "pending", note });
}

/** Step 1. Without a token in the reference, lying in the worker's folder is proof enough. */
export function hold(run: FsRun, ref: ClaimRef): Held {
  const id = assertName("task id", ref.id);
  const worker = assertName("worker name", ref.worker);
  const path = claimOf(run.paths, worker, id);
  const seenAt = performance.now();
  const own = run.memo.claims.get(id);
  if (own !== undefined && ref.token === own.token && isFresh(run, worker, own, seenAt)) {
    return { id, worker, path, token: own.token, attempt: own.attempt, seenAt };
  }
  const stats = statIfThere(path);
  if (!stats) throw claimLost(run, id, worker);
  const token = tokenOf(stats);
  if (ref.token !== undefined && ref.token !== token && !isSameClaim(run, id, ref.token, token)) {
    throw claimLost(run, id, worker);
  }
  const known = run.memo.claims.get(id);
  const isKnown = known !== undefined && (known.token === token || known.token === ref.token);
  const attempt = isKnown ? known.attempt : attemptNumber(readHistory(run, id));
  if (!isKnown) run.memo.claims.delete(id);
  return { id, worker, path, token, attempt, seenAt };
}

/**
 * A claim this process made under its registered name within the last second needs no look: nobody
 * else may claim under that name while we live, and if it was taken back, the rename finds nothing.
 */
function isFresh(run: FsRun, worker: string, own: HeldClaim, now: number): boolean {
  return own.worker === worker && now - own.at < 1_000 && run.memo.registered.has(worker);
}

export function claimLost(run: FsRun, id: string, worker: string): VivError {
  run.memo.claims.delete(id);
  const place = locate(run, id);
  if (place === null) run.customs?.onVanished(run, id, worker);
  const where =
    place === null
      ? "there is no such task"
      : place.worker === worker
        ? `${worker} has claimed it again since`
        : `it is ${place.state}${place.worker ? ` by ${place.worker}` : ""} now`;
  return new VivError(
    "CLAIM_LOST",
    `${worker} no longer holds ${id}: ${where}; drop this result, it was not counted.`,
    { id, worker, state: place?.state ?? null },
  );
}

export function readHeld(run: FsRun, held: Held): Task {
  try {
    const file = readRegular(held.path, MAX_TASK_BYTES);
    if (file === null) throw claimLost(run, held.id, held.worker);
    return parseIn(run, file, held.id);
  } catch (error) {
    if (isVivError(error, "CORRUPT")) quarantine(run, held.path, error.message);
    throw error;
  }
}

/** Steps 2 to 4. */
export function end(run: FsRun, held: Held, ending: Ending): Ended {
  try {
    record(
      run,
      {
        event: "ended",
        task: held.id,
        worker: held.worker,
        token: held.token,
        attempt: held.attempt,
        outcome: ending.outcome,
        from: "claimed",
        to: ending.to,
        ...(ending.note ? { note: ending.note } : {}),
        ...(ending.fingerprint ? { fingerprint: ending.fingerprint } : {}),
        ...(ending.retryAt ? { retry_at: ending.retryAt } : {}),
        ...(ending.by ? { by: ending.by } : {}),
        ...(ending.receipt ? { receipt: ending.receipt } : {}),
      },
      run.durability === "safe",
    );
    return applyEnding(run, held, ending, false);
  } catch (error) {
    throw translate(error, `ending ${held.id}`);
  }
}

/** Steps 3 and 4, also for an ending that a dead process recorded but did not make. */
export function applyEnding(run: FsRun, held: Held, ending: Ending, recovered = true): Ended {
  const moved = move(run, held, ending, recovered);
  if (run.durability === "safe") syncFolder(run.paths.state[ending.to]);
  return follow(run, held, ending, moved);
}

/** Step 3. Returns when that was, by performance.now(). */
function move(run: FsRun, held: Held, ending: Ending, recovered: boolean): number {
  const { id, worker } = held;
  // A task that is done at its first attempt needs no attempt log: the ledger has it.
  const logged = ending.to !== "done" || held.attempt > 1;
  if (logged) appendHistory(run, id, attemptRecord(run, held, ending));
  if (ending.retryAt) addDue(run, id, Date.parse(ending.retryAt));
  const target = fileOf(run.paths, ending.to, id);
  const undo = ending.to === "done" ? run.customs?.beforeDone(run, id, held) : undefined;
  if (!moveInto(run, held.path, target)) {
    undo?.();
    takeBackRecord(run, held, ending, logged, recovered);
    throw claimLost(run, id, worker);
  }
  const moved = performance.now();
  if (moved - held.seenAt > LONG_PAUSE_MS) {
    const other = laterClaim(run, held);
    if (other !== null) {
      renameIfThere(target, held.path);
      const stats = statIfThere(held.path);
      // A rename gives a claim a new token; this line is how its owner will find out.
      takeBackRecord(run, held, ending, logged, recovered, {
        was: other,
        ...(stats ? { now: tokenOf(stats) } : {}),
      });
      throw claimLost(run, id, worker);
    }
  }
  run.memo.claims.delete(id);
  return moved;
}

/** Step 4, when the move is on the disk. */
function follow(run: FsRun, { id, attempt }: Held, ending: Ending, moved: number): Ended {
  ifThereIsRoom(() => {
    afterMove(run, id, ending.to, moved);
    if (ending.to !== "failed") return;
    if (ending.outcome === "cancelled") run.customs?.onCancelled(run, id);
    else run.customs?.onStuck(run, id);
  });
  const ended: Ended = { id, from: "claimed", to: ending.to, attempt };
  if (ending.retryAt) ended.retryAt = ending.retryAt;
  return ended;
}

/**
 * Renames a task to where it belongs. What lies there under its name goes to quarantine, unless it
 * is the task itself, which another process has just moved there: then this one has nothing to do
 * (false). Into done/ nobody looks first: `ids/` keeps ours, and a search of the largest folder
 * would cost every completion.
 */
export function moveInto(run: FsRun, from: string, target: string): boolean {
  if (!target.startsWith(run.paths.state.done) && !clearWay(run, from, target)) return false;
  try {
    return renameIfThere(from, target);
  } catch (error) {
    if (!["EISDIR", "ENOTDIR", "EEXIST", "ENOTEMPTY"].includes(errno(error) ?? "")) throw error;
    quarantine(run, target, "a folder in the place of a task");
    return renameIfThere(from, target);
  }
}

function clearWay(run: FsRun, from: string, target: string): boolean {
  const there = statIfThere(target);
  if (!there) return true;
  const source = statIfThere(from);
  if (!source || source.ino === there.ino) return false;
  quarantine(run, target, "a second file with the id of a task that came here", there.ino);
  return true;
}

/**
 * The claim was lost after its end was recorded: the record is void. A recovered end was recorded
 * by somebody else, and if it has been made meanwhile, it counts.
 */
function takeBackRecord(
  run: FsRun,
  held: Held,
  { outcome }: Ending,
  logged: boolean,
  recovered: boolean,
  more: Record<string, string> = {},
): void {
  const { id, worker, token } = held;
  if (recovered && Object.keys(more).length === 0) return;
  if (logged) appendHistory(run, id, { void: token, outcome });
  record(run, { event: "void", task: id, worker, token, outcome, ...more });
}

/**
 * Between looking at the token and the rename lie microseconds, unless this process was stopped
 * just there for so long that the reaper gave the task to another process of the same worker
 * name. Then the rename took that one's claim: the ledger shows a later claim than ours.
 */
function laterClaim(run: FsRun, held: Held): string | null {
  let latest = held.token;
  for (const line of linesSince(run, held.token)) {
    // By the token's time, not by place: a line may be written a moment after its claim.
    const isClaim = line.event === "claimed" && line.task === held.id;
    if (isClaim && Number(line.token) > Number(latest)) latest = String(line.token);
  }
  return latest === held.token ? null : latest;
}

/**
 * A claim that was moved by mistake and put back has a new token; the ledger says which. So has one
 * whose file was touched, or gained a link: it is the same while the last claim was the one with that
 * token, and nobody has ended it.
 */
export function isSameClaim(run: FsRun, id: string, was: string, now: string): boolean {
  let token = was;
  let isKnown = run.memo.claims.get(id)?.token === was;
  let isLast = true;
  let ends = 0;
  for (const line of linesSince(run, was)) {
    if (line.task !== id) continue;
    if (line.event === "claimed") {
      // By the token's time, not by place: a line may be written a while after its claim.
      if (line.token === was) isKnown = true;
      else if (Number(line.token) > Number(was)) isLast = false;
    }
    if (line.event === "ended" && line.token === was) ends++;
    if (line.event === "void" && line.was === token) token = String(line.now);
    else if (line.event === "void" && line.token === was) ends--;
  }
  return token === now || (isKnown && isLast && ends <= 0);
}

function* linesSince(run: FsRun, token: string): Generator<LedgerLine> {
  const claimedAt = Number(token) / 1000 || 0; // a text that is no token was never given out
  const since = Math.min(claimedAt, run.machine.clock.now()) - 86_400_000;
  const file = `${new Date(Math.max(0, since)).toISOString().slice(0, 10)}.jsonl`;
  for (const { line } of readLedger(run.paths.ledger, { file, offset: 0 })) yield line;
}

export function attemptRecord(run: FsRun, held: Held, ending: Ending): AttemptRecord {
  return {
    attempt: held.attempt,
    worker: held.worker,
    token: held.token,
    outcome: ending.outcome,
    to: ending.to,
    at: nowIso(run),
    ...(ending.note ? { note: ending.note } : {}),
    ...(ending.fingerprint ? { fingerprint: ending.fingerprint } : {}),
    ...(ending.retryAt ? { retry_at: ending.retryAt } : {}),
    ...(ending.receipt ? { receipt: ending.receipt } : {}),
  };
}

/** What a task's arrival in a state means for others. */
export function afterMove(run: FsRun, id: string, to: TaskState, now = performance.now()): void {
  if (to === "done") {
    promoteDependents(run, id);
    projectSoon(run, now);
  } else if (to === "pending") {
    outdateLines(fileOf(run.paths, "pending", id));
    offerAgain(run, id);
  } else if (to === "waiting") {
    outdateLines(fileOf(run.paths, "waiting", id));
  } else if (to === "failed" && run.onDependencyFailed === "fail") {
    failDependents(run, id);
  }
}

/**
 * Lane lines about the task's earlier attempts must not fit any more: see stampOf. A task may come
 * back twice within a millisecond, so the time is a finer one.
 */
export function outdateLines(path: string): void {
  try {
    const now = (Date.now() + (performance.now() % 1)) / 1000;
    utimesSync(path, now, now);
  } catch (error) {
    if (errno(error) !== "ENOENT") throw error; // claimed already
  }
}

function offerAgain(run: FsRun, id: string): void {
  try {
    const file = readRegular(fileOf(run.paths, "pending", id), MAX_TASK_BYTES);
    // Gone again means that somebody claimed it already: it needs no line on a lane.
    if (file === null) return;
    run.lanes.offer(parseIn(run, file, id), file.stats, attemptNumber(readHistory(run, id)));
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error; // adopt will quarantine it
  }
}
