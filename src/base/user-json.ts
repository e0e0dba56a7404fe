import { VivError } from "./errors.ts";
import { assertDepth, isRecord, numbersIn } from "./json.ts";

/** Parses JSON that a user typed, refusing what would not survive the way to disk unchanged. */
export function parseUserJson(text: string, what: string): unknown {
  let value: unknown;
  try {
    assertDepth(text);
    value = JSON.parse(text);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new VivError("INVALID", `${what} is not valid JSON: ${why}`, {}, { cause });
  }
  for (const { token } of numbersIn(text)) {
    const number = Number(token);
    const exact =
      Number.isFinite(number) && (!/^-?\d+$/.test(token) || Number.isSafeInteger(number));
    if (exact) continue;
    throw new VivError(
      "INVALID",
      `${what} has the number ${token.slice(0, 40)}, which would lose digits; pass it as a string.`,
    );
  }
  return value;
}

export function parseUserObject(text: string, what: string): Record<string, unknown> {
  const value = parseUserJson(text, what);
  if (isRecord(value)) return value;
  throw new VivError("INVALID", `${what} must be a JSON object, like {"goal": "..."}`);
}
