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
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { errno as codeOf, machineErrorOf } from "../../base/errno.ts";
import { isVivError, VivError } from "../../base/errors.ts";

/** Reading and writing small files that hold state, and how they fail. */

/** A plain file, and nothing else: opening a pipe for writing would wait for its reader. */
export function openToWrite(path: string, flags: number): number {
  const { O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | flags, 0o600);
  } catch (error) {
    // A pipe without a reader, a socket; a link; a folder.
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

/** The names in a folder; none when there is no such folder. */
export function listed(folder: string, remedy?: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw failure(folder, error, remedy);
  }
}

/**
 * The text of a small file; null when there is none. CORRUPT for a link, for what is no plain file, and
 * for one that is larger or not meant. A pipe is not waited for.
 */
export function readSmallOrThrow(
  path: string,
  maxBytes: number,
  isMeant: (stats: Stats) => boolean = () => true,
): string | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) === "ELOOP") throw new VivError("CORRUPT", `${path} is a link`);
    if (codeOf(error) === "ENXIO") throw new VivError("CORRUPT", `${path} is not a file`);
    throw failure(path, error);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new VivError("CORRUPT", `${path} is not a file`);
    if (stats.size > maxBytes) throw new VivError("CORRUPT", `${path} has ${stats.size} bytes`);
    if (!isMeant(stats)) throw new VivError("CORRUPT", `${path} is not meant`);
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** The same, but null also for what is CORRUPT. */
export function readSmall(
  path: string,
  maxBytes: number,
  isMeant?: (stats: Stats) => boolean,
): string | null {
  try {
    return readSmallOrThrow(path, maxBytes, isMeant);
  } catch (error) {
    if (isVivError(error, "CORRUPT") && error.cause === undefined) return null;
    throw error;
  }
}

/** Null when it is not there; "" when it is no plain file, or a large one. */
export function readPlain(path: string, maxBytes: number): string | null {
  const text = readSmall(path, maxBytes);
  if (text !== null) return text;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  // Created between the two looks: an answer that was just given is not lost.
  return stats.isFile() && stats.size <= maxBytes ? readSmall(path, maxBytes) : "";
}

/** Turns what `act` throws, or rejects with, into an error that names the file. */
export function explained<T>(path: string, act: () => T, remedy?: string): T {
  const explain = (error: unknown): never => {
    throw failure(path, error, remedy);
  };
  try {
    const result = act();
    return result instanceof Promise ? (result.catch(explain) as T) : result;
  } catch (error) {
    return explain(error);
  }
}

/** VIV_STATE, or `vivarium` where the user's programs keep their state. */
export function stateFolder(
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string {
  if (env.VIV_STATE) return resolve(cwd, env.VIV_STATE);
  // By the standard, a relative path is ignored.
  const xdg = env.XDG_STATE_HOME;
  if (xdg && isAbsolute(xdg)) return join(xdg, "vivarium");
  return join(env.HOME || homeOf(), ".local/state/vivarium");
}

/** A user without an entry in passwd (in a container) has none. */
function homeOf(): string {
  try {
    return homedir();
  } catch (cause) {
    const message = `you have no home folder; set HOME, or VIV_STATE to a folder of your own.`;
    throw new VivError("UNSUPPORTED", message, {}, { cause });
  }
}

/** `remedy`: what helps when it may not be written. */
export function failure(path: string, cause: unknown, remedy?: string): unknown {
  const code = codeOf(cause);
  if (isVivError(cause) || code === undefined) return cause;
  const known = machineErrorOf(cause);
  if (known === "DISK_FULL") {
    const message = `the disk is full, so ${path} could not be written; free some space.`;
    return new VivError("DISK_FULL", message, {}, { cause });
  }
  const message = `${path} cannot be used: ${(cause as Error).message}`;
  if (known !== "READ_ONLY") return new VivError(known ?? "CORRUPT", message, {}, { cause });
  return new VivError("READ_ONLY", remedy ? `${message}; ${remedy}.` : message, {}, { cause });
}

export { codeOf };
