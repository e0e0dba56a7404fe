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
import { linkSync, openSync, renameSync, unlinkSync } from "../../files/beneath.ts";
import { errno, translate as translateTrouble, troubleOf } from "../../model/errno.ts";
import { VivError } from "../../model/errors.ts";

/**
 * The few file operations everything else is made of. All synchronous: on a local filesystem they
 * cost microseconds, a trip through the thread pool costs more than the call.
 */

const SAFE_OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export { errno };

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

/**
 * For what follows from a change that is already made (indexes, wake-ups, its line): on a full disk
 * it is left undone, and sweep, adopt or doctor do it later. The change itself must not fail by it.
 */
export function ifThereIsRoom(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (troubleOf(error) !== "DISK_FULL") throw error;
  }
}

/** Renames, and returns false when the source is not there (somebody else was first). */
export function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === "ENOENT") return false;
    throw error;
  }
}

/** Links, and returns false when the target exists: an exclusive publish of a complete file. */
export function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errno(error) === "EEXIST") return false;
    if (errno(error) === "EPERM" || errno(error) === "ENOTSUP") {
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
    if (errno(error) === "ENOENT") return false;
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
    if (errno(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Names in a folder; none when it is not there. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errno(error) === "ENOENT") return [];
    throw error;
  }
}

/** Writes a new file completely, or removes what it wrote and throws. */
export function writeNew(path: string, text: string, sync: boolean): Stats {
  const fd = openSync(path, "wx", 0o600);
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

const NEW_OR_OLD = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

/** Opens one of the run's own files for writing; a link in its place is not followed. */
function openOwn(path: string, flags: number): number {
  try {
    return openSync(path, NEW_OR_OLD | flags, 0o600);
  } catch (error) {
    if (errno(error) !== "ELOOP") throw error;
    throw new VivError(
      "RUN_INVALID",
      `${path} is a symbolic link; remove it, links inside a run are not followed.`,
    );
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
  writeNew(tmpPath, text, sync);
  try {
    renameSync(tmpPath, path);
  } catch (error) {
    discard(tmpPath);
    throw error;
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
    const code = errno(error);
    if (code === "ENOENT") return null;
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
  const fd = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(256 * 1024);
    let rest = Buffer.alloc(0);
    let offset = from;
    for (;;) {
      const n = readSync(fd, chunk, 0, chunk.length, offset + rest.length);
      if (n === 0) return;
      let data =
        rest.length > 0 ? Buffer.concat([rest, chunk.subarray(0, n)]) : chunk.subarray(0, n);
      let newline = data.indexOf(10);
      while (newline >= 0) {
        offset += newline + 1;
        yield { text: data.toString(encoding, 0, newline), end: offset };
        data = data.subarray(newline + 1);
        newline = data.indexOf(10);
      }
      rest = Buffer.from(data);
    }
  } finally {
    closeSync(fd);
  }
}
