import { closeSync, fdatasyncSync, readSync, type Stats, writeSync } from "node:fs";
import { parseRecord } from "../../../base/json.ts";
import { openSync } from "../../../platform/files/beneath.ts";
import type { LedgerLine } from "../../ledger.ts";
import { namesIn, statIfThere, translate } from "../files/atomic.ts";
import { completeLines, openLines } from "../files/lines.ts";

/**
 * Appends to `ledger/<UTC day>.jsonl`. A line is one write on a descriptor in append mode, so
 * lines of different processes do not mix. A line that could not be written whole is ended, so
 * that the next one starts on its own.
 */
export class LedgerWriter {
  readonly #folder: string;
  #day = "";
  #fd = -1;
  #held = "";
  #heldDay = "";
  #flush: NodeJS.Immediate | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Of the file that the last line went to. */
  get path(): string {
    return `${this.#folder}/${this.#day}.jsonl`;
  }

  /** Writes lines of the time `at`, without their last line break, at once. */
  append(at: string, lines: string, sync: boolean): void {
    this.#append(`${lines}\n`, at.slice(0, 10), sync);
  }

  /**
   * For a line that the folders make redundant (a claim), so an error must not fail the claim: it
   * is written with the next one, at the latest at the end of this turn of the event loop, or
   * `now`. A line that cannot be written stays held, and the next line's writer gets the error.
   */
  appendSoon(at: string, line: string, now: boolean): void {
    const day = at.slice(0, 10);
    if (this.#held !== "" && day !== this.#heldDay) this.#tryFlush();
    this.#heldDay = day;
    this.#held += `${line}\n`;
    if (now) this.#tryFlush();
    else this.#flush ??= setImmediate(() => this.#endOfTurn());
  }

  #endOfTurn(): void {
    this.#flush = undefined;
    this.#tryFlush();
  }

