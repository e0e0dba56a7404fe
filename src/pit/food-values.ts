import { parseDuration, parseTime } from "../base/duration.ts";
import { VivError } from "../base/errors.ts";
import { assertDepth } from "../base/json.ts";
import { isName, isTypeName } from "../base/names.ts";
import { shown } from "../base/text.ts";
import { PRIORITIES, type Priority, type Task } from "../queue/task.ts";
import { contentOf, findFences } from "./food-fields.ts";
import { numberOf } from "./food-names.ts";

/**
 * Reads the values of a food's fields. A value that decides when or by whom the food is eaten must
 * be valid (CORRUPT); an invalid one that is only advice is null, and the caller warns.
 */

export function corrupt(sentence: string, cause?: unknown): VivError {
  return new VivError("CORRUPT", sentence, {}, { cause });
}

/** Without a comment and without quotes, backticks or stars around it. */
export function shortValue(raw: string): string {
  const line = raw.replaceAll("\n", " ");
  const comment = line.startsWith("#") ? 0 : /[ \t]#/.exec(line)?.index;
  const value = line.slice(0, comment).trim();
  if (value.length > 500) return value;
  const inner = /^(?:\*\*(.+)\*\*|`([^`]+)`|"([^"]+)"|'([^']+)'|_([^_]+)_)$/.exec(value) ?? [];
  return (inner.slice(1).find((group) => group !== undefined) ?? value).trim();
}

/** Without a comment: `#` behind two blanks and before one, not inside of quotes. */
export function withoutComment(line: string, quotes: string): string {
  const open = new Set<string>();
  for (let at = 0; at < line.length; at++) {
    const c = line.charAt(at);
    if (quotes.includes(c) && !open.delete(c)) open.add(c);
    if (c !== "#" || open.size > 0 || !/^[ \t]?$/.test(line.charAt(at + 1))) continue;
    if (/[ \t]{2}|\t$/.test(line.slice(Math.max(0, at - 2), at)))
      return line.slice(0, at).trimEnd();
  }
  return line;
}

const ANY_SNAKE = new Set(["any", "anyone", "anybody", "any snake", "snake", "snakes", "everyone"]);

export function typeFrom(value: string): string {
  const type = value.replace(/^(?:the|an?)\s+/i, "");
  const lower = type.toLowerCase();
  if (ANY_SNAKE.has(lower)) return "food";
  if (lower === "keeper" || lower === "planner" || lower === "food") return lower;
  if (isTypeName(type)) return type;
  const advice = "write one word such as keeper, planner or food";
  throw corrupt(`for: ${shown(value)} is not a kind of snake; ${advice}.`);
}

