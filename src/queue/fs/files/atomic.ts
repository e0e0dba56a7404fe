import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  lstatSync,
  readdirSync,
  readSync,
  type Stats,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { errno, machineErrorOf, translate as translateTrouble } from "../../../base/errno.ts";
import { isVivError, VivError } from "../../../base/errors.ts";
import { syncFolder } from "../../../platform/files/atomic-write.ts";
import { linkSync, openSync, renameSync, unlinkSync } from "../../../platform/files/beneath.ts";
import { type FileLock, tryFileLock, withFileLock } from "../../../platform/files/file-lock.ts";
import { allow, isDerived, remakeFolders, setAside } from "./aside.ts";

/**
 * The file operations of a run. All synchronous: on a local filesystem they cost microseconds, a
 * trip through the thread pool costs more than the call.
 */

/** For reading: links are not followed, pipes not waited for. */
export const SAFE_OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export { errno, syncFolder };

/** Whether a call failed with one of these codes. A link in the place of a folder is ENOTDIR. */
export function failedWith(error: unknown, ...codes: string[]): boolean {
  const isLink = isVivError(error) && error.details.isLink === true;
  return codes.includes((isLink ? "ENOTDIR" : errno(error)) ?? "");
}

/** Turns an error of the filesystem into one with a next step. Others pass unchanged. */
export function translate(error: unknown, doing: string): unknown {
  if (errno(error) !== "EXDEV") return translateTrouble(error, doing);
  return new VivError(
    "RUN_INVALID",
    `a folder of this run is a mount of its own (${doing}), and renames across mounts are not atomic; move the whole run onto one.`,
    { errno: "EXDEV" },
    { cause: error },
  );
}

/** For hints, which only save time: an error of the machine must not fail the action itself. */
export function ignoreMachineErrors(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (machineErrorOf(error) === undefined) throw error;
  }
}

/** Renames; false when the source is not there (another process was first). */
export function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (failedWith(error, "ENOENT")) return false;
    throw error;
  }
}

/** Links; false when the target exists: an exclusive publish of a complete file. */
export function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (failedWith(error, "EEXIST")) return false;
    const isLost = failedWith(error, "ENOENT", "ENOTDIR");
    if (isLost && statIfThere(from) && remakeFolders(to)) return linkIfFree(from, to);
    if (!failedWith(error, "EPERM", "ENOTSUP")) throw error;
    const message =
      "this filesystem has no hard links; put the run on one that has (ext4, xfs, btrfs).";
    throw new VivError("UNSUPPORTED", message, { path: to }, { cause: error });
  }
}

export function unlinkIfThere(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    if (failedWith(error, "ENOENT")) return false;
    if (isDerived(path)) {
      if (failedWith(error, "ENOTDIR")) return false;
      const isFolder = failedWith(error, "EISDIR", "EPERM");
      if (isFolder && setAside(path, "a folder in the place of a file")) return true;
    }
    throw error;
  }
}

/** Cleans up after a failure: the caller reports that one, not a failing clean-up. */
export function discard(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // not there, or not to be removed: doctor finds it
  }
}

export function statIfThere(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // Below a file, or a name that no file can have: it is not there.
    if (failedWith(error, "ENOTDIR", "ENAMETOOLONG")) return undefined;
    throw error;
  }
}

/** Names in a folder; none when it is not there, or when it is derived and no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const isViv = isDerived(folder) || folder.endsWith("/.viv");
    if (failedWith(error, "ENOENT") || (isViv && failedWith(error, "ENOTDIR"))) return [];
    throw error;
  }
}

export function closeAfter<T>(fd: number, act: () => T): T {
  try {
    return act();
  } finally {
    closeSync(fd);
  }
}

/** Writes a new file completely, or removes it and throws. */
export function writeNew(path: string, text: string, sync: boolean): Stats {
  const fd = openNew(path);
  return closeAfter(fd, () => {
    try {
      writeFully(fd, text);
      if (sync) fdatasyncSync(fd);
      return fstatSync(fd);
    } catch (error) {
      discard(path);
      throw error;
    }
  });
}

