/**
 * Text of tasks and programs as it may be shown: control characters and overrides of direction are
 * made visible, so that what is read is what is there.
 */
export function plain(text: string): string {
  return text.replace(HIDDEN, (c) =>
    c === "\u001b"
      ? "␛"
      : `‹${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`,
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const TITLE_KEYS = ["title", "task", "goal", "subject", "summary"];
const LONGEST_TITLE = 200;

/** The first line of what a payload calls its title. */
export function titleOf(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return "";
  for (const key of TITLE_KEYS) {
    const value = (payload as Record<string, unknown>)[key];
    if (typeof value !== "string" || value.trim() === "") continue;
    return plain(value.trim().slice(0, LONGEST_TITLE).split("\n")[0] ?? "");
  }
  return "";
}
