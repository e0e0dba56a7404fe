import { VivError } from "../../model/errors.ts";
import { assertName } from "../../model/names.ts";
import { isAllowed, type TaskEvent, type TaskState } from "../../model/states.ts";
import { MAX_TASK_BYTES } from "../../model/task.ts";
import type { Ended } from "../store.ts";
import {
  ifThereIsRoom,
  readRegular,
  statIfThere,
  syncFolder,
  tokenOf,
  translate,
} from "./atomic.ts";
import { appendHistory, attemptNumber, readHistory } from "./attempts.ts";
import { cycleError, findCycle } from "./cycle.ts";
import { afterMove, end, moveInto } from "./finish.ts";
import { fileOf } from "./layout.ts";
import { locate, type Place } from "./locate.ts";
import { parseIn } from "./parse.ts";
import { endOrphan, endTreeOf, forgetTreeOf, wouldNotDie } from "./processes.ts";
import { noteReasons, readyAt, tryPromote, unmetOf } from "./promote.ts";
import { type FsRun, nowIso, record } from "./run.ts";

/** What people decide about a task: cancel, retry, approve, reject. */

export interface Decision {
  by?: string;
  note?: string;
}

export function cancelTask(run: FsRun, id: string, decision: Decision): Ended {
  return decide(run, id, "cancel", (place) => {
    if (place.state !== "claimed" || place.worker === undefined) {
      const ended = move(run, id, place, "failed", "cancelled", decision);
      if (ended) run.customs?.onCancelled(run, id);
      return ended;
    }
    return cancelClaim(run, id, { path: place.path, worker: place.worker }, decision);
  });
}

/**
 * Taking the claim away is what fences its worker off, so that comes first: whatever the worker
 * makes of its handler's death, it finds its finish refused. In failed/ nobody begins the task anew
 * while the tree is being ended.
 */
function cancelClaim(
  run: FsRun,
  id: string,
  place: { path: string; worker: string },
  decision: Decision,
): Ended | null {
  const stats = statIfThere(place.path);
  if (!stats) return null;
  const token = tokenOf(stats);
  const attempt = attemptNumber(readHistory(run, id));
  const ended = end(
    run,
    { id, ...place, token, attempt, seenAt: performance.now() },
    { outcome: "cancelled", to: "failed", note: decision.note, by: decision.by },
  );
  const pids = endTreeOf(run, { id, worker: place.worker, token });
  if (pids.length > 0) {
    throw new VivError(
      "LOCKED",
      `${id} is cancelled and lies in failed/, but its processes ${pids.join(", ")} would not die; end them by hand: until then it cannot be retried.`,
      { id, pids, state: "failed" },
    );
  }
  forgetTreeOf(run, id, token);
  return ended;
}

export function retryTask(run: FsRun, id: string, decision: Decision): Ended {
  return decide(run, id, "retry", (place) => {
    const pids = endOrphan(run, id);
    if (pids.length > 0) throw wouldNotDie(id, pids, "an earlier attempt of");
    const file = readRegular(place.path, MAX_TASK_BYTES);
    if (file === null) return null;
    const task = parseIn(run, file, id);
    // Those that wait for it now may be what it waits for.
    const cycle = findCycle(run, task);
    if (cycle) throw cycleError(id, cycle);
    appendHistory(run, id, {
      retried: true,
      by: decision.by ?? "someone",
      at: nowIso(run),
      ...noteOf(decision),
    });
    const unmet = unmetOf(run, task);
    const at = readyAt(run, task);
    if (unmet.length === 0 && at <= run.machine.clock.now()) {
      return move(run, id, place, "pending", "retried", decision);
    }
    noteReasons(run, task, unmet, at);
    const moved = move(run, id, place, "waiting", "retried", decision);
    if (moved) tryPromote(run, id);
    return moved;
  });
}

export function approveTask(run: FsRun, id: string, decision: Decision): Ended {
  return decide(run, id, "approve", (place) => move(run, id, place, "done", "approved", decision));
}

/** The note is for the next attempt; the attempts so far no longer count against the task. */
export function rejectTask(run: FsRun, id: string, decision: Decision): Ended {
  return decide(run, id, "reject", (place) => {
    appendHistory(run, id, {
      retried: true,
      by: decision.by ?? "someone",
      at: nowIso(run),
      ...noteOf(decision),
    });
    return move(run, id, place, "pending", "rejected", decision);
  });
}

/** Finds the task and acts; if it moved in between (null), looks again. */
function decide(
  run: FsRun,
  rawId: string,
  event: TaskEvent,
  act: (place: Place) => Ended | null,
): Ended {
  const id = assertName("task id", rawId);
  for (;;) {
    const place = locate(run, id);
    if (place === null) throw notFound(id);
    if (!isAllowed(place.state, event)) throw wrongState(id, place, event);
    try {
      const ended = act(place);
      if (ended !== null) return ended;
    } catch (error) {
      if (error instanceof VivError && error.code === "CLAIM_LOST") continue;
      throw translate(error, `${event} of ${id}`);
    }
  }
}

export function notFound(id: string): VivError {
  return new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, { id });
}

function wrongState(id: string, place: Place, event: TaskEvent): VivError {
  const hints: Partial<Record<TaskState, string>> = {
    done: "a done task stays done; enqueue a new one to do it again",
    failed: `send it round again with: viv retry ${id}`,
    review: `decide with: viv approve ${id}, or viv reject ${id}`,
    claimed: `stop it with: viv cancel ${id}`,
    pending: "a worker will take it",
    waiting: `see: viv why ${id}`,
  };
  return new VivError(
    "WRONG_STATE",
    `cannot ${event} ${id}: it is ${place.state}; ${hints[place.state]}.`,
    { id, state: place.state, event },
  );
}

/** Null when the task is no longer there. */
export function move(
  run: FsRun,
  id: string,
  place: Place,
  to: TaskState,
  event: "cancelled" | "retried" | "approved" | "rejected",
  decision: Decision,
): Ended | null {
  const target = fileOf(run.paths, to, id);
  if (to === "done") run.customs?.beforeDone(run, id, null);
  if (!moveInto(run, place.path, target)) return null;
  if (run.durability === "safe") syncFolder(run.paths.state[to]);
  ifThereIsRoom(() => {
    record(run, {
      event,
      task: id,
      from: place.state,
      to,
      ...(decision.by ? { by: decision.by } : {}),
      ...noteOf(decision),
    });
    afterMove(run, id, to);
  });
  return { id, from: place.state, to, attempt: attemptNumber(readHistory(run, id)) - 1 };
}

function noteOf(decision: Decision): { note?: string } {
  return decision.note ? { note: decision.note } : {};
}
