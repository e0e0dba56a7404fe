import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { objectFrom, runPath, type Verb, withRun } from "./context.ts";
import { type Dumpable, dumps, JsonNumber, type JsonTree, readJson, repr } from "./python.ts";

/** Replaces status.json by a new one without completed tasks. */
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

/** A new checkpoint: keys that are not given become empty, except completed_tasks. */
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

/** Exit status 1: no status.json. 2: one that this version cannot read. */
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
  const get = (key: string, otherwise: Dumpable) => {
    const value = checkpoint.get(key);
    return value === undefined ? otherwise : value;
  };
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

interface StatusFile {
  schemaVersion: string;
  runId: JsonTree;
  checkpoint: ReadonlyMap<string, JsonTree>;
  metadata: ReadonlyMap<string, JsonTree>;
}

export class UnreadableStatus extends Error {}

/**
 * Null without a status.json. The run is not opened: swarm-lib's status-init creates a folder with
 * only this file, and reading it must not create the rest.
 */
export function readStatusFile(runDir: string): StatusFile | null {
  const path = join(runDir, "status.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
  let raw: JsonTree;
  try {
    raw = readJson(text);
  } catch (cause) {
    throw new UnreadableStatus(`${path} is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (!(raw instanceof Map)) throw new UnreadableStatus(`${path} is not a JSON object`);
  const version = raw.get("schema_version") ?? "0.0";
  const schemaVersion = version instanceof JsonNumber ? version.text : String(version);
  if (!schemaVersion.startsWith("0.")) {
    throw new UnreadableStatus(
      `Unknown schema_version ${repr(schemaVersion)} in ${path}; swarm-cli reads 0.x`,
    );
  }
  return {
    schemaVersion,
    runId: raw.get("run_id") ?? basename(runDir),
    checkpoint: mapOf(raw.get("checkpoint")),
    metadata: mapOf(raw.get("metadata")),
  };
}

function mapOf(value: JsonTree | undefined): ReadonlyMap<string, JsonTree> {
  return value instanceof Map ? value : new Map();
}
