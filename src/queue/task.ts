import { VivError } from "../base/errors.ts";
import { assertDepth, MAX_JSON_DEPTH } from "../base/json.ts";
import { isName } from "../base/names.ts";
import type { Priority } from "../base/priority.ts";

export { PRIORITIES, type Priority } from "../base/priority.ts";

/** A task file larger than this is refused: payloads are instructions, not data sets. */
export const MAX_TASK_BYTES = 16 * 1024 * 1024;

/**
 * A task's file. The first nine keys are swarm-lib's; the optional ones are ours and are written
 * only when set. Unknown keys are kept: the file is moved, never rewritten.
 */
export interface Task {
  task_id: string;
  task_type: string;
  run_id: string;
  created_at: string;
  created_by: string | null;
  depends_on: string[];
  payload: Record<string, unknown>;
  tier_hint: string | null;
  deadline: string | null;
  priority?: Priority;
  not_before?: string;
  parent?: string;
  done_when?: string;
  review?: boolean;
  max_attempts?: number;
  timeout?: string;
  [key: string]: unknown;
}

/** A task in our JSON: `id` and `type` as everywhere, then its file's keys, swarm-lib's names too. */
export function taskJson(task: Task): Task & { id: string; type: string } {
  const { task_id: id, task_type: type } = task;
  return { ...{ id, type }, ...task, ...{ id, type } };
}

export function priorityOf(task: Task): Priority {
  return task.priority === "high" || task.priority === "low" ? task.priority : "normal";
}

/** Tolerant where a foreign writer may differ (missing keys), strict where a mistake does harm. */
export function parseTask(text: string, id: string): Task {
  let value: unknown;
  if (text.length > 2 * MAX_JSON_DEPTH) assertDepth(text);
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const why = text.trim() === "" ? "it is empty" : (cause as Error).message;
    throw new VivError("CORRUPT", `not JSON: ${why}`, {}, { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new VivError("CORRUPT", "not a JSON object");
  }
  const task = value as Task;
  if (task.task_id === undefined) throw new VivError("CORRUPT", "no task_id");
  if (task.task_id !== id) {
    const found = JSON.stringify(task.task_id);
    throw new VivError("CORRUPT", `task_id ${found} does not match the file name`);
  }
  if (typeof task.task_type !== "string") throw new VivError("CORRUPT", "no task_type");
  const payload = task.payload as unknown;
  if (payload === undefined || payload === null) task.payload = {};
  else if (typeof payload !== "object" || Array.isArray(payload)) {
    throw new VivError("CORRUPT", "payload is not an object");
  }
  const dependsOn = task.depends_on as unknown;
  if (dependsOn === undefined || dependsOn === null) task.depends_on = [];
  else if (!Array.isArray(dependsOn) || !dependsOn.every(isName)) {
    throw new VivError("CORRUPT", "depends_on is not a list of task ids");
  }
  return task;
}

export function noSuchTask(id: string): VivError {
  return new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, { id });
}
