import { ifThere } from "../../../base/errno.ts";
import { isVivError } from "../../../base/errors.ts";
import { utimesSync } from "../../../platform/files/beneath.ts";
import { type HistoryRecord, isAttempt } from "../../attempt.ts";
import type { TaskState } from "../../states.ts";
import { readTask } from "../enqueue/task-file.ts";
import {
  errno,
  ignoreMachineErrors,
  renameIfThere,
  statIfThere,
  syncFolder,
} from "../files/atomic.ts";
import { type FsRun, nowIso, quarantine, record } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { appendHistory, attemptNumber, historyAt, readHistory } from "../record/attempts.ts";
import { projectSoon } from "../record/project.ts";
import { dependentsOf } from "../waiting/dependents.ts";
import { promoteDependents } from "../waiting/promote.ts";
import type { Afterwards } from "./afterwards.ts";
import { unmarkCancelled } from "./cancelled.ts";

/**
 * Renames a task to where it belongs. A file there under its name goes to quarantine, unless it is
 * the task itself, moved there by another process: then it returns false. For done/ there is no
 * look first: `ids/` keeps ours, and a search of the largest folder would slow every completion.
 */
export function moveInto(run: FsRun, from: string, target: string): boolean {
  if (!target.startsWith(run.paths.state.done) && !clearWay(run, from, target)) return false;
  try {
    return renameIfThere(from, target);
  } catch (error) {
    if (!["EISDIR", "ENOTDIR", "EEXIST", "ENOTEMPTY"].includes(errno(error) ?? "")) {
      // The error does not show whether it moved; the place of the file does.
      if (statIfThere(from) === undefined && statIfThere(target) !== undefined) return true;
      throw error;
    }
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

/** The consequences of a task's arrival in a state. */
export function afterMove(
  run: FsRun,
  id: string,
  to: TaskState,
  after: Afterwards,
  now = performance.now(),
): void {
  // Without this it may be called cancelled when it fails.
  if (to === "pending" || to === "waiting") ignoreMachineErrors(() => unmarkCancelled(run, id));
  if (to === "done") {
    after.try(
      `tasks that wait for ${id} were not woken; the next sweep, or idle worker, wakes them`,
      () => promoteDependents(run, id),
    );
    after.try(
      "completed_tasks in status.json is not up to date; the next completion, a sweep or viv doctor --fix updates it",
      () => projectSoon(run, now),
    );
  } else if (to === "pending") {
    after.try(
      `${id} is not offered to workers yet; their next look through pending/ finds it`,
      () => {
        outdateLines(fileOf(run.paths, "pending", id));
        offerAgain(run, id);
      },
    );
  } else if (to === "waiting") {
    after.try(`${id} may come under the number of an earlier attempt`, () =>
      outdateLines(fileOf(run.paths, "waiting", id)),
    );
  } else if (to === "failed" && run.onDependencyFailed === "fail") {
    after.try(
      `tasks that wait for ${id} were not failed with it; see viv why, then viv cancel`,
      () => failDependents(run, id),
    );
  }
}

/**
 * Dates the file, so that lane lines about earlier attempts no longer fit: see stampOf. A task may
 * come back twice within a millisecond, so the time is a finer one.
 */
export function outdateLines(path: string): void {
  const now = (Date.now() + (performance.now() % 1)) / 1000;
  ifThere(() => utimesSync(path, now, now)); // else it is claimed already
}

function offerAgain(run: FsRun, id: string): void {
  try {
    const file = readTask(run, fileOf(run.paths, "pending", id), id);
    // Gone again means that it is claimed already: it needs no line on a lane.
    if (file !== null) run.lanes.offer(file.task, file.stats, attemptNumber(readHistory(run, id)));
  } catch (error) {
    if (!isVivError(error, "CORRUPT")) throw error; // adopt will quarantine it
  }
}

/** With `on_dependency_failed = "fail"`: tasks that wait for a failed one fail too, and so on. */
function failDependents(run: FsRun, id: string): void {
  const queue = [id];
  let moved = false;
  for (let failed = queue.pop(); failed !== undefined; failed = queue.pop()) {
    for (const task of dependentsOf(run, failed)) {
      const from = fileOf(run.paths, "waiting", task);
      if (!renameIfThere(from, fileOf(run.paths, "failed", task))) continue;
      const note = `its dependency ${failed} failed`;
      const because = "dependency";
      record(run, { event: "cancelled", task, from: "waiting", to: "failed", note, because });
      queue.push(task);
      moved = true;
    }
  }
  if (moved && run.durability === "safe") {
    syncFolder(run.paths.state.failed);
    syncFolder(run.paths.state.waiting);
  }
}

/**
 * The history of a task in pending/. A move from failed/, review/ or done/ back there by hand is the
 * same decision as `retry`, and the first process to notice records it.
 */
export function historyOfPending(run: FsRun, id: string): HistoryRecord[] {
  const stats = statIfThere(fileOf(run.paths, "pending", id));
  const history = stats ? historyAt(run, id, stats) : readHistory(run, id);
  const last = history.at(-1);
  const wasIn = last !== undefined && isAttempt(last) ? last.to : undefined;
  const hasEnded = wasIn === "failed" || wasIn === "review" || wasIn === "done";
  if (!hasEnded && !run.hooks?.wasStuck(run, id)) return history;
  appendHistory(run, id, { retried: true, by: "hand", at: nowIso(run) });
  record(run, {
    event: "retried",
    task: id,
    from: hasEnded ? wasIn : "failed",
    to: "pending",
    by: "hand",
  });
  outdateLines(fileOf(run.paths, "pending", id)); // they are about earlier attempts
  return readHistory(run, id);
}
