/** A vendor's event. Nothing about its fields is certain: each is asked for by its type. */
export type JsonObject = { readonly [key: string]: unknown };

/** One line of a vendor's stream as an object; null when it is none. Never throws. */
export function parseLine(line: string): JsonObject | null {
  const straight = parseObject(line);
  if (straight !== null) return straight;
  const stripped = stripCodes(line).trim();
  return stripped === line ? null : parseObject(stripped);
}

function parseObject(text: string): JsonObject | null {
  if (!MAYBE_OBJECT.test(text)) return null;
  try {
    return asObject(JSON.parse(text));
  } catch {
    // Not JSON, or nested too deep for the parser: then it is a line like any other.
    return null;
  }
}

const MAYBE_OBJECT = /^\s*\{/;

/** Without colours, cursor movements, titles, and the controls no JSON text may contain. */
export function stripCodes(text: string): string {
  return text.replace(CODES, "").replace(CONTROLS, "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
const CODES = /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|.)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f\ufeff]/g;

export function asObject(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

export function objectAt(object: JsonObject | null, key: string): JsonObject | null {
  return object === null ? null : asObject(own(object, key));
}

export function listAt(object: JsonObject | null, key: string): readonly unknown[] {
  const value = object === null ? null : own(object, key);
  return Array.isArray(value) ? value : [];
}

export function stringAt(object: JsonObject | null, key: string): string | null {
  const value = object === null ? null : own(object, key);
  return typeof value === "string" ? value : null;
}

/** Only what looks like an id is one: it is remembered, and may become an argument one day. */
export function idAt(object: JsonObject | null, key: string): string | null {
  const value = stringAt(object, key);
  return value !== null && /^[A-Za-z0-9][\w.:-]{0,199}$/.test(value) ? value : null;
}

/** A number that can be counted with: no NaN, no infinity, nothing below zero. */
export function numberAt(object: JsonObject | null, key: string): number | null {
  const value = object === null ? null : own(object, key);
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Own properties only: a line may not reach what every object inherits. */
function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
