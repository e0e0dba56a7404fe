import { machineErrorOf } from "../../../base/errno.ts";
import { VivError } from "../../../base/errors.ts";
import type { AttemptRecord, Outcome } from "../../attempt.ts";
import type { TaskState } from "../../states.ts";
import type { Ended } from "../../store.ts";
import {
  ignoreMachineErrors,
  renameIfThere,
  statIfThere,
  syncFile,
  syncFolder,
  syncMove,
  tokenOf,
  translate,
} from "../files/atomic.ts";
import { type FsRun, nowIso, record } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { appendHistory } from "../record/attempts.ts";
import { addDue } from "../waiting/due.ts";
import { afterMove, moveInto } from "./after-move.ts";
import { Afterwards } from "./afterwards.ts";
import { unmarkCancelled } from "./cancelled.ts";
import {
  claimLost,
  type Held,
  laterClaim,
  type RecordedEnd,
  recordedEnd,
  wasMade,
} from "./held-claim.ts";

/**
 * Ending an attempt, once its claim is known to be the current one (step 1: finish-attempt.ts):
 *   2. the outcome goes to the ledger (and the attempt log): from here on, a process that finds the
 *      claim with this token finishes the job instead of giving the task out again
 *   3. one rename moves the task. From here on it has happened, and nothing fails it any more. If
 *      the rename finds nothing, another process has made our end for us, or the claim was lost:
 *      then a `void` line says so
 *   4. the consequences of the new state: dependents wake, claimers learn of it
 */
export interface Ending {
  outcome: Outcome;
  to: TaskState;
  note?: string;
  fingerprint?: string;
  retryAt?: string;
  by?: string;
  receipt?: string;
  proof?: "passed";
  commit?: string;
  unproven?: string;
}

/** Steps 2 to 4. */
export function end(run: FsRun, held: Held, ending: Ending): Ended {
  return orUncertain(run, held, () => {
    try {
      recordEnd(run, held, ending);
      if (ending.outcome === "cancelled") letBetterEndWin(run, held, ending);
      return applyEnding(run, held, ending, false);
    } catch (error) {
      const isTrouble = machineErrorOf(error) !== undefined;
      if (isTrouble && ending.outcome === "cancelled") withdraw(run, held, ending, error);
      throw error;
    }
  });
}

/** The worker that an attempt is recorded for. */
export function creditOf(run: FsRun, held: Held): string {
  return run.hooks?.creditOf(run, held) ?? held.worker;
}

function recordEnd(run: FsRun, held: Held, ending: Ending): void {
  record(
    run,
    {
      event: "ended",
      task: held.id,
      worker: creditOf(run, held),
      token: held.token,
      attempt: held.attempt,
      outcome: ending.outcome,
      from: "claimed",
      to: ending.to,
      note: ending.note || undefined,
      fingerprint: ending.fingerprint || undefined,
      retry_at: ending.retryAt || undefined,
      by: ending.by || undefined,
      receipt: ending.receipt || undefined,
      ...proofFields(ending),
    },
    run.durability === "safe",
  );
}

/**
 * A worker that gets an error asks again for the same end. A person may not, and must not find the
 * task cancelled later: a cancel that cannot be made now is taken back.
 */
function withdraw(run: FsRun, held: Held, { outcome }: Ending, error: unknown): void {
  const { id, worker, token } = held;
  try {
    if (recordedEnd(run, held)?.ending.outcome !== outcome) return; // its line is not whole
    record(run, { event: "void", task: id, worker, token, outcome }, run.durability === "safe");
  } catch {
    const { code, message, details } = translate(error, `ending ${id}`) as VivError;
    const warning = `${message} The next reap may still cancel ${id}.`;
    throw new VivError(code, warning, details, { cause: error });
  }
  ignoreMachineErrors(() => appendHistory(run, id, { void: token, outcome }));
}

/** After any error before the move the end may be recorded: the next try must look for it first. */
export function orUncertain<T>(run: FsRun, held: Held, action: () => T): T {
  try {
    return action();
  } catch (error) {
    markUncertain(run, held);
    throw translate(error, `ending ${held.id}`);
  }
}

/** By id alone: the token may be another one since its file was touched. */
export function markUncertain(run: FsRun, { id }: Held): void {
  const known = run.memo.claims.get(id);
  if (known) known.isUncertain = true;
}

/** The worker is alive, and may have recorded an end since we looked for one: that one counts. */
function letBetterEndWin(run: FsRun, held: Held, ending: Ending): void {
  const recorded = recordedEnd(run, held);
  if (recorded === undefined || recorded.ending.outcome === ending.outcome) return;
  takeBackRecord(run, held, ending, false);
  finishRecorded(run, held, recorded);
  throw claimLost(run, held.id, held.worker);
}

/** Steps 3 and 4 for an end that is recorded and was not made. */
export function finishRecorded(
  run: FsRun,
  held: Held,
  { ending, attempt, token, file }: RecordedEnd,
): Ended {
  if (run.durability === "safe") {
    syncFile(file);
    syncFolder(run.paths.ledger);
  }
  return applyEnding(run, { ...held, attempt, token }, ending, true);
}

