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
 * JSON as swarm-lib writes it (keys sorted, two spaces, ASCII only), so that a file we wrote and
 * one it wrote cannot be told apart. Own properties only: a payload key `__proto__` is a key.
 */
export function canonicalJson(value: unknown, indent = ""): string {
  if (typeof value === "string") return asciiJson(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (value instanceof ExactNumber) return value.text;
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

/** A number that JavaScript would write differently from how it was read. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const MARK = "\u0000number:";

/**
 * Parses JSON that will be written back for others: a number that would not survive (`1.0`,
 * `12345678901234567890`) becomes an opaque value, which canonicalJson writes as it was.
 */
export function parseExactly(text: string): unknown {
  const strings = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  let marked = false;
  const safe = text.replace(strings, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    marked = true;
    return JSON.stringify(MARK + token);
  });
  if (!marked) return JSON.parse(text);
  return JSON.parse(safe, (_, value) =>
    typeof value === "string" && value.startsWith(MARK)
      ? new ExactNumber(value.slice(MARK.length))
      : value,
  );
}
