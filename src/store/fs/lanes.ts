import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  writeFileSync,
  writeSync,
} from "node:fs";
import { asciiJson } from "../../model/json.ts";
import { isName } from "../../model/names.ts";
import { PRIORITIES, type Priority, priorityOf, type Task } from "../../model/task.ts";
import { completeLines, errno } from "./atomic.ts";

/**
 * The order of the queue. A folder has no order, and listing one with 100,000 names takes longer
 * than a hundred claims; so whoever makes a task pending also appends a line to the lane of its
 * priority, and claimers read the lanes from where they stopped.
 *
 * Lanes are hints: the rename decides who gets a task. A line whose task is gone is passed over; a
 * task without a line (a foreign one, or a crash between the two steps) is found by `adopt`. The
 * line is written after the task lies in pending/, so "not there" always means "taken".
 *
 * A small task's text rides along on its line. One read then serves a hundred claims, and a claim
 * need not open the file: that its stamp is unchanged shows that the text is still true.
 *
 * A lone claimer follows the lane exactly, and so do several as long as they do not collide. One
 * that loses a race for a task it had just seen continues at a random place within the window of
 * the next 64, so that claimers spread out and nobody is overtaken by more than a window.
 */
const WINDOW = 64;
const CHUNK = 32 * 1024;

/** A line of a lane: which task, of what type, and, when small, the task itself. */
export interface LaneEntry {
  id: string;
  type: string;
  /** Which attempt the next claim will be; counts only together with the stamp. */
  attempt: number;
  /** Identifies the file the body was taken from; a file that differs is read instead. */
  stamp: string;
  body: string;
}

const MAX_BODY = 2048;

export function laneEntry(task: Task, stats: Stats | undefined, attempt: number): LaneEntry {
  const entry = { id: task.task_id, type: task.task_type, attempt, stamp: "", body: "" };
  if (!stats || stats.size > 2 * MAX_BODY) return entry;
  const body = asciiJson(task);
  return body.length > MAX_BODY ? entry : { ...entry, stamp: stampOf(stats), body };
}

/**
 * A rename keeps all of these; replacing or editing the file changes at least one. A task that
 * comes back to pending/ gets a new mtime, so that older lines about it no longer fit.
 */
export function stampOf(stats: Stats): string {
  return `${stats.ino}.${stats.size}.${stats.mtimeMs}`;
}

function lanePath(folder: string, priority: Priority): string {
  return `${folder}/${priority}.log`;
}

export class LaneWriter {
  readonly #folder: string;
  readonly #fds = new Map<Priority, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Tells claimers about a task that lies in pending/. */
  offer(task: Task, stats: Stats | undefined, attempt: number): void {
    // A foreign id that ours could not be stays for the workers of its own kind.
    if (isName(task.task_id)) this.append(priorityOf(task), [laneEntry(task, stats, attempt)]);
  }

