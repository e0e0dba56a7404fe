import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { errno, machineErrorOf } from "../../base/errno.ts";
import { counted } from "../../base/text.ts";
import { openSync } from "./beneath.ts";

const TAIL_BYTES = 8 * 1024;
const SMALLEST_RING = 4 * 1024;

/**
 * A log file that stays below a limit, whatever is written. Its first half is written through, so
 * that it can be followed. Of what comes after it the end is kept in memory, and added on close.
 * A program without output gets no file: making one is the most expensive part of a short task.
 *
 * Output that a failing disk refuses is dropped; when it works again, a line says how much.
 */
export class CappedLog {
  /** Why the file is not complete, when the disk did not take it: writing never throws. */
  error?: Error;
  readonly #path: string;
  /** "later": nothing was written yet, or it could not be opened so far. */
  #fd: number | "later" | undefined = "later";
  /** It holds what an earlier attempt said. */
  #isOld = false;
  #room: number;
  #lost = 0;
  /** Of that: what no line in the file speaks of yet. */
  #gap = 0;
  #isClosed = false;
  readonly #rest: Ring;
  readonly #tail = new Ring(TAIL_BYTES);

  /** Throws when what is in its place is no file, or a link to one, or may not be written. */
  constructor(path: string, limitBytes: number) {
    this.#path = path;
    this.#room = Math.floor(limitBytes / 2);
    this.#rest = new Ring(limitBytes - this.#room);
    try {
      this.#isOld = isThere(path);
      if (this.#isOld) this.#fd = this.#open();
    } catch (error) {
      if (isAboutFile(error)) throw error;
      this.error = error as Error;
    }
  }

  write(chunk: Buffer): void {
    if (this.#isClosed) return;
    this.#tail.push(chunk);
    this.add(chunk);
  }

  /** What is not the program's own: it is in the log, and not in `tail`. */
  add(chunk: Buffer): void {
    if (this.#isClosed) return;
    const direct = chunk.subarray(0, this.#room);
    const rest = chunk.subarray(direct.length);
    this.#room -= direct.length;
    if (direct.length > 0) this.#put(direct);
    if (rest.length === 0) return;
    if (this.#rest.taken === 0) this.#note("the log is full; from here on only its end is kept");
    this.#rest.push(rest);
  }

  /** The last of what was written, from a whole character on. */
  tail(bytes = TAIL_BYTES): string {
    const all = Buffer.concat(this.#tail.parts());
    let from = Math.max(0, all.length - bytes);
    const isCut = from > 0 || this.#tail.dropped > 0;
    while (isCut && ((all[from] ?? 0) & 0xc0) === 0x80) from++;
    return all.toString("utf8", from);
  }

  /** How many bytes were written that are not in the file; final after close. */
  get dropped(): number {
    return this.#rest.dropped + this.#lost;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#rest.dropped > 0) this.#note(`${counted(this.#rest.dropped, "byte")} dropped`);
    for (const part of this.#rest.parts()) this.#put(part);
    this.#rest.release();
    this.#leaveFile();
  }

  #note(text: string): void {
    const [lost, gap] = [this.#lost, this.#gap];
    this.#put(Buffer.from(`\n[viv: ${text}]\n`));
    this.#lost = lost; // of what others wrote, nothing is lost with it
    this.#gap = Math.min(this.#gap, gap);
  }

  #put(bytes: Buffer): void {
    let done = 0;
    try {
      if (this.#fd === "later" && bytes.length > 0) this.#fd = this.#open();
      if (this.#gap > 0) this.#tellGap();
      while (typeof this.#fd === "number" && done < bytes.length) {
        done += writeSync(this.#fd, bytes, done);
      }
    } catch (error) {
      this.error = error as Error;
    }
    this.#lost += bytes.length - done;
    this.#gap += bytes.length - done;
  }

  /** A hole in its middle would mislead. */
  #tellGap(): void {
    const note = Buffer.from(`\n[viv: ${counted(this.#gap, "byte")} could not be written here]\n`);
    for (let done = 0; typeof this.#fd === "number" && done < note.length; ) {
      done += writeSync(this.#fd, note, done);
    }
    this.#gap = 0;
  }

  #open(): number {
    const fd = open(this.#path);
    const ready = this.#isOld ? emptied(fd) : fd;
    this.#isOld = false;
    return ready;
  }

  #leaveFile(): void {
    try {
      if (typeof this.#fd === "number") closeSync(this.#fd);
    } catch (error) {
      this.error ??= error as Error; // over a network, a full disk may be reported only now
    }
    this.#fd = undefined;
  }
}

/** Throws when it is not and could not be. */
function isThere(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return true;
  accessSync(dirname(path), constants.W_OK);
  return false;
}

/**
 * Appending, because the handler knows the path and may write there as well. Not blocking, because
 * a pipe in its place would make us wait for its reader.
 */
function open(path: string): number {
  const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new Error(`${path} is not a file`);
}

function emptied(fd: number): number {
  try {
    if (fstatSync(fd).size > 0) ftruncateSync(fd);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** And not about the machine. */
function isAboutFile(error: unknown): boolean {
  const isDenied = ["EACCES", "EPERM"].includes(errno(error) ?? "");
  return isDenied || machineErrorOf(error) === undefined;
}

/** The last bytes of all that it took. Memory is allocated as they come, up to the limit. */
class Ring {
  /** How many bytes it was given so far. */
  taken = 0;
  readonly #limit: number;
  #bytes = Buffer.alloc(0);
  #next = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get dropped(): number {
    return Math.max(0, this.taken - this.#limit);
  }

  push(chunk: Buffer): void {
    this.#growTo(Math.min(this.taken + chunk.length, this.#limit));
    this.taken += chunk.length;
    const size = this.#bytes.length;
    if (size === 0) return;
    const last = chunk.subarray(Math.max(0, chunk.length - size));
    const fits = Math.min(last.length, size - this.#next);
    last.copy(this.#bytes, this.#next, 0, fits);
    last.copy(this.#bytes, 0, fits);
    this.#next = (this.#next + last.length) % size;
  }

  /** In order. */
  parts(): Buffer[] {
    if (this.taken <= this.#limit) return [this.#bytes.subarray(0, this.taken)];
    return [this.#bytes.subarray(this.#next), this.#bytes.subarray(0, this.#next)];
  }

  release(): void {
    this.#bytes = Buffer.alloc(0);
  }

  /** Below the limit nothing has been overwritten yet, and the bytes lie in order from 0. */
  #growTo(needed: number): void {
    if (needed <= this.#bytes.length) return;
    const size = Math.min(Math.max(needed, this.#bytes.length * 2, SMALLEST_RING), this.#limit);
    const bytes = Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(bytes, 0, 0, this.taken);
    this.#bytes = bytes;
    this.#next = this.taken;
  }
}
