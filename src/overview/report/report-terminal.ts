import { clip, plain, prose, type Term, table } from "../../operation/term.ts";
import { countLine } from "../../queue/cli/paint.ts";
import { documentOf, type Entry, type Fact, SCREEN, type Tone } from "./report-document.ts";
import type { Report } from "./report-shape.ts";

const INDENT = "  ";
/** Below this width a bar would take a line of its own. */
const BAR_FROM = 72;
const LABEL = 10;
/** Of the width. */
const LONG_COMMAND = 0.4;

/** For a person: one screen of 80 columns. */
export function terminalReport(report: Report, term: Term): string {
  const { bold, dim, green, yellow } = term.color;
  const document = documentOf(report, SCREEN);
  const { worked, killed, needs } = document;
  const lines = [
    `${bold(plain(document.title))}  ${dim(plain(document.place))}`,
    `${dim(document.period)}`,
    countLine(report.counts, term),
    "",
    needs.length === 0 ? green(document.needsTitle) : bold(yellow(document.needsTitle)),
    ...entryLines(needs, term),
    "",
    ...document.facts.flatMap((fact) => factLines(fact, term)),
  ];
  if (worked.rows.length > 0) {
    const hasBar = term.width >= BAR_FROM;
    const rows = worked.rows.map(({ name, when, tasks, busy, bar }) => [
      ...[`${INDENT}${plain(name)}`, when, tasks, busy],
      ...(hasBar ? [dim(bar)] : []),
    ]);
    lines.push("", bold(hasBar ? worked.title : "Who worked when (UTC)"), table(rows, term));
    if (worked.more !== "") lines.push(dim(`${INDENT}${worked.more}`));
  }
  if (killed.length > 0) lines.push("", bold("Killed"), ...entryLines(killed, term));
  for (const note of document.notes) lines.push("", ...wrapped(plain(note), term.width).map(dim));
  return lines.join("\n");
}

/** A long command has a line of its own, so that the others stay beside their text. */
function entryLines(entries: readonly Entry[], term: Term): string[] {
  if (entries.length === 0) return [];
  const hasSubject = entries.some(({ subject }) => subject !== "");
  const command = (entry: Entry) => term.color.cyan(plain(entry.command ?? ""));
  const isLong = (entry: Entry) => (entry.command?.length ?? 0) > term.width * LONG_COMMAND;
  const set = (isBeside: (entry: Entry) => boolean) =>
    table(
      entries.map((entry) => [
        `${INDENT}${painted(plain(entry.label), entry.tone, term)}`,
        ...(hasSubject ? [plain(entry.subject)] : []),
        prose(plain(entry.text)),
        isBeside(entry) ? command(entry) : "",
      ]),
      term,
    ).split("\n");
  const lines = set((entry) => !isLong(entry));
  // Too narrow even so: then each is set in several lines.
  if (lines.length > entries.length) return set(() => true);
  return entries.flatMap((entry, i) => {
    const own = isLong(entry) ? [`${INDENT.repeat(3)}${command(entry)}`] : [];
    return [lines[i] ?? "", ...own];
  });
}

function factLines({ label, text, tone }: Fact, term: Term): string[] {
  const lines = wrapped(plain(text), term.width - LABEL);
  return lines.map((line, i) => {
    const name = i === 0 ? label.padEnd(LABEL) : " ".repeat(LABEL);
    return `${term.color.bold(name)}${painted(line, tone, term)}`;
  });
}

function painted(text: string, tone: Tone, { color }: Term): string {
  const paint = { good: color.green, bad: color.red, warn: color.yellow, plain: (t: string) => t };
  return paint[tone](text);
}

/** At spaces; a longer word is left whole, because it may be a name or a path. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const isFirst = last === undefined;
    if (!isFirst && clip(`${last} ${word}`, width) === `${last} ${word}`) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}
