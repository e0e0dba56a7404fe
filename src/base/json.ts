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

/** The JSON object of a text; null when it is none, or torn by a power loss. */
export function parseRecord(text: string | null): Record<string, unknown> | null {
  try {
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
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  // A beginning that no string of this text has, however it is escaped.
  let mark = "number";
  while (text.includes(mark)) mark += "~";
  let marked = false;
  const safe = text.replace(tokens, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    marked = true;
    return `"${mark}${token}"`;
  });
  if (!marked || /\\u00(6e|7e)/i.test(text)) return JSON.parse(text);
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(mark)
      ? new ExactNumber(value.slice(mark.length))
      : value,
  );
}
