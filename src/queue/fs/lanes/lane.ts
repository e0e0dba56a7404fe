import { closeSync, fstatSync, readSync } from "node:fs";
import { isName } from "../../../base/names.ts";
import { statIfThere } from "../files/atomic.ts";
import { openToRead } from "../files/lines.ts";
import { type LaneLine, LaneLines } from "./lane-lines.ts";
import type { Wanted } from "./lane-reader.ts";
import { idOfLine, laneNameOf, typeOfLine } from "./lanes.ts";

const WINDOW = 64;
const END = Number.POSITIVE_INFINITY;

/** A place on a lane, and which lane that was. */
export interface Cursor {
  name: string;
  offset: number;
}

/** The world around a lane. */
export interface LaneHost {
  /** Does the task lie in pending/? */
  isThere(id: string): boolean;
  random(): number;
  now(): number;
}

/** One claimer's place on one lane: the window of lines it tries, and how far it has read. */
export class Lane {
  readonly #path: string;
  readonly #wanted: Wanted | null;
  readonly #host: LaneHost;
  readonly #start: Cursor;
  readonly #lines: LaneLines;
  #fd = -1;
  /** The next one to try is at `#index`. */
  #window: LaneLine[] = [];
  #index = 0;
  /** Where the rotated part of the window begins in the file. */
  #rotatedFrom: number | null = null;
  /** Others take from this lane too: they took `taken` of the window so far. */
  #company = false;
  #taken = 0;
  #left = new LeftLines();
  #checkedAt = Number.NEGATIVE_INFINITY;
  #name = "";
  #ino = 0;
  /** How often the lane was lost under this reader, and begun again. */
  losses = 0;

  constructor(path: string, wanted: Wanted | null, start: Cursor, host: LaneHost) {
    this.#path = path;
    this.#wanted = wanted;
    this.#lines = new LaneLines(wanted?.types);
    this.#host = host;
    this.#start = start;
  }

