import { VivError } from "../base/errors.ts";
import { canonicalJson } from "../base/json.ts";
import { fenceFor, shown } from "../base/text.ts";
import type { Task } from "../queue/task.ts";
import { quoteDoneWhen, readDoneWhen } from "./done-when.ts";
import {
  contentOf,
  type FieldName,
  type FoodText,
  findFences,
  readFoodText,
} from "./food-fields.ts";
import {
  addDetails,
  attemptsFrom,
  corrupt,
  foodFrom,
  foodsFrom,
  objectFrom,
  priorityFrom,
  setOwn,
  shortValue,
  startFrom,
  timeFrom,
  timeoutFrom,
  typeFrom,
  withoutComment,
  yesFrom,
} from "./food-values.ts";

export interface FoodContext {
  runId: string;
  /** The file's time, for a food without tossed-at. */
  createdAt: string;
}

/** Reads a food. Throws CORRUPT if it cannot be one; oddities go to payload.warnings. */
export function parseFood(text: string, id: string, context: FoodContext): Task {
  const food = readFoodText(text);
  const warnings = food.warnings;
  const short = (name: FieldName) => shortValue(food.fields.get(name) ?? "");
  /** Advice that cannot be followed becomes a warning. */
  const advice = <T>(name: FieldName, read: (value: string) => T | null, hint: string) => {
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
  const payload = taskOf(food, id, Object.hasOwn(details, "payload"));
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
  // Anything but "no" asks for a review.
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

/** The task: from its field, else the prose, else a heading. */
function taskOf(food: FoodText, id: string, mayBeMissing: boolean): Record<string, unknown> {
  const rest = withoutOwnName(food.rest, id);
  const text = trimLines(rest);
  const task = longValue(food.fields.get("task") ?? "");
  if (task !== "") return text === "" ? { task } : { task, text };
  const lines = rest.filter(
    (line) => line.trim() !== "" && !/^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/.test(line),
  );
  if (lines.some((line) => headingOf(line) === null)) return { task: text };
  const [title = "", ...others] = lines.map((line) => headingOf(line) ?? "").filter(Boolean);
  if (title !== "") {
    return others.length === 0 ? { task: title } : { task: title, text: others.join("\n") };
  }
  if (mayBeMissing) return {};
  const why = food.fields.size === 0 && text === "" ? "the food is empty" : "it has no such field";
  throw corrupt(`no task: ${why}; write a line like \`- **task:** what to do\`.`);
}

/** The content of a lone fence; else the text, without a comment behind its first line. */
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
  const rest = title.replace(/^\s*[:–—-]?\s*/, "");
  return lines.toSpliced(at, 1, ...(rest === "" ? [] : [`# ${rest}`]));
}

function headingOf(line: string): string | null {
  const text = line.trim();
  const hashes = /^#{1,6}(?=[ \t]|$)/.exec(text)?.[0];
  return hashes === undefined ? null : text.slice(hashes.length).trim();
}

/** Without empty lines at both ends. */
function trimLines(lines: string[]): string {
  const isFull = (line: string) => line.trim() !== "";
  return lines
    .slice(Math.max(0, lines.findIndex(isFull)), lines.findLastIndex(isFull) + 1)
    .join("\n");
}

/**
 * Writes a task as food: what people read as fields, anything else as JSON under `details`. A value
 * that its field does not give back exactly (a carriage return, a `#` in an odd place) is found by
 * reading the text again, and goes to `details` too; so this does not depend on how fields are read.
 */
export function foodOf(task: Task): string {
  const parts = partsOf(task);
  for (;;) {
    const text = render(task, parts);
    const read = readAgain(text, task);
    if (read !== null && canonicalJson(read) === canonicalJson(task)) return text;
    // If it cannot be read at all, any of them may be the reason.
    const written = parts.filter((part) => part.forms.length > 0);
    const wrong = written.filter((part) => !read || differs(part, task, read));
    const blamed = wrong.length > 0 ? wrong : written;
    if (blamed.length === 0) {
      const message = `task ${JSON.stringify(task.task_id)} cannot be written as food: one of its keys has a value that no food may have.`;
      throw new VivError("INVALID", message);
    }
    for (const part of blamed) part.forms.shift();
  }
}

/** One value of a task, with the ways to write it, best first. Without any it goes to details. */
interface Part {
  key: string;
  inPayload: boolean;
  forms: string[];
}

function partsOf(task: Task): Part[] {
  const { payload } = task;
  const parts: Part[] = [];
  const add = (inPayload: boolean, key: string, value: unknown, forms: (t: string) => string[]) => {
    // Half a surrogate pair would not come back from the disk.
    if (typeof value !== "string" || /\p{Surrogate}/u.test(value)) return;
    parts.push({ key, inPayload, forms: forms(value) });
  };
  const field = (key: string, name: string, value: unknown) =>
    add(false, key, value, (text) => [`- **${name}:**${text.startsWith("\n") ? "" : " "}${text}`]);
  const ofPayload = (key: string, forms: (text: string) => string[]) =>
    add(true, key, Object.hasOwn(payload, key) ? payload[key] : undefined, forms);
  ofPayload("task", (text) => [
    `- **task:** ${indented(text)}`,
    `- **task:**\n\n  ${fenceFor(text)}text\n${lines(text)}\n  ${fenceFor(text)}`,
  ]);
  if (typeof task.done_when === "string") field("done_when", "done-when", proofOf(task.done_when));
  else if (task.review === true) {
    ofPayload("done_when", (text) => [`- **done-when:** ${indented(text)}`]);
  }
  field("created_by", "tossed-by", task.created_by);
  field("task_type", "for", task.task_type === "food" ? undefined : task.task_type);
  field("parent", "part-of", task.parent);
  field("depends_on", "after", task.depends_on.join(", ") || undefined);
  field("created_at", "tossed-at", task.created_at);
  field("not_before", "not-before", task.not_before);
  field("priority", "priority", task.priority);
  field("max_attempts", "max-attempts", task.max_attempts?.toString());
  field("timeout", "timeout", task.timeout);
  field("review", "review", task.review === true ? "yes" : undefined);
  ofPayload("text", (text) => [text]);
  return parts;
}

function render(task: Task, parts: Part[]): string {
  const written = parts.filter((part) => part.forms.length > 0);
  const isWritten = (key: string, inPayload: boolean) =>
    written.some((part) => part.key === key && part.inPayload === inPayload);
  const payload: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(task.payload)) {
    if (!isWritten(key, true)) setOwn(payload, key, value);
  }
  const details: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(task)) {
    if (!isUsual(key, value) && !isWritten(key, false)) setOwn(details, key, value);
  }
  if (Object.keys(payload).length > 0 || !isWritten("task", true)) details.payload = payload;
  const isProse = (part: Part) => part.inPayload && part.key === "text";
  const fields = written.filter((part) => !isProse(part)).map((part) => part.forms[0]);
  if (Object.keys(details).length > 0) {
    fields.push(`- **details:**\n\n  \`\`\`json\n${lines(canonicalJson(details))}\n  \`\`\``);
  }
  const prose = written.filter(isProse).map((part) => `\n${part.forms[0]}\n`);
  return `# ${task.task_id}\n\n${fields.join("\n")}\n${prose.join("")}`;
}

/** Defaults that are not written; the payload is checked key by key. */
function isUsual(key: string, value: unknown): boolean {
  if (["task_id", "run_id", "payload"].includes(key) || value === undefined) return true;
  if (key === "task_type") return value === "food";
  if (key === "depends_on") return Array.isArray(value) && value.length === 0;
  return value === null && ["created_by", "tier_hint", "deadline"].includes(key);
}

function differs(part: Part, task: Task, read: Task): boolean {
  const [a, b] = part.inPayload ? [task.payload, read.payload] : [task, read];
  return canonicalJson(a[part.key]) !== canonicalJson(b[part.key]);
}

function readAgain(text: string, task: Task): Task | null {
  try {
    return parseFood(text, task.task_id, { runId: task.run_id, createdAt: "" });
  } catch {
    return null; // the caller writes it in another way, and throws when there is none left
  }
}

function proofOf(command: string): string {
  const quoted = quoteDoneWhen(command);
  return quoted.includes("\n") ? `\n\n${lines(quoted)}` : quoted;
}

const indented = (text: string) => lines(text).slice(2);

/** With the flag m, ^ would also stand behind U+2028, where no line of a food begins. */
const lines = (text: string) => text.replace(/(?<=^|\n)(?=[^\n])/g, "  ");
