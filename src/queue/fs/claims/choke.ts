import { isVivError } from "../../../base/errors.ts";
import { isName } from "../../../base/names.ts";
import { afterChoke, chokedWorkers, chokesIn, mayTry, type Taker } from "../../choke.ts";
import { judgeWorker } from "../../liveness.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { historyOfPending } from "../ends/after-move.ts";
import { move } from "../ends/decide.ts";
import { parseIn } from "../enqueue/parse.ts";
import { readRegular } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import type { Candidate } from "../lanes/lane-reader.ts";
import { fileOf } from "../layout.ts";
import { viewWorkers } from "../read.ts";
import { staleAfterSeconds } from "./reap.ts";

/** Tasks that a worker has choked on: see policy/choke.ts. It leaves them to others. */

/** All workers that could claim, and whether they are alive. */
export function takersOf(run: FsRun, type: string): Taker[] {
  const { layout } = run.paths;
  const isReserved = layout.reservedTypes.includes(type);
  return viewWorkers(run).map(({ name, types, process, heartbeatAge: age, quiet }) => {
    const heartbeatAge = age === null ? null : age * 1000;
    // That it holds a claim does not show that it will ask for another; a shell has no other sign.
    const claimAge = layout.isFlat ? quiet * 1000 : Number.POSITIVE_INFINITY;
    const signs = { process, heartbeatAge, claimAge };
    const { alive } = judgeWorker(signs, { staleAfterMs: staleAfterSeconds(run, signs) * 1000 });
    return { name, types: isReserved ? (types ?? []) : types, alive };
  });
}

/**
 * True when the worker must not take this task. Then it is left to others, or, when there are none,
 * given up: no other worker might ever look at it again. Only for what is not at its first attempt.
 */
export function isLeftToOthers(run: FsRun, worker: string, candidate: Candidate): boolean {
  const { id, lane, line } = candidate;
  if (!isName(id)) return false;
  const task = readPending(run, id);
  if (task === "broken") return false; // its claimer will find out
  if (task === null) return true; // another worker has it
  const history = historyOfPending(run, id);
  const last = chokesIn(history).at(-1);
  if (last === undefined || !chokedWorkers(history).has(worker)) return false;
  const verdict = afterChoke(last, mayTry(takersOf(run, task.task_type), task.task_type, history));
  if (verdict.to === "pending") lane.leave(line, worker, run.machine.clock.now());
  else giveUp(run, worker, id, verdict.note);
  return true;
}

function readPending(run: FsRun, id: string): Task | "broken" | null {
  const path = fileOf(run.paths, "pending", id);
  try {
    const file = readRegular(path, MAX_TASK_BYTES);
    return file && parseIn(run, file, id);
  } catch (error) {
    if (!isVivError(error)) throw error;
    return "broken";
  }
}

/** One rename, like a cancel by a person; null means that a worker took it after all. */
function giveUp(run: FsRun, worker: string, id: string, note: string): void {
  const path = fileOf(run.paths, "pending", id);
  const decision = { by: worker, note };
  move(run, id, { state: "pending", path }, "failed", "cancelled", decision, (after) => {
    after.try("the next sweep tells the keeper", () => run.hooks?.onStuck(run, id));
  });
}
