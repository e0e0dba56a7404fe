import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  readSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../../base/errno.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { openSync, withFile } from "../../platform/files/beneath.ts";

/**
 * How much of the disk the workspaces take. To walk a thousand worktrees takes minutes, so each is
 * measured when an attempt in it has ended, and noted as a line in `workspaces/.bytes`:
 * `<bytes> <name>`. The last line of a name counts; 0 when it is gone.
 */
const fileIn = (root: string) => join(root, ".bytes");

/** Blocks on the disk, a file with several names once; links are not followed. */
export async function bytesIn(path: string): Promise<number> {
  const seen = new Set<string>();
  const sizeOf = async (at: string): Promise<number> => {
    const stats = await lstat(at).catch(() => null); // removed while we count
    if (stats === null) return 0;
    const own = stats.blocks * 512;
    if (!stats.isDirectory()) {
      if (stats.nlink > 1) {
        const file = `${stats.dev} ${stats.ino}`;
        if (seen.has(file)) return 0;
        seen.add(file);
      }
      return own;
    }
    const names = await readdir(at).catch(() => []);
    const parts = await Promise.all(names.map((name) => sizeOf(join(at, name))));
    return parts.reduce((sum, one) => sum + one, own);
  };
  return sizeOf(path);
}

/** How many files and folders there are, and how long the files: what a copy has in common with its source. */
export async function extentOf(path: string): Promise<{ entries: number; bytes: number }> {
  const extent = { entries: 0, bytes: 0 };
  const add = async (at: string): Promise<void> => {
    const stats = await lstat(at);
    extent.entries++;
    if (!stats.isDirectory()) extent.bytes += stats.size;
    else await Promise.all((await readdir(at)).map((name) => add(join(at, name))));
  };
  await add(path);
  return extent;
}

/** `name`: an id, or a path below `workspaces/`. */
export function noteBytes(root: string, name: string, bytes: number): void {
  if (bytes === 0 && !existsSync(fileIn(root))) return;
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  withFile(
    fileIn(root),
    O_APPEND | O_CREAT | O_WRONLY,
    (fd) => writeSync(fd, `${bytes} ${name}\n`),
    0o600,
  );
}

const LONG = 1_000_000;

/** Reads only what was added since the last look. */
export class DiskUse {
  readonly #root: string;
  readonly #sizes = new Map<string, number>();
  #inode = -1;
  #offset = 0;
  #rest = "";
  #total = 0;

  constructor(root: string) {
    this.#root = root;
  }

  /** Bytes of all workspaces, as far as they were measured. */
  total(): number {
    this.#read();
    return this.#total;
  }

  isKnown(name: string): boolean {
    this.#read();
    return this.#sizes.has(name);
  }

  /** Without those that were removed by hand. For when the sum matters: it looks at each of them. */
  exact(): number {
    this.#read();
    for (const name of [...this.#sizes.keys()]) {
      if (!existsSync(join(this.#root, name))) this.#set(name, 0);
    }
    return this.#total;
  }

  /** Writes the file anew when it has grown long. */
  shorten(): void {
    this.exact();
    if (this.#offset < LONG) return;
    const lines = [...this.#sizes].map(([name, bytes]) => `${bytes} ${name}\n`);
    replaceFileUnsynced(fileIn(this.#root), lines.join(""));
  }

  #set(name: string, bytes: number): void {
    this.#total += bytes - (this.#sizes.get(name) ?? 0);
    if (bytes === 0) this.#sizes.delete(name);
    else this.#sizes.set(name, bytes);
  }

  #read(): void {
    const fd = ifThere(() => openSync(fileIn(this.#root), "r"));
    if (fd === null) {
      this.#begin(-1);
      return;
    }
    try {
      const { ino, size } = fstatSync(fd);
      if (ino !== this.#inode || size < this.#offset) this.#begin(ino);
      const added = Buffer.alloc(size - this.#offset);
      this.#offset += readSync(fd, added, 0, added.length, this.#offset);
      const lines = (this.#rest + added.toString("utf8")).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, bytes, name] = /^(\d{1,15}) (.+)$/.exec(line) ?? [];
        if (name !== undefined) this.#set(name, Number(bytes));
      }
    } finally {
      closeSync(fd);
    }
  }

  #begin(inode: number): void {
    this.#sizes.clear();
    this.#inode = inode;
    this.#offset = 0;
    this.#rest = "";
    this.#total = 0;
  }
}

/** Of the disk that a folder is on, for this user; null when it cannot be told. */
export function diskAt(path: string): { free: number; size: number } | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(path);
    return { free: bavail * bsize, size: blocks * bsize };
  } catch {
    return null; // the folder is not there yet
  }
}