/** A food by its name, or by the file it lies in. */
export function foodFrom(field: string, value: string): string {
  const name = value.replace(/^(?:\.\/)?(?:pit\/)?(?:food|done)\//, "").replace(/\.md$/, "");
  if (isName(name)) return name;
  throw corrupt(`${field}: ${shown(value)} is not the name of a food; write it like food-0007-x.`);
}

const NO_FOOD = new Set(["", "none", "nothing", "-", "n/a", "[]"]);

export function foodsFrom(field: string, raw: string): string[] {
  if (NO_FOOD.has(shortValue(raw).toLowerCase())) return [];
  const names: string[] = [];
  for (const line of raw.split("\n")) {
    const item = shortValue(line.replace(/^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+/, ""));
    const words = item
      .replace(/^\[|\]$/g, "")
      .replaceAll(",", " , ")
      .split(/\s+/);
    let before: string | null = null;
    for (const word of words.map(shortValue)) {
      const isSeparator = word === "" || word === "," || word.toLowerCase() === "and";
      if (!isSeparator) names.push(foodFrom(field, word));
      // A sentence consists of names too, and would wait for ever.
      if (before !== null && !isSeparator && (numberOf(before) ?? numberOf(word)) === null) {
        const advice = "put commas between their names";
        throw corrupt(`${field}: ${shown(item)} is not a list of foods; ${advice}.`);
      }
      before = isSeparator ? null : word;
    }
  }
  return [...new Set(names)];
}

export function startFrom(value: string, createdAt: string): string {
  const base = Date.parse(createdAt);
  try {
    if (!Number.isNaN(base) || !/^(?:now|\+)/.test(value)) return parseTime(value, base, "time");
  } catch {
    // Reported below, in the words of a food.
  }
  const advice = "write 2026-11-15T08:00:00Z, or +10m after it was tossed";
  throw corrupt(`not-before: ${shown(value)} is not a time; ${advice}.`);
}

export function timeFrom(value: string): string | null {
  return /^\d/.test(value) ? tried(() => parseTime(value, 0)) : null;
}

export function priorityFrom(value: unknown): Priority | null {
  const lower = typeof value === "string" ? value.toLowerCase() : value;
  return PRIORITIES.find((priority) => priority === lower) ?? null;
}

export function attemptsFrom(value: string | number): number | null {
  const number = typeof value === "string" && !/^\d{1,4}$/.test(value) ? 0 : Number(value);
  return Number.isInteger(number) && number >= 1 && number <= 1000 ? number : null;
}

export function timeoutFrom(value: unknown): string | null {
  if (typeof value !== "string") return null;
  return (tried(() => parseDuration(value)) ?? 0) > 0 ? value : null;
}

const YES = new Set(["yes", "y", "true", "1", "on", "x", "required", "needed", "please"]);
const NO = new Set(["no", "n", "false", "0", "off", "none", "never", "not needed", ""]);

export function yesFrom(value: string): boolean | null {
  const lower = value.toLowerCase();
  return YES.has(lower) ? true : NO.has(lower) ? false : null;
}

export function objectFrom(raw: string): Record<string, unknown> {
  const lines = raw.split("\n");
  const fence = findFences(lines)[0];
  const json = fence === undefined ? raw : contentOf(lines, fence);
  let value: unknown;
  try {
    assertDepth(json);
    value = JSON.parse(json);
  } catch (cause) {
    const advice = "write an object into a fence below it, or leave it out";
    throw corrupt(`details is not valid JSON: ${(cause as Error).message}; ${advice}.`, cause);
  }
  if (isObject(value)) return value as Record<string, unknown>;
  throw corrupt("details must be a JSON object, like {…}.");
}

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === "string";
const isTextOrNull: Check = (value) => value === null || isText(value);
const isObject: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Keys of `details` that would do harm with another value. */
const MUST = new Map<string, [Check, string]>([
  ["task_type", [isTypeName, "must be one word"]],
  ["created_at", [isText, "must be a string"]],
  ["created_by", [isTextOrNull, "must be a string or null"]],
  ["tier_hint", [isTextOrNull, "must be a string or null"]],
  ["deadline", [isTextOrNull, "must be a string or null"]],
  ["depends_on", [(v) => Array.isArray(v) && v.every(isName), "must be a list of food names"]],
  ["parent", [isName, "must be the name of a food"]],
  ["not_before", [(v) => typeof v === "string" && !Number.isNaN(Date.parse(v)), "must be a time"]],
  ["done_when", [(v) => typeof v === "string" && v.trim() !== "", "must be a command"]],
  ["payload", [isObject, "must be a JSON object"]],
]);
const SHOULD = new Map<string, Check>([
  ["priority", (value) => priorityFrom(value) === value],
  ["max_attempts", (value) => typeof value === "number" && attemptsFrom(value) !== null],
  ["timeout", (value) => timeoutFrom(value) !== null],
  ["review", (value) => typeof value === "boolean"],
]);

/** Keys of `details` override the fields; a payload is added to that of the fields. */
export function addDetails(task: Task, details: Record<string, unknown>, warnings: string[]): void {
  for (const [key, value] of Object.entries(details)) {
    if (key === "run_id") continue;
    if (key === "task_id") {
      if (value === task.task_id) continue;
      throw corrupt("details: task_id does not match the file's name; leave it out.");
    }
    const [isValid, rule] = MUST.get(key) ?? [];
    if (isValid?.(value) === false) throw corrupt(`details: ${key} ${rule}.`);
    if (SHOULD.get(key)?.(value) === false) {
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

function tried<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null; // the caller reports it in its own words
  }
}
