import { createColors } from "picocolors";
import type { Io, Writer } from "./io.ts";

/** How to write to one stream: with colour or without, how wide. */
export interface Term {
  readonly color: ReturnType<typeof createColors>;
  readonly width: number;
  readonly isTerminal: boolean;
}

export function termFor(io: Io, stream: Writer): Term {
  const isTerminal = stream.isTTY === true;
  return {
    color: colorsFor(io.env, isTerminal),
    width: isTerminal ? stream.columns || 80 : Number.POSITIVE_INFINITY,
    isTerminal,
  };
}

export function colorsFor(env: Io["env"], isTerminal: boolean): Term["color"] {
  return marked(createColors(wantsColor(env, isTerminal)));
}

/**
 * NO_COLOR comes first (`--no-color` sets it), then FORCE_COLOR and CLICOLOR_FORCE, which also colour
 * a pipe, then CLICOLOR and the terminal. A variable counts when it is set and not empty; 0 and false
 * mean no.
 */
export function wantsColor(env: Io["env"], isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  for (const forced of [env.FORCE_COLOR, env.CLICOLOR_FORCE]) if (forced) return isYes(forced);
  return isTerminal && env.TERM !== "dumb" && isYes(env.CLICOLOR || "1");
}

function isYes(value: string): boolean {
  return value !== "0" && value !== "false";
}

/** Whether the terminal's characters are those of Unicode, by the locale. */
export function isUtf8({ LC_ALL, LC_CTYPE, LANG }: Io["env"]): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
}

/**
 * Stands for an escape of our own until it is written: no other text can contain it. So whatever else
 * commands a terminal, in whichever name, message or file, is shown (`screened`).
 */
const ESCAPE = `\ufdd0${Math.random()}${Math.random()}\ufdd1`; // without node:crypto, which is slow to load
/** To the beginning of the line, and clear it: for what is drawn again. */
export const LINE_START = `${ESCAPE}r`;
export const CLEAR_LINE = `${LINE_START}${ESCAPE}[K`;

/** The same surroundings; what is written to a terminal can only be obeyed if it is ours. */
export function screened<T extends Io>(io: T): T {
  const isJson = io.argv.includes("--json");
  const writers = { stdout: screen(io.stdout, isJson), stderr: screen(io.stderr, isJson) };
  // Not copied: a copy opens stdin, which most commands never read.
  return new Proxy(io, {
    get: (target, key) =>
      key === "stdout" || key === "stderr" ? writers[key] : Reflect.get(target, key, target),
  });
}

function screen(stream: Writer, isJson: boolean): Writer {
  const { isTTY = false } = stream;
  // In a pipe, text of others is data.
  const safe = isTTY ? plain : isJson ? escaped : (text: string) => text;
  return {
    isTTY,
    get columns() {
      return stream.columns ?? 0;
    },
    write: (text) => stream.write(asWritten(safe(text))),
  };
}

/** With our own escapes in their places. */
export function asWritten(text: string): string {
  return text.replaceAll(LINE_START, "\r").replaceAll(ESCAPE, "\u001b");
}

type Colors = ReturnType<typeof createColors>;

/** The same colours, with our own escapes. */
function marked(colors: Colors): Colors {
  const paint = (format: (text: string) => string) => (text: string | number | null | undefined) =>
    format(plain(String(text))).replaceAll("\u001b", ESCAPE);
  return Object.fromEntries(
    Object.entries(colors).map(([name, one]) => [
      name,
      typeof one === "function" ? paint(one) : one,
    ]),
  ) as Colors;
}

/** Controls from 7f on, marks that turn the direction of a line around, and what is not seen at all. */
const HIDDEN =
  /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** As JSON writes them, too: they can only be within a string there. */
