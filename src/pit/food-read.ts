import { isName, isTypeName } from "../base/names.ts";
import type { Task } from "../queue/task.ts";
import { readDoneWhen } from "./done-when.ts";
import { contentOf, findFences } from "./food-fence.ts";
import { type FieldName, type FoodText, readFoodText } from "./food-lines.ts";
import {
  attemptsFrom,
  corrupt,
  foodFrom,
  foodsFrom,
  objectFrom,
  priorityFrom,
  shortValue,
  shown,
  startFrom,
  timeFrom,
  timeoutFrom,
  typeFrom,
  withoutComment,
  yesFrom,
} from "./food-values.ts";

export interface FoodContext {
  runId: string;
  /** When the food does not say when it was tossed: the file's time. */
  createdAt: string;
}

/** Reads a food. What it cannot be taken for is told with CORRUPT; what is only odd, in payload.warnings. */
export function parseFood(text: string, id: string, context: FoodContext): Task {
  const food = readFoodText(text);
  const warnings = food.warnings;
  const short = (name: FieldName) => {
    const raw = food.fields.get(name);
    return raw === undefined ? "" : shortValue(raw);
  };
  /** Advice that cannot be followed is passed over, and told. */
  const advice = <T>(
    name: FieldName,
    read: (value: string) => T | null,
    hint: string,
  ): T | null => {
    const value = short(name);
    const meant = value === "" ? null : read(value);
    if (value !== "" && meant === null) warnings.push(`${name}: ${shown(value)} ${hint}`);
    return meant;
  };

  const details = food.fields.has("details") ? objectFrom(food.fields.get("details") ?? "") : {};
  const tossedAt = advice("tossed-at", timeFrom, "is not a time; the file's own time is used.");
  const createdAt = tossedAt ?? context.createdAt;
  const type = typeFrom(short("for") || "food");
  const isTooBig =
    /^too[ -]?big\b/i.test(short("size")) ||
    advice("too-big", yesFrom, "is neither yes nor no, and is ignored.") === true;
  const payload = wordsOf(food, id, Object.hasOwn(details, "payload"));
  if (!isTooBig && short("size") !== "") payload.size = short("size");
  const task: Task = {
    task_id: id,
    task_type: type === "food" && isTooBig ? "planner" : type,
    run_id: context.runId,
    created_at: createdAt,
    created_by: short("tossed-by") || null,
    depends_on: foodsFrom("after", food.fields.get("after") ?? ""),
    payload,
    tier_hint: null,
    deadline: null,
  };
  const priority = advice("priority", priorityFrom, "is not high, normal or low, and is ignored.");
  if (priority !== null && priority !== "normal") task.priority = priority;
  const start = short("not-before");
  if (start !== "") task.not_before = startFrom(start, createdAt);
  const parent = short("part-of");
  if (parent !== "") task.parent = foodFrom("part-of", parent);
  const attempts = advice("max-attempts", attemptsFrom, "is not 1 to 1000, and is ignored.");
  if (attempts !== null) task.max_attempts = attempts;
  const timeout = advice("timeout", timeoutFrom, "is not like 90s, 10m or 2h, and is ignored.");
  if (timeout !== null) task.timeout = timeout;
  // Whoever writes anything but "no" wants somebody to look at it.
  const review = advice("review", yesFrom, "is neither yes nor no; a person will review it.");
  if (short("review") !== "" && review !== false) task.review = true;
  proof(task, food, warnings);
  addDetails(task, details, warnings);
  if (warnings.length > 0 && !Object.hasOwn(task.payload, "warnings")) {
    task.payload.warnings = warnings;
  }
  return task;
}

function proof(task: Task, food: FoodText, warnings: string[]): void {
  const raw = food.fields.get("done-when");
  if (raw === undefined) return;
  const [first = "", ...more] = raw.split("\n");
  const value = [withoutComment(first, "`\"'"), ...more].join("\n");
  if (value.trim() === "") {
    warnings.push("done-when is empty; write a command in backticks behind it, or leave it out.");
    return;
  }
  const read = readDoneWhen(value);
  if ("command" in read) task.done_when = read.command;
  else {
    task.review = true;
    task.payload.done_when = read.words;
  }
}

/** What there is to do: the field, else the prose, else a heading. */
function wordsOf(food: FoodText, id: string, mayBeSilent: boolean): Record<string, unknown> {
  const rest = withoutOwnName(food.rest, id);
  const text = trimLines(rest);
  const task = longValue(food.fields.get("task") ?? "");
  if (task !== "") return text === "" ? { task } : { task, text };
  const said = rest.filter(
    (line) => line.trim() !== "" && !/^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/.test(line),
  );
  if (said.some((line) => headingOf(line) === null)) return { task: text };
  const [title = "", ...others] = said.map((line) => headingOf(line) ?? "").filter(Boolean);
  if (title !== "") {
    return others.length === 0 ? { task: title } : { task: title, text: others.join("\n") };
  }
  if (mayBeSilent) return {};
  throw corrupt(
    food.fields.size === 0 && text === ""
      ? "no task: the food is empty; write a line like `- **task:** what to do`."
      : "no task: it does not say what to do; write a line like `- **task:** what to do`.",
  );
}