  #tryFlush(): void {
    try {
      this.flush();
    } catch {
      // Held until the next line: see appendSoon.
    }
  }

  flush(): void {
    if (this.#held !== "") this.#append("", this.#heldDay, false);
  }

  #append(text: string, day: string, sync: boolean): void {
    try {
      if (this.#held !== "" && day !== this.#heldDay) this.flush();
      const fd = this.#open(day);
      const lines = this.#held + text;
      const written = writeSync(fd, lines);
      if (written < Buffer.byteLength(lines)) this.#appendRest(lines, written, day);
      this.#held = "";
      if (sync) fdatasyncSync(this.#fd);
    } catch (error) {
      throw translate(error, "writing the ledger");
    }
  }

  /**
   * The first bytes fit, the rest did not. Opening the file again ends the torn line, which is then
   * written again as a whole: there may be room by now, else this is the error.
   */
  #appendRest(lines: string, written: number, day: string): void {
    const bytes = Buffer.from(lines, "utf8");
    const torn = bytes.lastIndexOf(10, written - 1) + 1;
    this.#close();
    if (writeSync(this.#open(day), bytes, torn) === bytes.length - torn) return;
    this.#close();
    throw Object.assign(new Error("ENOSPC: half a line"), { code: "ENOSPC", errno: -28 });
  }

  #open(day: string): number {
    if (day === this.#day) return this.#fd;
    this.#close();
    this.#fd = openLines(`${this.#folder}/${day}.jsonl`);
    this.#day = day;
    return this.#fd;
  }

  /** Flush first: lines that are still held when it is closed could not be written. */
  close(): void {
    if (this.#flush) clearImmediate(this.#flush);
    this.#flush = undefined;
    this.#close();
  }

  #close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#day = "";
  }
}

/**
 * The files of the ledger, by name. Names are the writers' days, and their clocks may be wrong. Only
 * regular files: a pipe would be waited for.
 */
export function ledgerFiles(folder: string): { name: string; path: string; stats: Stats }[] {
  return namesIn(folder)
    .filter((name) => /^\d{4}-\d{2}-\d{2}\.jsonl$/.test(name))
    .sort()
    .flatMap((name) => {
      const path = `${folder}/${name}`;
      const stats = statIfThere(path);
      return stats?.isFile() ? [{ name, path, stats }] : [];
    });
}

/**
 * Reads on from the end of the last look, in every file: a clock that is wrong for a while, or that
 * of another host, makes a file with a later name, and lines are written to earlier ones after it.
 * Each line comes once, in the order of its file. A file that is as long as before is not opened;
 * one that has become shorter was lost in part, and is read anew.
 */
export class LedgerFollower {
  readonly #folder: string;
  readonly #read: Map<string, number>;

  /** `read`: how much of each file is known already. */
  constructor(folder: string, read: Iterable<readonly [string, number]> = []) {
    this.#folder = folder;
    this.#read = new Map(read);
  }

  /** How much of each file is read: for going on in another process. */
  get position(): Record<string, number> {
    return Object.fromEntries(this.#read);
  }

  /** Skips the lines that are there now. */
  skipPast(): void {
    for (const { name, stats } of ledgerFiles(this.#folder)) this.#read.set(name, stats.size);
  }

  /** With the place where each line ends. */
  *texts(): Generator<{ text: string; file: string; offset: number }> {
    for (const { name, path, stats } of ledgerFiles(this.#folder)) {
      const known = this.#read.get(name) ?? 0;
      if (stats.size === known) continue;
      const from = stats.size < known ? 0 : known;
      this.#read.set(name, from);
      for (const { text, end } of completeLines(path, from)) {
        this.#read.set(name, end);
        yield { text, file: name, offset: end };
      }
    }
  }

  /** `isWanted`: a look at the text is ten times cheaper than parsing. */
  *lines(isWanted = (_text: string) => true) {
    for (const { text, file, offset } of this.texts()) {
      const line = isWanted(text) ? lineFrom(text) : null;
      if (line !== null) yield { line, file, offset };
    }
  }
}

/**
 * All complete lines, file by file, without the files before `first`. An unreadable line goes to
 * `onTorn` instead of stopping the reader.
 */
export function* readLedger(
  folder: string,
  first = "",
  onTorn?: (file: string) => void,
): Generator<LedgerLine> {
  for (const { name, path } of ledgerFiles(folder)) {
    if (name < first) continue;
    for (const { text } of completeLines(path, 0)) {
      const line = text === "" ? null : lineFrom(text);
      if (line !== null) yield line;
      else if (text !== "") onTorn?.(name);
    }
  }
}

const CHUNK_BYTES = 1024 * 1024;

/**
 * The lines of all files that contain this text, like `"task":"t1"`. A search costs a tenth of
 * parsing, so all files can be searched, whatever their dates.
 */
export function* linesAbout(folder: string, text: string): Generator<LedgerLine> {
  const wanted = Buffer.from(text);
  for (const { path } of ledgerFiles(folder)) {
    for (const found of linesWith(path, wanted)) {
      const line = lineFrom(found);
      if (line !== null) yield line;
    }
  }
}

/** The lines of one file that contain this text. */
export function* linesWith(path: string, wanted: Buffer): Generator<string> {
  const fd = openSync(path, "r");
  try {
    let data = Buffer.alloc(0);
    for (let at = 0; ; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const n = readSync(fd, chunk, 0, CHUNK_BYTES, at);
      if (n === 0) return; // the rest is no whole line
      at += n;
      data = data.length > 0 ? Buffer.concat([data, chunk.subarray(0, n)]) : chunk.subarray(0, n);
      const whole = data.subarray(0, data.lastIndexOf(10) + 1);
      let next = whole.indexOf(wanted);
      while (next >= 0) {
        const end = whole.indexOf(10, next);
        yield whole.toString("utf8", whole.lastIndexOf(10, next) + 1, end);
        next = whole.indexOf(wanted, end);
      }
      data = data.subarray(whole.length);
    }
  } finally {
    closeSync(fd);
  }
}

/** Null for a torn line, and for JSON that is no line. */
export function lineFrom(text: string): LedgerLine | null {
  return parseRecord(text) as LedgerLine | null;
}
