import { readSync } from "node:fs";

/** A longer one is not ours, but left by a power cut. */
const MAX_LINE = 64 * 1024;
/** Read at a time. A reader of some types passes over most lines, so it reads more. */
const CHUNK = { all: 32 * 1024, some: 256 * 1024 };

export interface LaneLine {
  line: string;
  /** Where it begins in the file. */
  start: number;
}

/**
 * The unread lines of a lane, as bytes: a reader of one type in a hundred finds the next line by the
 * type between tabs, and the lines before it never become text.
 */
export class LaneLines {
  /** Where the first unread line begins in the file. */
  offset = 0;
  /** Every line of these types contains its mark. Undefined: any line may be wanted. */
  readonly #marks: readonly Mark[] | undefined;
  readonly #chunk: number;
  #buffer: Buffer = EMPTY;
  /** The part of the buffer that was read from the file, and where `offset` is in it. */
  #data: Buffer = EMPTY;
  #position = 0;

  constructor(types?: readonly string[]) {
    this.#marks = types?.map(markOf);
    this.#chunk = types === undefined ? CHUNK.all : CHUNK.some;
  }

  hasLine(): boolean {
    return this.#data.indexOf(NEWLINE, this.#position) >= 0;
  }

  /** The next line that may be wanted; null when more must be read. */
  next(): LaneLine | null {
    this.#skipUnwanted();
    const end = this.#data.indexOf(NEWLINE, this.#position);
    if (end < 0) return null;
    const next = { line: this.#data.toString("latin1", this.#position, end), start: this.offset };
    this.#passTo(end + 1);
    return next;
  }

  /** Reads on; false at the end of the file. */
  read(fd: number): boolean {
    if (this.#buffer === EMPTY) this.#buffer = Buffer.allocUnsafeSlow(MAX_LINE + this.#chunk);
    if (this.#data.length - this.#position > MAX_LINE) this.#passTo(this.#data.length);
    const rest = this.#data.length - this.#position;
    if (this.#position > 0) this.#data.copy(this.#buffer, 0, this.#position);
    const n = readSync(fd, this.#buffer, rest, this.#chunk, this.offset + rest);
    this.#data = this.#buffer.subarray(0, rest + n);
    this.#position = 0;
    for (const mark of this.#marks ?? []) mark.at = UNKNOWN;
    return n > 0;
  }

  /** The next read begins at `offset`. */
  forget(): void {
    this.#data = EMPTY;
    this.#position = 0;
  }

  /** (The same text between other tabs costs one look more.) */
  #skipUnwanted(): void {
    if (this.#marks === undefined) return;
    const mark = this.#nextMark(this.#marks);
    const next = this.#data.lastIndexOf(NEWLINE, mark) + 1;
    if (next > this.#position) this.#passTo(next);
  }

  /** The first of any type, or the end. */
  #nextMark(marks: readonly Mark[]): number {
    let first = this.#data.length;
    for (const mark of marks) {
      if (mark.at < this.#position) {
        const found = this.#data.indexOf(mark.bytes, this.#position);
        mark.at = found < 0 ? Number.POSITIVE_INFINITY : found;
      }
      first = Math.min(first, mark.at);
    }
    return first;
  }

  #passTo(position: number): void {
    this.offset += position - this.#position;
    this.#position = position;
  }
}

interface Mark {
  bytes: Buffer;
  /** Its next place in the data. */
  at: number;
}

function markOf(type: string): Mark {
  return { bytes: Buffer.from(`\t${type}\t`), at: UNKNOWN };
}

const UNKNOWN = -1;
const NEWLINE = 10;
const EMPTY = Buffer.alloc(0);
