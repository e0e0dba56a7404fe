import { existsSync } from "node:fs";
import { isVivError } from "../base/errors.ts";
import { assertName } from "../base/names.ts";
import type { Surroundings, SwarmStore, Verb } from "./command.ts";
import { withRun } from "./open.ts";
import { runPath } from "./paths.ts";
import type { Values } from "./values.ts";

/** Ends a claim. Where there is none it says so and makes nothing, not even the run. */
export const complete: Verb = async (values, around) => {
  const path = claimPath(values, around);
  if (!existsSync(path)) return report(around, `no claimed task at ${path}`);
  try {
    await withRun(values, around, (store) => end(values, store, around));
    return 0;
  } catch (error) {
    if (isVivError(error, "CLAIM_LOST")) return report(around, `no claimed task at ${path}`);
    if (isVivError(error, "CORRUPT"))
      return report(around, `cannot read ${path}: ${error.message}`);
    throw error;
  }
};

function claimPath(values: Values, around: Surroundings): string {
  const worker = assertName("worker name", values.text("--worker-id"));
  const id = assertName("task id", values.text("--task-id"));
  return `${runPath(values.text("--run-dir"), around.home)}/claimed/${worker}/${id}.json`;
}

/** A failure obeys the task's max_attempts; a task of swarm-lib has none and goes to failed/. */
async function end(values: Values, store: SwarmStore, around: Surroundings): Promise<void> {
  const ref = { id: values.text("--task-id"), worker: values.text("--worker-id") };
  const isDone = values.has("--success");
  const { warnings = [] } = isDone ? await store.complete(ref) : await store.fail(ref);
  for (const sentence of warnings) around.stderr.write(`warning: ${sentence}\n`);
  try {
    if (isDone) await store.flushStatus();
  } catch (error) {
    // The task has moved: status.json follows later, and is no reason to say that it failed.
    const why = error instanceof Error ? error.message : String(error);
    around.stderr.write(`warning: completed_tasks was not brought up to date (${why})\n`);
  }
}

function report(around: Surroundings, sentence: string): number {
  around.stderr.write(`error: ${sentence}\n`);
  return 1;
}
