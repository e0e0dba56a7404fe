import { join } from "node:path";
import { newFolder } from "../support/folders.ts";
import { type Outcome, swarmCli } from "./company.ts";

/** For the tests of swarm-cli: calls in a run of each test's own, and what should come of them. */

export let folder = "";
/** Not made yet: the commands do that. */
export let run = "";
/** Before each test. */
export function useNewRun(): void {
  folder = newFolder();
  run = join(folder, "run");
}

export const printed = (...lines: string[]): Outcome => ({
  code: 0,
  stdout: lines.map((line) => `${line}\n`).join(""),
  stderr: "",
});
export const SILENT = printed();
export const refused = (code: number, stderr: string): Outcome => ({ code, stdout: "", stderr });

export const TIME = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"/g;
export const timeless = (outcome: Outcome): Outcome => ({
  ...outcome,
  stdout: outcome.stdout.replace(TIME, '"TIME"'),
});

export const cli = (command: string, ...args: string[]) =>
  swarmCli([command, "--run-dir", run, ...args]);
export const enqueue = (id: string, ...args: string[]) =>
  cli("enqueue", "--task-id", id, "--task-type", "greet", ...args);
export const claim = (worker = "w.1", ...args: string[]) =>
  cli("claim", "--worker-id", worker, ...args);
export const complete = (id: string, how: string, worker = "w.1") =>
  cli("complete", "--worker-id", worker, "--task-id", id, how);
