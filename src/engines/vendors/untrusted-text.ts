import { VivError } from "../../base/errors.ts";

/**
 * A prompt is data: the vendor's program must send a template, a payload or the evidence of a failed
 * attempt to the model as it is, and neither run commands in it nor read files for it. Tried with the
 * programs themselves, without a terminal, prompt on stdin:
 *
 *            /command at the start       @file anywhere
 *   claude   runs it, built-in or own    reads it, wherever it lies; a variable turns that off
 *   gemini   runs the user's own         reads it, within the workspace; `\@` stays as it is
 *   codex    text                        text
 *   opencode text                        text
 */

/** With this before it, a text no longer begins with a command. */
const HEAD = "The task:";
/** Without an at sign itself: gemini reads the whole workspace for `@.` at the end of a sentence. */
const NOTE = "(In what follows, \\@ stands for an at sign.)";

export function inertPrompt(prompt: string, mention: RegExp): string {
  const text = prompt.replace(mention, "\\@");
  const notes = text === prompt ? [] : [NOTE];
  const heads = /^\s*\//.test(text) && notes.length === 0 ? [HEAD] : notes;
  return [...heads, text].join("\n\n");
}

/** Gemini knows no quotes and no word boundaries. */
export const GEMINI_MENTION = /(?<!\\)@/g;

/**
 * CLAUDE_ENV turns off files. Claude still resolves, at the beginning of a word, resources of MCP servers
 * (`@server:uri`), agents (`@agent-x`, `@"x (agent)"`) and documents (`@[name](address)`).
 */
export const CLAUDE_MENTION =
  /(?<=^|[\s\u3002\u3001\uff1f\uff01])@(?=[^\s:]+:\S|agent-|\[|"[^"\n]*\(agent\)")/g;
export const CLAUDE_ENV = { CLAUDE_CODE_DISABLE_FILE_MENTIONS: "1" };

/** A value behind a flag must not become a flag: a model or a session may come from anywhere. */
export function argument(value: string, what: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no argument has any
  if (value !== "" && !value.startsWith("-") && !/[\u0000-\u001f\u007f]/.test(value)) return value;
  throw new VivError(
    "INVALID",
    `${JSON.stringify(value)} cannot be the ${what}: it is empty, begins with a dash or has control characters.`,
  );
}
