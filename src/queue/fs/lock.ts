import { closeSync } from "node:fs";
import { VivError } from "../../base/errors.ts";
import { errno, openLock, translate } from "./atomic.ts";

/**
 * Runs `critical` while holding flock(2) on `path`, the lock that swarm-lib takes too. flock(1)
 * takes it on our descriptor, which it inherits, so the lock is ours until we close it, or die.
 * `critical` is synchronous: nothing else of this process can ask for the lock in between.
 */
export function withLock<T>(path: string, critical: () => T, waitSeconds = 30): T {
  const fd = open(path);
  try {
    if (!flock(fd, waitSeconds === 0 ? ["-n"] : ["-w", String(waitSeconds)])) {
      const since = waitSeconds === 0 ? "holds" : "has held";
      const time = waitSeconds === 0 ? "" : ` for ${waitSeconds} seconds`;
      throw new VivError(
        "LOCKED",
        `another process ${since} ${path}${time}; find it with: fuser ${path}`,
      );
    }
    return critical();
  } finally {
    closeSync(fd);
  }
}

/** For what may take long: returns what releases it, or null when somebody has it. */
export function tryLock(path: string): (() => void) | null {
  const fd = open(path);
  let isOurs = false;
  try {
    isOurs = flock(fd, ["-n"]);
  } finally {
    if (!isOurs) closeSync(fd);
  }
  return isOurs ? () => closeSync(fd) : null;
}

function open(path: string): number {
  try {
    return openLock(path);
  } catch (error) {
    throw translate(error, `opening ${path}`);
  }
}

function flock(fd: number, how: readonly string[]): boolean {
  // Loaded when it is needed: most commands take no lock, and it is slow to load.
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const locked = spawnSync("flock", ["-x", ...how, "3"], {
    stdio: ["ignore", "ignore", "ignore", fd],
  });
  if (locked.error && errno(locked.error) === "ENOENT") {
    throw new VivError("UNSUPPORTED", "the flock command is missing; install util-linux.");
  }
  if (locked.error) throw locked.error; // it could not be started: that says nothing about the lock
  return locked.status === 0;
}
