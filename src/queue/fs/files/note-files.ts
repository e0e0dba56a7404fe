import { closeSync, constants, fstatSync, ftruncateSync, writeSync } from "node:fs";
import { openSync, renameSync } from "../../../platform/files/beneath.ts";
import { discard, errno, renameOver, statIfThere, writeNew } from "./atomic.ts";

/**
 * The files of process notes, used again and again: a note lives as long as a handler, and a file
 * that is made and removed for each would slow down every other file that is made. (ext4 gives a
 * removed inode to nobody for minutes, and steps over each one when it looks for a free one.)
 *
 * A note is lines; the last whole one counts. A file is renamed into its place with its first line,
 * and longer lines follow. Between two notes it lies in the same folder as `~<name>`.
 */
export class NoteFiles {
  readonly #folder: string;
  readonly #name: () => string;
  readonly #spare: NoteFile[] = [];
  readonly #inUse = new Map<string, NoteFile>();

  /** `name` gives unique names. */
  constructor(folder: string, name: () => string) {
    this.#folder = folder;
    this.#name = name;
  }

  /** Adds to the note that `key` has at `path`; false when there is none, or it was replaced. */
  add(key: string, path: string, line: string): boolean {
    const file = this.#inUse.get(key);
    if (file === undefined) return false;
    if (write(file, path, line)) {
      file.note = { at: path, line };
      return true;
    }
    this.#inUse.delete(key);
    return false;
  }

  /** Begins one. `isRight` is asked when it is written and before it can be seen. */
  begin(key: string, path: string, line: string, isRight: () => boolean): boolean {
    const file = this.#takeSpare(line) ?? this.#create(line);
    if (!isRight()) {
      this.#spare.push(file);
      return false;
    }
    try {
      renameOver(file.path, path);
    } catch (error) {
      discard(file.path);
      throw error;
    }
    file.note = { at: path, line };
    this.#inUse.set(key, file);
    return true;
  }

  /** Writes removed notes again. Not those that were replaced. */
  restore(): void {
    for (const [key, { note }] of this.#inUse) {
      if (note === undefined || statIfThere(note.at)) continue;
      this.begin(key, note.at, note.line, () => true);
    }
  }

  /** Takes a note away; false when it was not begun here, or was replaced. */
  end(key: string, path: string): boolean {
    const file = this.#inUse.get(key);
    if (file === undefined) return false;
    this.#inUse.delete(key);
    if (statIfThere(path)?.ino !== file.ino) return false;
    try {
      renameSync(path, file.path);
    } catch (error) {
      if (errno(error) !== "ENOENT") throw error;
      return true; // removed a moment ago
    }
    this.#spare.push(file);
    return true;
  }

  close(): void {
    for (const { path } of this.#spare.splice(0)) discard(path);
    this.#inUse.clear();
  }

  /** With its first line. Undefined when there is none that nobody has tidied away. */
  #takeSpare(line: string): NoteFile | undefined {
    for (let file = this.#spare.pop(); file !== undefined; file = this.#spare.pop()) {
      file.length = 0;
      if (write(file, file.path, line)) return file;
    }
    return undefined;
  }

  #create(line: string): NoteFile {
    const path = `${this.#folder}/~${this.#name()}`;
    const { ino } = writeNew(path, `${line}\n`, false);
    const length = Buffer.byteLength(line) + 1;
    return { path, ino, length, size: length };
  }
}

interface NoteFile {
  /** Where it lies as a spare. */
  path: string;
  ino: number;
  /** Of the lines that count. */
  length: number;
  /** Of the file, which may still have lines of an earlier note. */
  size: number;
  /** What it is used for. */
  note?: { at: string; line: string };
}

/** False when it does not lie there. Not kept open: a worker has many notes and few descriptors. */
function write(file: NoteFile, path: string, line: string): boolean {
  if (statIfThere(path)?.ino !== file.ino) return false;
  const fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    if (fstatSync(fd).ino !== file.ino) return false;
    const bytes = Buffer.from(`${line}\n`);
    const written = writeSync(fd, bytes, 0, bytes.length, file.length);
    if (written < bytes.length) {
      writeSync(fd, bytes, written, bytes.length - written, file.length + written);
    }
    file.length += bytes.length;
    if (file.size > file.length) ftruncateSync(fd, file.length);
    file.size = file.length;
    return true;
  } finally {
    closeSync(fd);
  }
}
