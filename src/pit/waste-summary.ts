import * as z from "zod/mini";
import { formatDuration } from "../base/duration.ts";
import { fingerprint } from "../base/fingerprint.ts";
import { counted } from "../base/text.ts";
import { oneLine, parseWasteFoot, parseWasteHead, snakeOfWaste } from "./waste.ts";

/** What a log says about its snake's attempt. */
export const logFacts = z.object({
  snake: z.string(),
  /** It has our last line, so the attempt is over. */
  isEnded: z.boolean(),
  /** Other: neither success nor failure (released, cut off, out of quota …). */
  end: z.enum(["done", "failed", "other"]),
  seconds: z.nullable(z.number().check(z.gte(0))),
  /** Each once. */
  errors: z.array(z.string()),
});
export type LogFacts = z.output<typeof logFacts>;

export interface SnakeTally {
  attempts: number;
  failures: number;
  other: number;
  /** Of the logs that have it; `unknown` counts the others. */
  seconds: number;
  unknown: number;
  /** In how many logs each line is; later ones behind earlier ones. */
  errors: Map<string, number>;
}

export type Tallies = Map<string, SnakeTally>;

const FAILURES = ["failed", "unproven", "timed_out"];
const END_LINES = 20;
const ERRORS_OF_A_LOG = 5;
const ERRORS_STORED = 200;
const ERRORS_SHOWN = 5;
const SNAKES_SHOWN = 100;
const MAX_LOOKED_AT = 400;
const MAX_SHOWN = 160;

/** `end` may begin in the middle of the log. Null: the name is no log's. */
export function factsOf(log: { name: string; head: string; end: string }): LogFacts | null {
  const named = snakeOfWaste(log.name);
  if (named === null) return null;
  const head = parseWasteHead(log.head.split(/\r?\n/, 1)[0] ?? "");
  const lines = log.end.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  const last = lines.slice(-END_LINES);
  const foot = last.map(parseWasteFoot).findLast((found) => found !== null) ?? null;
  const errors = errorLinesOf(log.end);
  const end = endOf(foot?.outcome, head !== null, last.join("\n"));
  if (errors.length === 0 && end === "failed" && foot?.note) errors.push(readable(foot.note));
  return {
    snake: head && log.name.startsWith(`${head.worker}-`) ? head.worker : named.snake,
    isEnded: foot !== null,
    end,
    seconds: foot?.seconds ?? null,
    errors: [...new Set(errors)].slice(-ERRORS_OF_A_LOG), // the last: what it ended with
  };
}

function endOf(outcome: string | undefined, isOurs: boolean, tail: string): LogFacts["end"] {
  if (outcome === "done") return "done";
  if (outcome !== undefined) return FAILURES.includes(outcome) ? "failed" : "other";
  if (isOurs) return "other"; // its worker died
  return errorLinesOf(tail).length > 0 ? "failed" : "done";
}

const ERROR = new RegExp(
  [
    String.raw`\b(?:errors?|err!|fail(?:s|ed|ure|ures)?|fatal|exception|panic(?:ked)?|denied|refused)(?!\w)`,
    String.raw`\b(?:not found|no such file|not ok|timed out|out of memory|segmentation fault|core dumped)\b`,
    String.raw`\bexit(?:ed)?(?: with)?(?: code| status)?:? -?[1-9]`,
    "[✗✖]",
  ].join("|"),
  "i",
);
/** TypeError, java.io.IOException. */
const ERROR_CLASS = /[A-Za-z](?:Error|Exception)\b/;
/** No error: `0 failed`, `no errors`, `failures: 0`, `"error":null`; or the link between two. */
const NO_ERROR =
  /\b(?:0|no|zero|without(?: any?)?) (?:errors?|failed|failures?|exceptions?)\b|\b(?:errors?|failed|failures?)"?\s*[:=]\s*(?:0|null|none|false|"")(?![\w.])|the above exception.*/gi;
const TRACEBACK = /Traceback \(most recent call last\):\s*$/;

/** Lines that look like errors, in order, without what changes from one time to the next. */
export function errorLinesOf(text: string): string[] {
  const found: string[] = [];
  let traceback: number | null = null; // its indentation, while we are in one
  for (const raw of text.split(/[\r\n]+/)) {
    if (raw.trim() === "") continue;
    if (TRACEBACK.test(raw)) {
      traceback = indentOf(raw);
      continue;
    }
    if (traceback !== null && indentOf(raw) > traceback) continue; // it quotes source
    if (!isOurs(raw) && (traceback !== null || isError(raw))) found.push(readable(raw));
    traceback = null;
  }
  return found.filter((line) => line !== "");
}

function isOurs(raw: string): boolean {
  return parseWasteHead(raw) !== null || parseWasteFoot(raw) !== null;
}

function isError(raw: string): boolean {
  const begin = raw.slice(0, MAX_LOOKED_AT);
  // Most lines are plain: cleaning them all would take most of the time.
  const line = /^[\t -~]*$/.test(begin) ? begin : oneLine(begin);
  return looksBad(line) && looksBad(line.replace(NO_ERROR, ""));
}

const looksBad = (line: string) => ERROR.test(line) || ERROR_CLASS.test(line);

const indentOf = (line: string) => line.length - line.trimStart().length;

function readable(raw: string): string {
  const tail = oneLine(raw.slice(0, MAX_LOOKED_AT));
  return oneLine(fingerprint({ outcome: "", exit: null, signal: null, tail }), MAX_SHOWN);
}

