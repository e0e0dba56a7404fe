import { constants, fstatSync, ftruncateSync, writeSync } from "node:fs";
import { openSync } from "../../../platform/files/beneath.ts";
import { closeAfter, discard, renameIfThere, renameOver, statIfThere, writeNew } from "./atomic.ts";

/**
 * The files of process notes, used again and again: to create and remove one for each handler would
 * slow down every other file that is created. (ext4 reuses no removed inode for minutes, and steps
 * over each one in its search for a free one.)
 *
 * A note is lines; the last whole one counts. A file is renamed into its place with its first line,
 * and longer lines follow. Between two notes it lies in the same folder as `~<name>`.
 */
export class NoteFiles {
  /** Returns a unique path for a spare file. */
  readonly #newPath: () => string;
  readonly #spare: NoteFile[] = [];
  readonly #inUse = new Map<string, NoteFile>();

  constructor(newPath: () => string) {
    this.#newPath = newPath;
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

  /** Begins one. `isRight` is called when it is written and before it can be seen. */
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
    if (renameIfThere(path, file.path)) this.#spare.push(file);
    return true;
  }

  close(): void {
    for (const { path } of this.#spare.splice(0)) discard(path);
    this.#inUse.clear();
  }

  /** With its first line. Undefined when there is none left. */
  #takeSpare(line: string): NoteFile | undefined {
    for (let file = this.#spare.pop(); file !== undefined; file = this.#spare.pop()) {
      file.length = 0;
      if (write(file, file.path, line)) return file;
    }
    return undefined;
  }

  #create(line: string): NoteFile {
    const path = this.#newPath();
    const { ino } = writeNew(path, `${line}\n`, false);
    return { path, ino, length: Buffer.byteLength(line) + 1 };
  }
}

interface NoteFile {
  /** Where it lies as a spare. */
  path: string;
  ino: number;
  /** Of the lines that count; the file may still have lines of an earlier note. */
  length: number;
  /** Its use. */
  note?: { at: string; line: string };
}

/** False when it does not lie there. Not kept open: a worker has many notes and few descriptors. */
function write(file: NoteFile, path: string, line: string): boolean {
  if (statIfThere(path)?.ino !== file.ino) return false;
  const fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  return closeAfter(fd, () => {
    const { ino, size } = fstatSync(fd);
    if (ino !== file.ino) return false;
    const bytes = Buffer.from(`${line}\n`);
    const written = writeSync(fd, bytes, 0, bytes.length, file.length);
    if (written < bytes.length) {
      writeSync(fd, bytes, written, bytes.length - written, file.length + written);
    }
    file.length += bytes.length;
    if (size > file.length) ftruncateSync(fd, file.length);
    return true;
  });
}
