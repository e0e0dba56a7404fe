import { isVivError } from "../../../base/errors.ts";
import { isName } from "../../../base/names.ts";
import type { HistoryRecord } from "../../attempt.ts";
import { afterChoke, chokedWorkers, chokesIn, mayTry, type Taker } from "../../choke.ts";
import { historyOfPending } from "../ends/after-move.ts";
import { move } from "../ends/decide.ts";
import { readTask, type TaskFile } from "../enqueue/task-file.ts";
import type { FsRun } from "../fs-run.ts";
import type { Candidate } from "../lanes/lane-reader.ts";
import { fileOf } from "../layout.ts";
import { viewWorkers } from "../read.ts";
import { isAlive } from "./vital-signs.ts";

/** Tasks that a worker has choked on (see queue/choke.ts): it leaves them to others. */

/** All workers that could claim, and whether they are alive. */
export function takersOf(run: FsRun, type: string): Taker[] {
  const { layout } = run.paths;
  const isReserved = layout.reservedTypes.includes(type);
  return viewWorkers(run).map(({ name, types, process, heartbeatAge: age, quiet }) => {
    const heartbeatAge = age === null ? null : age * 1000;
    // Holding a claim does not show that it will ask for another; a shell has no other sign.
    const claimAge = layout.isFlat && quiet !== null ? quiet * 1000 : Number.POSITIVE_INFINITY;
    const alive = isAlive(run, { process, heartbeatAge, claimAge });
    return { name, types: isReserved ? (types ?? []) : types, alive };
  });
}

/** In a pit, food that one snake alone has choked on stays where a later snake finds it. */
export function isLoneChoke(run: FsRun, history: readonly HistoryRecord[]): boolean {
  return run.paths.layout.isFlat && chokedWorkers(history).size === 1;
}

/**
 * True when the worker must not take this task. It is then left to others, or failed if there are
 * none: no other worker might ever look at it again. Only for tasks beyond their first attempt.
 */
export function isLeftToOthers(run: FsRun, worker: string, candidate: Candidate): boolean {
  const { id, lane, line } = candidate;
  if (!isName(id)) return false;
  const path = fileOf(run.paths, "pending", id);
  let file: TaskFile | null;
  try {
    file = readTask(run, path, id);
  } catch (error) {
    if (!isVivError(error)) throw error;
    return false; // unreadable: its claimer quarantines it
  }
  if (file === null) return true; // another worker has it
  const history = historyOfPending(run, id);
  const last = chokesIn(history).at(-1);
  if (last === undefined || !chokedWorkers(history).has(worker)) return false;
  const type = file.task.task_type;
  const { to, note } = afterChoke(last, mayTry(takersOf(run, type), type, history), {
    waitsForLater: isLoneChoke(run, history),
  });
  if (to === "pending") {
    lane.leave(line, worker);
    return true;
  }
  // One rename, like a cancel by a person; if it finds nothing, a worker took the task after all.
  const place = { state: "pending", path } as const;
  move(run, id, place, "failed", "cancelled", { by: worker, note, because: "choked" }, (after) => {
    after.try("the next sweep notifies the keeper", () => run.hooks?.onStuck(run, id));
  });
  return true;
}
