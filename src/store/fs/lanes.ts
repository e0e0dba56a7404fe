import { closeSync, existsSync, type Stats, writeSync } from "node:fs";
import { asciiJson } from "../../model/json.ts";
import { isName } from "../../model/names.ts";
import { PRIORITIES, type Priority, priorityOf, type Task } from "../../model/task.ts";
import { discard, linkIfFree, openLines, writeNew } from "./atomic.ts";

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
  return `${stats.ino}.${stats.size}.${Math.round(stats.mtimeMs * 1000)}`;
}

export function lanePath(folder: string, priority: Priority): string {
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
      fd = openLines(lanePath(this.#folder, priority));
      this.#fds.set(priority, fd);
    }
    let text = "";
    for (const e of entries)
      text += `${e.id}\t${encodeType(e.type)}\t${e.attempt}\t${e.stamp}\t${e.body}\n`;
    const bytes = Buffer.from(text, "latin1");
    if (writeSync(fd, bytes) === bytes.length) return;
    // A full disk tore a line: the task is found by adopt, as after a crash. Opening the lane anew
    // ends that line.
    closeSync(fd);
    this.#fds.delete(priority);
  }

  /**
   * Makes the lanes that are missing. A lane begins with a line `# NAME`, a name nobody else has:
   * cursors carry it, so that those of a lane that was lost mean nothing on the new one.
   */
  prepare(): void {
    for (const priority of PRIORITIES) {
      const path = lanePath(this.#folder, priority);
      if (existsSync(path)) continue;
      const name = Math.floor(Math.random() * 36 ** 10).toString(36);
      const tmp = `${this.#folder}/.${priority}.${process.pid}.${name}`;
      writeNew(tmp, `# ${name}\n`, false);
      linkIfFree(tmp, path);
      discard(tmp);
    }
  }

  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}

/** Half a surrogate pair has no bytes; all such types share a name on the lanes. */
function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

/** Foreign types may be any text; on a lane they are one ASCII word. */
export function encodeType(type: string): string {
  return /^[\w.:/@+-]+$/.test(type) ? type : encodeURIComponent(wellFormed(type));
}

/** Null for a torn line. */
export function typeOfLine(line: string): string | null {
  const a = line.indexOf("\t");
  const b = line.indexOf("\t", a + 1);
  const c = line.indexOf("\t", b + 1);
  return a > 0 && b > a && c > b && line.indexOf("\t", c + 1) > c ? line.slice(a + 1, b) : null;
}

export function idOfLine(line: string): string {
  return line.slice(0, line.indexOf("\t"));
}

export function entryOfLine(line: string): LaneEntry {
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
  };
}
