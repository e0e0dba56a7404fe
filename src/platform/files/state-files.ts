import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  writeSync,
} from "node:fs";
import { errno as codeOf, troubleOf } from "../../base/errno.ts";
import { isVivError, VivError } from "../../base/errors.ts";

/** What all files that hold state of the machine have in common: their lock, and how they fail. */

/** flock(1) takes the lock on our descriptor, so it is ours until we close it, or die. */
export function withFileLock<T>(path: string, critical: () => T): T {
  const fd = openLock(path);
  try {
    if (!flock(fd, ["-w", "10"])) {
      const message = `another process has held ${path} for 10 seconds; find it with: fuser ${path}`;
      throw new VivError("LOCKED", message);
    }
    return critical();
  } finally {
    closeSync(fd);
  }
}

/**
 * Null when another process has it. Whoever took it has it until it ends, however it ends; unless somebody
 * removes the file: then the next one locks another. What is returned says whether that has happened.
 */
export function takeForLife(path: string): StillOurs | null {
  const fd = openLock(path);
  let isOurs = false;
  try {
    isOurs = flock(fd, ["-n"]);
  } finally {
    if (!isOurs) closeSync(fd);
  }
  return isOurs ? () => isSameFile(fd, path) : null;
}

export type StillOurs = () => boolean;

function isSameFile(fd: number, path: string): boolean {
  try {
    const [held, there] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })];
    return there !== undefined && there.ino === held.ino && there.dev === held.dev;
  } catch {
    return true; // who may not look knows of nothing that has changed
  }
}

function openLock(path: string): number {
  return openToWrite(path, constants.O_CREAT);
}

/** A plain file, and nothing else: to open a pipe for writing would wait until somebody reads it. */
export function openToWrite(path: string, flags: number): number {
  const { O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | flags, 0o600);
  } catch (error) {
    // A pipe that nobody reads, a socket; a link; a folder.
    if (["ENXIO", "ELOOP", "EISDIR"].includes(codeOf(error) ?? "")) throw noFile(path, error);
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw noFile(path);
}

function noFile(path: string, cause?: unknown): VivError {
  return new VivError("CORRUPT", `${path} is no plain file; remove it.`, {}, { cause });
}

/** One write, so that lines of several processes stay whole. What is no plain file is replaced by one. */
export function appendLine(path: string, line: string): void {
  const flags = constants.O_CREAT | constants.O_APPEND;
  let fd: number;
  try {
    fd = openToWrite(path, flags);
  } catch (error) {
    const found = isVivError(error) ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (found === undefined || found.isDirectory()) throw error;
    rmSync(path, { force: true });
    fd = openToWrite(path, flags);
  }
  try {
    writeSync(fd, line);
  } finally {
    closeSync(fd);
  }
}

function flock(fd: number, how: readonly string[]): boolean {
  // Loaded when it is needed: whoever only looks takes no lock.
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { error, status } = spawnSync("flock", ["-x", ...how, "3"], {
    stdio: ["ignore", "ignore", "ignore", fd],
  });
  if (error && codeOf(error) === "ENOENT") {
    throw new VivError("UNSUPPORTED", "the flock command is missing; install util-linux.");
  }
  if (error) throw error; // it could not be started: that says nothing about the lock
  if (status === 0 || status === 1) return status === 0;
  throw new VivError("UNSUPPORTED", "no file can be locked there; put it on a local disk.");
}

/** The names in a folder; none when there is no such folder. */
export function listed(folder: string, remedy?: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw failure(folder, error, remedy);
  }
}

/** Null also for what is no file, or a large one: a link, or a pipe that nobody writes to; or not meant. */
export function readSmall(
  path: string,
  maxBytes: number,
  isMeant: (stats: Stats) => boolean = () => true,
): string | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (["ENOENT", "ELOOP", "ENXIO"].includes(codeOf(error) ?? "")) return null;
    throw failure(path, error);
  }
  try {
    const stats = fstatSync(fd);
    const isIt = stats.isFile() && stats.size <= maxBytes && isMeant(stats);
    return isIt ? readFileSync(fd, "utf8") : null;
  } finally {
    closeSync(fd);
  }
}

/** Null when it is not there; "" when it is no plain file, or a large one. */
export function readPlain(path: string, maxBytes: number): string | null {
  const text = readSmall(path, maxBytes);
  if (text !== null) return text;
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : "";
}

export function explained<T>(path: string, act: () => T, remedy?: string): T {
  try {
    return act();
  } catch (error) {
    throw failure(path, error, remedy);
  }
}

/** `remedy`: what helps when it may not be written. */
export function failure(path: string, cause: unknown, remedy?: string): unknown {
  const code = codeOf(cause);
  if (isVivError(cause) || code === undefined) return cause;
  const trouble = troubleOf(cause);
  if (trouble === "DISK_FULL") {
    const message = `the disk is full, so ${path} could not be written; free some space.`;
    return new VivError("DISK_FULL", message, {}, { cause });
  }
  const message = `${path} cannot be used: ${(cause as Error).message}`;
  if (trouble !== "READ_ONLY") return new VivError(trouble ?? "CORRUPT", message, {}, { cause });
  return new VivError("READ_ONLY", remedy ? `${message}; ${remedy}.` : message, {}, { cause });
}

export { codeOf };
