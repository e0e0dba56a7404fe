import { readDerived, statIfThere, unlinkIfThere } from "../files/atomic.ts";
import { appendLine } from "../files/lines.ts";
import type { FsRun } from "../fs-run.ts";

/**
 * `.viv/dependents/<id>`: one line for each task that waits for <id>. If it is lost, a look at all of
 * waiting/ finds them: see wakeWaiting.
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

export function forgetDependents(run: FsRun, dependency: string): void {
  unlinkIfThere(pathOf(run, dependency));
}

function pathOf(run: FsRun, dependency: string): string {
  return `${run.paths.dependents}/${dependency}`;
}
