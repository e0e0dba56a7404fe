import { objectFrom, runPath, type Verb, withRun } from "./context.ts";
import { type Dumpable, dumps } from "./python.ts";
import { readStatusFile, type StatusFile, UnreadableStatus } from "./status-file.ts";

/** A fresh status.json in place of the old one: nothing is completed in it. */
export const statusInit: Verb = async (values, context) => {
  const update = {
    summary: values.filled("--summary") ?? "Initialized",
    next_step: values.text("--next-step"),
    next_task_id: values.maybe("--next-task-id") ?? null,
    metadata: objectFrom(values, "--metadata") ?? {},
  };
  await withRun(values, context, (store) => store.initStatus(values.text("--run-id"), update));
  return 0;
};

/** A whole new checkpoint: a key that is not given is empty again, except completed_tasks. */
export const statusWrite: Verb = async (values, context) => {
  const update = {
    summary: values.text("--summary"),
    next_step: values.text("--next-step"),
    next_task_id: values.maybe("--next-task-id") ?? null,
    risk: values.text("--risk"),
    current_worker: values.maybe("--current-worker") ?? null,
    resume_command: null,
    metadata: objectFrom(values, "--metadata") ?? {},
  };
  await withRun(values, context, (store) => store.writeStatus(update));
  return 0;
};

/** Exit status 1: there is none. 2: there is one that this version cannot read. */
export const statusShow: Verb = async (values, context) => {
  const runDir = runPath(values.text("--run-dir"), context.home);
  const fail = (status: number, sentence: string) => {
    context.stderr.write(`error: ${sentence}\n`);
    return status;
  };
  try {
    const status = readStatusFile(runDir);
    if (status === null) return fail(1, `No status.json at ${runDir}/status.json`);
    context.stdout.write(`${dumps(shown(status), "indented")}\n`);
    return 0;
  } catch (error) {
    if (error instanceof UnreadableStatus) return fail(2, error.message);
    throw error;
  }
};

function shown({ schemaVersion, runId, checkpoint, metadata }: StatusFile): Dumpable {
  const get = (key: string, otherwise: Dumpable): Dumpable =>
    checkpoint.has(key) ? (checkpoint.get(key) as Dumpable) : otherwise;
  return {
    schema_version: schemaVersion,
    run_id: runId,
    checkpoint: {
      summary: get("summary", ""),
      next_step: get("next_step", ""),
      next_task_id: get("next_task_id", null),
      risk: get("risk", ""),
      completed_tasks: get("completed_tasks", []),
      current_worker: get("current_worker", null),
      timestamp: get("timestamp", ""),
      resume_command: get("resume_command", null),
    },
    metadata,
  };
}
