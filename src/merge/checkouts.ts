import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ifThere } from "../base/errno.ts";
import { isVivError } from "../base/errors.ts";
import { quoted } from "../base/text.ts";
import { askGit, type GitPlace, git } from "../platform/git/git.ts";
import { unfinishedIn } from "../work/workspaces/commit.ts";
import { placeOf, type Repository } from "../work/workspaces/worktree.ts";

/** A working tree in which a branch is checked out, or being rebased or bisected. */
export interface Checkout {
  path: string;
  /** The repository's side of it. */
  admin: string;
}

/** Where a branch is in use. Files are read instead of git asked: it is looked up at each landing. */
export async function checkoutsOf(repository: Repository, branch: string): Promise<Checkout[]> {
  const { gitDir } = repository;
  if (existsSync(join(gitDir, "reftable"))) return listedBy(repository, branch);
  const folder = join(gitDir, "worktrees");
  const names = ifThere(() => readdirSync(folder)) ?? [];
  const linked = names.flatMap((name) => {
    const admin = join(folder, name);
    if (!branchesUsedBy(admin).includes(branch)) return [];
    const pointer = text(join(admin, "gitdir"));
    return pointer === null ? [] : { admin, path: dirname(resolve(admin, pointer)) };
  });
  const path = branchesUsedBy(gitDir).includes(branch) ? await mainTree(repository) : null;
  return path === null ? linked : [{ admin: gitDir, path }, ...linked];
}

/**
 * Checked out, or being rebased or bisected. Each task has a worktree, and each landing asks about all
 * of them; so what was read is known until the folder or HEAD changes. A change within the same tick of
 * the clock could not be told: what has changed just now is read again.
 */
function branchesUsedBy(admin: string): readonly string[] {
  const stamps = [admin, join(admin, "HEAD")].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0,
  );
  const key = stamps.join();
  const known = inUse.get(admin);
  if (known?.key === key) return known.branches;
  const names = ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"];
  const refs = names.map((name) =>
    /^(?:ref: )?refs\/heads\/(.*)$/s.exec(text(join(admin, name)) ?? ""),
  );
  const bisected = text(join(admin, "BISECT_START"));
  const branches = [...refs.map((match) => match?.[1]), bisected].flatMap((one) => one ?? []);
  if (Math.max(...stamps) < Date.now() - SETTLED_MS) inUse.set(admin, { key, branches });
  return branches;
}

const inUse = new Map<string, { key: string; branches: readonly string[] }>();
const SETTLED_MS = 2_000;

/** Null for a bare repository. */
async function mainTree({ gitDir }: Repository): Promise<string | null> {
  const known = mainTrees.get(gitDir);
  if (known !== undefined) return known;
  const { status, stdout } = await askGit(["worktree", "list", "--porcelain"], { cwd: gitDir });
  const [first = ""] = status === 0 ? stdout.toString().split("\n\n") : [];
  const path = /^worktree (.*)$/m.exec(first)?.[1] ?? null;
  const main = /^bare$/m.test(first) ? null : path;
  mainTrees.set(gitDir, main);
  return main;
}

const mainTrees = new Map<string, string | null>();

async function listedBy(repository: Repository, branch: string): Promise<Checkout[]> {
  const all = await git(["worktree", "list", "--porcelain"], { cwd: repository.path });
  const entries = all
    .split("\n\n")
    .filter((entry) => entry.includes(`branch refs/heads/${branch}\n`));
  const found: Checkout[] = [];
  for (const entry of entries) {
    const path = /^worktree (.*)$/m.exec(entry)?.[1] ?? "";
    if (!existsSync(path)) continue;
    const admin = await git(["rev-parse", "--absolute-git-dir"], { cwd: path });
    found.push({ path, admin });
  }
  return found;
}

function text(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null; // no such worktree any more, or none that can be read: git would not use it
  }
}

/** Why a working tree is left alone, in words, and the command that a person may type. */
export interface Obstacle {
  reason: string;
  command(to: string): string;
}

export function forwardCommand(path: string, to: string): string {
  return `git -C ${quoted(path)} merge --ff-only ${to.slice(0, 12)}`;
}

/** Brings a clean working tree on the target forward; else says what to type. */
export async function fastForward(
  { path, admin }: Checkout,
  branch: string,
  { from, to }: { from: string; to: string },
): Promise<Obstacle | "moved" | null> {
  const command = (commit: string) => forwardCommand(path, commit);
  const held = (why: string) => ({
    reason: `${branch} is checked out in ${path}, ${why}`,
    command,
  });
  if (!existsSync(path)) {
    const prune = () => `git -C ${quoted(dirname(dirname(admin)))} worktree prune`;
    return {
      ...held("which is not there; if it is gone for good, let git forget it"),
      command: prune,
    };
  }
  const what = unfinishedIn(admin);
  if (what !== null) return held(`where a ${what} is unfinished`);
  const place = placeOf(admin, path);
  if ((await headOf(place)) !== from) return "moved";
  let isClean = false;
  try {
    if (!(await isUnchanged(place))) return held("which has uncommitted changes");
    isClean = true;
    const quiet = ["--quiet", "--no-autostash", "--no-verify-signatures"];
    // Git takes ignored files for expendable; here they are the user's.
    await git(["merge", "--ff-only", "--no-overwrite-ignore", ...quiet, to], place);
    return null;
  } catch (error) {
    if ((await headOf(place)) !== from) return "moved";
    if (!isVivError(error)) throw error;
    if (isClean) await bringBack(place, { from, to });
    const untracked = overwritten(String(error.details.stderr ?? ""));
    if (untracked !== null) return held(`where ${untracked} is in the way; move it away first`);
    return held(`and git cannot bring it forward (${error.message.replace(/\.$/, "")})`);
  }
}

/**
 * A submodule may have another commit checked out than the tree names: so it has after a landing that
 * names a new one. Git leaves its files alone here, so they are in nobody's way; a commit of it that is
 * staged is.
 */
async function isUnchanged(place: GitPlace): Promise<boolean> {
  const status = ["status", "--porcelain", "-uno", "--ignore-submodules=all"];
  if ((await git(status, place)) !== "") return false;
  const staged = ["diff-index", "--cached", "--quiet", "--ignore-submodules=none", "HEAD", "--"];
  return (await askGit(staged, place)).status === 0;
}

/**
 * Git writes the files before it moves the branch: where that failed, the tree has the new files. They
 * were clean a moment ago; git leaves alone what has changed since.
 */
async function bringBack(place: GitPlace, { from, to }: { from: string; to: string }) {
  const isAhead = ["diff-index", "--cached", "--quiet", "--ignore-submodules", to, "--"];
  if ((await askGit(isAhead, place)).status !== 0) return;
  await askGit(["read-tree", "-m", "-u", to, from], place);
}

async function headOf(place: GitPlace): Promise<string> {
  return git(["rev-parse", "--verify", "HEAD^{commit}"], place);
}

/** The first file that a merge would overwrite; null when that was not the reason. */
function overwritten(stderr: string): string | null {
  if (!/would be overwritten/.test(stderr)) return null;
  return /^\t(.*)$/m.exec(stderr)?.[1] ?? "a file";
}
