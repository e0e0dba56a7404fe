import { isVivError, VivError } from "../../../base/errors.ts";
import { assertName, idWord } from "../../../base/names.ts";
import { listed } from "../../../base/text.ts";
import { isAttempt, type RetryRecord } from "../../attempt.ts";
import { unprovenError } from "../../proof-state.ts";
import { isAllowed, type TaskEvent, type TaskState } from "../../states.ts";
import type { Approval, Ended } from "../../store.ts";
import { noSuchTask } from "../../task.ts";
import { endOrphan, endTreeOf, forgetTreeOf, wouldNotDie } from "../claims/process-notes.ts";
import { closeHistory } from "../enqueue/rounds.ts";
import { readTask } from "../enqueue/task-file.ts";
import { statIfThere, syncMove, tokenOf, translate } from "../files/atomic.ts";
import { type FsRun, nowIso, record } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { locate, type Place } from "../locate.ts";
import { readTaskAt, whyUnprovenIn } from "../read.ts";
import { appendHistory, attemptNumber, readHistory } from "../record/attempts.ts";
import { project } from "../record/project.ts";
import { cycleError, findCycle } from "../waiting/dependents.ts";
import { noteReasons, readyAt, tryPromote, unmetOf } from "../waiting/promote.ts";
import { afterMove, moveInto } from "./after-move.ts";
import { Afterwards } from "./afterwards.ts";
import { markCancelled } from "./cancelled.ts";
import { end, finishRecorded } from "./end-claim.ts";
import { recordedEnd } from "./held-claim.ts";

/** Decisions about a task from outside an attempt: cancel, retry, approve, reject, rework, resolve. */

export interface Decision {
  by?: string;
  note?: string;
  /** Of a rework: one word for the ledger. */
  why?: string;
}

export function cancelTask(run: FsRun, id: string, decision: Decision): Promise<Ended> {
  return decide(run, id, "cancel", (place) => {
    markCancelled(run, id); // void until it is in failed/
    if (place.state !== "claimed" || place.worker === undefined) {
      return move(run, id, place, "failed", "cancelled", decision, (after) => {
        after.try(`the keeper may be notified of ${id}`, () => run.hooks?.onCancelled(run, id));
      });
    }
    return cancelClaim(run, id, { path: place.path, worker: place.worker }, decision);
  });
}

/**
 * The claim is taken away first, which fences its worker off: when the handler dies, the worker
 * finds its finish refused. In failed/ no worker begins the task anew while its tree is ended.
 */
async function cancelClaim(
  run: FsRun,
  id: string,
  place: { path: string; worker: string },
  decision: Decision,
): Promise<Ended | null> {
  const seenAt = performance.now();
  const stats = statIfThere(place.path);
  if (!stats) return null;
  const claim = { id, ...place, token: tokenOf(stats) };
  const recorded = recordedEnd(run, claim);
  const attempt = recorded?.attempt ?? attemptNumber(readHistory(run, id));
  const held = { ...claim, attempt, seenAt };
  const { by, note } = decision;
  const ended = recorded
    ? finishRecorded(run, held, recorded)
    : end(run, held, { outcome: "cancelled", to: "failed", note, by });
  // It had ended, and only the move was missing: look again, the new state decides.
  if (recorded && recorded.ending.outcome !== "cancelled") return null;
  const after = new Afterwards(ended.warnings);
  await after.tryAsync(
    `whether processes of ${id} are left could not be looked up; the next sweep ends them`,
    async () => {
      const pids = await endTreeOf(run, claim);
      if (pids.length === 0) return forgetTreeOf(run, id, claim.token);
      after.warn(
        `its ${listed("process", pids)} would not die; end ${pids.length === 1 ? "it" : "them"} by hand: until then ${id} cannot be retried`,
      );
    },
  );
  return { ...ended, ...after.result };
}

export function retryTask(run: FsRun, id: string, decision: Decision): Promise<Ended> {
  return decide(run, id, "retry", async (place) => {
    const pids = await endOrphan(run, id);
    if (pids.length > 0) throw wouldNotDie(id, pids, "an earlier attempt of");
    return requeue(run, id, place, "retried", decision, () =>
      appendHistory(run, id, retryRecord(run, decision)),
    );
  });
}

/**
 * The rename decides. Killed before it, the task is done, and a second call goes on. Killed after
 * it, the task is pending: completed_tasks may still list it, which doctor finds, and the ledger may
 * lack the line.
 */
export function reworkTask(run: FsRun, id: string, decision: Decision): Promise<Ended> {
  return decide(run, id, "rework", async (place) => {
    const ended = requeue(run, id, place, "reworked", decision, () =>
      closeHistory(run, id, retryRecord(run, decision)),
    );
    if (ended === null) return null;
    const after = new Afterwards(ended.warnings);
    // Before it returns: a task that is enqueued next, and depends on it, must wait.
    await after.tryAsync(
      `${id} may still be listed in completed_tasks; viv doctor --fix updates it`,
      () => project(run, 2),
    );
    return { ...ended, ...after.result };
  });
}

