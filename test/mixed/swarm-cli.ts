import { homedir } from "node:os";
import { join } from "node:path";
import { openRun } from "../../src/main.ts";
import { runSwarmCli } from "../../src/swarm/cli.ts";
import { newFolder } from "../support/folders.ts";
import type { Outcome } from "./company.ts";

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

/** One call in this process, with a store of its own: as the program, without its start. */
export async function cli(command: string, ...args: string[]): Promise<Outcome> {
  const said = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof said) => ({
    write: (more: string) => {
      said[name] += more;
    },
  });
  const code = await runSwarmCli([command, "--run-dir", run, ...args], {
    ...{ open: openRun, home: homedir(), columns: 80 },
    ...{ stdout: stream("stdout"), stderr: stream("stderr") },
  });
  return { code, ...said };
}
export const enqueue = (id: string, ...args: string[]) =>
  cli("enqueue", "--task-id", id, "--task-type", "greet", ...args);
export const claim = (worker = "w.1", ...args: string[]) =>
  cli("claim", "--worker-id", worker, ...args);
export const complete = (id: string, how: string, worker = "w.1") =>
  cli("complete", "--worker-id", worker, "--task-id", id, how);
