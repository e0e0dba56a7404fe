import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { unlessTaken } from "../../base/errno.ts";

/**
 * A log that is appended to; past its limit it becomes `<path>.1`, in place of the one before, and a new
 * one is begun. Behind a line that was cut off (a full disk, a power failure) it goes on with a new one.
 * Mode 0600; a link is not followed; nothing is fsynced. Writing never throws: a log is no reason to
 * stop working.
 */
export class RotatingLog {
  readonly #path: string;
  readonly #limit: number;
  #fd: number | undefined;
  #size = 0;

  constructor(path: string, limit: number) {
    this.#path = path;
    this.#limit = limit;
  }

  write(chunk: Buffer): void {
    try {
      if (this.#fd !== undefined && this.#size > this.#limit) this.close();
      if (this.#fd === undefined) {
        this.#fd = this.#open();
        if (this.#size > 0 && !endsLine(this.#fd, this.#size)) this.#append(this.#fd, NEWLINE);
      }
      this.#append(this.#fd, chunk);
    } catch {
      this.close(); // a full disk: the next line tries again
    }
  }

  #append(fd: number, chunk: Buffer): void {
    for (let done = 0; done < chunk.length; ) done += writeSync(fd, chunk, done);
    this.#size += chunk.length;
  }

  close(): void {
    if (this.#fd === undefined) return;
    try {
      closeSync(this.#fd);
    } catch {
      // what was written is written, and nothing more can be done for the rest
    }
    this.#fd = undefined;
  }

  #open(): number {
    // Not its parents: where they are gone, the run was removed, and is not begun anew by a log.
    unlessTaken(() => mkdirSync(dirname(this.#path), { mode: 0o700 }));
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > this.#limit) renameSync(this.#path, `${this.#path}.1`);
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
    const flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
    const fd = openSync(this.#path, flags, 0o600);
    this.#size = fstatSync(fd).size;
    return fd;
  }
}

const NEWLINE = Buffer.from("\n");

function endsLine(fd: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return readSync(fd, last, 0, 1, size - 1) === 1 && last.equals(NEWLINE);
}
