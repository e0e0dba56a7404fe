import { join } from "node:path";
import type { Env } from "../operation/operation.ts";
import { runRegistryIn } from "../platform/files/run-registry.ts";
import { stateFolder } from "../platform/files/state-files.ts";

export function runsFolder(env: Env, cwd: string): string {
  return join(stateFolder(env, cwd), "runs");
}

/** Notes a run that a command has opened. A home that cannot be written is no reason to fail. */
export function noteRun(path: string, env: Env, cwd: string, now: number): void {
  try {
    runRegistryIn(runsFolder(env, cwd)).note(path, now);
  } catch {
    // `viv runs` does not list it; all else works.
  }
}