/** A fence alone is meant to the letter; else the text as it stands, without a comment behind its first line. */
function longValue(raw: string): string {
  const lines = raw.split("\n");
  const [fence, second] = findFences(lines);
  if (fence !== undefined && second === undefined) {
    const isAlone = lines.every(
      (l, at) => (at >= fence.open && at <= fence.close) || l.trim() === "",
    );
    if (isAlone) return contentOf(lines, fence);
  }
  const [first = "", ...more] = lines;
  return [withoutComment(first, "`"), ...more].join("\n").trim();
}

function withoutOwnName(lines: string[], id: string): string[] {
  const at = lines.findIndex((line) => headingOf(line) !== null);
  const heading = headingOf(lines[at] ?? "");
  if (heading === null) return lines;
  const name = heading.replace(/^[`*"]{1,3}/, "").slice(0, id.length);
  if (name.toLowerCase() !== id.toLowerCase()) return lines;
  const after = heading.slice(heading.toLowerCase().indexOf(id.toLowerCase()) + id.length);
  const title = after.replace(/^(?:\.md)?[`*"]{0,3}/, "");
  // More of a name: the heading is that of another food.
  if (/^[A-Za-z0-9._-]/.test(title)) return lines;
  const told = title.replace(/^\s*[:–—-]?\s*/, "");
  return [...lines.slice(0, at), ...(told === "" ? [] : [`# ${told}`]), ...lines.slice(at + 1)];
}

function headingOf(line: string): string | null {
  const text = line.trim();
  const hashes = /^#{1,6}(?=[ \t]|$)/.exec(text)?.[0];
  return hashes === undefined ? null : text.slice(hashes.length).trim();
}

function trimLines(lines: string[]): string {
  let from = 0;
  let to = lines.length;
  while (from < to && lines[from]?.trim() === "") from++;
  while (to > from && lines[to - 1]?.trim() === "") to--;
  return lines.slice(from, to).join("\n");
}

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === "string";
const isTextOrNull: Check = (value) => value === null || isText(value);

/** What would do harm if it were something else. */
const MUST: Record<string, [Check, string]> = {
  task_type: [isTypeName, "must be one word"],
  created_at: [isText, "must be a string"],
  created_by: [isTextOrNull, "must be a string or null"],
  tier_hint: [isTextOrNull, "must be a string or null"],
  deadline: [isTextOrNull, "must be a string or null"],
  depends_on: [(v) => Array.isArray(v) && v.every(isName), "must be a list of food names"],
  parent: [isName, "must be the name of a food"],
  not_before: [(v) => typeof v === "string" && !Number.isNaN(Date.parse(v)), "must be a time"],
  done_when: [(v) => typeof v === "string" && v.trim() !== "", "must be a command"],
  payload: [
    (v) => typeof v === "object" && v !== null && !Array.isArray(v),
    "must be a JSON object",
  ],
};
const SHOULD: Record<string, Check> = {
  priority: (value) => priorityFrom(value) === value,
  max_attempts: (value) => typeof value === "number" && attemptsFrom(value) !== null,
  timeout: (value) => timeoutFrom(value) !== null,
  review: (value) => typeof value === "boolean",
};

/** Keys of `details` count before the fields; a payload is added to what the fields say. */
function addDetails(task: Task, details: Record<string, unknown>, warnings: string[]): void {
  for (const [key, value] of Object.entries(details)) {
    if (key === "run_id") continue;
    if (key === "task_id") {
      if (value === task.task_id) continue;
      throw corrupt("details: task_id does not match the file's name; leave it out.");
    }
    const must = Object.hasOwn(MUST, key) ? MUST[key] : undefined;
    if (must && !must[0](value)) throw corrupt(`details: ${key} ${must[1]}.`);
    const should = Object.hasOwn(SHOULD, key) ? SHOULD[key] : undefined;
    if (should && !should(value)) {
      warnings.push(`details: ${key} is not valid, and is ignored.`);
    } else if (key === "payload") {
      for (const [name, v] of Object.entries(value as object)) setOwn(task.payload, name, v);
    } else setOwn(task, key, value);
  }
}

/** A key called __proto__ is a key. */
export function setOwn(target: object, key: string, value: unknown): void {
  const property = { value, enumerable: true, configurable: true, writable: true };
  Object.defineProperty(target, key, property);
}
