import * as z from "zod/mini";
import { parseDuration } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { complaint, type Issue, isMissing } from "../base/issue.ts";
import { assertJson } from "../base/json.ts";
import { assertName, assertNewName, assertTypeName, suggest } from "../base/names.ts";
import { parseWhen } from "../base/when.ts";
import { flag, list, text } from "../operation/fields.ts";
import { PRIORITIES, type Task } from "./task.ts";

/** A new task. */
export const taskSpec = z.strictObject({
  id: text("id of the task (default: generated)"),
  type: z.string().check(z.describe("kind of work; workers select tasks by it")),
  payload: z.optional(
    z.record(z.string(), z.unknown()).check(z.describe("a JSON object for the handler")),
  ),
  depends_on: list("ids of tasks that must be done first"),
  priority: z.optional(z.enum(PRIORITIES).check(z.describe("high, normal (default) or low"))),
  not_before: text("earliest start (22:00, tomorrow 6:00, 2h, or a time with a zone)"),
  tier_hint: z.nullish(z.string().check(z.describe("model tier for the engine, e.g. haiku"))),
  deadline: z.nullish(z.string().check(z.describe("due time; shown, not enforced"))),
  created_by: z.nullish(z.string().check(z.describe("your name, for the record"))),
  parent: z.nullish(z.string().check(z.describe("task that enqueued it"))),
  done_when: text("command that proves it is done"),
  review: flag("a person must approve the result"),
  max_attempts: z.optional(
    z.int().check(z.gte(1), z.lte(1000)).check(z.describe("attempts before failed/")),
  ),
  timeout: z.optional(
    z.union([z.string(), z.number()]).check(z.describe("time limit of one attempt")),
  ),
  extra: z.optional(
    z.record(z.string(), z.unknown()).check(z.describe("further keys, kept as they are")),
  ),
});

export type TaskSpec = z.input<typeof taskSpec>;

const KNOWN_KEYS = Object.keys(taskSpec.shape);
/** Names of swarm-lib that differ from ours. */
const SWARM_KEYS: Record<string, keyof TaskSpec> = { task_id: "id", task_type: "type" };
/** In swarm-lib's files, but set by us. */
const OURS_TO_SET = new Set(["run_id", "created_at"]);

/**
 * One line of a JSONL stream, in our keys or swarm-lib's. A key that is nearly one of ours is
 * refused as a typo; other unknown keys are kept.
 */
export function specFromObject(value: unknown): TaskSpec {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new VivError("INVALID", "a task must be a JSON object.");
  }
  const spec: Record<string, unknown> = {};
  const extra: Record<string, unknown> = Object.create(null);
  for (const [key, v] of Object.entries(value)) {
    const name = SWARM_KEYS[key] ?? key;
    if (OURS_TO_SET.has(key)) continue;
    if (key !== "extra" && KNOWN_KEYS.includes(name)) {
      if (v !== null && v !== undefined) spec[name] = v;
      continue;
    }
    const meant = suggest(key, [...KNOWN_KEYS, ...Object.keys(SWARM_KEYS)]);
    if (meant && meant !== key)
      throw new VivError("INVALID", `unknown key "${key}"; did you mean "${meant}"?`);
    extra[key] = v;
  }
  if (Object.keys(extra).length > 0) spec.extra = extra;
  return spec as TaskSpec;
}

/** Checks a spec and returns the task to write. Throws INVALID. */
export function taskFromSpec(
  spec: TaskSpec,
  context: { runId: string; now: number; newId: () => string; anyType?: boolean },
): Task {
  const parsed = taskSpec.safeParse(spec);
  if (!parsed.success) {
    throw new VivError("INVALID", sentenceFor(parsed.error.issues[0] as Issue, spec));
  }
  const s = parsed.data;
  assertJson(spec.payload, "payload");
  assertJson(spec.extra, "extra");
  const id = assertNewName("task id", s.id ?? context.newId());
  if (!context.anyType) assertTypeName(s.type);
  const dependsOn = [...new Set(s.depends_on ?? [])];
  for (const dep of dependsOn) assertName("task id", dep);
  if (s.parent != null) assertName("task id", s.parent);
  const task: Task = {
    task_id: id,
    task_type: s.type,
    run_id: context.runId,
    created_at: new Date(context.now).toISOString(),
    created_by: s.created_by ?? null,
    depends_on: dependsOn,
    // As it was given: the schema's copy would leave out a key called __proto__.
    payload: (spec.payload ?? {}) as Record<string, unknown>,
    tier_hint: s.tier_hint ?? null,
    deadline: s.deadline != null ? parseWhen(s.deadline, context.now, "deadline") : null,
  };
  if (s.priority !== undefined && s.priority !== "normal") task.priority = s.priority;
  if (s.not_before !== undefined) {
    task.not_before = parseWhen(s.not_before, context.now, "not_before");
  }
  if (s.parent != null) task.parent = s.parent;
  if (s.done_when !== undefined) {
    if (s.done_when.trim() === "") throw new VivError("INVALID", "done_when is empty.");
    task.done_when = s.done_when;
  }
  if (s.review) task.review = true;
  if (s.max_attempts !== undefined) task.max_attempts = s.max_attempts;
  if (s.timeout !== undefined) {
    task.timeout = typeof s.timeout === "number" ? `${s.timeout}s` : s.timeout;
    const ms = parseDuration(task.timeout, "timeout");
    if (ms <= 0) throw new VivError("INVALID", "timeout is zero.");
  }
  for (const [key, value] of Object.entries(spec.extra ?? {})) {
    if (Object.hasOwn(task, key)) continue;
    // Not an assignment: the key may be __proto__.
    const own = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(task, key, { value, ...own });
  }
  return task;
}

function sentenceFor(issue: Issue, spec: unknown): string {
  const where = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys?.[0] ?? "";
    const meant = suggest(key, KNOWN_KEYS);
    return `unknown key "${key}"${meant ? `; did you mean "${meant}"?` : "."}`;
  }
  if (where === "type" && isMissing(issue, spec)) return "a task needs a type.";
  if (where === "payload") return 'payload must be a JSON object, like {"goal":"…"}.';
  return `${where || "a task"} ${complaint(issue)}.`;
}
