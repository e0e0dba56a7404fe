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
 * Food in resting/stuck/ is reported to the keeper: as food of its own, whose name follows from the
 * stuck one's and from how often that was sent round again. So it is reported once each time, by
 * the first of: the worker that gave up, or after its death a sweep.
 */
export function tellKeeper(run: FsRun, id: string): void {
  if (id.startsWith("keeper-") || isTold(run, id)) return;
  const history = readHistory(run, id);
  const last = history.findLast(isAttempt);
  const task = keeperFood(run, id, last?.note ?? "for an unknown reason");
  const tmp = temporaryPath(run, task.task_id);
  const stats = writeNew(tmp, run.paths.layout.write(task), run.durability === "safe");
  const { created } = publish(run, { task, tmp, stats }, { ifAbsent: true });
  // What is missing then is made up for as for any task, and nobody waits for an answer here.
  if (created) announce(run, [{ task, tmp, stats, state: "pending" }], new Afterwards());
}

/** A person who takes food away knows of it. */
export function keepFromKeeper(run: FsRun, id: string): void {
  overwrite(`${run.paths.viv}/told/${keeperId(run, id)}`, "");
}

export function tellKeeperOfAll(run: FsRun): void {
  for (const name of namesIn(run.paths.state.failed)) {
    const id = run.paths.layout.idOf("failed", name);
    if (isName(id) && statIfThere(fileOf(run.paths, "failed", id))) tellKeeper(run, id);
  }
}

export function isTold(run: FsRun, id: string): boolean {
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
      text: `It rests in resting/stuck/${id}.md; notes about it are in scraps/, its traces in waste/. Put it right, then: viv retry ${id} (or: mv resting/stuck/${id}.md food/).`,
    },
    tier_hint: null,
    deadline: null,
  };
}
