import { existsSync } from "node:fs";
import { appendLine, readRegular, unlinkIfThere } from "./atomic.ts";
import type { FsRun } from "./run.ts";

/** `.viv/dependents/<id>`: one line for each task that waits for <id>. */

const LIMIT = 256 * 1024 * 1024;

export function addDependent(run: FsRun, dependency: string, dependent: string): void {
  appendLine(`${run.paths.dependents}/${dependency}`, dependent);
}

export function hasDependents(run: FsRun, dependency: string): boolean {
  return existsSync(`${run.paths.dependents}/${dependency}`);
}

export function dependentsOf(run: FsRun, dependency: string): string[] {
  const file = readRegular(`${run.paths.dependents}/${dependency}`, LIMIT);
  if (file === null) return [];
  return [...new Set(file.text.split("\n").filter((line) => line !== ""))];
}

export function forgetDependents(run: FsRun, dependency: string): void {
  unlinkIfThere(`${run.paths.dependents}/${dependency}`);
}
