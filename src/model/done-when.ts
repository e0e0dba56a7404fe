import { contradicts, looksLikeCommand, speaksOfThing } from "./done-when-words.ts";
import { contentOf, fenceFor, findFences, longestRun } from "./food-fence.ts";

/**
 * What the field done-when of a food asks for: a command whose success is the proof, or words for
 * a person. A command stands in a fence or in backticks; without either the text is a command if it
 * looks like one.
 */
export type DoneWhen = { command: string } | { words: string };

export function readDoneWhen(value: string): DoneWhen {
  const text = value.replace(/\r\n?/g, "\n");
  const words = { words: text.trim() };
  const command = fromFences(text) ?? fromList(text) ?? fromLine(text);
  return command === "" ? words : { command };
}

/**
 * How to write a command so that readDoneWhen gives it back. (Not one that is only a comment, or
 * has a carriage return.)
 */
export function quoteDoneWhen(command: string): string {
  if (command.includes("\n")) {
    const fence = fenceFor(command);
    const whole = command.startsWith("set -e\n") && command.trim() === command;
    return `${fence}sh${whole ? "" : " verbatim"}\n${command}\n${fence}`;
  }
  const ticks = "`".repeat(longestRun(command) + 1);
  const pad = /^`|`$|^ .* $/.test(command) ? " " : "";
  return ticks + pad + command + pad + ticks;
}

// Below, "" means that there are words only, and null that it is not this form.

const SHELLS = new Set(["", "sh", "bash", "shell", "zsh", "console", "shell-session", "cmd"]);

function fromFences(text: string): string | null {
  const lines = text.split("\n");
  const fences = findFences(lines);
  if (fences.length === 0) return null;
  const inside = new Set<number>();
  const commands: string[] = [];
  for (const fence of fences) {
    for (let at = fence.open; at <= fence.close; at++) inside.add(at);
    const [language = "", how] = fence.info.toLowerCase().split(/\s+/);
    const content = contentOf(lines, fence);
    if (!SHELLS.has(language) || isNothing(content)) return "";
    commands.push(how === "verbatim" ? content : script(content));
  }
  const outside = lines.filter((_, at) => !inside.has(at)).join(" ");
  if (/\b(?:fails?|not|never|cannot|prints?|outputs?)\b|n't\b/i.test(outside)) return "";
  return join(commands);
}

/** Every line of a script must succeed: of a shell's own accord only the last one counts. */
function script(content: string): string {
  let lines = content.split("\n").filter((line) => line.trim() !== "");
  if (lines[0]?.trimStart().startsWith("$ ")) {
    const typed = lines.filter((line) => line.trimStart().startsWith("$ "));
    lines = typed.map((line) => line.trimStart().slice(2));
    return lines.length > 1 ? `set -e\n${lines.join("\n")}` : (lines[0] ?? "");
  }
  const trimmed = content.replace(/^(?:[ \t]*\n)+/, "").trimEnd();
  const isOne = lines.filter((line) => !line.trimStart().startsWith("#")).length < 2;
  const looksItself = trimmed.includes("$?") || /^\s*set -[a-z]*e/.test(trimmed);
  return isOne || looksItself ? trimmed : `set -e\n${trimmed}`;
}

const MARKER = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+/;

/** A list: all of its items must be commands, for what the others ask would not be proven. */
function fromList(text: string): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const intro = lines[0] !== undefined && !MARKER.test(lines[0]) ? (lines.shift() ?? "") : "";
  if (lines.length === 0 || intro.includes("`") || !lines.every((line) => MARKER.test(line))) {
    return null;
  }
  if (contradicts(intro)) return "";
  const commands = lines.map((line) => fromLine(line.replace(MARKER, "")));
  return commands.includes("") ? "" : join(commands);
}

function fromLine(text: string): string {
  if (isSubstituting(text)) return text.trim();
  const spans = spansOf(text);
  return spans.length === 0 ? fromPlain(text) : fromSpans(text, spans);
}

interface Span {
  start: number;
  end: number;
  content: string;
}

