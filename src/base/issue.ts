/** What is wrong with an input, in words. The parts of a zod issue that our schemas can produce. */
export interface Issue {
  code?: string;
  path: readonly PropertyKey[];
  expected?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  values?: readonly unknown[];
  keys?: readonly string[];
  message: string;
}

export function isMissing(issue: Issue, input: unknown): boolean {
  if (issue.code !== "invalid_type" && issue.code !== "invalid_value") return false;
  let value = input;
  for (const key of issue.path) value = (value as Record<PropertyKey, unknown> | undefined)?.[key];
  return value === undefined;
}

/** Without the name of what it is about: "must be …". */
export function complaint(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${article(String(issue.expected))}`;
    case "too_small":
      return `must be at least ${String(issue.minimum)}`;
    case "too_big":
      return `must be at most ${String(issue.maximum)}`;
    case "invalid_value":
      return `must be one of ${(issue.values ?? []).join(", ")}`;
    default:
      return "is not valid";
  }
}

const WORDS: Record<string, string> = {
  int: "a whole number",
  array: "a list",
  record: "a JSON object",
  object: "a JSON object",
};

function article(type: string): string {
  return WORDS[type] ?? `a ${type}`;
}
