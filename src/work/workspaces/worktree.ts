import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { askGit, type GitPlace, git, lastWord } from "../../platform/git/git.ts";
import { invalid } from "./record.ts";

/**
 * A worktree has two sides: the folder, with a `.git` file that names the repository's side, and
 * the repository's side (head, index and so on) that names the folder. Only the second is trusted.
 */

export interface Repository {
  path: string;
  /** Its git directory; worktrees of one repository share it. */
  gitDir: string;
}

export async function findRepository(path: string): Promise<Repository> {
  const advice = "set repository to the top folder of a git repository (git init makes one)";
  if (!existsSync(path)) throw invalid(path, `the repository ${path} does not exist; ${advice}.`);
  const question = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix"];
  const { status, stdout, stderr } = await askGit(question, { cwd: path });
  if (status !== 0) {
    throw invalid(path, `${path} cannot be used as a repository (${lastWord(stderr)}); ${advice}.`);
  }
  // A name may have line feeds in it; the prefix is empty, or ends with a slash.
  const [, gitDir = "", prefix = ""] = /^(.*)\n(.*\/)?\n$/s.exec(stdout.toString()) ?? [];
  if (prefix !== "") {
    throw invalid(path, `${path} is only a folder inside a repository; ${advice}.`);
  }
  return { path: realpathSync(path), gitDir: realpathSync(gitDir) };
}

/** The commit that `name` means there, or null. */
export async function commitOf(repository: Repository, name: string): Promise<string | null> {
  const question = ["rev-parse", "--verify", "--quiet", `${name}^{commit}`];
  const { status, stdout } = await askGit(question, { cwd: repository.path });
  return status === 0 ? stdout.toString().trim() : null;
}

/** The repository's side of the worktree at `path`, which need not exist any more; or null. */
export function adminOf(repository: Repository, path: string): string | null {
  const here = join(realpathSync(dirname(path)), basename(path));
  const folder = join(repository.gitDir, "worktrees");
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const admin = join(folder, name);
    const pointer = readIfThere(join(admin, "gitdir"));
    if (pointer === null) continue; // just being made
    const there = dirname(resolve(admin, pointer.trimEnd()));
    if (there === here) return admin;
  }
  return null;
}

/** For git commands about the files of a worktree. */
export function placeOf(admin: string, path: string): GitPlace {
  return { cwd: path, gitDir: admin, workTree: path };
}

/** True when the git that was making it has been killed: then files are missing in it. */
export function isHalfMade(admin: string): boolean {
  return readIfThere(join(admin, "locked"))?.trim() === "initializing";
}

export function isLocked(admin: string): boolean {
  return existsSync(join(admin, "locked"));
}

/** Takes the worktree off the repository's list; its folder must be gone already. */
export async function forget(repository: Repository, path: string): Promise<void> {
  // Not `prune`: that would also forget worktrees of the user on a disk that is not mounted now.
  await git(["worktree", "remove", "--force", "--force", path], { cwd: repository.path });
}

/** What a git that was killed may leave there: every later one would refuse to work. */
export const LOCKS_OF_WORKTREE = ["index.lock", "HEAD.lock"];

/**
 * Restores the folder's `.git` file, which an attempt may have changed or removed, and takes away the
 * locks that it left. For a worktree in which nothing works now.
 */
export function restorePointer(admin: string, path: string): void {
  for (const lock of LOCKS_OF_WORKTREE) rmSync(join(admin, lock), { force: true });
  const pointer = join(path, ".git");
  const stats = lstatSync(pointer, { throwIfNoEntry: false });
  if (stats?.isDirectory()) {
    throw invalid(
      path,
      `${path} was a worktree and has a repository of its own now; move ${pointer} away to go on.`,
    );
  }
  if (stats?.isFile()) {
    const target = readFileSync(pointer, "utf8").match(/^gitdir: (.*)\n*$/s)?.[1];
    if (target !== undefined && resolve(path, target) === admin) return;
  }
  rmSync(pointer, { force: true });
  writeFileSync(pointer, `gitdir: ${admin}\n`, { flag: "wx" });
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
