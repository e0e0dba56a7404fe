import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  readdirSync,
  readSync,
  type Stats,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { errno, translate as translateTrouble, troubleOf } from "../../../base/errno.ts";
import { isVivError, VivError } from "../../../base/errors.ts";
import { linkSync, openSync, renameSync, unlinkSync } from "../../../platform/files/beneath.ts";
import { allow, hasRealFolders, isDerived, remakeFolders, setAside } from "./aside.ts";

/**
 * The few file operations everything else is made of. All synchronous: on a local filesystem they
 * cost microseconds, a trip through the thread pool costs more than the call.
 */

/** For reading: links are not followed, pipes not waited for. */
export const SAFE_OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export { errno };

/** As `errno`; a folder that turns out to be a link (files/beneath.ts) is none. */
export function obstacle(error: unknown): string | undefined {
  return isVivError(error) && error.details.isLink === true ? "ENOTDIR" : errno(error);
}

/** Turns an error of the filesystem into one that says what to do. Others pass unchanged. */
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
    if (troubleOf(error) === undefined) throw error;
  }
}

/** Renames, and returns false when the source is not there (another process was first). */
export function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (obstacle(error) === "ENOENT") return false;
    throw error;
  }
}

/** Links, and returns false when the target exists: an exclusive publish of a complete file. */
export function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (obstacle(error) === "EEXIST") return false;
    const isLost = ["ENOENT", "ENOTDIR"].includes(obstacle(error) ?? "");
    if (isLost && statIfThere(from) && remakeFolders(to)) {
      return linkIfFree(from, to);
    }
    if (obstacle(error) === "EPERM" || obstacle(error) === "ENOTSUP") {
      const message =
        "this filesystem has no hard links; put the run on one that has (ext4, xfs, btrfs).";
      throw new VivError("UNSUPPORTED", message, { path: to }, { cause: error });
    }
    throw error;
  }
}

export function unlinkIfThere(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    const code = obstacle(error);
    if (code === "ENOENT" || (code === "ENOTDIR" && isDerived(path))) return false;
    const isFolder = code === "EISDIR" || code === "EPERM";
    if (isFolder && isDerived(path) && setAside(path, "a folder in the place of a file"))
      return true;
    throw error;
  }
}

/** Cleans up after a failure, which is what the caller must hear of, not of a failing clean-up. */
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
    if (obstacle(error) === "ENOTDIR" || obstacle(error) === "ENAMETOOLONG") return undefined;
    throw error;
  }
}

/** Names in a folder; none when it is not there. What is derived may be something else, too. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (obstacle(error) === "ENOENT") return [];
    const isViv = isDerived(folder) || folder.endsWith("/.viv");
    if (obstacle(error) === "ENOTDIR" && isViv) return [];
    throw error;
  }
}

/** Writes a new file completely, or removes what it wrote and throws. */
export function writeNew(path: string, text: string, sync: boolean): Stats {
  const fd = openNew(path);
  try {
    writeFully(fd, text);
    if (sync) fdatasyncSync(fd);
    return fstatSync(fd);
  } catch (error) {
    discard(path);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Exclusively. A folder below `.viv/` that is gone is made again. */
export function openNew(path: string): number {
  if (!hasRealFolders(path)) remakeFolders(path);
  for (let round = 1; ; round++) {
    try {
      return openSync(path, "wx", 0o600);
    } catch (error) {
      const isLost = obstacle(error) === "ENOENT" || obstacle(error) === "ENOTDIR";
      if (!isLost || round === ROUNDS || !remakeFolders(path)) throw error;
    }
  }
}

/** How often a file may be removed while it is being made. */
const ROUNDS = 10;

const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const NEW_OR_OLD = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

/**
 * Opens one of the run's own files for writing, without ever waiting for a pipe's other end. What
 * is no regular file goes to quarantine/, and a new one takes its place; a link is refused where
 * it might lie on purpose, and never followed.
 */
function openOwn(path: string, flags: number): number {
  if (!hasRealFolders(path)) remakeFolders(path);
  for (let round = 1; ; round++) {
    const isLast = round === ROUNDS;
    let fd: number;
    try {
      fd = openSync(path, NEW_OR_OLD | flags, 0o600);
    } catch (error) {
      if (obstacle(error) === "ELOOP" && !isDerived(path)) {
        throw new VivError(
          "RUN_INVALID",
          `${path} is a symbolic link; remove it, links inside a run are not followed.`,
        );
      }
      if (isLast || !makeWay(path, obstacle(error))) throw error;
      continue;
    }
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    if (isLast || !setAside(path, "not a regular file")) {
      throw new VivError("RUN_INVALID", `${path} is not a regular file; move it away.`);
    }
  }
}

/** Puts right why a file of ours could not be opened for writing. */
function makeWay(path: string, why: string | undefined): boolean {
  switch (why) {
    case "ENOENT":
    case "ENOTDIR":
      return remakeFolders(path);
    case "EISDIR":
      return setAside(path, "a folder in the place of a file");
    case "ENXIO":
    case "ENODEV":
      return setAside(path, "not a regular file");
    case "ELOOP":
      return setAside(path, "a symbolic link");
    case "EACCES":
      return isDerived(path) && (allow(path) || setAside(path, "it may not be written to"));
    default:
      return false;
  }
}

/**
 * Opens a file of lines for appending. If its last line has no end (a crash, a full disk), that
 * line is ended first, so that it does not swallow the next one.
 */
export function openLines(path: string): number {
  const fd = openOwn(path, constants.O_APPEND);
  try {
    const { size } = fstatSync(fd);
    if (size > 0 && !endsLine(path, size)) writeSync(fd, "\n");
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function endsLine(path: string, size: number): boolean {
  const fd = openSync(path, SAFE_OPEN);
  try {
    const last = Buffer.alloc(1);
    return readSync(fd, last, 0, 1, size - 1) === 0 || last[0] === 10;
  } finally {
    closeSync(fd);
  }
}

export function appendLine(path: string, line: string): void {
  const fd = openLines(path);
  try {
    writeFully(fd, `${line}\n`);
  } finally {
    closeSync(fd);
  }
}

/** For small notes that need not be replaced atomically. */
export function overwrite(path: string, text: string): void {
  const fd = openOwn(path, constants.O_TRUNC);
  try {
    writeFully(fd, text);
  } finally {
    closeSync(fd);
  }
}

/** Opens a lock file; its content does not matter. */
export function openLock(path: string): number {
  return openOwn(path, constants.O_APPEND);
}

/** A write may be cut short by a full disk without an error; the rest then gets the error. */
export function writeFully(fd: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
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
      const isLost = obstacle(error) === "ENOENT" && !statIfThere(tmpPath);
      if (!isLost || round === ROUNDS || !isDerived(tmpPath)) throw error;
    } finally {
      discard(tmpPath);
    }
  }
}

/** A folder in the place of a derived file goes to quarantine/; a folder that is gone is made. */
export function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    const code = obstacle(error);
    const isFolder = code === "EISDIR" && isDerived(to) && setAside(to, "a folder");
    const isLost = code === "ENOENT" || code === "ENOTDIR";
    if (!isFolder && !(isLost && statIfThere(from) && remakeFolders(to))) throw error;
    renameSync(from, to);
  }
}

