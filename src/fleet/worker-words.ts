import type { ChildEnd } from "../platform/processes/children.ts";

/** What a `viv work --json` says, as far as it tells the state of an agent. */
export type Said =
  | { kind: "waits" | "works" }
  /** Nothing is held back any more when the reasons are empty. */
  | { kind: "held"; reasons: string }
  | { kind: "trouble"; message: string };

export function saidBy(line: string): Said | null {
  const event = objectFrom(line);
  switch (event?.kind) {
    case "started":
    case "ended":
      return { kind: "waits" };
    case "claimed":
      return { kind: "works" };
    case "held":
      return {
        kind: "held",
        reasons: Array.isArray(event.reasons) ? event.reasons.join("; ") : "",
      };
    case "trouble":
      return { kind: "trouble", message: String(event.message ?? "") };
    default:
      return null;
  }
}

/** The code and the sentence with which it gave up; what it said last when that was no error of viv. */
export function lastError({ lastWords }: ChildEnd): { code?: string; message: string } {
  const line = lastWords.trimEnd().split("\n").at(-1) ?? "";
  const error = objectFrom(line)?.error as Record<string, unknown> | undefined;
  if (typeof error?.message !== "string") return { message: line };
  return { code: String(error.code), message: error.message.split("\n")[0] ?? "" };
}

/** For people: why it ended. */
export function describeEnd(end: ChildEnd): string {
  if (end.error !== undefined) return end.error;
  const how = end.signal === null ? `exit ${end.exit}` : end.signal;
  const { message } = lastError(end);
  return message === "" ? how : `${how}: ${message}`;
}

function objectFrom(line: string): Record<string, unknown> | null {
  if (!line.startsWith("{")) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null; // cut off, or not meant for us
  }
}
