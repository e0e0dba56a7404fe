import { closeSync, constants, fdatasyncSync, fstatSync, readSync, writeSync } from "node:fs";
import { translate } from "../base/errno.ts";
import { withFile } from "../platform/files/beneath.ts";
import { openToWrite } from "../platform/files/state-files.ts";
import {
  awaitSizeWhenClosed,
  isClosing,
  LEASE_MS,
  linesBehind,
  openDayFor,
  REAL_TIME,
  type Time,
} from "./closing.ts";

/** How a daily file is opened for appending; a torn last line is ended first. */
type Open = (path: string) => number;

/**
 * Appends to `<UTC day>.jsonl`. A line is one write on a descriptor in append mode, so lines of
 * different processes do not mix. A line that could not be written whole is ended, so that the next
 * one starts on its own. A line of a day that is closed goes to the first day that is not: see
 * closing.ts.
 */
export class LedgerWriter {
  readonly #folder: string;
  readonly #openFile: Open;
  readonly #time: Time;
  /** The day that was asked for, and the one that the file is of: later, if that one is closed. */
  #day = "";
  #fileDay = "";
  #fd = -1;
  /** When the day was last seen to be open. */
  #seenOpenAt = Number.NEGATIVE_INFINITY;
  #held = "";
  #heldDay = "";
  #flush: NodeJS.Immediate | undefined;

  constructor(folder: string, open: Open = openToAppend, time = REAL_TIME) {
    this.#folder = folder;
    this.#openFile = open;
    this.#time = time;
  }

  /** Of the file that the last line went to. */
  get path(): string {
    return `${this.#folder}/${this.#fileDay}.jsonl`;
  }

  /** Writes lines of the time `at`, without their last line break, at once. */
  append(at: string, lines: string, sync: boolean): void {
    this.#append(`${lines}\n`, at.slice(0, 10), sync);
  }

  /**
   * For a line that can be had otherwise (a claim), so an error must not fail the claim: it
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
      if (this.#time.uptimeMs() - this.#seenOpenAt >= LEASE_MS) this.#checkOpen(lines, day);
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

  /** After a write: was the day open until now? If not, the lines that do not count are written again. */
  #checkOpen(lines: string, day: string): void {
    const now = this.#time.uptimeMs();
    const fileDay = this.#fileDay;
    if (!isClosing(this.#folder, fileDay)) {
      this.#seenOpenAt = now;
      return;
    }
    const sizeNow = () => fstatSync(this.#fd).size;
    const size = awaitSizeWhenClosed(this.#folder, fileDay, sizeNow, this.#time);
    const behind = linesBehind(this.path, size, Buffer.from(lines, "utf8"));
    fdatasyncSync(this.#fd); // the sealed copy is made of this file, and the caller syncs the next one
    this.#close();
    this.#held = "";
    this.#append(behind.toString("utf8"), day, false);
  }

  #open(day: string): number {
    if (day === this.#day) return this.#fd;
    for (;;) {
      this.#close();
      const now = this.#time.uptimeMs();
      const fileDay = openDayFor(this.#folder, day);
      this.#fd = this.#openFile(`${this.#folder}/${fileDay}.jsonl`);
      this.#day = day;
      this.#fileDay = fileDay;
      this.#seenOpenAt = now;
      // Otherwise it may have been closed before it was opened, and this is the sealed file.
      if (this.#time.uptimeMs() - now < LEASE_MS) return this.#fd;
    }
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

const { O_APPEND, O_CREAT, O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** In a folder of ours that is there. */
function openToAppend(path: string): number {
  const fd = openToWrite(path, O_CREAT | O_APPEND);
  try {
    const { size } = fstatSync(fd);
    const last = Buffer.alloc(1);
    const readLast = (own: number) => readSync(own, last, 0, 1, size - 1);
    if (size > 0) withFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, readLast);
    if (size > 0 && last[0] !== 10) writeSync(fd, "\n");
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
