import { closeSync, constants, existsSync, mkdirSync, openSync, readSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/** A file that a run appends to, and that is read meanwhile. */
export interface StepsFile {
  readonly path: string;
  /** What was added since the last time, but no more than that; empty when there is nothing. */
  read(most: number): Buffer;
  /** It is removed. */
  close(): void;
}

/**
 * Empty, and ours: whatever the run puts in its place (a pipe, a link, a folder) is not looked at, because what
 * is read is the file that was opened here.
 */
export function openStepsFile(path: string): StepsFile {
  const folder = dirname(path);
  // Only the last: a state folder that somebody has removed does not come back by this.
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  rmSync(path, { recursive: true, force: true });
  const { O_RDONLY, O_CREAT, O_EXCL } = constants;
  const fd = openSync(path, O_RDONLY | O_CREAT | O_EXCL, 0o600);
  let place = 0;
  return {
    path,
    read: (most) => {
      const buffer = Buffer.alloc(most);
      const count = readSync(fd, buffer, 0, most, place);
      place += count;
      return buffer.subarray(0, count);
    },
    close: () => {
      closeSync(fd);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