export function addLog(tallies: Tallies, { snake, end, seconds, errors }: LogFacts): void {
  const tally: SnakeTally = {
    attempts: 1,
    failures: end === "failed" ? 1 : 0,
    other: end === "other" ? 1 : 0,
    seconds: seconds ?? 0,
    unknown: seconds === null ? 1 : 0,
    errors: new Map(errors.map((line) => [line, 1])),
  };
  mergeTallies(tallies, new Map([[snake, tally]]));
}

export function mergeTallies(into: Tallies, from: Tallies): Tallies {
  for (const [snake, more] of from) into.set(snake, added(into.get(snake) ?? noTally(), more));
  return into;
}

function added(sum: SnakeTally, more: SnakeTally): SnakeTally {
  sum.attempts += more.attempts;
  sum.failures += more.failures;
  sum.other += more.other;
  sum.unknown += more.unknown;
  // In tenths, as the logs have it: the order of the logs does not change the sum.
  sum.seconds = Math.round((sum.seconds + more.seconds) * 10) / 10;
  for (const [line, count] of more.errors) {
    sum.errors.set(line, (sum.errors.get(line) ?? 0) + count);
  }
  return sum;
}

function noTally(): SnakeTally {
  return { attempts: 0, failures: 0, other: 0, seconds: 0, unknown: 0, errors: new Map() };
}

/** With the most frequent lines only, and of equally frequent ones the later: bounds the file. */
export function boundTallies(tallies: Tallies): Tallies {
  const bounded: Tallies = new Map();
  for (const [snake, tally] of tallies) {
    const lines = [...tally.errors].reverse().sort(([, a], [, b]) => b - a);
    bounded.set(snake, { ...tally, errors: new Map(lines.slice(0, ERRORS_STORED).reverse()) });
  }
  return bounded;
}

export function attemptsIn(tallies: Tallies): number {
  return [...tallies.values()].reduce((sum, { attempts }) => sum + attempts, 0);
}

interface SummaryFacts {
  now: number;
  /** How many logs are in waste/, were pruned over time, and are old but mentioned in scraps/. */
  logs: number;
  pruned: number;
  kept: number;
}

const AS_OF = /^As of .*? UTC: /m;

export function renderSummary(tallies: Tallies, facts: SummaryFacts): string {
  const { now, logs, pruned, kept } = facts;
  const rows = [...tallies].sort(([a, x], [b, y]) => y.attempts - x.attempts || compare(a, b));
  const shown = rows.slice(0, SNAKES_SHOWN);
  const whole = [...tallies.values()].reduce(added, noTally());
  const counts = [
    counted(logs, "log"),
    ...(kept > 0 ? [`${kept} of them old but named in scraps/`] : []),
    ...(pruned > 0 ? [`${pruned} more pruned`] : []),
  ].join(", ");
  const asOf = new Date(now).toISOString().slice(0, 16).replace("T", " ");
  const table = [
    ["snake", "attempts", "failed", "other", "time spent"],
    ...shown.map(([snake, tally]) => [quoteName(snake), ...cellsOf(tally)]),
    ...(rows.length > 1 ? [["**all**", ...cellsOf(whole)]] : []),
  ];
  const hidden = rows.length - shown.length;
  return `${[
    "# Waste",
    `As of ${asOf} UTC: ${counts}.`,
    ...(rows.length > 0 ? [renderTable(table)] : []),
    ...(hidden > 0 ? [`${counted(hidden, "snake")} with fewer attempts not shown.`] : []),
    ...renderErrors(shown),
  ].join("\n\n")}\n`;
}

/** Apart from the date, for which the file is not rewritten. */
export function isSameSummary(a: string, b: string): boolean {
  return a.replace(AS_OF, "") === b.replace(AS_OF, "");
}

function renderErrors(rows: readonly [string, SnakeTally][]): string[] {
  const sections = rows
    .filter(([, { errors }]) => errors.size > 0)
    .map(([snake, { errors }]) => {
      const top = [...errors]
        .sort(([a, x], [b, y]) => y - x || compare(a, b))
        .slice(0, ERRORS_SHOWN)
        .map(([line, count]) => `- ${count} × ${code(line)}`);
      return `### ${quoteName(snake)}\n\n${top.join("\n")}`;
    });
  if (sections.length === 0) return [];
  const legend =
    "A line counts once per log; `#` stands for what differs: a number, a time, an id.";
  return ["## Most common error lines", legend, ...sections];
}

function cellsOf({ attempts, failures, other, seconds, unknown }: SnakeTally): string[] {
  const time =
    unknown === attempts && attempts > 0
      ? "unknown"
      : `${formatDuration(seconds * 1000)}${unknown > 0 ? ` (${unknown} unknown)` : ""}`;
  return [`${attempts}`, `${failures}`, `${other}`, time];
}

/** Padded, to be read with cat. */
function renderTable(rows: readonly string[][]): string {
  const [titles = [], ...body] = rows;
  const widths = titles.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, i) =>
    i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(titles), line(rule), ...body.map(line)].join("\n");
}

function quoteName(name: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(name) ? name : code(name.replaceAll("|", "¦"));
}

/** A code span that its text cannot end. */
function code(text: string): string {
  return `\`${oneLine(text, MAX_SHOWN).replaceAll("`", "'") || "?"}\``;
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
