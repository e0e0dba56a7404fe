import { VivError } from "./errors.ts";
import { isName } from "./names.ts";

export const PRIORITIES = ["high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A task file larger than this is refused: payloads are instructions, not data sets. */
export const MAX_TASK_BYTES = 16 * 1024 * 1024;
/** Deeper JSON than this breaks readers in other languages (Python gives up at about 1000). */
export const MAX_JSON_DEPTH = 500;

/**
 * A task as it lies on disk. The first nine keys are swarm-lib's; the optional ones are ours and
 * are written only when set. Keys we do not know are kept: the file is moved, never rewritten.
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

export function priorityOf(task: Task): Priority {
  return task.priority === "high" || task.priority === "low" ? task.priority : "normal";
}

/**
 * Reads a task file. Tolerant where a foreign writer may differ (missing optional keys), strict
 * where a mistake would do harm (the id decides which file is moved).
 */
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
  if (task.task_id !== id) {
    throw new VivError(
      "CORRUPT",
      task.task_id === undefined
        ? "no task_id"
        : `task_id ${JSON.stringify(task.task_id)} does not match the file name`,
    );
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

/** Refuses JSON nested beyond MAX_JSON_DEPTH, looking at the text so that no parser recurses. */
export function assertDepth(text: string): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 92) i++;
      else if (c === 34) inString = false;
    } else if (c === 34) inString = true;
    else if (c === 123 || c === 91) {
      if (++depth > MAX_JSON_DEPTH) {
        throw new VivError("INVALID", `JSON is nested deeper than ${MAX_JSON_DEPTH} levels`);
      }
    } else if (c === 125 || c === 93) depth--;
  }
}

/**
 * JSON as swarm-lib writes it (keys sorted, two spaces, ASCII only), so that a file we wrote and
 * one it wrote cannot be told apart. Own properties only: a payload key `__proto__` is a key.
 */
export function canonicalJson(value: unknown, indent = ""): string {
  if (typeof value === "string") return asciiJson(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((v) => inner + canonicalJson(v, inner)).join(",\n")}\n${indent}]`;
  }
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  if (entries.length === 0) return "{}";
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  const body = entries.map(([k, v]) => `${inner}${asciiJson(k)}: ${canonicalJson(v, inner)}`);
  return `{\n${body.join(",\n")}\n${indent}}`;
}

/** On one line, in ASCII: a character is a byte, and no byte is a line break. */
export function asciiJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!/[\u007f-\uffff]/.test(text)) return text;
  return text.replace(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
