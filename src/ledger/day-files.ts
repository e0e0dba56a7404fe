import { closeSync, lstatSync, readdirSync, type Stats } from "node:fs";
import { errno } from "../base/errno.ts";
import { linesBack, linesBetween } from "../platform/files/lines.ts";
import { openToRead } from "../platform/files/open-to-read.ts";

/**
 * The daily files of a ledger, and how far each is closed:
 *
 * - open: `DAY.jsonl` alone. Writers append to it.
 * - closing: beside it lies `DAY.closing`. Writers that look now write to a later day; one that does
 *   not know it yet may still append, and finds out after its write.
 * - closed: `DAY.closed` names the bytes that count. Lines behind them are written again, to a later
 *   day, by their writers.
 * - sealed: `DAY.seal` has the hash, and the file has exactly those bytes: see seal.ts.
 *
 * Days are closed in order, so there is a last closed one, and no line goes to a file before it.
 */
export interface DayFile {
  /** `2026-11-18` */
  day: string;
  path: string;
  stats: Stats;
  state: "open" | "closing" | "closed" | "sealed";
  /** The bytes that count, at the time of this look. */
  size: number;
}

const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.(jsonl|closing|closed|seal)$/;
type Kind = "jsonl" | "closing" | "closed" | "seal";

export function fileOf(folder: string, day: string, kind: Kind): string {
  return `${folder}/${day}.${kind}`;
}

/** The days that have a file of each kind. */
export function daysIn(folder: string): Record<Kind, Set<string>> {
  const days = {
    jsonl: new Set<string>(),
    closing: new Set<string>(),
    closed: new Set<string>(),
    seal: new Set<string>(),
  };
  for (const name of namesIn(folder)) {
    const [, day, kind] = DAY_FILE.exec(name) ?? [];
    if (day !== undefined) days[kind as Kind].add(day);
  }
  return days;
}

/** "" when none is. */
export function lastClosedDay({ closing, seal }: Record<Kind, Set<string>>): string {
  let last = "";
  for (const day of closing) if (day > last) last = day;
  for (const day of seal) if (day > last) last = day;
  return last;
}

/**
 * By day. Days are those of the writers, and their clocks may be wrong. Only regular files: a pipe
 * would be waited for. The marks are looked at after the sizes: if a line behind the end of a closed
 * file is counted here, its second copy was not written yet when the sizes were taken.
 */
export function dayFiles(folder: string): DayFile[] {
  const before = daysIn(folder);
  const found = [...before.jsonl].sort().flatMap((day) => {
    const path = fileOf(folder, day, "jsonl");
    const stats = statIfThere(path);
    return stats?.isFile() ? [{ day, path, stats }] : [];
  });
  const marks = daysIn(folder);
  return found.flatMap(({ day, path, stats: seen }): DayFile[] => {
    const isNewSeal = marks.seal.has(day) && !before.seal.has(day);
    const stats = isNewSeal ? statIfThere(path) : seen;
    if (!stats?.isFile()) return [];
    const one = { day, path, stats, size: stats.size };
    if (marks.seal.has(day)) return [{ ...one, state: "sealed" }];
    if (marks.closed.has(day)) {
      const bytes = closedBytes(folder, day) ?? stats.size;
      return [{ ...one, state: "closed", size: Math.min(stats.size, bytes) }];
    }
    return [{ ...one, state: marks.closing.has(day) ? "closing" : "open" }];
  });
}

/** The bytes of a closed day that count; null while that is not decided, or no longer noted. */
export function closedBytes(folder: string, day: string): number | null {
  const path = fileOf(folder, day, "closed");
  if (!statIfThere(path)?.isFile()) return null;
  for (const { text } of linesIn(path, 0)) return /^\d{1,15}$/.test(text) ? Number(text) : null;
  return null;
}

/** The whole lines of a file of lines between two offsets; none when it is gone or no plain file. */
export function* linesIn(
  path: string,
  from: number,
  to?: number,
): Generator<{ text: string; end: number }> {
  const fd = openToRead(path);
  if (fd === null) return;
  try {
    yield* linesBetween(fd, from, to);
  } finally {
    closeSync(fd);
  }
}

/** The whole lines within the first `to` bytes, the last one first. */
export function* linesBackIn(path: string, to: number): Generator<string> {
  const fd = openToRead(path);
  if (fd === null) return;
  try {
    yield* linesBack(fd, to);
  } finally {
    closeSync(fd);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errno(error) === "ENOENT") return [];
    throw error;
  }
}

export function statIfThere(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