function fromSpans(text: string, spans: Span[]): string {
  const between = (i: number) => text.slice(spans[i]?.end ?? 0, spans[i + 1]?.start).trim();
  const isAlone =
    text.slice(0, spans[0]?.start).trim() === "" && spans.every((_, i) => isJoint(between(i)));
  const first = spans.findIndex(
    (span, i) => !isNothing(span.content) && (isAlone || !speaksOfThing(span.content, between(i))),
  );
  if (first === -1) return "";
  let last = first;
  while (last + 1 < spans.length && isJoint(between(last))) last++;
  const chosen = spans.slice(first, last + 1).map((span) => span.content);
  if (contradicts(between(last)) || chosen.some(isNothing)) return "";
  return join(chosen);
}

/** What may stand between two commands that are both meant. */
function isJoint(gap: string): boolean {
  return (
    gap.length < 20 && /^[,;]?\s*(?:and|then|and then|as well as|plus|also|&&|&|\+)?$/i.test(gap)
  );
}

/** test `wc -l < x` -gt 3: the shell's backticks, not Markdown's. */
function isSubstituting(text: string): boolean {
  const line = text.trim();
  return /^(?:test|\[{1,2}|!)\s[^\n]*`/.test(line) && /\s(?:-[a-z]{1,2}|!?=|==)(?:\s|$)/.test(line);
}

function fromPlain(text: string): string {
  // Backticks without a partner; and nothing between two is a success for a shell.
  if (text.includes("`")) return "";
  const lines = text.split("\n").map((line) => line.trim());
  const parts = lines.filter((line) => line !== "");
  // Two lines could be two commands; as one they would be something else.
  const isOne = parts.every(
    (line, i) => i === 0 || /^(?:&&|\|)/.test(line) || /(?:&&|\||\\)$/.test(parts[i - 1] ?? ""),
  );
  if (!isOne) return "";
  const whole = parts.map((line) => line.replace(/\\$/, "")).join(" ");
  const quote = whole.charAt(0);
  const inner = whole.slice(1, -1);
  if ((quote === '"' || quote === "'") && whole.endsWith(quote) && !inner.includes(quote)) {
    return looksLikeCommand(inner) ? inner.trim() : "";
  }
  return looksLikeCommand(whole) ? whole : "";
}

/** Code spans as Markdown has them: a run of backticks up to the next run of the same length. */
function spansOf(text: string): Span[] {
  const runs = [...text.matchAll(/`+/g)].map((m) => ({ at: m.index, length: m[0].length }));
  const next: (number | undefined)[] = [];
  const seen = new Map<number, number>();
  for (let i = runs.length - 1; i >= 0; i--) {
    const length = runs[i]?.length ?? 0;
    next[i] = seen.get(length);
    seen.set(length, i);
  }
  const spans: Span[] = [];
  for (let i = 0; i < runs.length; i++) {
    const open = runs[i];
    const closing = next[i];
    const close = closing === undefined ? undefined : runs[closing];
    if (open === undefined || close === undefined || closing === undefined) continue;
    const start = open.at;
    const raw = text.slice(start + open.length, close.at);
    let content = raw.includes("\n") ? oneLine(raw) : raw;
    if (content.startsWith(" ") && content.endsWith(" ") && content.trim() !== "") {
      content = content.slice(1, -1);
    }
    spans.push({ start, end: close.at + close.length, content });
    i = closing;
  }
  return spans;
}

function oneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
}

/** A shell makes a success of it without doing anything. */
function isNothing(command: string): boolean {
  return command.split("\n").every((line) => /^(?:#|$)/.test(line.trim()));
}

/** In brackets where something in it would otherwise bind to its neighbours. */
function join(commands: string[]): string {
  if (commands.length === 1) return commands[0] ?? "";
  return commands
    .map((command) => command.trim())
    .map((command) =>
      /[;|&\n#]/.test(command) ? `(${command}${/[\n#]/.test(command) ? "\n" : ""})` : command,
    )
    .join(" && ");
}