export function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * After a rename, in `safe`. First where it came to: a crash in between leaves the file in both places,
 * which recovery sees and puts right; the other way round it might be in none.
 */
export function syncMove(from: string, to: string): void {
  syncFolder(dirname(to));
  try {
    syncFolder(dirname(from));
  } catch (error) {
    if (obstacle(error) !== "ENOENT") throw error; // a dead worker's folder, removed since
  }
}

/** Of a file that was written to through another descriptor, maybe by another process. */
export function syncFile(path: string): void {
  const fd = openSync(path, SAFE_OPEN);
  try {
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
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
    const code = obstacle(error);
    // No file can have a name that is too long.
    if (code === "ENOENT" || code === "ENAMETOOLONG") return null;
    if (code === "ELOOP" || code === "EMLINK") throw new VivError("CORRUPT", "a symbolic link");
    if (code === "ENXIO") throw new VivError("CORRUPT", "not a regular file");
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) {
      throw new VivError("CORRUPT", stats.isDirectory() ? "a folder" : "not a regular file");
    }
    if (stats.size > limit) {
      throw new VivError("CORRUPT", `${stats.size} bytes, more than the limit of ${limit}`);
    }
    if (scratch.length < stats.size) scratch = Buffer.allocUnsafe(stats.size);
    let length = 0;
    while (length < stats.size) {
      const n = readSync(fd, scratch, length, stats.size - length, length);
      if (n === 0) break;
      length += n;
    }
    const text = scratch.toString("utf8", 0, length);
    if (scratch.length > 1024 * 1024) scratch = Buffer.allocUnsafe(64 * 1024);
    return { text, stats };
  } finally {
    closeSync(fd);
  }
}

/** The same of what is derived: what is no file of ours counts as lost. */
export function readDerived(path: string, limit: number): FileRead | null {
  try {
    return readRegular(path, limit);
  } catch (error) {
    const isForeign = ["ENOTDIR", "EACCES", "EPERM"].includes(obstacle(error) ?? "");
    if (isForeign || isVivError(error, "CORRUPT")) return null;
    throw error;
  }
}

/** Opens a regular file for reading; -1 when it is none, or not there, or not for us to read. */
export function openToRead(path: string): number {
  let fd: number;
  try {
    fd = openSync(path, SAFE_OPEN);
  } catch (error) {
    const code = obstacle(error) ?? "";
    if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV"].includes(code)) return -1;
    if (["EACCES", "EPERM"].includes(code) && isDerived(path)) return -1;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return -1;
}

/**
 * The token of a claim: the change time of the claimed file, which every rename renews, in whole
 * microseconds (what a double can hold).
 */
export function tokenOf(stats: Stats): string {
  return String(Math.round(stats.ctimeMs * 1000));
}

/** The lines of a file from a byte offset on, with the offset behind each; a torn tail is left. */
export function* completeLines(
  path: string,
  from: number,
  encoding: "utf8" | "latin1" = "utf8",
): Generator<{ text: string; end: number }> {
  const fd = openToRead(path);
  if (fd < 0) {
    if (isDerived(path) || !statIfThere(path)) return;
    throw new VivError("RUN_INVALID", `${path} is not a regular file; move it away.`);
  }
  try {
    const chunk = Buffer.allocUnsafe(256 * 1024);
    // In pieces: what a power cut leaves may be one line of a hundred megabytes.
    let rest: Buffer[] = [];
    let offset = from;
    let read = from;
    for (;;) {
      const n = readSync(fd, chunk, 0, chunk.length, read);
      if (n === 0) return;
      read += n;
      let data = chunk.subarray(0, n);
      let newline = data.indexOf(10);
      while (newline >= 0) {
        const line = data.subarray(0, newline);
        const whole = rest.length === 0 ? line : Buffer.concat([...rest, line]);
        rest = [];
        offset += whole.length + 1;
        yield { text: whole.toString(encoding), end: offset };
        data = data.subarray(newline + 1);
        newline = data.indexOf(10);
      }
      if (data.length > 0) rest.push(Buffer.from(data));
    }
  } finally {
    closeSync(fd);
  }
}
