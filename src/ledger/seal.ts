import { createHash, type Hash } from "node:crypto";
import { closeSync, constants, fsyncSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseRecord } from "../base/json.ts";
import { isTemporary, replaceFileSynced, syncFolder } from "../platform/files/atomic-write.ts";
import { openSync, removeSync, renameSync, utimesSync } from "../platform/files/beneath.ts";
import { tryFileLock } from "../platform/files/file-lock.ts";
import { openToRead } from "../platform/files/open-to-read.ts";
import { listed, readSmall } from "../platform/files/state-files.ts";
import { stepsInSlices } from "../platform/slices.ts";
import { CLOSING_MS, noteClosed, sizeWhenClosed } from "./closing.ts";
import { daysIn, fileOf, statIfThere } from "./day-files.ts";
import { parseHead, type SealHead } from "./seal-head.ts";
import { copyHead, readHeadCopy } from "./witness.ts";

/**
 * Closes the days that are over and seals their files: `DAY.seal` has the file's hash, and the hash of
 * the seal before it; `head.json` names the last seal. The steps for one day, after closing.ts:
 *
 * 4. The bytes that count are copied, hashed and put in the place of the file. A writer that was
 *    stopped all the time has the old file open, so nothing can come behind what is sealed.
 * 5. `DAY.seal` is written, then `head.json`, then the marks are removed.
 *
 * One process at a time does this, under `.seal.lock`. A crash at any step leaves marks, by which the
 * next process goes on.
 */
export const seal = z.object({
  version: z.literal(1),
  file: z.string(),
  bytes: z.number(),
  lines: z.number(),
  sha256: z.string(),
  /** The hash of the text of the seal before it; null for the first. */
  previous: z.nullable(z.string()),
  at: z.string(),
  /** The first 8 digits of the hash of each `step` lines: where a file differs. */
  step: z.number(),
  marks: z.string(),
});
export type Seal = z.infer<typeof seal>;

const LONGEST_SEAL = 1024 * 1024;
/** Clocks of machines differ, and a line is dated before it is written. */
const MARGIN_MS = 10 * 60_000;

/**
 * Of days without a seal those that were over a day ago: a process that seals would have done it by
 * now. There was none, or the seals were removed.
 */
export function overdue(days: readonly string[], now: number): string[] {
  const over = new Date(now - MARGIN_MS - 86_400_000).toISOString().slice(0, 10);
  return days.filter((day) => day < over);
}

export interface SealOptions {
  now: () => number;
  /** Waits; returns early, and nothing is sealed, when it resolves to false. */
  sleep: (ms: number) => Promise<boolean>;
}

/** Days that are over and not sealed yet, and those that a crash left half sealed. */
export function daysToSeal(folder: string, now: number): string[] {
  const { jsonl, closing, seal: sealed } = daysIn(folder);
  const over = new Date(now - MARGIN_MS).toISOString().slice(0, 10);
  // A file whose seal was removed is not sealed anew: verify reports it.
  const last = [lastHead(folder)?.day ?? "", ...sealed].sort().at(-1) ?? "";
  const latest = [...closing].sort().at(-1) ?? "";
  const isDue = (day: string) => closing.has(day) || (day > last && (day < over || day <= latest));
  const days = [...jsonl].filter((day) => isDue(day) && !sealed.has(day));
  return [...new Set([...days, ...closing])].sort();
}

/** Seals what is due; the days that were. None when another process is at it. */
export async function sealDays(folder: string, options: SealOptions): Promise<string[]> {
  if (daysToSeal(folder, options.now()).length === 0) return [];
  const lock = await tryFileLock(join(folder, ".seal.lock"));
  if (lock === null) return [];
  try {
    const days = daysToSeal(folder, options.now());
    tidy(folder);
    beginClosing(folder, days);
    const isOpen = days.some((day) => sizeWhenClosed(folder, day) === null);
    if (isOpen && !(await options.sleep(CLOSING_MS))) return [];
    for (const day of days) await stepsInSlices(sealDay(folder, day, options.now()));
    return days;
  } finally {
    lock.release();
  }
}

const CREATE = constants.O_WRONLY | constants.O_CREAT;

/** Files that a crash left half written. */
function tidy(folder: string): void {
  const { seal: sealed } = daysIn(folder);
  for (const name of listed(folder).filter(isTemporary)) {
    const [, day, kind] = /^\.(?:(\d{4}-\d{2}-\d{2})\.(seal|closed)|head\.json)\./.exec(name) ?? [];
    // A writer may be about to note the size of a day that is closing.
    if (kind !== "closed" || sealed.has(day ?? "")) removeSync(join(folder, name));
  }
}

export function beginClosing(folder: string, days: readonly string[]): void {
  for (const day of days) closeSync(openSync(fileOf(folder, day, "closing"), CREATE, 0o600));
  syncFolder(folder);
}

