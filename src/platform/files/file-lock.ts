import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { errno } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { counted } from "../../base/text.ts";
import { mkdirSync } from "./beneath.ts";
import { explained, openToWrite } from "./state-files.ts";

/**
 * flock(2), awaited. flock(1) takes the lock on a descriptor that it inherits from us, so the lock is
 * ours until we close it, or die. Timers and heartbeats go on while we wait.
 */

export interface FileLockOptions {
  /** How long to wait for another holder; 0: not at all. */
  waitMs?: number;
  /** Gives up when it is aborted. */
  signal?: AbortSignal;
  /** Opens the lock file, never through a link. Default: makes a plain file of mode 0600. */
  open?: (path: string) => number;
}

const WAIT_MS = 10_000;

/**
 * Runs `critical` under an exclusive lock; LOCKED when it cannot be had in time. Calls of this process
 * get it in the order in which they asked, so `critical` must not ask for the same lock.
 */
export function withFileLock<T>(
  path: string,
  critical: () => T | Promise<T>,
  { waitMs = WAIT_MS, open = openLock, signal }: FileLockOptions = {},
): Promise<T> {
  const giveUpAt = performance.now() + waitMs;
  const leftMs = () => (signal?.aborted ? 0 : giveUpAt - performance.now());
  return inTurn(path, async () => {
    const fd = await lock(path, open, leftMs, signal);
    if (fd === null) throw lockedError(path, waitMs);
    try {
      return await critical();
    } finally {
      closeSync(fd);
    }
  });
}

/** Does not wait: null when another has it, also another caller in this process. */
export async function tryFileLock(
  path: string,
  { open = openLock }: Pick<FileLockOptions, "open"> = {},
): Promise<FileLock | null> {
  const fd = await lock(path, open, () => 0);
  if (fd === null) return null;
  let isOpen = true;
  return {
    release: () => {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
    isStillOurs: () => isOpen && isSameFile(fd, path),
  };
}

/** The same for the folder itself: it makes no file, so that a full disk does not matter. */
export function tryFolderLock(folder: string): Promise<FileLock | null> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  return tryFileLock(folder, {
    open: (path) => openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
  });
}

export interface FileLock {
  /** May be called twice. */
  release(): void;
  /** False after the file was removed or replaced: the next caller locks another one. */
  isStillOurs(): boolean;
}

/** For the rest of this process's life, however it ends. Null when another process has it. */
export async function acquireProcessLock(path: string): Promise<StillOurs | null> {
  return (await tryFileLock(path))?.isStillOurs ?? null;
}

export type StillOurs = () => boolean;

/** The same for a state folder, which is made if need be. */
export function acquireFolder(folder: string): Promise<StillOurs | null> {
  return explained(folder, async () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return acquireProcessLock(join(folder, ".lock"));
  });
}

const turns = new Map<string, Promise<unknown>>();

/** Otherwise each caller would need a flock(1) of its own to wait for the others. */
async function inTurn<T>(path: string, act: () => Promise<T>): Promise<T> {
  const turn = (turns.get(path) ?? Promise.resolve()).then(act);
  const over = turn.catch(() => {}); // the caller has the error
  turns.set(path, over);
  try {
    return await turn;
  } finally {
    if (turns.get(path) === over) turns.delete(path);
  }
}

/** After so many other files, the file system has no lasting inode numbers: the lock we have is all there is. */
const MOST_ROUNDS = 10;

/** The locked descriptor; null when time is up. A file that was replaced while we waited is no lock. */
async function lock(
  path: string,
  open: (path: string) => number,
  leftMs: () => number,
  signal?: AbortSignal,
): Promise<number | null> {
  for (let round = 1; ; round++) {
    const fd = open(path);
    let isOurs = false;
    try {
      const answer = await flock(fd, Math.max(0, Math.ceil(leftMs())), signal);
      if (answer === "busy" || (answer === "interrupted" && signal?.aborted)) return null;
      // Always: it cannot run here.
      if (answer === "interrupted" && round >= MOST_ROUNDS && leftMs() <= 0) return null;
      isOurs = answer === "ours" && (isSameFile(fd, path) || round >= MOST_ROUNDS);
      if (isOurs) return fd;
    } finally {
      if (!isOurs) closeSync(fd);
    }
  }
}

/** "interrupted": a signal ended flock(1), as Ctrl-C does to all processes of a terminal. */
type Answer = "ours" | "busy" | "interrupted";

function flock(fd: number, waitMs: number, signal?: AbortSignal): Promise<Answer> {
  // Loaded when it is needed: most commands take no lock, and it is slow to load.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const how = waitMs === 0 ? ["-n"] : ["-w", String(waitMs / 1000)];
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["-x", ...how, "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
    });
    const giveUp = () => child.kill();
    signal?.addEventListener("abort", giveUp);
    child.on("error", (error) => {
      const isMissing = errno(error) === "ENOENT";
      const message = "the flock command is missing; install util-linux.";
      reject(isMissing ? new VivError("UNSUPPORTED", message) : error);
    });
    child.on("exit", (status) => {
      signal?.removeEventListener("abort", giveUp);
      if (status === null) resolve("interrupted");
      else if (status <= 1) resolve(status === 0 ? "ours" : "busy");
      else {
        const message = "no file can be locked there; put it on a local disk.";
        reject(new VivError("UNSUPPORTED", message));
      }
    });
  });
}

function isSameFile(fd: number, path: string): boolean {
  try {
    const [held, there] = [fstatSync(fd), lstatSync(path, { throwIfNoEntry: false })];
    return there !== undefined && there.ino === held.ino && there.dev === held.dev;
  } catch {
    return true; // an unreadable folder is no proof of a change
  }
}

function openLock(path: string): number {
  return openToWrite(path, constants.O_CREAT);
}

function lockedError(path: string, waitMs: number): VivError {
  const seconds = Math.round(waitMs / 1000);
  const time = `for ${counted(seconds, "second")}`;
  const held = waitMs === 0 ? `holds ${path}` : `has held ${path} ${time}`;
  return new VivError("LOCKED", `another process ${held}; find it with: fuser ${path}`);
}
