import { closeSync, constants, fsyncSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { unlessTaken } from "../../base/errno.ts";
import { linkSync, openSync, removeSync, renameSync } from "./beneath.ts";

/**
 * Whole files: written under another name in the same folder, then put in place in one step. A reader,
 * and a process that is killed, sees the old file or the new one. A link in the place of the file is
 * replaced, never followed; below a guarded folder (see beneath.ts) nor is one above it.
 *
 * - `Synced`: the file is fsynced before it gets its name, and its folder after. So the same holds
 *   after a power cut, and the change lasts.
 * - `Unsynced`: nothing is fsynced. After a power cut the file may be empty.
 * - `create…` throws EEXIST when something is there; `replace…` replaces it.
 */
export interface WriteOptions {
  /** Before the umask; 0600 if not given. */
  mode?: number;
  /**
   * The other name; if not given, a hidden one with a random end (`isTemporary`). A fixed one is for
   * files that one process writes at a time: what a crash left there is removed.
   */
  temporary?: string;
}

export function replaceFileSynced(path: string, text: string, options?: WriteOptions): void {
  write(path, text, true, renameSync, options);
}

export function createFileSynced(path: string, text: string, options?: WriteOptions): void {
  write(path, text, true, linkSync, options);
}

export function replaceFileUnsynced(path: string, text: string, options?: WriteOptions): void {
  write(path, text, false, renameSync, options);
}

/** False when something is there. Nothing is fsynced. */
export function createIfAbsentUnsynced(
  path: string,
  text: string,
  options?: WriteOptions,
): boolean {
  return unlessTaken(() => write(path, text, false, linkSync, options));
}

/** Whether this is the name of a temporary file that a crash left behind. */
export function isTemporary(name: string): boolean {
  return /^\..+\.[0-9a-f]{8}$/.test(name);
}

function write(
  path: string,
  text: string,
  isSynced: boolean,
  putInPlace: (from: string, to: string) => void,
  { mode = 0o600, temporary }: WriteOptions = {},
): void {
  if (temporary !== undefined) removeSync(temporary);
  const { randomBytes } = process.getBuiltinModule("node:crypto"); // slow to load
  const random = randomBytes(4).toString("hex");
  const other = temporary ?? join(dirname(path), `.${basename(path)}.${random}`);
  try {
    const fd = openSync(other, "wx", mode);
    try {
      writeFileSync(fd, text);
      if (isSynced) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    putInPlace(other, path);
  } catch (error) {
    removeIfPossible(other);
    throw error;
  }
  if (putInPlace === linkSync) removeIfPossible(other);
  if (isSynced) syncFolder(dirname(path));
}

function removeIfPossible(path: string): void {
  try {
    removeSync(path);
  } catch {
    // a disk that has become read-only; what matters is how the write went
  }
}

/** So that names that came or went in it last. */
export function syncFolder(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