/** Steps 3 and 4. */
export function applyEnding(run: FsRun, held: Held, ending: Ending, recovered: boolean): Ended {
  const moved = move(run, held, ending, recovered);
  const after = new Afterwards();
  if (run.durability === "safe") {
    after.try(notSynced(held.id), () => syncMove(held.path, fileOf(run.paths, ending.to, held.id)));
  }
  return follow(run, held, ending, moved, after);
}

export function notSynced(id: string): string {
  return `that ${id} has moved could not be synced: a power cut may undo it, and the next reap then makes the recorded end`;
}

export interface Moved {
  /** By performance.now(). */
  at: number;
  /** Another process has made this end, and does what follows from it. */
  byOther: boolean;
}

/** After this long, the token is looked at again right before the move. */
const LOOK_AGAIN_MS = 100;
/** This long between that look and the move, and we may have been paused: see `laterClaim`. */
const LONG_PAUSE_MS = 500;

/** Step 3. */
export function move(run: FsRun, held: Held, ending: Ending, recovered: boolean): Moved {
  const { id, worker } = held;
  // Done at the first attempt, it needs no attempt log: the ledger has it. A proof is asked for.
  const logged = ending.to !== "done" || held.attempt > 1 || ending.proof !== undefined;
  if (logged) appendHistory(run, id, attemptRecord(run, held, ending));
  if (ending.retryAt) addDue(run, id, Date.parse(ending.retryAt));
  const target = fileOf(run.paths, ending.to, id);
  const undo = ending.to === "done" ? run.hooks?.beforeDone(run, id, held) : undefined;
  if (!isStillThere(run, held) || !moveInto(run, held.path, target)) {
    if (wasMade(run, held, ending)) {
      run.memo.claims.delete(id);
      return { at: performance.now(), byOther: true };
    }
    undo?.();
    // A recovered end was recorded by another process, which takes it back if that is due.
    if (!recovered) takeBackRecord(run, held, ending, logged);
    throw claimLost(run, id, worker);
  }
  const moved = performance.now();
  if (moved - held.seenAt > LONG_PAUSE_MS) putBackIfTaken(run, held, ending, target, logged);
  run.memo.claims.delete(id);
  return { at: moved, byOther: false };
}

/**
 * While the ledger was synced, the claim may have been taken back and made again under the same
 * worker's name.
 */
function isStillThere(run: FsRun, held: Held): boolean {
  const now = performance.now();
  if (now - held.seenAt <= LOOK_AGAIN_MS) return true;
  held.seenAt = now;
  const stats = statIfThere(held.path);
  if (stats === undefined) return false;
  return tokenOf(stats) === held.token || laterClaim(run, held) === null;
}

function putBackIfTaken(
  run: FsRun,
  held: Held,
  ending: Ending,
  target: string,
  logged: boolean,
): void {
  let other: string | null;
  try {
    other = laterClaim(run, held);
    if (other === null || !renameIfThere(target, held.path)) return;
  } catch {
    return; // Unknown, or it cannot be put back: it has moved, and our end is recorded.
  }
  const stats = statIfThere(held.path);
  // A rename gives a claim a new token; this line shows it to its owner.
  takeBackRecord(run, held, ending, logged, { was: other, now: stats && tokenOf(stats) });
  throw claimLost(run, held.id, held.worker);
}

/** Step 4. */
export function follow(
  run: FsRun,
  { id, attempt }: Held,
  ending: Ending,
  moved: Moved,
  after: Afterwards,
): Ended {
  // A process that moves a task also offers it; but it may die before it wakes dependents.
  if (!moved.byOther || ending.to === "done") afterMove(run, id, ending.to, after, moved.at);
  const { hooks } = run;
  if (ending.to === "failed" && ending.outcome !== "cancelled") {
    ignoreMachineErrors(() => unmarkCancelled(run, id));
  }
  if (ending.to === "failed" && hooks) {
    if (ending.outcome === "cancelled") {
      after.try(`the keeper may be notified of ${id}`, () => hooks.onCancelled(run, id));
    } else {
      after.try(`the keeper is not notified of ${id} yet; the next sweep does it`, () =>
        hooks.onStuck(run, id),
      );
    }
  }
  const { to, retryAt } = ending;
  return { id, from: "claimed", to, attempt, retryAt: retryAt || undefined, ...after.result };
}

/** The claim was lost after its end was recorded: the record is void. */
export function takeBackRecord(
  run: FsRun,
  { id, worker, token }: Held,
  { outcome }: Ending,
  logged: boolean,
  more: { was?: string; now?: string } = {},
): void {
  if (logged) appendHistory(run, id, { void: token, outcome });
  record(run, { event: "void", task: id, worker, token, outcome, ...more });
}

export function attemptRecord(run: FsRun, held: Held, ending: Ending): AttemptRecord {
  return {
    attempt: held.attempt,
    worker: creditOf(run, held),
    token: held.token,
    outcome: ending.outcome,
    to: ending.to,
    at: nowIso(run),
    note: ending.note || undefined,
    fingerprint: ending.fingerprint || undefined,
    retry_at: ending.retryAt || undefined,
    receipt: ending.receipt || undefined,
    ...proofFields(ending),
  };
}

export function proofFields({ proof, commit, unproven }: ProofMark): ProofMark {
  if (proof === undefined && unproven === undefined) return {};
  return { proof, commit, unproven };
}

export type ProofMark = Pick<Ending, "proof" | "commit" | "unproven">;
