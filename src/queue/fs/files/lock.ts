import { type FileLock, tryFileLock, withFileLock } from "../../../platform/files/file-lock.ts";
import { openLock, translate } from "./atomic.ts";

/**
 * Runs `critical` under the lock of `path`, which swarm-lib takes too. Calls of this process get it
 * in turn, so `critical` must not ask for the same lock.
 */
export function withLock<T>(
  path: string,
  critical: () => T | Promise<T>,
  waitSeconds = 30,
): Promise<T> {
  return withFileLock(path, critical, { waitMs: waitSeconds * 1000, open });
}

/** Null when another has it. */
export function tryLock(path: string): Promise<FileLock | null> {
  return tryFileLock(path, { open });
}

function open(path: string): number {
  try {
    return openLock(path);
  } catch (error) {
    throw translate(error, `opening ${path}`);
  }
}