/** Of a day that has been closing for CLOSING_MS; the earlier ones first. Seconds of work for a large file. */
export function* sealDay(folder: string, day: string, now: number): Generator<null, void> {
  const path = fileOf(folder, day, "jsonl");
  const stats = statIfThere(path);
  const isSealed = statIfThere(fileOf(folder, day, "seal")) !== undefined;
  if (!isSealed && stats?.isFile()) {
    const size = sizeWhenClosed(folder, day) ?? noteClosed(folder, day, stats.size);
    const copy = join(folder, `.${day}.sealing`);
    const lines = yield* copyStart(path, copy, size);
    const digest = yield* digestOf(copy, size, Math.max(1, Math.ceil(lines / MOST_MARKS)));
    utimesSync(copy, stats.atime, stats.mtime); // readers sort files by the time of their last line
    renameSync(copy, path);
    syncFolder(folder);
    const made: Seal = {
      ...{ version: 1, file: `${day}.jsonl`, ...digest },
      ...{ previous: sealBefore(folder, day), at: new Date(now).toISOString() },
    };
    replaceFileSynced(fileOf(folder, day, "seal"), `${JSON.stringify(made)}\n`);
  }
  const text = sealText(folder, day);
  if (text !== null && day >= (readHead(folder)?.day ?? "")) {
    const head: SealHead = { day, seal: sha256(text), seals: daysIn(folder).seal.size };
    const headText = `${JSON.stringify(head)}\n`;
    replaceFileSynced(join(folder, "head.json"), headText);
    copyHead(folder, headText);
  }
  removeSync(fileOf(folder, day, "closed"));
  removeSync(fileOf(folder, day, "closing"));
}

/** The hash of the seal before that day. By the head, if that is as late. */
function sealBefore(folder: string, day: string): string | null {
  const last =
    [...daysIn(folder).seal]
      .filter((one) => one < day)
      .sort()
      .at(-1) ?? "";
  const head = lastHead(folder);
  if (head !== null && head.day < day && head.day >= last) return head.seal;
  const text = last === "" ? null : sealText(folder, last);
  return text === null ? null : sha256(text);
}

/** Null when there is none, or no plain file. */
export function sealText(folder: string, day: string): string | null {
  return readSmall(fileOf(folder, day, "seal"), LONGEST_SEAL);
}

/** Null when the text is no seal. */
export function parseSeal(text: string | null): Seal | null {
  const parsed = seal.safeParse(parseRecord(text));
  return parsed.success ? parsed.data : null;
}

export function readHead(folder: string): SealHead | null {
  return parseHead(readSmall(join(folder, "head.json"), 4096));
}

/** Of head.json and its copy in the run's `.viv/` the later one: what was lost since stays lost. */
function lastHead(folder: string): SealHead | null {
  const [head, copy] = [readHead(folder), readHeadCopy(folder)];
  return copy !== null && copy.day >= (head?.day ?? "") ? copy : head;
}

export function sha256(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

export type Digest = Pick<Seal, "bytes" | "lines" | "sha256" | "step" | "marks">;

const CHUNK_BYTES = 1024 * 1024;
/** A file of so many lines has a mark for each. */
const MOST_MARKS = 1_024;
export const MARK = 8;

function* chunksOf(path: string, size: number): Generator<Buffer> {
  const fd = openToRead(path);
  if (fd === null) return;
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0; at < size; ) {
      const n = readSync(fd, chunk, 0, Math.min(chunk.length, size - at), at);
      if (n === 0) return;
      at += n;
      yield chunk.subarray(0, n);
    }
  } finally {
    closeSync(fd);
  }
}

/** Returns the number of its lines. */
function* copyStart(from: string, to: string, size: number): Generator<null, number> {
  removeSync(to);
  const fd = openSync(to, "wx", 0o600);
  try {
    let lines = 0;
    for (const data of chunksOf(from, size)) {
      for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, at + 1)) lines++;
      for (let at = 0; at < data.length; ) at += writeSync(fd, data, at);
      yield null;
    }
    fsyncSync(fd);
    return lines;
  } finally {
    closeSync(fd);
  }
}

/** Of the first `size` bytes, with a mark for each `step` lines; a torn tail is part of the last. */
export function* digestOf(path: string, size: number, step: number): Generator<null, Digest> {
  const whole = createHash("sha256");
  let mark: Hash | null = null;
  let [bytes, lines, marks] = [0, 0, ""];
  const endMark = () => {
    if (mark !== null) marks += mark.digest("hex").slice(0, MARK);
    mark = null;
  };
  for (const data of chunksOf(path, size)) {
    bytes += data.length;
    whole.update(data);
    for (let at = 0; at < data.length; ) {
      const newline = data.indexOf(10, at);
      const end = newline < 0 ? data.length : newline + 1;
      mark ??= createHash("sha256");
      mark.update(data.subarray(at, end));
      if (newline >= 0 && ++lines % step === 0) endMark();
      at = end;
    }
    yield null;
  }
  endMark();
  return { bytes, lines, sha256: whole.digest("hex"), step, marks };
}
