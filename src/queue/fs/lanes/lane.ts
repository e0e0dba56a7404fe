import { closeSync, fstatSync, readSync } from "node:fs";
import type { Clock } from "../../../base/clock.ts";
import { isName } from "../../../base/names.ts";
import { statIfThere } from "../files/atomic.ts";
import { completeLines, openToRead } from "../files/lines.ts";
import { idOfLine, laneNameOf, typeOfLine } from "./lanes.ts";
import { LeftLines } from "./left-lines.ts";
import type { Wanted } from "./type-filter.ts";

const WINDOW = 64;
const CHUNK = 32 * 1024;
/** Longer is no line of ours, but what a power cut left. */
const MAX_LINE = 64 * 1024;
/** Shared by all lanes: a claim looks at the end of the lanes above its own every time. */
const scratch = Buffer.allocUnsafe(CHUNK);

/** A place on a lane, and which lane that was. */
export interface Cursor {
  name: string;
  offset: number;
}

/** One claimer's place on one lane: the window of lines it tries, and how far it has read. */
export class Lane {
  readonly #path: string;
  readonly #wanted: Wanted | null;
  readonly #random: () => number;
  #fd = -1;
  /** Where the first line that was not looked at yet begins in the file. */
  #offset = 0;
  /** A piece of the file, and how far it has been looked at. */
  #text = "";
  #position = 0;
  #lines: string[] = [];
  #ends: number[] = [];
  #index = 0;
  #windowStart = 0;
  #rotated = false;
  /** Others take from this lane too: they took `taken` of the window so far. */
  #company = false;
  #taken = 0;
  #left = new LeftLines();
  /** What every line of the only wanted type contains. */
  readonly #mark: string | null;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #name = "";
  #ino = 0;
  #losses = 0;
  readonly #start: Cursor;

  constructor(path: string, wanted: Wanted | null, start: Cursor, random: () => number) {
    this.#path = path;
    this.#wanted = wanted;
    this.#mark = wanted?.only ? `\t${wanted.only}\t` : null;
    this.#random = random;
    this.#start = start;
  }

