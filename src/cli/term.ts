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
  // NO_COLOR counts when it is set and not empty (no-color.org).
  const wanted = isTerminal && !io.env.NO_COLOR && io.env.TERM !== "dumb";
  return {
    color: createColors(wanted),
    width: isTerminal ? stream.columns || 80 : Number.POSITIVE_INFINITY,
    isTerminal,
  };
}

/**
 * What a task or a model wrote is text, not terminal commands: control characters are shown, not
 * obeyed.
 */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (c) =>
    c === "\u001b" ? "␛" : `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}

/** One line of at most `width` columns. */
export function clip(text: string, width: number): string {
  const line = plain(text).replace(/\s*\n\s*/g, " ⏎ ");
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Rows of one line each, in columns; on a terminal the widest columns give way until they fit. */
export function table(rows: readonly (readonly string[])[], term: Term): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, visible(oneLine(cell)));
    });
  }
  let excess = widths.reduce((sum, width) => sum + width + 2, -2) - term.width;
  for (; excess > 0; excess--) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = Math.max(1, (widths[widest] ?? 0) - 1);
  }
  return rows
    .map((row) => {
      const cells = row.map((cell, i) => {
        const width = widths[i] ?? 0;
        const text =
          visible(oneLine(cell)) > width ? clip(stripColors(cell), width) : oneLine(cell);
        return text + " ".repeat(Math.max(0, width - visible(text)));
      });
      return cells.join("  ").trimEnd();
    })
    .join("\n");
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ⏎ ");
}

function visible(text: string): number {
  return stripColors(text).length;
}

function stripColors(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours we put there ourselves
  return text.replace(/\u001b\[[0-9;]*m/g, "");
}
