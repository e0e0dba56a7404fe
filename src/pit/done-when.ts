import { fenceFor, longestBackticks } from "../base/text.ts";
import { asksForSuccess, commentIn, leadsIn, saysNothing } from "./done-when-sentence.ts";
import { looksLikeCommand, speaksOfThing, withoutShellComment } from "./done-when-words.ts";
import { contentOf, findFences } from "./food-fence.ts";

/**
 * What the field done-when of a food asks for: a command whose success is the proof, or words for
 * a person. A command stands in a fence or in backticks, and nothing around it but that it
 * succeeds; without either the text is a command if it looks like one.
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
  const ticks = "`".repeat(longestBackticks(command) + 1);
  const pad = /^`|`$|^ .* $/.test(command) ? " " : "";
  return ticks + pad + command + pad + ticks;
}

// Below, "" means that there are words only, and null that it is not this form.

const SHELLS = new Set(["", "sh", "bash", "shell", "zsh", "console", "shell-session", "cmd"]);

function fromFences(text: string): string | null {
  const lines = text.split("\n");
  const fences = findFences(lines);
  if (fences.length === 0) return null;
  const commands: string[] = [];
  const around: string[] = [];
  let from = 0;
  for (const fence of fences) {
    around.push(lines.slice(from, fence.open).join("\n"));
    from = fence.close + 1;
    const [language = "", how] = fence.info.toLowerCase().split(/\s+/);
    const content = contentOf(lines, fence);
    if (!SHELLS.has(language) || isNothing(content)) return "";
    commands.push(how === "verbatim" ? content : script(content));
  }
  around.push(lines.slice(from).join("\n"));
  return asksForSuccess(around) ? join(commands) : "";
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

const MARKER = /^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?/;

/** A list: all of its items must be commands, for what the others ask would not be proven. */
function fromList(text: string): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const intro = lines[0] !== undefined && !MARKER.test(lines[0]) ? (lines.shift() ?? "") : "";
  if (lines.length === 0 || intro.includes("`") || !lines.every((line) => MARKER.test(line))) {
    return null;
  }
  if (!leadsIn(intro)) return "";
  const commands = lines.map((line) => fromLine(line.replace(MARKER, "")));
  return commands.includes("") ? "" : join(commands);
}

function fromLine(text: string): string {
  const spans = spansOf(text);
  if (spans.length === 0) return fromPlain(text);
  return isSubstituting(text, spans) ? text.trim() : fromSpans(text, spans);
}

interface Span {
  start: number;
  end: number;
  content: string;
}

function fromSpans(text: string, found: Span[]): string {
  const spans: Span[] = [];
  const around: string[] = [];
  const lastLine = text.trimEnd().lastIndexOf("\n");
  let from = 0;
  for (let i = 0; i <= found.length; i++) {
    const span = found[i];
    const gap = text.slice(from, span?.start);
    const comment = commentIn(gap);
    // Lines below it would make it one of several.
    const isLast = comment !== -1 && from + comment >= lastLine;
    around.push(isLast ? gap.slice(0, comment) : gap);
    if (isLast || span === undefined) break;
    spans.push(span);
    from = span.end;
  }
  if (spans.length === 0 || !asksForSuccess(around)) return "";
  const isAlone = saysNothing(around);
  const isProof = spans.every(
    ({ content }, i) =>
      !isNothing(content) && (isAlone || !speaksOfThing(content, around[i + 1] ?? "")),
  );
  return isProof ? join(spans.map((span) => span.content)) : "";
}

/**
 * test `wc -l < x` -gt 3: the shell's backticks, not Markdown's. Only where nothing in place of
 * the backticks is an error: `test -f` and `test =` alone succeed.
 */
function isSubstituting(text: string, [span, second]: Span[]): boolean {
  if (span === undefined || second !== undefined) return false;
  const before = text.slice(0, span.start).trimStart();
  const behind = text.slice(span.end).trimEnd();
  if (before.length > 10 || behind.length > 200 || behind.includes("\n")) return false;
  const opened = /^(?:test|(\[{1,2}))\s+("?)$/.exec(before);
  if (opened === null) return false;
  const compared =
    /^("?)\s+(?:-[a-z]{2}|!?=|==)\s+(?:"[^"`]+"|'[^']+'|[^\s"'`\];|&<>()#]+)(?:\s+(\]{1,2}))?(?:\s+#\s.*)?$/.exec(
      behind,
    );
  return (
    compared !== null &&
    compared[1] === opened[2] &&
    (compared[2] ?? "").length === (opened[1] ?? "").length
  );
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
  // Joined to one line, a comment would take the lines below it along.
  if (parts.length > 1 && parts.some((line) => /(?:^|\s)#/.test(line))) return "";
  const whole = withoutShellComment(parts.map((line) => line.replace(/\\$/, "")).join(" "));
  const quote = whole.charAt(0);
  const inner = whole.slice(1, -1);
  const isQuoted =
    (quote === '"' || quote === "'") && whole.endsWith(quote) && !inner.includes(quote);
  const line = isQuoted ? withoutShellComment(inner).trim() : whole;
  return looksLikeCommand(line) ? line : "";
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