  /** Everything before it is taken (or of a type this reader does not want). Null: not begun. */
  place(isThere: (id: string) => boolean): Cursor | null {
    if (this.#fd < 0) return null;
    return {
      name: this.#name,
      offset: Math.min(this.#cursor, this.#left.firstStart(isThere)),
    };
  }

  /** Its place, unless that is where it began. */
  cursorToSave(isThere: (id: string) => boolean): Cursor | null {
    const cursor = this.place(isThere);
    const { name, offset } = this.#start;
    return cursor?.name === name && cursor.offset === offset ? null : cursor;
  }

  get #cursor(): number {
    if (this.#index >= this.#lines.length) return this.#offset;
    if (this.#rotated || this.#index === 0) return this.#windowStart;
    return this.#ends[this.#index - 1] ?? this.#windowStart;
  }

  next(
    isThere: (id: string) => boolean,
    force: boolean,
    worker: string,
    clock: Clock,
  ): string | null {
    if (!this.#left.isEmpty) {
      const left = this.#left.next(worker, clock);
      if (left !== null) return left;
    }
    for (;;) {
      while (this.#index < this.#lines.length) {
        const line = this.#lines[this.#index++] as string;
        // In company, look before the jump: a failed rename costs five times a failed look.
        if (this.#company && !isThere(idOfLine(line))) {
          this.#taken++;
          continue;
        }
        return line;
      }
      if (!this.#fill(force)) return null;
    }
  }

  peek(isThere: (id: string) => boolean, worker: string | undefined): boolean {
    if (worker !== undefined && this.#left.hasFor(worker, isThere)) return true;
    for (;;) {
      for (; this.#index < this.#lines.length; this.#index++) {
        if (isThere(idOfLine(this.#lines[this.#index] as string))) return true;
      }
      if (!this.#fill(true)) return false;
    }
  }

  /** The line that was given out last is for others, not for this worker. */
  leave(line: string, worker: string, now: number): void {
    const before = this.#rotated ? undefined : this.#ends[this.#index - 2];
    this.#left.put(line, before ?? this.#windowStart, worker, now);
  }

  /** The first miss means other claimers; one right after a look, that they are in this window. */
  missed(line: string): void {
    if (this.#left.isOut(line)) return; // it was left for others to take
    this.#taken++;
    if (this.#company) this.#rotate();
    this.#company = true;
  }

  #rotate(): void {
    if (this.#rotated) return;
    const lines = this.#lines.slice(this.#index);
    if (lines.length < 2) return;
    const at = Math.floor(this.#random() * lines.length);
    this.#windowStart = this.#cursor;
    this.#lines = [...lines.slice(at), ...lines.slice(0, at)];
    this.#index = 0;
    this.#rotated = true;
  }

  /** Loads the next window. */
  #fill(force: boolean): boolean {
    if (this.#text.indexOf("\n", this.#position) < 0 && !this.#read(force)) return false;
    this.#begin(this.#offset);
    while (this.#lines.length < WINDOW) {
      this.#skipUnwanted();
      const newline = this.#text.indexOf("\n", this.#position);
      if (newline < 0) {
        if (!this.#read(force)) break;
        continue;
      }
      const start = this.#position;
      this.#position = newline + 1;
      this.#offset += newline + 1 - start;
      this.#keep(this.#text.slice(start, newline), this.#offset);
    }
    return this.#lines.length > 0;
  }

  /**
   * A reader of one type in a hundred need not look at every line: the next one of that type is found
   * by its name between tabs. (The same between other tabs costs one look more.)
   */
  #skipUnwanted(): void {
    if (this.#mark === null) return;
    const mark = this.#text.indexOf(this.#mark, this.#position);
    const next = this.#text.lastIndexOf("\n", mark < 0 ? undefined : mark) + 1;
    if (next > this.#position) this.#skipTo(this.#offset + next - this.#position);
  }

  #begin(offset: number): void {
    this.#windowStart = offset;
    this.#lines = [];
    this.#ends = [];
    this.#index = 0;
    this.#rotated = false;
    this.#company = this.#taken > 0;
    this.#taken = 0;
  }

  #keep(line: string, end: number): void {
    const type = typeOfLine(line);
    if (type === null || (this.#wanted !== null && !this.#wanted.has(type))) return;
    if (!isName(idOfLine(line))) return; // it becomes a path
    this.#lines.push(line);
    this.#ends.push(end);
  }

  #skipTo(offset: number): void {
    const by = offset - this.#offset;
    this.#offset = offset;
    this.#position += by;
    if (this.#position > this.#text.length) {
      this.#text = "";
      this.#position = 0;
    }
  }

  #read(force: boolean): boolean {
    if (!this.#open(force)) return false;
    let rest = this.#position === this.#text.length ? "" : this.#text.slice(this.#position);
    if (rest.length > MAX_LINE) {
      this.#offset += rest.length;
      rest = "";
    }
    const n = readSync(this.#fd, scratch, 0, CHUNK, this.#offset + rest.length);
    if (n === 0) {
      this.#text = rest;
      this.#position = 0;
      return force && this.refresh() && this.#read(true);
    }
    this.#text = rest + scratch.toString("latin1", 0, n);
    this.#position = 0;
    return true;
  }

  /** Begins again when the lane it reads is not the one that is there, or was cut. True: it did. */
  refresh(): boolean {
    if (this.#fd < 0) return false;
    const there = statIfThere(this.#path);
    if (there?.ino === this.#ino && there.size >= this.#offset) return false;
    this.#losses++;
    this.close();
    this.#left = new LeftLines();
    this.#offset = 0;
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    return this.#open(true);
  }

  get losses(): number {
    return this.#losses;
  }

  /** Opens the lane at the cursor, if that is one of this lane; at its beginning otherwise. */
  #open(force: boolean): boolean {
    if (this.#fd >= 0) return true;
    // Not there: a run that only others have written to. Looking for it again may wait.
    const now = performance.now();
    if (!force && now - this.#checkedAt < 1) return false;
    this.#fd = openToRead(this.#path);
    if (this.#fd < 0) {
      this.#checkedAt = now;
      return false;
    }
    this.#ino = fstatSync(this.#fd).ino;
    this.#name = laneNameOf(this.#fd);
    const { name, offset } = this.#start;
    const isFirst = this.#losses === 0;
    const isOurs = isFirst && name !== "" && name === this.#name && startsLine(this.#fd, offset);
    this.#offset = isOurs ? offset : 0;
    this.#windowStart = this.#offset;
    return true;
  }

  *ahead(): Generator<string> {
    this.#open(true);
    yield* this.#left.ids();
    yield* this.#lines.slice(this.#index).map(idOfLine);
    for (const { id } of linesOf(this.#path, this.#offset)) yield id;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    // A further read begins again where this one began.
    this.#text = "";
    this.#position = 0;
    this.#begin(0);
  }
}

export function* linesOf(path: string, from: number): Generator<{ id: string; type: string }> {
  for (const { text } of completeLines(path, from, "latin1")) {
    const type = typeOfLine(text);
    if (type !== null) yield { id: idOfLine(text), type };
  }
}

/** A cursor points behind a line, or it is not one. */
function startsLine(fd: number, offset: number): boolean {
  if (offset === 0) return true;
  const before = Buffer.alloc(1);
  return readSync(fd, before, 0, 1, offset - 1) === 1 && before[0] === 10;
}
