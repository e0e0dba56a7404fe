import { existsSync } from "node:fs";
import { isVivError } from "../../base/errors.ts";
import { isName } from "../../base/names.ts";
import { parseIn } from "../../queue/fs/enqueue/task-file.ts";
import { appendLine, namesIn, readDerived, readRegular } from "../../queue/fs/files/atomic.ts";
import { fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import type { FsRun } from "../../queue/fs/run.ts";
import { MAX_TASK_BYTES, type Task } from "../../queue/task.ts";

/** `.viv/parts/<id>`: a line for each food that a snake cut this one into. */
export function notePart(run: FsRun, task: Task): void {
  if (task.parent) appendLine(pathOf(run, task.parent), task.task_id);
}

export function partsOf(run: FsRun, id: string): string[] {
  noteUnseen(run);
  const text = readDerived(pathOf(run, id), 1024 * 1024)?.text ?? "";
  return [...new Set(text.split("\n").filter(isName))];
}

/** Names in food/ that were looked at already, so that a completion costs one listing. */
const looked = new WeakMap<FsRun, Set<string>>();

/** A snake writes its pieces with a shell and ends at once: our processes have not seen them yet. */
function noteUnseen(run: FsRun): void {
  const begin = performance.now();
  if (begin < (looksAt.get(run) ?? 0)) return;
  const before = looked.get(run);
  const now = new Set<string>();
  for (const name of namesIn(run.paths.state.pending)) {
    if (before?.has(name) || isNoted(run, run.paths.layout.idOf("pending", name))) now.add(name);
  }
  looked.set(run, now);
  // In a pit with thousands of foods, not for each of them: one percent of the time.
  looksAt.set(run, begin + 100 * Math.max(0, performance.now() - begin - FREE_MS));
}

const FREE_MS = 2;
const looksAt = new WeakMap<FsRun, number>();

/** False while it cannot be read: it may still be being written. */
function isNoted(run: FsRun, id: string | null): boolean {
  if (!isName(id) || existsSync(idLinkOf(run.paths, id))) return true;
  try {
    const file = readRegular(fileOf(run.paths, "pending", id), MAX_TASK_BYTES);
    if (file !== null) notePart(run, parseIn(run, file, id));
    return true;
  } catch (error) {
    if (!isVivError(error)) throw error;
    return false;
  }
}

function pathOf(run: FsRun, id: string): string {
  return `${run.paths.viv}/parts/${id}`;
}
