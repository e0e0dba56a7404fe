import { closeSync, fstatSync, readSync, type Stats, writeSync } from "node:fs";
import { asciiJson } from "../../../base/json.ts";
import { isName } from "../../../base/names.ts";
import { PRIORITIES, type Priority, priorityOf, type Task } from "../../task.ts";
import {
  linkIfFree,
  openLines,
  openToRead,
  renameOver,
  statIfThere,
  viaTemporary,
} from "../files/atomic.ts";

/**
 * The order of the queue. A folder has no order, and listing one with 100,000 names takes longer
 * than a hundred claims; so a process that makes a task pending also appends a line to the lane of
 * its priority, and claimers read the lanes from where they stopped.
 *
 * Lanes are hints: the rename decides which worker gets a task. A line whose task is gone is passed
 * over; `adopt` finds a task without a line (a foreign one, or a crash between the two steps). The
 * line is written after the task lies in pending/, so "not there" always means "taken".
 *
 * The text of a small task is on its line. One read then serves a hundred claims, and a claim need
 * not open the file: its unchanged stamp shows that the text is still true.
 *
 * A lone claimer follows the lane exactly, and so do several as long as they do not collide. One
 * that loses a race for a task it had just seen continues at a random place within the window of
 * the next 64, so that claimers spread out and no task is overtaken by more than a window.
 *
 * A lane may be lost, cut or replaced at any time. One that has lost its first line (a power cut
 * leaves it empty, or full of NULs) is replaced by a new one; readers and writers notice that at
 * the next look, and `adopt` writes the lines again.
 */
export interface LaneEntry {
  id: string;
  type: string;
  /** The number of the next attempt; counts only together with the stamp. */
  attempt: number;
  /** Identifies the file the body was taken from; a file that differs is read instead. */
  stamp: string;
  /** The task's text, if it is small. */
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
  return `${stats.ino}.${stats.size}.${Math.round(stats.mtimeMs * 1000)}`;
}

export function lanePath(folder: string, priority: Priority): string {
  return `${folder}/${priority}.log`;
}

interface OpenLane {
  fd: number;
  ino: number;
  /** After the last write: if the file has less, it was cut. */
  size: number;
}

export class LaneWriter {
  readonly #folder: string;
  readonly #open = new Map<Priority, OpenLane>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Announces a task that lies in pending/ to claimers. */
  offer(task: Task, stats: Stats | undefined, attempt: number): void {
    // An id that ours cannot have is left to foreign workers.
    if (isName(task.task_id)) this.append(priorityOf(task), [laneEntry(task, stats, attempt)]);
  }

  append(priority: Priority, entries: readonly LaneEntry[]): void {
    const lane = this.#lane(priority);
    const lines = entries.map(
      ({ id, type, attempt, stamp, body }) =>
        `${id}\t${encodeType(type)}\t${attempt}\t${stamp}\t${body}\n`,
    );
    const bytes = Buffer.from(lines.join(""), "latin1");
    if (writeSync(lane.fd, bytes) === bytes.length) {
      lane.size += bytes.length;
      return;
    }
    // A full disk tore a line: adopt finds the task, as after a crash. Opening the lane anew ends
    // that line.
    this.#forget(priority);
  }

  #lane(priority: Priority): OpenLane {
    const path = lanePath(this.#folder, priority);
    const open = this.#open.get(priority);
    if (open !== undefined) {
      const there = statIfThere(path);
      if (there?.ino === open.ino && there.size >= open.size) return open;
      this.#forget(priority);
    }
    prepareLane(path);
    const fd = openLines(path);
    const { ino, size } = fstatSync(fd);
    const lane = { fd, ino, size };
    this.#open.set(priority, lane);
    return lane;
  }

  #forget(priority: Priority): void {
    const lane = this.#open.get(priority);
    if (lane !== undefined) closeSync(lane.fd);
    this.#open.delete(priority);
  }

  /** Makes the lanes that are missing, or cannot be used. */
  prepare(): void {
    for (const priority of PRIORITIES) prepareLane(lanePath(this.#folder, priority));
  }

  close(): void {
    for (const priority of PRIORITIES) this.#forget(priority);
  }
}

/**
 * A lane begins with a line `# NAME`, and is put in its place with it. Cursors carry the unique
 * name, so that those of a lost lane mean nothing on the new one.
 */
function prepareLane(path: string): void {
  const isThere = statIfThere(path) !== undefined;
  if (isThere && laneName(path) !== "") return;
  const name = Math.floor(Math.random() * 36 ** 10).toString(36);
  const slash = path.lastIndexOf("/");
  const tmp = `${path.slice(0, slash)}/.${path.slice(slash + 1)}.${process.pid}.${name}`;
  viaTemporary(tmp, `# ${name}\n`, false, () => {
    if (isThere) renameOver(tmp, path);
    else linkIfFree(tmp, path);
  });
}

function laneName(path: string): string {
  const fd = openToRead(path);
  if (fd < 0) return "";
  try {
    return laneNameOf(fd);
  } finally {
    closeSync(fd);
  }
}

/** The name in the lane's first line; "" for a file without one, which is no lane. */
export function laneNameOf(fd: number): string {
  const first = Buffer.alloc(64);
  const n = readSync(fd, first, 0, 64, 0);
  return /^# (\w+)\n/.exec(first.toString("latin1", 0, n))?.[1] ?? "";
}

const MAX_TYPE = 1024;

/**
 * Foreign types may be any text; on a lane they are one short ASCII word. Half a surrogate pair has
 * no bytes: all such types share a word.
 */
export function encodeType(type: string): string {
  const word = /^[\w.:/@+-]+$/.test(type) ? type : encodeURIComponent(Buffer.from(type).toString());
  return word.length <= MAX_TYPE ? word : `%${hash(word)}`;
}

/** FNV-1a, twice. */
export function hash(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193) >>> 0;
    b = Math.imul(b ^ text.charCodeAt(i), 0x811c9dc5 | 1) >>> 0;
  }
  return a.toString(16).padStart(8, "0") + b.toString(16).padStart(8, "0");
}

/** Null for a torn line. */
export function typeOfLine(line: string): string | null {
  return /^[^\t]+\t([^\t]*)\t[^\t]*\t[^\t]*\t/.exec(line)?.[1] ?? null;
}

export function idOfLine(line: string): string {
  return line.slice(0, line.indexOf("\t"));
}

export function entryOfLine(line: string): LaneEntry {
  const a = line.indexOf("\t");
  const b = line.indexOf("\t", a + 1);
  const c = line.indexOf("\t", b + 1);
  const d = line.indexOf("\t", c + 1);
  const attempt = Number(line.slice(b + 1, c));
  // Not a number of ours: the file and its history count.
  const isSound = Number.isSafeInteger(attempt) && attempt > 0;
  return {
    id: line.slice(0, a),
    type: line.slice(a + 1, b),
    attempt: isSound ? attempt : 1,
    stamp: isSound ? line.slice(c + 1, d) : "",
    body: line.slice(d + 1),
  };
}
