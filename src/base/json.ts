import { VivError } from "./errors.ts";

/** Deeper JSON than this breaks readers in other languages (Python gives up at about 1000). */
export const MAX_JSON_DEPTH = 500;

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
 * The JSON object of a text; null when it is none, torn by a power loss, or nested so deep that it could not
 * be written again.
 */
export function parseRecord(text: string | null): Record<string, unknown> | null {
  try {
    if (text !== null && text.length > 2 * MAX_JSON_DEPTH) assertDepth(text);
    const value: unknown = JSON.parse(text ?? "");
    return isRecord(value) ? value : null;
  } catch {
    return null; // not JSON
  }
}

/** A JSON object: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * JSON byte for byte as swarm-lib writes it (keys sorted, two spaces, ASCII only). Own properties
 * only: a payload key `__proto__` is a key.
 */
export function canonicalJson(value: unknown, indent = ""): string {
  if (typeof value === "string") return asciiJson(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (value instanceof ExactNumber) return value.text;
  const own = (value as { toJSON?: unknown }).toJSON;
  if (typeof own === "function") return canonicalJson(own.call(value), indent);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((v) => inner + canonicalJson(v, inner)).join(",\n")}\n${indent}]`;
  }
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  if (entries.length === 0) return "{}";
  const isAscii = entries.every(([key]) => PLAIN.test(key));
  entries.sort(isAscii ? ([a], [b]) => (a < b ? -1 : 1) : ([a], [b]) => byCodePoint(a, b));
  const body = entries.map(([key, v]) => {
    const name = isAscii ? `"${key}"` : asciiJson(key);
    return `${inner}${name}: ${canonicalJson(v, inner)}`;
  });
  return `{\n${body.join(",\n")}\n${indent}}`;
}

/** Keys that need no escaping and sort the same everywhere: nearly all. */
const PLAIN = /^[\w .-]*$/;

/** As Python sorts: by code point, where JavaScript compares halves of surrogate pairs. */
function byCodePoint(a: string, b: string): number {
  if (!/[\ud800-\udfff]/.test(a + b)) return a < b ? -1 : a > b ? 1 : 0;
  const rest = b[Symbol.iterator]();
  for (const x of a) {
    const y = rest.next();
    if (y.done) return 1;
    const difference = (x.codePointAt(0) ?? 0) - (y.value.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return rest.next().done ? 0 : -1;
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

/**
 * Refuses what JSON cannot hold (a BigInt, a Map, NaN, a cycle), with the place where it is, so
 * that nothing is lost in silence. What knows how to become JSON (a Date) may do so.
 */
export function assertJson(value: unknown, where: string): void {
  const stack: { value: unknown; where: string; depth: number }[] = [{ value, where, depth: 0 }];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { value: v, where: at, depth } = top;
    if (depth > MAX_JSON_DEPTH) {
      throw new VivError(
        "INVALID",
        `${where} is nested deeper than ${MAX_JSON_DEPTH} levels, or contains itself.`,
      );
    }
    if (v === null || typeof v === "string" || typeof v === "boolean" || v === undefined) continue;
    if ((typeof v === "number" && Number.isFinite(v)) || v instanceof ExactNumber) continue;
    if (typeof v === "object" && typeof (v as { toJSON?: unknown }).toJSON === "function") {
      stack.push({ value: (v as { toJSON(): unknown }).toJSON(), where: at, depth: depth + 1 });
    } else if (Array.isArray(v)) {
      v.forEach((item, i) => {
        stack.push({
          value: item === undefined ? null : item,
          where: `${at}[${i}]`,
          depth: depth + 1,
        });
      });
    } else if (isPlainObject(v)) {
      for (const [key, item] of Object.entries(v)) {
        stack.push({ value: item, where: `${at}.${key}`, depth: depth + 1 });
      }
    } else {
      const what =
        typeof v === "object"
          ? (v?.constructor?.name ?? "object")
          : typeof v === "number"
            ? String(v)
            : typeof v;
      throw new VivError("INVALID", `${at} cannot be written as JSON (${what}).`);
    }
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A number that JavaScript would write differently from how it was read. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** For readers that can do with JavaScript's digits. */
  toJSON(): number {
    return Number(this.text);
  }
}

/**
 * Parses JSON that will be written back for others: a number that would not survive (`1.0`,
 * `12345678901234567890`) becomes an opaque value, which canonicalJson writes as it was.
 */
export function parseExactly(text: string): unknown {
  // A beginning that no string of this text has, however it is escaped.
  let mark = "number";
  while (text.includes(mark)) mark += "~";
  let safe = "";
  let end = 0;
  for (const { token, at } of numbersIn(text)) {
    if (String(Number(token)) === token) continue;
    safe += `${text.slice(end, at)}"${mark}${token}"`;
    end = at + token.length;
  }
  if (end === 0 || /\\u00(6e|7e)/i.test(text)) return JSON.parse(text);
  return JSON.parse(safe + text.slice(end), (_, value) =>
    typeof value === "string" && value.startsWith(mark)
      ? new ExactNumber(value.slice(mark.length))
      : value,
  );
}

/** The numbers of a JSON text, and where they stand. */
export function* numbersIn(text: string): Generator<{ token: string; at: number }> {
  const tokens = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    const { 0: token, index: at } = found;
    if (token !== '"') yield { token, at };
    else tokens.lastIndex = endOfString(text, at + 1);
  }
}

/** One expression for whole strings would run out of stack at some megabytes. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (first > from && text[first - 1] === "\\") first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return text.length;
}
