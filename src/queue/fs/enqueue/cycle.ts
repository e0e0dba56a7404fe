import { isVivError, VivError } from "../../../base/errors.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { readRegular } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { hasDependents } from "../waiting/dependents.ts";
import { parseIn } from "./parse.ts";

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

/** Of a task that has not begun. What is claimed or done depends on nothing any more. */
function dependenciesOf(run: FsRun, id: string): string[] {
  for (const state of ["waiting", "pending"] as const) {
    try {
      const file = readRegular(fileOf(run.paths, state, id), MAX_TASK_BYTES);
      if (file) return parseIn(run, file, id).depends_on;
    } catch (error) {
      if (!isVivError(error)) throw error; // unreadable: it will be quarantined when it is met
    }
  }
  return [];
}

export function cycleError(id: string, cycle: string[]): VivError {
  const shown = cycle.join(" → ");
  const message =
    cycle.length === 2
      ? `${id} depends on itself; remove it from depends_on.`
      : `${id} would close a dependency cycle: ${shown}; drop one of these dependencies.`;
  return new VivError("DEPENDENCY_CYCLE", message, { cycle });
}
