import { closeSync, fstatSync, ftruncateSync, openSync, renameSync, writeSync } from "node:fs";
import { discard, errno, statIfThere } from "./atomic.ts";

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

  /** `name` gives names that nobody else gives. */
  constructor(folder: string, name: () => string) {
    this.#folder = folder;
    this.#name = name;
  }

  /** Adds to the note that `key` has at `path`; false when there is none, or it was replaced. */
  add(key: string, path: string, line: string): boolean {
    const file = this.#inUse.get(key);
    if (file === undefined) return false;
    if (statIfThere(path)?.ino !== file.ino) {
      this.#drop(key, file);
      return false;
    }
    writeLine(file, line);
    return true;
  }

  /** Begins one. `isRight` is asked when it is written and before it can be seen. */
  begin(key: string, path: string, line: string, isRight: () => boolean): boolean {
    for (;;) {
      const old = this.#spare.pop();
      const file = old ?? this.#create();
      try {
        file.length = 0;
        writeLine(file, line);
        if (!isRight()) {
          this.#spare.push(file);
          return false;
        }
        renameSync(file.path, path);
      } catch (error) {
        closeSync(file.fd);
        discard(file.path);
        if (old !== undefined && errno(error) === "ENOENT") continue; // somebody tidied up
        throw error;
      }
      this.#inUse.set(key, file);
      return true;
    }
  }

  /** Takes a note away; false when it was not begun here, or was replaced. */
  end(key: string, path: string): boolean {
    const file = this.#inUse.get(key);
    if (file === undefined) return false;
    if (statIfThere(path)?.ino !== file.ino) {
      this.#drop(key, file);
      return false;
    }
    renameSync(path, file.path);
    this.#inUse.delete(key);
    this.#spare.push(file);
    return true;
  }

  close(): void {
    for (const file of this.#spare.splice(0)) {
      closeSync(file.fd);
      discard(file.path);
    }
    for (const [key, file] of this.#inUse) this.#drop(key, file);
  }

  #create(): NoteFile {
    const path = `${this.#folder}/~${this.#name()}`;
    const fd = openSync(path, "wx", 0o600);
    return { path, fd, ino: fstatSync(fd).ino, length: 0, size: 0 };
  }

  #drop(key: string, file: NoteFile): void {
    this.#inUse.delete(key);
    closeSync(file.fd);
  }
}

interface NoteFile {
  /** Where it lies as a spare. */
  path: string;
  fd: number;
  ino: number;
  /** Of the lines that count. */
  length: number;
  /** Of the file, which may still have lines of an earlier note. */
  size: number;
}

function writeLine(file: NoteFile, line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  const written = writeSync(file.fd, bytes, 0, bytes.length, file.length);
  if (written < bytes.length)
    writeSync(file.fd, bytes, written, bytes.length, file.length + written);
  file.length += bytes.length;
  if (file.size > file.length) ftruncateSync(file.fd, file.length);
  file.size = file.length;
}