/** Exclusively. A missing folder below `.viv/` is made again. */
export function openNew(path: string): number {
  remakeFolders(path);
  for (let round = 1; ; round++) {
    try {
      return openSync(path, "wx", 0o600);
    } catch (error) {
      const isLost = failedWith(error, "ENOENT", "ENOTDIR");
      if (!isLost || round === ROUNDS || !remakeFolders(path)) throw error;
    }
  }
}

/** How often a file may be removed while it is being made. */
const ROUNDS = 10;

const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const NEW_OR_OLD = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

/**
 * Opens one of the run's own files for writing, without ever waiting for a pipe's other end. An
 * object that is no regular file goes to quarantine/, and a new file takes its place; a link is
 * refused where it might lie on purpose, and never followed.
 */
export function openOwn(path: string, flags: number): number {
  remakeFolders(path);
  for (let round = 1; ; round++) {
    const isLast = round === ROUNDS;
    let fd: number;
    try {
      fd = openSync(path, NEW_OR_OLD | flags, 0o600);
    } catch (error) {
      if (failedWith(error, "ELOOP") && !isDerived(path)) {
        throw new VivError(
          "RUN_INVALID",
          `${path} is a symbolic link; remove it, links inside a run are not followed.`,
        );
      }
      if (isLast || !makeWay(path, error)) throw error;
      continue;
    }
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    if (isLast || !setAside(path, "not a regular file")) throw notRegular(path);
  }
}

export function notRegular(path: string): VivError {
  return new VivError("RUN_INVALID", `${path} is not a regular file; move it away.`);
}

/** Removes the obstacle for which a file of ours could not be opened for writing. */
function makeWay(path: string, error: unknown): boolean {
  if (failedWith(error, "ENOENT", "ENOTDIR")) return remakeFolders(path);
  if (failedWith(error, "EISDIR")) return setAside(path, "a folder in the place of a file");
  if (failedWith(error, "ENXIO", "ENODEV")) return setAside(path, "not a regular file");
  if (failedWith(error, "ELOOP")) return setAside(path, "a symbolic link");
  if (!failedWith(error, "EACCES") || !isDerived(path)) return false;
  return allow(path) || setAside(path, "it may not be written to");
}

/** For small notes that need not be replaced atomically. */
export function overwrite(path: string, text: string): void {
  const fd = openOwn(path, constants.O_TRUNC);
  closeAfter(fd, () => writeFully(fd, text));
}

/**
 * Runs `critical` under the lock of `path`, which swarm-lib takes too. Calls of this process get it
 * in turn, so `critical` must not take the same lock.
 */
export function withLock<T>(
  path: string,
  critical: () => T | Promise<T>,
  waitSeconds = 30,
): Promise<T> {
  return withFileLock(path, critical, { waitMs: waitSeconds * 1000, open: openLock });
}

/** Null when another process has it. */
export function tryLock(path: string): Promise<FileLock | null> {
  return tryFileLock(path, { open: openLock });
}

/** The content of a lock file does not matter. */
function openLock(path: string): number {
  try {
    return openOwn(path, constants.O_APPEND);
  } catch (error) {
    throw translate(error, `opening ${path}`);
  }
}

/** A write may be cut short by a full disk without an error; the rest then gets the error. */
export function writeFully(fd: number, text: string | Buffer): void {
  const bytes = typeof text === "string" ? Buffer.from(text, "utf8") : text;
  let offset = 0;
  while (offset < bytes.length) offset += writeSync(fd, bytes, offset, bytes.length - offset);
}

/** Replaces a file by a whole new one: readers see the old or the new, never a mixture. */
export function replaceFile(path: string, tmpPath: string, text: string, sync: boolean): void {
  viaTemporary(tmpPath, text, sync, () => renameOver(tmpPath, path));
}

