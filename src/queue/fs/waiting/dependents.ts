import { isVivError, VivError } from "../../../base/errors.ts";
import type { Task } from "../../task.ts";
import { readTask } from "../enqueue/task-file.ts";
import { readDerived, renameIfThere, statIfThere, unlinkIfThere } from "../files/atomic.ts";
import { appendLine } from "../files/lines.ts";
import { type FsRun, uniqueName } from "../fs-run.ts";
import { fileOf } from "../layout.ts";

/**
 * `.viv/dependents/<id>`: one line for each task that waits for <id>. If it is lost, a look at all
 * of waiting/ finds them: see wakeWaiting. `<id>~…`: notes that were taken to be acted on; any process
 * may do that, and does after a crash (promoteMet).
 */

const LIMIT = 256 * 1024 * 1024;

export function addDependent(run: FsRun, dependency: string, dependent: string): void {
  appendLine(pathOf(run, dependency), dependent);
}

export function hasDependents(run: FsRun, dependency: string): boolean {
  return statIfThere(pathOf(run, dependency)) !== undefined;
}

export function dependentsOf(run: FsRun, dependency: string): string[] {
  const file = readDerived(pathOf(run, dependency), LIMIT);
  const lines = file?.text.split("\n").filter((line) => line !== "") ?? [];
  // There is a file when a task waits: an empty one has lost its lines.
  if (lines.length === 0 && hasDependents(run, dependency)) run.memo.areNotesLost = true;
  return [...new Set(lines)];
}

/**
 * Takes the notes away, under the name that is returned: what is noted from now on is not forgotten with
 * them. Null when there are none.
 */
export function takeDependents(run: FsRun, dependency: string): string | null {
  if (!hasDependents(run, dependency)) return null;
  const taken = `${dependency}~${uniqueName()}`;
  return renameIfThere(pathOf(run, dependency), pathOf(run, taken)) ? taken : null;
}

/** No id has this character. */
export function isTaken(name: string): boolean {
  return name.includes("~");
}

export function forgetDependents(run: FsRun, dependency: string): void {
  unlinkIfThere(pathOf(run, dependency));
}

function pathOf(run: FsRun, dependency: string): string {
  return `${run.paths.dependents}/${dependency}`;
}

/**
 * The dependency cycle that `task` closes, as `[id, …, id]`, or null. A new task can only close a
 * cycle if a task waits for it already, so the usual case costs one look.
 */
export function findCycle(run: FsRun, task: Task, trustIndex = true): string[] | null {
  const id = task.task_id;
  if (task.depends_on.includes(id)) return [id, id];
  if (trustIndex && !hasDependents(run, id)) return null;
  const seen = new Set<string>();
  const stack = task.depends_on.map((dependency) => ({ id: dependency, path: [id, dependency] }));
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (seen.has(top.id)) continue;
    seen.add(top.id);
    for (const next of dependenciesOf(run, top.id)) {
      if (next === id) return [...top.path, id];
      stack.push({ id: next, path: [...top.path, next] });
    }
  }
  return null;
}

/** Of a task that has not begun: a claimed or done one depends on nothing any more. */
function dependenciesOf(run: FsRun, id: string): string[] {
  for (const state of ["waiting", "pending"] as const) {
    try {
      const file = readTask(run, fileOf(run.paths, state, id), id);
      if (file) return file.task.depends_on;
    } catch (error) {
      if (!isVivError(error)) throw error; // unreadable: its reader quarantines it
    }
  }
  return [];
}

export function cycleError(id: string, cycle: string[]): VivError {
  const message =
    cycle.length === 2
      ? `${id} depends on itself; remove it from depends_on.`
      : `${id} would close a dependency cycle: ${cycle.join(" → ")}; drop one of these dependencies.`;
  return new VivError("DEPENDENCY_CYCLE", message, { cycle });
}
