import type { createColors } from "picocolors";
import type { Moment, MomentKey } from "./moments.ts";

const GOOD: readonly MomentKey[] = [
  "proven",
  "landed",
  "mended",
  "resolved",
  "recovered",
  "pardoned",
];
const BAD: readonly MomentKey[] = ["killed", "executed", "unproven", "conflict"];
const TIME = 6;
const KEY = 12;

/** A moment for the terminal: time, word, sentence and command, wrapped below the sentence. */
export function momentText(
  { key, text, command }: Moment,
  { ms, width }: { ms: number; width: number },
  color: ReturnType<typeof createColors>,
): string {
  const seconds = Math.floor(ms / 1000);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const paint = GOOD.includes(key) ? color.green : BAD.includes(key) ? color.red : color.bold;
  const [first = "", ...rest] = wrapped(
    text,
    width === 0 ? Number.POSITIVE_INFINITY : width - TIME - KEY,
  );
  const indent = " ".repeat(TIME + KEY);
  const head = `${color.dim(time.padStart(TIME - 2))}  ${paint(key.replace("_", " ").padEnd(KEY))}${first}`;
  const hint = command === null ? [] : [`${indent}${color.dim(command)}`];
  return [head, ...rest.map((line) => `${indent}${line}`), ...hint].join("\n");
}

/** At spaces; a longer word has a line of its own. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