/** To pending/, or to waiting/ while something holds it back. `before`: what the next attempt needs. */
function requeue(
  run: FsRun,
  id: string,
  place: Place,
  event: "retried" | "reworked",
  decision: Decision,
  before: () => void,
): Ended | null {
  const file = readTask(run, place.path, id);
  if (file === null) return null;
  const { task } = file;
  // Tasks that wait for it now may be among its own dependencies.
  const cycle = findCycle(run, task);
  if (cycle) throw cycleError(id, cycle);
  before();
  const unmet = unmetOf(run, task);
  const at = readyAt(run, task);
  const isFree = unmet.length === 0 && at <= run.machine.clock.now();
  if (!isFree) noteReasons(run, task, unmet, at);
  return move(run, id, place, isFree ? "pending" : "waiting", event, decision, (after) => {
    if (isFree) return;
    after.try(`whether ${id} still has to wait is not known; the next sweep finds out`, () =>
      tryPromote(run, id),
    );
  });
}

/** What has no valid proof is approved only on request, and recorded as that. */
export function approveTask(run: FsRun, id: string, approval: Approval): Promise<Ended> {
  return decide(run, id, "approve", (place) => {
    const { unproven: given, ...decision } = approval;
    const task = readTaskAt(run, place.path, id).task;
    const found = whyUnprovenIn(run, id, task?.done_when);
    const why = typeof given === "string" ? given : found;
    if (why !== null && !given) throw unprovenError(id, why);
    const last = readHistory(run, id).findLast(isAttempt);
    // Its proof is about other content than what is approved now.
    if (why !== null && last?.proof)
      appendHistory(run, id, { approved: last.token, unproven: why });
    return move(run, id, place, "done", "approved", { ...decision, unproven: why ?? undefined });
  });
}

/** Killed before the rename, it is failed; a second call goes on. */
export function resolveTask(run: FsRun, id: string, decision: Decision): Promise<Ended> {
  return decide(run, id, "resolve", async (place) => {
    const pids = await endOrphan(run, id);
    if (pids.length > 0) throw wouldNotDie(id, pids, "an earlier attempt of");
    const task = readTaskAt(run, place.path, id).task;
    const unproven = whyUnprovenIn(run, id, task?.done_when);
    appendHistory(run, id, retryRecord(run, decision));
    return move(run, id, place, "done", "approved", {
      ...{ ...decision, unproven: unproven ?? undefined },
    });
  });
}

/** The note is for the next attempt; the attempts so far no longer count against the task. */
export function rejectTask(run: FsRun, id: string, decision: Decision): Promise<Ended> {
  return decide(run, id, "reject", (place) => {
    appendHistory(run, id, retryRecord(run, decision));
    return move(run, id, place, "pending", "rejected", decision);
  });
}

/** Finds the task and acts; if it moved in between (null), looks again. */
async function decide(
  run: FsRun,
  rawId: string,
  event: TaskEvent,
  act: (place: Place) => Ended | null | Promise<Ended | null>,
): Promise<Ended> {
  const id = assertName("task id", rawId);
  for (;;) {
    const place = locate(run, id);
    if (place === null) throw noSuchTask(id);
    if (!isAllowed(place.state, event)) throw wrongState(id, place, event);
    try {
      const ended = await act(place);
      if (ended !== null) return ended;
    } catch (error) {
      if (isVivError(error, "CLAIM_LOST")) continue;
      throw translate(error, `${event} of ${id}`);
    }
  }
}

function wrongState(id: string, place: Place, event: TaskEvent): VivError {
  const hints: Partial<Record<TaskState, string>> = {
    done: "a done task stays done; enqueue a new one to do it again",
    failed: `requeue it with: viv retry ${idWord(id)}`,
    review: `decide with: viv approve ${idWord(id)}, or viv reject ${idWord(id)} --note "…"`,
    claimed: `stop it with: viv cancel ${idWord(id)}`,
    pending: "a worker will take it",
    waiting: `see: viv why ${idWord(id)}`,
  };
  const { state } = place;
  const message = `cannot ${event} ${id}: it is ${state}; ${hints[state]}.`;
  return new VivError("WRONG_STATE", message, { id, state, event });
}

/** Null when the task is no longer there. */
export function move(
  run: FsRun,
  id: string,
  place: Place,
  to: TaskState,
  event: "cancelled" | "retried" | "approved" | "rejected" | "reworked",
  decision: Decision & { unproven?: string; because?: string },
  more?: (after: Afterwards) => void,
): Ended | null {
  const target = fileOf(run.paths, to, id);
  const attempt = attemptNumber(readHistory(run, id)) - 1;
  if (to === "done") run.hooks?.beforeDone(run, id, null);
  if (!moveInto(run, place.path, target)) return null;
  const after = new Afterwards();
  if (event === "reworked") {
    // At once: beside food in food/ it would count as one that was left by hand.
    after.try(`the earlier result of ${id} lies where it was; move it away`, () =>
      run.hooks?.beforeFailure(run, id),
    );
  }
  if (run.durability === "safe") {
    after.try(
      `that ${id} has moved could not be synced: a power cut may undo it, then decide again`,
      () => syncMove(place.path, target),
    );
  }
  const [by, note] = [decision.by || undefined, decision.note || undefined];
  const { unproven, because } = decision;
  const why = decision.why || undefined;
  const line = { event, task: id, from: place.state, to, by, note, why, unproven, because };
  after.try(
    `the ledger has no line about this; ${id} is in ${run.paths.layout.folders[to]}/ all the same`,
    () => record(run, line),
  );
  afterMove(run, id, to, after);
  more?.(after);
  return { id, from: place.state, to, attempt, ...after.result };
}

function retryRecord(run: FsRun, { by = "someone", note }: Decision): RetryRecord {
  return { retried: true, by, at: nowIso(run), note: note || undefined };
}
