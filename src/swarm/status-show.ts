import type { Verb } from "./command.ts";
import { runPath } from "./paths.ts";
import { type Dumpable, dumps } from "./python.ts";
import { readStatusFile, type StatusFile, UnreadableStatus } from "./status-file.ts";

/** Exit status 1: there is none. 2: there is one that this version cannot read. */
export const statusShow: Verb = async (values, around) => {
  const runDir = runPath(values.text("--run-dir"), around.home);
  try {
    const status = readStatusFile(runDir);
    if (status === null) {
      around.stderr.write(`error: No status.json at ${runDir}/status.json\n`);
      return 1;
    }
    around.stdout.write(`${dumps(shown(status), "indented")}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof UnreadableStatus)) throw error;
    around.stderr.write(`error: ${error.message}\n`);
    return 2;
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