  append(priority: Priority, entries: readonly LaneEntry[]): void {
    let fd = this.#fds.get(priority);
    if (fd === undefined) {
      fd = openSync(lanePath(this.#folder, priority), "a", 0o600);
      this.#fds.set(priority, fd);
    }
    let text = "";
    for (const e of entries)
      text += `${e.id}\t${encodeType(e.type)}\t${e.attempt}\t${e.stamp}\t${e.body}\n`;
    const bytes = Buffer.from(text, "latin1");
    // A short write (disk full) tears a line: the task is then found by adopt, as after a crash.
    if (writeSync(fd, bytes) < bytes.length) writeSync(fd, "\n");
  }

  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}

/** Foreign types may be any text; on a lane they are one ASCII word. */
function encodeType(type: string): string {
  return /^[\w.:/@+-]+$/.test(type) ? type : encodeURIComponent(type);
}

/** Reads all lanes for one set of types, highest priority first. */
export class LaneReader {
  readonly #lanes: OneLane[];
  readonly #wanted: ReadonlySet<string> | null;
  readonly #folder: string;
  readonly #cursorFile: (priority: Priority) => string;

  constructor(
    folders: { lanes: string; cursors: string },
    types: readonly string[] | null,
    random: () => number,
  ) {
    const key = types === null ? "all" : hash([...types].sort().join("\n"));
    this.#cursorFile = (priority) => `${folders.cursors}/${priority}.${key}`;
    const wanted = types === null ? null : new Set(types.map(encodeType));
    this.#wanted = wanted;
    this.#folder = folders.lanes;
    this.#lanes = PRIORITIES.map(
      (priority) =>
        new OneLane(
          lanePath(folders.lanes, priority),
          wanted,
          readCursor(this.#cursorFile(priority)),
          random,
        ),
    );
  }

  /** The next candidate, or null when the lanes are read to their ends. */
  next(isThere: (id: string) => boolean, force: boolean): Candidate | null {
    for (const lane of this.#lanes) {
      const line = lane.next(isThere, force);
      if (line !== null) return candidateFrom(line, lane);
    }
    return null;
  }

  /** Ids on the lanes that this reader has not tried yet, of whatever type. */
  *ahead(): Generator<string> {
    for (const lane of this.#lanes) yield* lane.ahead();
  }

  /** Is there a candidate that is still there? Passes over those that are not. */
  peek(isThere: (id: string) => boolean): boolean {
    return this.#lanes.some((lane) => lane.peek(isThere));
  }

  /** The lines of tasks that are not for this reader: it need not open their files. */
  *others(): Generator<string> {
    if (this.#wanted === null) return;
    for (const { id, type } of laneLines(this.#folder)) if (!this.#wanted.has(type)) yield id;
  }

  /** Lets the next process start where this one stopped. Losing it costs time, nothing else. */
  saveCursors(): void {
    PRIORITIES.forEach((priority, i) => {
      const lane = this.#lanes[i];
      if (lane && lane.cursor !== lane.savedCursor) {
        try {
          writeFileSync(this.#cursorFile(priority), String(lane.cursor), { mode: 0o600 });
          lane.savedCursor = lane.cursor;
        } catch (error) {
          // A cursor saves time only; on a full disk the next reader starts further back.
          if (errno(error) !== "ENOSPC" && errno(error) !== "EDQUOT") throw error;
        }
      }
    });
  }

  close(): void {
    for (const lane of this.#lanes) lane.close();
  }
}

export interface Candidate extends LaneEntry {
  /** To be told when the rename found the task gone. */
  readonly lane: { missed(): void };
}

function candidateFrom(line: string, lane: OneLane): Candidate {
  const a = line.indexOf("\t");
  const b = line.indexOf("\t", a + 1);
  const c = line.indexOf("\t", b + 1);
  const d = line.indexOf("\t", c + 1);
  return {
    id: line.slice(0, a),
    type: line.slice(a + 1, b),
    attempt: Number(line.slice(b + 1, c)),
    stamp: line.slice(c + 1, d),
    body: line.slice(d + 1),
    lane,
  };
}

/** Null for a torn line. */
function typeOfLine(line: string): string | null {
  const a = line.indexOf("\t");
  const b = line.indexOf("\t", a + 1);
  const c = line.indexOf("\t", b + 1);
  return a > 0 && b > a && c > b && line.indexOf("\t", c + 1) > c ? line.slice(a + 1, b) : null;
}

function idOfLine(line: string): string {
  return line.slice(0, line.indexOf("\t"));
}

class OneLane {
  readonly #path: string;
  readonly #wanted: ReadonlySet<string> | null;
  readonly #random: () => number;
  #fd = -1;
  /** Where the first line that was not looked at yet begins in the file. */
  #offset: number;
  /** A piece of the file, and how far it has been looked at. */
  #text = "";
  #position = 0;
  #lines: string[] = [];
  #ends: number[] = [];
  #index = 0;
  #windowStart: number;
  #rotated = false;
  /** Others take from this lane too: they took `taken` of the window so far. */
  #company = false;
  #taken = 0;
  #checkedAt = Number.NEGATIVE_INFINITY;
  savedCursor: number;

  constructor(
    path: string,
    wanted: ReadonlySet<string> | null,
    start: number,
    random: () => number,
  ) {
    this.#path = path;
    this.#wanted = wanted;
    this.#random = random;
    this.#offset = start;
    this.#windowStart = start;
    this.savedCursor = start;
  }

  /** Everything before this offset is taken (or of a type this reader does not want). */
  get cursor(): number {
    if (this.#index >= this.#lines.length) return this.#offset;
    if (this.#rotated || this.#index === 0) return this.#windowStart;
    return this.#ends[this.#index - 1] ?? this.#windowStart;
  }

  next(isThere: (id: string) => boolean, force: boolean): string | null {
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

  peek(isThere: (id: string) => boolean): boolean {
    for (;;) {
      for (; this.#index < this.#lines.length; this.#index++) {
        if (isThere(idOfLine(this.#lines[this.#index] as string))) return true;
      }
      if (!this.#fill(true)) return false;
    }
  }

  /** The first miss says that we are not alone; one after a look, that somebody is right here. */
  missed(): void {
    this.#taken++;
    if (this.#company) this.#rotate();
    this.#company = true;
  }

  #rotate(): void {
    if (this.#rotated) return;
    const lines = this.#lines.slice(this.#index);
    if (lines.length < 2) return;
    const at = Math.floor(this.#random() * lines.length);
    this.#windowStart = this.cursor;
    this.#lines = [...lines.slice(at), ...lines.slice(0, at)];
    this.#index = 0;
    this.#rotated = true;
  }

  /** Loads the next window. Looks at the file's end at most once a millisecond unless forced. */
  #fill(force: boolean): boolean {
    this.#windowStart = this.#offset;
    this.#lines = [];
    this.#ends = [];
    this.#index = 0;
    this.#rotated = false;
    this.#company = this.#taken > 0;
    this.#taken = 0;
    while (this.#lines.length < WINDOW) {
      const newline = this.#text.indexOf("\n", this.#position);
      if (newline < 0) {
        if (!this.#read(force)) break;
        continue;
      }
      const start = this.#position;
      this.#position = newline + 1;
      this.#offset += newline + 1 - start;
      const line = this.#text.slice(start, newline);
      const type = typeOfLine(line);
      if (type === null || (this.#wanted !== null && !this.#wanted.has(type))) continue;
      this.#lines.push(line);
      this.#ends.push(this.#offset);
    }
    return this.#lines.length > 0;
  }

  #read(force: boolean): boolean {
    const now = performance.now();
    if (!force && now - this.#checkedAt < 1) return false;
    if (this.#fd < 0) {
      try {
        this.#fd = openSync(this.#path, "r");
      } catch (error) {
        if (errno(error) !== "ENOENT") throw error;
        this.#checkedAt = now;
        return false;
      }
      if (!startsLine(this.#fd, this.#offset)) this.#offset = 0;
    }
    const rest = this.#text.slice(this.#position);
    const chunk = Buffer.allocUnsafe(CHUNK);
    const n = readSync(this.#fd, chunk, 0, CHUNK, this.#offset + rest.length);
    if (n === 0) this.#checkedAt = now;
    this.#text = rest + chunk.toString("latin1", 0, n);
    this.#position = 0;
    return n > 0;
  }

  *ahead(): Generator<string> {
    yield* this.#lines.slice(this.#index).map(idOfLine);
    for (const { id } of linesOf(this.#path, this.#offset)) yield id;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }
}

/** All that was ever put on a lane, with its type. */
function* laneLines(folder: string): Generator<{ id: string; type: string }> {
  for (const priority of PRIORITIES) yield* linesOf(lanePath(folder, priority), 0);
}

function* linesOf(path: string, from: number): Generator<{ id: string; type: string }> {
  if (!existsSync(path)) return;
  for (const { text } of completeLines(path, from, "latin1")) {
    const type = typeOfLine(text);
    if (type !== null) yield { id: idOfLine(text), type };
  }
}

/** A cursor of a lane that was rebuilt since may point anywhere; then it counts for nothing. */
function startsLine(fd: number, offset: number): boolean {
  if (offset === 0) return true;
  const before = Buffer.alloc(1);
  return readSync(fd, before, 0, 1, offset - 1) === 1 && before[0] === 10;
}

function readCursor(path: string): number {
  try {
    const offset = Number(readFileSync(path, "latin1"));
    return Number.isSafeInteger(offset) && offset >= 0 ? offset : 0;
  } catch (error) {
    if (errno(error) === "ENOENT") return 0;
    throw error;
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
