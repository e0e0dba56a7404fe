import { closeSync, fdatasyncSync, writeSync } from "node:fs";
import type { LedgerLine } from "../../model/ledger.ts";
import { completeLines, namesIn, openLines, translate } from "./atomic.ts";

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

  write(line: LedgerLine, sync = false): void {
    this.#append(`${JSON.stringify(line)}\n`, line.at.slice(0, 10), sync);
  }

  /** Lines of one moment, with one write. */
  writeAll(lines: readonly LedgerLine[]): void {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    this.#append(text, (lines[0] as LedgerLine).at.slice(0, 10), false);
  }

  /** A line of which the caller has made all but the beginning, `{"at":"<time>`. */
  writeText(at: string, rest: string, sync: boolean): void {
    this.#append(`{"at":"${at}${rest}\n`, at.slice(0, 10), sync);
  }

  /**
   * For a line that repeats what the folders say already (a claim), so its writing must not fail
   * the claim: it is written with the next one, at the latest when this turn of the event loop
   * ends, or `now`. What cannot be written stays held, and the next line's writer hears of it.
   */
  writeSoon(at: string, rest: string, now: boolean): void {
    const day = at.slice(0, 10);
    if (this.#held !== "" && day !== this.#heldDay) this.#tryFlush();
    this.#heldDay = day;
    this.#held += `{"at":"${at}${rest}\n`;
    if (now) this.#tryFlush();
    else this.#flush ??= setImmediate(() => this.#endOfTurn());
  }

  #tryFlush(): void {
    try {
      this.flush();
    } catch {
      // Held until the next line: see writeSoon.
    }
  }

  #endOfTurn(): void {
    this.#flush = undefined;
    this.#tryFlush();
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
      if (written < Buffer.byteLength(lines)) {
        // The first bytes fit, the rest did not. The torn line is ended when the file is opened the
        // next time, and written again as a whole: there may be room by now, else this is the error.
        const bytes = Buffer.from(lines, "utf8");
        const torn = bytes.lastIndexOf(10, written - 1) + 1;
        this.#close();
        if (writeSync(this.#open(day), bytes, torn) < bytes.length - torn) {
          this.#close();
          throw Object.assign(new Error("ENOSPC: half a line"), { code: "ENOSPC", errno: -28 });
        }
      }
      this.#held = "";
      if (sync) fdatasyncSync(this.#fd);
    } catch (error) {
      throw translate(error, "writing the ledger");
    }
  }

  #open(day: string): number {
    if (day === this.#day) return this.#fd;
    this.#close();
    this.#fd = openLines(`${this.#folder}/${day}.jsonl`);
    this.#day = day;
    return this.#fd;
  }

  /** Flush first: what is still held when it is closed could not be written. */
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

export interface LedgerPosition {
  file: string;
  offset: number;
}

export const LEDGER_START: LedgerPosition = { file: "", offset: 0 };

/** The ledger's files from a position on, oldest first. */
export function ledgerFiles(folder: string, from: LedgerPosition = LEDGER_START): string[] {
  return namesIn(folder)
    .filter((name) => /^\d{4}-\d{2}-\d{2}\.jsonl$/.test(name) && name >= from.file)
    .sort();
}

/**
 * Complete lines from a position on, with the position after each batch. An unreadable line is
 * given to `onTorn` instead of stopping the reader.
 */
export function* readLedger(
  folder: string,
  from: LedgerPosition = LEDGER_START,
  onTorn?: (file: string, text: string) => void,
): Generator<{ line: LedgerLine; end: LedgerPosition }> {
  for (const file of ledgerFiles(folder, from)) {
    let offset = file === from.file ? from.offset : 0;
    for (const { text, end } of completeLines(`${folder}/${file}`, offset)) {
      offset = end;
      if (text === "") continue;
      const line = lineFrom(text);
      if (line === null) {
        onTorn?.(file, text);
        continue;
      }
      yield { line, end: { file, offset } };
    }
  }
}

/** Null also for what is JSON, but no line: `null`, a number. */
function lineFrom(text: string): LedgerLine | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as LedgerLine | null) : null;
  } catch {
    return null;
  }
}
