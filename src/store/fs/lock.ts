import { closeSync } from "node:fs";
import { VivError } from "../../model/errors.ts";
import { errno, openLock, translate } from "./atomic.ts";

/**
 * Runs `critical` while holding flock(2) on `path`, the lock that swarm-lib takes too. flock(1)
 * takes it on our descriptor, which it inherits, so the lock is ours until we close it, or die.
 * `critical` is synchronous: nothing else of this process can ask for the lock in between.
 */
export function withLock<T>(path: string, critical: () => T): T {
  let fd: number;
  try {
    fd = openLock(path);
  } catch (error) {
    throw translate(error, `opening ${path}`);
  }
  try {
    // Loaded when it is needed: most commands take no lock, and it is slow to load.
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    const locked = spawnSync("flock", ["-x", "-w", "30", "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
    });
    if (locked.error && errno(locked.error) === "ENOENT") {
      throw new VivError("UNSUPPORTED", "the flock command is missing; install util-linux.");
    }
    if (locked.error) throw locked.error; // it could not be started: that says nothing about the lock
    if (locked.status !== 0) {
      throw new VivError(
        "LOCKED",
        `another process has held ${path} for 30 seconds; find it with: fuser ${path}`,
      );
    }
    return critical();
  } finally {
    closeSync(fd);
  }
}
