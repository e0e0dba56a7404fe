import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineErrorOf } from "../../base/errno.ts";
import { hasProcFs } from "./proc-fs.ts";

/**
 * Pipes. Node has no call that makes one, so `mkfifo` makes some, a batch at a time. They are
 * unlinked at once, so nothing is left behind and no other program can open one. A pipe that no
 * process has open any more is empty, and is reused.
 */

/** A file descriptor that neither reads nor writes: it only keeps the pipe. */
export type Pipe = number;

const O_PATH = 0o10000000; // Linux; node has no name for it
const BATCH = 8;

const unused: Pipe[] = [];
let isPossible = true;

/** Null where there are none: no /proc to open them again by, or no mkfifo. */
export function takePipe(): Pipe | null {
  if (unused.length === 0) refill();
  return unused.pop() ?? null;
}

/** The end for reading, or the one for writing. */
export function openEnd(pipe: Pipe, flags: number): number {
  return openSync(`/proc/self/fd/${pipe}`, flags);
}

/** A pipe that another process may still have open is not reused. */
export function giveBack(pipe: Pipe, isUnused: boolean): void {
  if (isUnused) unused.push(pipe);
  else closeSync(pipe);
}

function refill(): void {
  if (!isPossible || !hasProcFs()) return;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(tmpdir(), "viv-pipes-"));
    const paths = Array.from({ length: BATCH }, (_, i) => `${folder}/${i}`);
    const { status, error } = spawnSync("mkfifo", ["-m", "600", ...paths], { stdio: "ignore" });
    // Not retried where mkfifo cannot work; an exhausted machine may recover.
    isPossible = status === 0 || machineErrorOf(error) !== undefined;
    if (status === 0) for (const path of paths) unused.push(openSync(path, O_PATH));
  } catch {
    // No room, or too many open files: what there is must do, and sockets do without.
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
