import { ApiError, post } from "../live/api.ts";
import { refreshResources } from "../live/resource.ts";
import { shellWord } from "../parts/format.ts";
import { type Toast, toast } from "./toasts.tsx";

/** Inputs that are words of the command, and not flags. */
const WORDS = ["ids", "id", "name", "account", "target", "open"];

/** The command that does the same: `viv reject fix.204 --note 'round away from zero'`. */
export function commandOf(
  operation: string,
  input: object = {},
  asWords: readonly string[] = WORDS,
): string {
  const words: string[] = [];
  const flags: string[] = [];
  for (const [key, value] of Object.entries(input)) {
    if (value === undefined || value === null || value === false) continue;
    const given = (Array.isArray(value) ? value : [value]).map((one) =>
      shellWord(typeof one === "object" ? JSON.stringify(one) : String(one)),
    );
    if (asWords.includes(key)) words.push(...given);
    else if (value === true) flags.push(`--${key.replaceAll("_", "-")}`);
    else flags.push(`--${key.replaceAll("_", "-")} ${given.join(",")}`);
  }
  return ["viv", operation, ...words, ...flags].join(" ");
}

export interface ActOptions<T> {
  /** What to say when it is done: `fix.204 approved`. */
  said?: string | ((answer: T) => Toast);
  /** Where the command is not as `commandOf` makes it. */
  command?: string;
  /** Where a refusal is shown beside what was typed, and not as a message. */
  onRefused?: (error: ApiError) => void;
}

/** The second click of a double click does nothing: it would do the same again, or undo it. */
export function once(run: () => unknown) {
  return ({ detail }: MouseEvent) => {
    if (detail < 2) void run();
  };
}

const underway = new Set<string>();

/**
 * Does an operation, unless the same one is under way, and says what became of it and which command does the same. The answer, or
 * null when it failed: that has been said too.
 */
export async function act<T>(
  operation: string,
  input: object,
  { said = "Done.", command = commandOf(operation, input), onRefused }: ActOptions<T> = {},
): Promise<T | null> {
  const key = JSON.stringify([operation, input]);
  if (underway.has(key)) return null;
  underway.add(key);
  try {
    const answer = await post<T & { warnings?: string[]; notes?: string[] }>(operation, input);
    toast({ ...(typeof said === "string" ? { text: said } : said(answer)), command });
    // Not every change is an event.
    refreshResources("/api/");
    const { warnings = [], notes = [] } = answer;
    for (const text of [...warnings, ...notes]) toast({ text, isBad: true });
    return answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (onRefused) onRefused(error);
    else toast(error.status === 401 ? LOGIN : { text: error.message, command, isBad: true });
    return null;
  } finally {
    underway.delete(key);
  }
}

export const LOGIN: Toast = {
  text: "To change anything, log in: open the link that this command prints.",
  ...{ command: "viv token --link", isBad: true },
  action: { label: "Copy", run: () => void copy("viv token --link") },
};

export function sayLogin(): void {
  toast(LOGIN);
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast({
      text: "Copied.",
      command: text.length <= 80 && !text.includes("\n") ? text : undefined,
    });
  } catch {
    // Without TLS, and not on loopback, a page may not write to the clipboard.
    toast({
      text: "The browser does not let this page copy. The text:",
      command: text,
      isBad: true,
    });
  }
}