/** Writes a whole file and puts it to use; once more if it was removed in between. */
export function viaTemporary<T>(tmpPath: string, text: string, sync: boolean, use: () => T): T {
  for (let round = 1; ; round++) {
    writeNew(tmpPath, text, sync);
    try {
      return use();
    } catch (error) {
      const isLost = failedWith(error, "ENOENT") && !statIfThere(tmpPath);
      if (!isLost || round === ROUNDS || !isDerived(tmpPath)) throw error;
    } finally {
      discard(tmpPath);
    }
  }
}

/** A folder in the place of a derived file goes to quarantine/; a missing folder is made. */
export function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    const isFolder = failedWith(error, "EISDIR") && isDerived(to) && setAside(to, "a folder");
    const isLost = failedWith(error, "ENOENT", "ENOTDIR");
    if (!isFolder && !(isLost && statIfThere(from) && remakeFolders(to))) throw error;
    renameSync(from, to);
  }
}

/**
 * After a rename, in `safe`. The target's folder first: a crash in between leaves the file in both
 * places, which recovery repairs; the other way round it might be in none.
 */
export function syncMove(from: string, to: string): void {
  syncFolder(dirname(to));
  try {
    syncFolder(dirname(from));
  } catch (error) {
    if (!failedWith(error, "ENOENT")) throw error; // a dead worker's folder, removed since
  }
}

/** Of a file that was written to through another descriptor, maybe by another process. */
export function syncFile(path: string): void {
  const fd = openSync(path, SAFE_OPEN);
  closeAfter(fd, () => fdatasyncSync(fd));
}

export interface FileRead {
  text: string;
  stats: Stats;
}

let scratch = Buffer.allocUnsafe(64 * 1024);

/**
 * Reads a regular file of at most `limit` bytes. A symlink, a pipe, a folder or a giant is an
 * error (CORRUPT) and never followed, waited for or read. Null when there is no such file.
 */
export function readRegular(path: string, limit: number): FileRead | null {
  let fd: number;
  try {
    fd = openSync(path, SAFE_OPEN);
  } catch (error) {
    // No file can have a name that is too long.
    if (failedWith(error, "ENOENT", "ENAMETOOLONG")) return null;
    if (failedWith(error, "ELOOP", "EMLINK")) throw new VivError("CORRUPT", "a symbolic link");
    if (failedWith(error, "ENXIO")) throw new VivError("CORRUPT", "not a regular file");
    throw error;
  }
  return closeAfter(fd, () => {
    const stats = fstatSync(fd);
    if (!stats.isFile()) {
      throw new VivError("CORRUPT", stats.isDirectory() ? "a folder" : "not a regular file");
    }
    if (stats.size > limit) {
      throw new VivError("CORRUPT", `${stats.size} bytes, more than the limit of ${limit}`);
    }
    if (scratch.length < stats.size) scratch = Buffer.allocUnsafe(stats.size);
    const text = scratch.toString("utf8", 0, readAt(fd, scratch, 0, stats.size));
    if (scratch.length > 1024 * 1024) scratch = Buffer.allocUnsafe(64 * 1024);
    return { text, stats };
  });
}

/** Reads `length` bytes from a place in the file; returns less at its end. */
export function readAt(fd: number, into: Buffer, from: number, length: number): number {
  let read = 0;
  while (read < length) {
    const n = readSync(fd, into, read, length - read, from + read);
    if (n === 0) break;
    read += n;
  }
  return read;
}

/** A derived file; one that cannot be ours counts as lost. */
export function readDerived(path: string, limit: number): FileRead | null {
  try {
    return readRegular(path, limit);
  } catch (error) {
    if (isForeign(error)) return null;
    throw error;
  }
}

/** Whether `readRegular` met something that is no file of ours. */
export function isForeign(error: unknown): boolean {
  return isVivError(error, "CORRUPT") || failedWith(error, "ENOTDIR", "EACCES", "EPERM");
}

/**
 * The token of a claim: the change time of the claimed file, which every rename renews, in whole
 * microseconds (as much as a double can hold).
 */
export function tokenOf(stats: Stats): string {
  return String(Math.round(stats.ctimeMs * 1000));
}