  /** All lines before it are taken, or of types this reader does not want. Null: not begun. */
  place(): Cursor | null {
    if (this.#fd < 0) return null;
    const offset = Math.min(this.#cursor, this.#left.firstStart(this.#host));
    return { name: this.#name, offset };
  }

  /** Its place, unless it has not moved. */
  cursorToSave(): Cursor | null {
    const cursor = this.place();
    const { name, offset } = this.#start;
    return cursor?.name === name && cursor.offset === offset ? null : cursor;
  }

  get #cursor(): number {
    const next = this.#window[this.#index];
    return next === undefined ? this.#lines.offset : (this.#rotatedFrom ?? next.start);
  }

  next(force: boolean, worker: string): string | null {
    const left = this.#left.next(worker, this.#host.now());
    if (left !== null) return left;
    for (;;) {
      for (let next = this.#window[this.#index]; next; next = this.#window[this.#index]) {
        this.#index++;
        // In company, look before the jump: a failed rename costs five times a failed look.
        if (!this.#company || this.#host.isThere(idOfLine(next.line))) return next.line;
        this.#taken++;
      }
      if (!this.#fill(force)) return null;
    }
  }

  peek(worker: string | undefined): boolean {
    if (worker !== undefined && this.#left.hasFor(worker, this.#host)) return true;
    for (;;) {
      for (let next = this.#window[this.#index]; next; next = this.#window[++this.#index]) {
        if (this.#host.isThere(idOfLine(next.line))) return true;
      }
      if (!this.#fill(true)) return false;
    }
  }

  /** The line that was given out last is for others, not for this worker. */
  leave(line: string, worker: string): void {
    const start = this.#window[this.#index - 1]?.start ?? 0;
    this.#left.put(line, start, worker, this.#host.now());
  }

  /** The first miss shows other claimers; one right after a look, that they are in this window. */
  missed(line: string): void {
    if (this.#left.isOut(line)) return; // it was left for others to take
    this.#taken++;
    if (this.#company) this.#rotate();
    this.#company = true;
  }

  #rotate(): void {
    const rest = this.#window.slice(this.#index);
    if (this.#rotatedFrom !== null || rest.length < 2) return;
    const at = Math.floor(this.#host.random() * rest.length);
    this.#rotatedFrom = this.#cursor;
    this.#window = [...rest.slice(at), ...rest.slice(0, at)];
    this.#index = 0;
  }

  /** Loads the next window. */
  #fill(force: boolean): boolean {
    if (!this.#lines.hasLine() && !this.#read(force)) return false;
    this.#begin();
    while (this.#window.length < WINDOW) {
      const next = this.#lines.next();
      if (next === null && !this.#read(force)) break;
      if (next !== null && this.#isWanted(next.line)) this.#window.push(next);
    }
    return this.#window.length > 0;
  }

  #begin(): void {
    this.#window = [];
    this.#index = 0;
    this.#rotatedFrom = null;
    this.#company = this.#taken > 0;
    this.#taken = 0;
  }

  #isWanted(line: string): boolean {
    const type = typeOfLine(line);
    if (type === null || (this.#wanted !== null && !this.#wanted.has(type))) return false;
    return isName(idOfLine(line)); // it becomes a path
  }

  #read(force: boolean): boolean {
    if (!this.#open(force)) return false;
    return this.#lines.read(this.#fd) || (force && this.refresh() && this.#read(true));
  }

  /** Begins again, and returns true, when its lane was replaced or cut. */
  refresh(): boolean {
    if (this.#fd < 0) return false;
    const there = statIfThere(this.#path);
    if (there?.ino === this.#ino && there.size >= this.#lines.offset) return false;
    this.losses++;
    this.close();
    this.#left = new LeftLines();
    this.#lines.offset = 0;
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    return this.#open(true);
  }

  /** Opens the lane at the cursor, if that is one of this lane; at its beginning otherwise. */
  #open(force: boolean): boolean {
    if (this.#fd >= 0) return true;
    // Missing in a run that only others have written to. The next look for it may wait.
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
    const isSame = this.losses === 0 && name !== "" && name === this.#name;
    this.#lines.offset = isSame && startsLine(this.#fd, offset) ? offset : 0;
    return true;
  }

  /** Ids of lines that this reader has not tried yet, or left to others; of any type. */
  *ahead(): Generator<string> {
    this.#open(true);
    yield* this.#left.ids();
    for (const { line } of this.#window.slice(this.#index)) yield idOfLine(line);
    for (const { id } of linesOf(this.#path, this.#lines.offset, END)) yield id;
  }

  /** Ids of lines before those that are not for this reader. */
  *passedOver(): Generator<string> {
    if (this.#wanted === null) return;
    for (const { id, type } of linesOf(this.#path, 0, this.#lines.offset)) {
      if (!this.#wanted.has(type)) yield id;
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
    this.#lines.forget();
    this.#begin();
  }
}

/** A line that a claimer has passed over although its task is there. */
interface LeftLine {
  line: string;
  /** Where on the lane a reader must begin to meet it. */
  start: number;
  /** Workers that must not take it, with the time of the last check. */
  notFor: Map<string, number>;
}

/** How soon the same claimer checks again whether another worker is left to take it. */
const LOOK_AGAIN_MS = 5_000;

/**
 * Lines that a claimer must not take, because it has choked on their tasks, and others may. They
 * keep their place: they come before unread lines, and no cursor is saved behind them.
 */
class LeftLines {
  readonly #lines: LeftLine[] = [];
  /** Handed out last, and not put back yet. */
  #out: LeftLine | null = null;

  /** The next line for this worker: one that it may take, or has not checked for a while. */
  next(worker: string, now: number): string | null {
    const at = this.#lines.findIndex(({ notFor }) => {
      const looked = notFor.get(worker);
      return looked === undefined || Math.abs(now - looked) >= LOOK_AGAIN_MS;
    });
    if (at < 0) return null;
    this.#out = this.#lines.splice(at, 1)[0] as LeftLine;
    return this.#out.line;
  }

  /** Was this line handed out by `next`? */
  isOut(line: string): boolean {
    return this.#out?.line === line;
  }

  put(line: string, start: number, worker: string, now: number): void {
    let left = this.isOut(line) ? this.#out : null;
    this.#out = null;
    // A task that came back since has a newer line; the same line twice is the same place.
    const known = this.#lines.findIndex((other) => idOfLine(other.line) === idOfLine(line));
    const other = known < 0 ? undefined : this.#lines.splice(known, 1)[0];
    if (other?.line === line) left ??= other;
    left ??= { line, start, notFor: other?.notFor ?? new Map() };
    left.notFor.set(worker, now);
    const behind = this.#lines.findIndex((other) => other.start > left.start);
    this.#lines.splice(behind < 0 ? this.#lines.length : behind, 0, left);
  }

  /** Is there one that this worker may take? */
  hasFor(worker: string, host: LaneHost): boolean {
    return this.#lines.some(
      ({ line, notFor }) => !notFor.has(worker) && host.isThere(idOfLine(line)),
    );
  }

  /** The start of the first one whose task is still there. */
  firstStart(host: LaneHost): number {
    const first = this.#lines.find(({ line }) => host.isThere(idOfLine(line)));
    return first?.start ?? Number.POSITIVE_INFINITY;
  }

  ids(): string[] {
    return this.#lines.map(({ line }) => idOfLine(line));
  }
}

/** The whole lines that begin at `from` or later, and before `to`. */
function* linesOf(path: string, from: number, to: number): Generator<{ id: string; type: string }> {
  const fd = openToRead(path);
  if (fd < 0) return;
  const lines = new LaneLines();
  lines.offset = from;
  try {
    do {
      for (let next = lines.next(); next !== null; next = lines.next()) {
        if (next.start >= to) return;
        const type = typeOfLine(next.line);
        if (type !== null) yield { id: idOfLine(next.line), type };
      }
    } while (lines.read(fd));
  } finally {
    closeSync(fd);
  }
}

/** A cursor always points behind a line. */
function startsLine(fd: number, offset: number): boolean {
  if (offset === 0) return true;
  const before = Buffer.alloc(1);
  return readSync(fd, before, 0, 1, offset - 1) === 1 && before[0] === 10;
}