function escaped(text: string): string {
  return text.replace(HIDDEN, (c) =>
    [...Array(c.length).keys()]
      .map((at) => `\\u${c.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/**
 * What a task or a model wrote is text, not terminal commands: control characters are shown, not
 * obeyed.
 */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const shown = text.replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) =>
    c === "\u001b" ? "␛" : `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return escaped(shown);
}

/** One line of at most `width` columns. */
export function clip(text: string, width: number): string {
  const line = plain(text).replace(/\s*\n\s*/g, " ⏎ ");
  if (widthOf(line) <= width) return line;
  let left = width - 1; // for the sign that it was cut
  let cut = "";
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    left -= widthOf(segment);
    if (left < 0) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** A cell that may be cut where the terminal is too narrow. Names, numbers and commands may not. */
export interface Prose {
  prose: string;
}

export function prose(text: string): Prose {
  return { prose: text };
}

export type Cell = string | Prose;

/** Of a sentence, at least this much is shown beside other columns. */
const LEAST_PROSE = 20;
const INDENT = "    ";

/**
 * Rows in columns. On a terminal that is too narrow prose is cut, and columns that do not fit beside
 * the first ones go to a further line of their row, at the same places in every row.
 */
export function table(rows: readonly (readonly Cell[])[], term: Term): string {
  const columns = columnsOf(rows);
  const bands = bandsOf(columns, term.width);
  return rows
    .flatMap((row) => {
      const lines = bands.map((band) =>
        band.map(({ index, width }) => fitted(row[index] ?? "", width)).join("  "),
      );
      const [first = "", ...rest] = lines.map((line) => line.trimEnd());
      return [first, ...rest.filter((line) => !isBlank(line)).map((line) => INDENT + line)];
    })
    .join("\n");
}

interface Column {
  index: number;
  /** Of its widest cell that may not be cut. */
  least: number;
  /** Of its widest cell. */
  width: number;
}

function columnsOf(rows: readonly (readonly Cell[])[]): Column[] {
  const columns: Column[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      columns[index] ??= { index, least: 0, width: 0 };
      const column = columns[index];
      const width = widthOf(oneLine(textOf(cell)));
      const least = typeof cell === "string" ? width : Math.min(width, LEAST_PROSE);
      column.least = Math.max(column.least, least);
      column.width = Math.max(column.width, width);
    });
  }
  return columns;
}

/** The columns of each line of a row. */
function bandsOf(columns: readonly Column[], width: number): Column[][] {
  const bands: Column[][] = [[]];
  let left = width;
  for (const column of columns) {
    let band = bands.at(-1) as Column[];
    const gap = band.length === 0 ? 0 : 2;
    if (band.length > 0 && left < gap + column.least) {
      band = [];
      bands.push(band);
      left = width - INDENT.length;
    } else left -= gap;
    band.push(column);
    left -= column.least;
  }
  return bands.map((band, i) => widened(band, width - (i === 0 ? 0 : INDENT.length)));
}

/** Gives the room that is left to the columns that were to be cut. */
function widened(band: readonly Column[], width: number): Column[] {
  let left = band.reduce((sum, { least }) => sum - least - 2, width + 2);
  return band.map((column) => {
    const more = Math.max(0, Math.min(left, column.width - column.least));
    left -= more;
    return { ...column, width: column.least + more };
  });
}

function fitted(cell: Cell, width: number): string {
  const line = oneLine(textOf(cell));
  const isCut = typeof cell !== "string" && widthOf(line) > width;
  const text = isCut ? clip(stripColors(line), width) : line;
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.prose;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ⏎ ");
}

/** Chinese, Japanese and Korean characters and emoji are two columns wide. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/gu;

/** The columns that a terminal gives to it. */
export function widthOf(text: string): number {
  const shown = stripColors(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  if (/^[\u0000-\u007f]*$/.test(shown)) return shown.length;
  const characters = shown.replace(/[\p{Mn}\p{Me}\u200b-\u200d]/gu, "");
  return [...characters].length + (characters.match(WIDE)?.length ?? 0);
}

function isBlank(line: string): boolean {
  return stripColors(line).trim() === "";
}

function stripColors(text: string): string {
  return text.replace(OWN_COLORS, "");
}

const OWN_COLORS = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "g");
