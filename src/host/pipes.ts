import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasProcFs } from "./proc-fs.ts";

/**
 * Pipes. Node has no call that makes one, so `mkfifo` makes some, a batch at a time. They are
 * unlinked at once: nothing is left behind, and only who was given one can open it. A pipe that
 * nobody has open any more is empty, and is used again.
 */

/** A file descriptor that neither reads nor writes: it only keeps the pipe. */
export type Pipe = number;

const O_PATH = 0o10000000; // Linux; node does not name it
const BATCH = 16;

const free: Pipe[] = [];
let isPossible = true;

/** So many pipes, or null where there are none: no /proc to open them again, no mkfifo. */
export function takePipes(count: number): Pipe[] | null {
  if (free.length < count && !refill()) return null;
  return free.splice(-count);
}

/** The end for reading, or the one for writing. */
export function openEnd(pipe: Pipe, flags: number): number {
  return openSync(`/proc/self/fd/${pipe}`, flags);
}

/** A pipe that somebody may still have open is not given to the next one. */
export function giveBack(pipe: Pipe, isUnused: boolean): void {
  if (isUnused) free.push(pipe);
  else closeSync(pipe);
}

export function hasReader(pipe: Pipe): boolean {
  try {
    closeSync(openEnd(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENXIO";
  }
}

function refill(): boolean {
  if (!isPossible || !hasProcFs()) return false;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(tmpdir(), "viv-pipes-"));
    const paths = Array.from({ length: BATCH }, (_, i) => `${folder}/${i}`);
    const { status } = spawnSync("mkfifo", ["-m", "600", ...paths], { stdio: "ignore" });
    if (status === 0) for (const path of paths) free.push(openSync(path, O_PATH));
  } catch {
    // no room, or too many open files: what there is will do
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  isPossible = free.length > 0; // it is not tried again and again where it cannot be done
  return free.length > 1;
}
