import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import type { LedgerLine } from "../../model/ledger.ts";
import { completeLines, namesIn, translate } from "./atomic.ts";

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
  #flush: NodeJS.Immediate | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  write(line: LedgerLine, sync = false): void {
    this.#append(`${JSON.stringify(line)}\n`, line.at.slice(0, 10), sync);
  }

  /** A line of which the caller has made all but the beginning, `{"at":"<time>`. */
  writeText(at: string, rest: string, sync: boolean): void {
    this.#append(`{"at":"${at}${rest}\n`, at.slice(0, 10), sync);
  }

  /**
   * For a line that repeats what the folders say already (a claim): it is written with the next
   * one, at the latest when this turn of the event loop ends.
   */
  writeSoon(at: string, rest: string): void {
    if (!at.startsWith(this.#day) || this.#day === "") {
      this.writeText(at, rest, false);
      return;
    }
    this.#held += `{"at":"${at}${rest}\n`;
    this.#flush ??= setImmediate(() => this.flush());
  }

  flush(): void {
    if (this.#held !== "") this.#append("", this.#day, false);
  }

  #append(text: string, day: string, sync: boolean): void {
    try {
      if (day !== this.#day && this.#held !== "") this.flush();
      const fd = this.#open(day);
      const bytes = Buffer.from(this.#held + text, "utf8");
      this.#held = "";
      if (this.#flush) clearImmediate(this.#flush);
      this.#flush = undefined;
      const written = writeSync(fd, bytes);
      if (written < bytes.length) {
        // The first bytes fit, the rest did not: ask again to get the error of the full disk.
        writeSync(fd, bytes, written);
      }
      if (sync) fdatasyncSync(fd);
    } catch (error) {
      throw translate(error, "writing the ledger");
    }
  }

  #open(day: string): number {
    if (day === this.#day) return this.#fd;
    this.close();
    this.#fd = openSync(`${this.#folder}/${day}.jsonl`, "a", 0o600);
    this.#day = day;
    return this.#fd;
  }

  close(): void {
    this.flush();
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
      let line: LedgerLine;
      try {
        line = JSON.parse(text) as LedgerLine;
      } catch {
        onTorn?.(file, text);
        continue;
      }
      yield { line, end: { file, offset } };
    }
  }
}
