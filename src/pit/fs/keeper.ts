import { createHash } from "node:crypto";
import { isName, MAX_NAME_LENGTH } from "../../base/names.ts";
import { isAttempt } from "../../queue/attempt.ts";
import { UNSEEN } from "../../queue/choke.ts";
import { Afterwards } from "../../queue/fs/ends/afterwards.ts";
import { completeTask } from "../../queue/fs/ends/finish-attempt.ts";
import { announce, publish } from "../../queue/fs/enqueue/publish.ts";
import {
  namesIn,
  overwrite,
  renameIfThere,
  statIfThere,
  tokenOf,
  writeNew,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, nowIso, recordClaim, temporaryPath } from "../../queue/fs/fs-run.ts";
import { claimOf, fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { locate } from "../../queue/fs/locate.ts";
import { readTaskAt } from "../../queue/fs/read.ts";
import { attemptNumber, readHistory } from "../../queue/fs/record/attempts.ts";
import type { Task } from "../../queue/task.ts";

/**
 * Food in resting/stuck/ is reported to the keeper as food of its own, named after the stuck food
 * and its number of retries: once each time, by the worker that gave up or, after its death, by a
 * sweep.
 */
export function reportStuck(run: FsRun, id: string): void {
  if (id.startsWith("keeper-")) return;
  const last = readHistory(run, id).findLast(isAttempt);
  const where = `It rests in resting/stuck/${id}.md; notes about it are in scraps/, its logs in waste/. Repair it, then: viv retry ${id} (or: mv resting/stuck/${id}.md food/).`;
  report(run, id, `is stuck: ${last?.note ?? "for an unknown reason"}`, where);
  // Not before: then a sweep reports it.
  if (!wasStuck(run, id)) markReported(run, id);
}

/** Food in food/ that no living snake may try any more. */
export function reportChoked(run: FsRun, id: string, snakes: readonly string[]): void {
  const last = readHistory(run, id).findLast(isAttempt);
  const where = `It waits in food/${id}.md for another snake; notes about it are in scraps/, its logs in waste/. Start a snake with another name, or repair the food and remove the notes.`;
  const names = snakes.map((name) => (name === UNSEEN ? "a snake that was not seen" : name));
  const why = `${names.join(" and ")} choked on it, and no other snake is alive`;
  report(run, id, `waits: ${why}${last?.note ? ` (${last.note})` : ""}`, where);
}

function report(run: FsRun, id: string, what: string, where: string): void {
  if (isReported(run, id)) return;
  const task = keeperFood(run, id, what, where);
  const tmp = temporaryPath(run, task.task_id);
  const stats = writeNew(tmp, run.paths.layout.write(task), run.durability === "safe");
  const { created } = publish(run, { task, tmp, stats }, { ifAbsent: true });
  // A failure afterwards is repaired as for any task.
  if (created) announce(run, [{ task, tmp, stats, state: "pending" }], new Afterwards());
}

/** For food that a person cancelled: there is no need to report it. */
export function markReported(run: FsRun, id: string): void {
  overwrite(`${run.paths.viv}/told/${keeperId(run, id)}`, "");
}

export function reportAllStuck(run: FsRun): void {
  for (const name of namesIn(run.paths.state.failed)) {
    const id = run.paths.layout.idOf("failed", name);
    if (isName(id) && statIfThere(fileOf(run.paths, "failed", id))) reportStuck(run, id);
  }
}

function isReported(run: FsRun, id: string): boolean {
  return wasStuck(run, id) || statIfThere(idLinkOf(run.paths, keeperId(run, id))) !== undefined;
}

/** It has come to resting/stuck/ in this round, and was reported. */
export function wasStuck(run: FsRun, id: string): boolean {
  return statIfThere(`${run.paths.viv}/told/${keeperId(run, id)}`) !== undefined;
}

/** A report whose food is done, or was given out anew, is finished; unless the keeper has it. */
export function finishReports(run: FsRun): void {
  for (const name of namesIn(run.paths.state.pending)) {
    const id = name.startsWith("keeper-") ? run.paths.layout.idOf("pending", name) : null;
    if (!isName(id)) continue;
    const path = fileOf(run.paths, "pending", id);
    const { task } = readTaskAt(run, path, id);
    const food = task?.created_by === REPORTER ? task.payload.food : undefined;
    const why = isName(food) ? whySolved(run, food, id) : null;
    const claim = claimOf(run.paths, REPORTER, id);
    if (why === null || !renameIfThere(path, claim)) continue;
    const stats = statIfThere(claim);
    if (stats === undefined) continue;
    const token = tokenOf(stats);
    recordClaim(run, id, { worker: REPORTER, token, attempt: attemptNumber(readHistory(run, id)) });
    completeTask(run, { id, worker: REPORTER, token }, { note: why });
  }
}

function whySolved(run: FsRun, food: string, report: string): string | null {
  const state = locate(run, food)?.state;
  if (state === "done" || state === "review") return `${food} is ${state} by now`;
  return keeperId(run, food) === report ? null : `${food} was given out anew`;
}

function keeperId(run: FsRun, id: string): string {
  const rounds = readHistory(run, id).filter((record) => !isAttempt(record)).length;
  const round = rounds === 0 ? "" : `-${rounds + 1}`;
  const whole = `keeper-${id}${round}`;
  if (whole.length <= MAX_NAME_LENGTH) return whole;
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `keeper-${id.slice(0, 100)}-${mark}${round}`;
}

const REPORTER = "cleanup";

function keeperFood(run: FsRun, id: string, what: string, where: string): Task {
  return {
    task_id: keeperId(run, id),
    task_type: "keeper",
    run_id: run.runId,
    created_at: nowIso(run),
    created_by: REPORTER,
    depends_on: [],
    payload: {
      task: `${id} ${what.replace(/\s+/g, " ").trim()}`,
      food: id,
      text: where,
    },
    tier_hint: null,
    deadline: null,
  };
}
