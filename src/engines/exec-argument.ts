import { VivError } from "../base/errors.ts";

/** What is put behind a flag must not become one: a model or a session may come from anywhere. */
export function argument(value: string, what: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no argument has any
  if (value !== "" && !value.startsWith("-") && !/[\u0000-\u001f\u007f]/.test(value)) return value;
  throw new VivError(
    "INVALID",
    `${JSON.stringify(value)} cannot be the ${what}: it is empty, begins with a dash or has control characters.`,
  );
}
