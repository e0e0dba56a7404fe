import { clip, plain, type Term, widthOf } from "../../operation/term.ts";

/** Lines of a screen as spans of text, and how they become what a terminal is sent. Pure. */

export type Style =
  | ("bold" | "dim" | "inverse")
  | ("red" | "green" | "yellow" | "blue" | "magenta" | "cyan");

export interface Span {
  text: string;
  styles?: readonly Style[];
}

export type Line = readonly Span[];

export function span(text: string, ...styles: Style[]): Span {
  return { text, styles };
}

/** One line of a cell, exactly so wide. */
export function cell(text: string, width: number, isRight = false): string {
  if (width <= 0) return "";
  const one = clip(text.replaceAll("\t", " "), width);
  const room = " ".repeat(Math.max(0, width - widthOf(one)));
  return isRight ? room + one : one + room;
}

/** Cut and filled up to the width; `fill`: the styles of what is filled. */
export function fitted(line: Line, width: number, fill: readonly Style[] = []): Line {
  const spans: Span[] = [];
  let left = width;
  for (const { text, styles } of line) {
    if (left <= 0) break;
    const one = clip(text.replaceAll("\t", " "), left);
    spans.push({ text: one, styles });
    left -= widthOf(one);
  }
  return left > 0 ? [...spans, { text: " ".repeat(left), styles: fill }] : spans;
}

/** The last span goes on in further lines, below its beginning: what is read must not be cut. */
export function wrapped(line: Line, width: number): Line[] {
  const last = line.at(-1);
  if (last === undefined) return [line];
  const [, indent = "", text = ""] = /^( *)(.*)$/s.exec(last.text) ?? [];
  const before = line.slice(0, -1).reduce((sum, one) => sum + widthOf(one.text), 0);
  const room = width - before - indent.length;
  if (room < NARROWEST || widthOf(text) <= room) return [line];
  const margin = " ".repeat(before + indent.length);
  return wrapText(text, room).map((piece, i): Line => {
    const styled = { ...last, text: (i === 0 ? indent : margin) + piece };
    return i === 0 ? [...line.slice(0, -1), styled] : [styled];
  });
}

const NARROWEST = 10;

/** At spaces; a word that is too long goes on in the next line. */
function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (widthOf(rest) > width) {
    const most = cut(rest, width);
    const at = most.lastIndexOf(" ");
    const end = at > 0 ? at : most.length;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).replace(/^ /, "");
  }
  return [...lines, rest];
}

/** As much of its begin as fits; at least one character. */
function cut(text: string, width: number): string {
  let end = 0;
  for (const one of text) {
    if (end > 0 && widthOf(text.slice(0, end + one.length)) > width) break;
    end += one.length;
  }
  return text.slice(0, end);
}

export interface Look {
  color: Term["color"];
  isUtf8: boolean;
}

/** Text of others cannot command the terminal: it is made plain before our own escapes are added. */
export function painted(line: Line, { color, isUtf8 }: Look): string {
  return line
    .map(({ text, styles = [] }) => {
      const shown = isUtf8 ? plain(text) : ascii(plain(text));
      return styles.reduce<string>((inner, style) => color[style](inner), shown);
    })
    .join("");
}

const SIGNS: Readonly<Record<string, string>> = {
  ...{ "…": "~", "█": "#", "░": ".", "·": "-", "▸": ">", "→": ">", "␛": "?", "⏎": "/" },
  ...{ "└": "`", "├": "|", "│": "|", "─": "-", "↑": "^", "↓": "v", "←": "<" },
};

/** As wide as before. */
function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, (c) => SIGNS[c] ?? "?".repeat(widthOf(c)));
}

const ESC = "\u001b";
/** A terminal that knows them shows all of it at once; others ignore them. */
const [HOLD, SHOW] = [`${ESC}[?2026h`, `${ESC}[?2026l`];

/** What brings the screen from the one frame to the other: only lines that differ, in one write. */
export function changes(before: readonly string[], after: readonly string[]): string {
  const rows = Math.max(before.length, after.length);
  let text = "";
  for (let row = 0; row < rows; row++) {
    const line = after[row] ?? "";
    // Erased first: behind a line that fills the row, the cursor is still on its last character.
    if (before[row] !== line) text += `${ESC}[${row + 1};1H${ESC}[K${line}`;
  }
  return text === "" ? "" : `${HOLD}${text}${SHOW}`;
}
