import { createHash } from "node:crypto";
import { isName, MAX_NAME_LENGTH } from "../../base/names.ts";
import { isAttempt } from "../../queue/attempt.ts";
import { Afterwards } from "../../queue/fs/ends/afterwards.ts";
import { announce, publish } from "../../queue/fs/enqueue/publish.ts";
import { namesIn, overwrite, statIfThere, writeNew } from "../../queue/fs/files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../../queue/fs/fs-run.ts";
import { fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { readHistory } from "../../queue/fs/record/attempts.ts";
import type { Task } from "../../queue/task.ts";

/**
 * Food in resting/stuck/ is reported to the keeper as food of its own, named after the stuck food
 * and its number of retries: once each time, by the worker that gave up or, after its death, by a
 * sweep.
 */
export function reportStuck(run: FsRun, id: string): void {
  if (id.startsWith("keeper-") || isReported(run, id)) return;
  const last = readHistory(run, id).findLast(isAttempt);
  const task = keeperFood(run, id, last?.note ?? "for an unknown reason");
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

export function isReported(run: FsRun, id: string): boolean {
  const keeper = keeperId(run, id);
  const marks = [idLinkOf(run.paths, keeper), `${run.paths.viv}/told/${keeper}`];
  return marks.some((path) => statIfThere(path) !== undefined);
}

function keeperId(run: FsRun, id: string): string {
  const rounds = readHistory(run, id).filter((record) => !isAttempt(record)).length;
  const round = rounds === 0 ? "" : `-${rounds + 1}`;
  const whole = `keeper-${id}${round}`;
  if (whole.length <= MAX_NAME_LENGTH) return whole;
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `keeper-${id.slice(0, 100)}-${mark}${round}`;
}

function keeperFood(run: FsRun, id: string, why: string): Task {
  return {
    task_id: keeperId(run, id),
    task_type: "keeper",
    run_id: run.runId,
    created_at: nowIso(run),
    created_by: "cleanup",
    depends_on: [],
    payload: {
      task: `${id} is stuck: ${why.replace(/\s+/g, " ").trim()}`,
      food: id,
      text: `It rests in resting/stuck/${id}.md; notes about it are in scraps/, its logs in waste/. Repair it, then: viv retry ${id} (or: mv resting/stuck/${id}.md food/).`,
    },
    tier_hint: null,
    deadline: null,
  };
}
