import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ifThere } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { type FileLock, tryFileLock } from "../../platform/files/file-lock.ts";
import { git } from "../../platform/git/git.ts";
import { adminOf } from "../workspaces/worktree.ts";

/** A worktree of the merge queue in a run, and the git directory that it belongs to. */
interface Scratch {
  path: string;
  gitDir: string;
}

/**
 * Runs `act` while no merge queue is at work in the run, nor can begin. `leave` takes the queue's
 * worktrees off their repositories; a queue makes them anew.
 */
export async function withQuietQueues<T>(
  run: string,
  verb: string,
  act: (leave: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const scratches = scratchesIn(join(run, "merge/.scratch"));
  const locks: FileLock[] = [];
  try {
    for (const gitDir of new Set(scratches.map((one) => one.gitDir))) {
      const lock = await tryFileLock(join(gitDir, "viv-merge.lock"));
      if (lock === null) {
        const message = `a merge queue works on ${gitDir}; wait until it has ended, then ${verb} the run again.`;
        throw new VivError("LOCKED", message);
      }
      locks.push(lock);
    }
    return await act(async () => {
      for (const { path, gitDir } of scratches) {
        rmSync(path, { recursive: true, force: true });
        await git(["worktree", "remove", "--force", "--force", path], { cwd: gitDir });
      }
    });
  } finally {
    for (const lock of locks) lock.release();
  }
}

/** Only those that their repository knows by this place. */
function scratchesIn(folder: string): Scratch[] {
  const entries = ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  const folders = entries.filter((one) => one.isDirectory());
  return folders.flatMap(({ name }) => {
    const path = join(folder, name);
    const pointer = join(path, ".git");
    if (!lstatSync(pointer, { throwIfNoEntry: false })?.isFile()) return [];
    const target = readFileSync(pointer, "utf8").match(/^gitdir: (.*)\n*$/s)?.[1];
    if (target === undefined) return [];
    const gitDir = dirname(dirname(resolve(path, target)));
    return adminOf({ path: gitDir, gitDir }, path) === null ? [] : [{ path, gitDir }];
  });
}
