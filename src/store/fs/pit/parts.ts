import type { Task } from "../../../model/task.ts";
import { appendLine, readRegular } from "../atomic.ts";
import type { FsRun } from "../run.ts";

/** `.viv/parts/<id>`: a line for each food that a snake cut this one into. */
export function notePart(run: FsRun, task: Task): void {
  if (task.parent) appendLine(pathOf(run, task.parent), task.task_id);
}

export function partsOf(run: FsRun, id: string): string[] {
  const text = readRegular(pathOf(run, id), 1024 * 1024)?.text ?? "";
  return [...new Set(text.split("\n").filter((line) => line !== ""))];
}

function pathOf(run: FsRun, id: string): string {
  return `${run.paths.viv}/parts/${id}`;
}
