import { VivError } from "../base/errors.ts";
import { parseUserJson } from "../base/user-json.ts";
import type { Values } from "./values.ts";

/** A JSON object given as a flag's value; undefined when the flag is missing or empty. */
export function objectFrom(values: Values, flag: string): Record<string, unknown> | undefined {
  const text = values.filled(flag);
  if (text === undefined) return undefined;
  const value = parseUserJson(text, flag);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new VivError("INVALID", `${flag} must be a JSON object, like {"goal": "..."}`);
  }
  return value as Record<string, unknown>;
}
