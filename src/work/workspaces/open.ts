import { lstatSync, readdirSync, rmSync, type Stats } from "node:fs";
import { resolve } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import { mkdirSync } from "../../platform/files/beneath.ts";
import { askGit, git } from "../../platform/git/git.ts";
import { type Begin, beginAt } from "./begin.ts";
import { bringOnto } from "./onto.ts";
import {
  branchOf,
  invalid,
  readRecord,
  type WorkspaceRecord,
  type WorktreeRecord,
  workspacePath,
  writeRecord,
} from "./record.ts";
import {
  adminOf,
  commitOf,
  findRepository,
  forget,
  isHalfMade,
  type Repository,
  restorePointer,
} from "./worktree.ts";

/**
 * Where tasks work: `workspaces/<id>/` in the run, either an empty folder ("dir") or a git worktree
 * on a branch of its own ("worktree"). A workspace stays as it is from attempt to attempt, and is
 * removed only when nothing in it is lost by that.
 */
export interface WorkspaceRequest {
  kind: "dir" | "worktree";
  /** `workspaces/` of the run. */
  root: string;
  id: string;
  /** For a worktree. */
  repository?: string;
  /** For a worktree: what it is made from; without it, what HEAD is there. */
  base?: string;
  /** For a new worktree: see begin.ts. */
  begin?: Begin;
}

export interface OpenWorkspace {
  path: string;
  branch?: string;
  /** The commit that the branch began at. */
  base?: string;
  /** What the handler must know about it. */
  note?: string;
}

/** Makes the workspace of a task, or finds it as the last attempt left it. */
export async function openWorkspace(request: WorkspaceRequest): Promise<OpenWorkspace> {
  const root = resolve(request.root);
  const path = workspacePath(root, request.id);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  mustBeFolder(root);
  const stats = mustBeFolder(path);
  const record = readRecord(root, request.id);
  if (stats !== undefined && record !== null && record.kind !== request.kind) {
    throw invalid(
      path,
      `${path} was made with workspace = "${record.kind}"; set that again, or remove it with: viv workspaces gc ${request.id}.`,
    );
  }
  if (request.kind === "worktree") return openWorktree({ ...request, root }, path, stats, record);
  if (record === null) {
    writeRecord(root, request.id, { kind: "dir", created_at: new Date().toISOString() });
  }
  if (stats === undefined) mkdirSync(path, { mode: 0o700 });
  return { path };
}

/** Why no worktree could be made of this repository; null when it can. */
export async function whyNoWorktree(where: string, base?: string): Promise<string | null> {
  try {
    await startOf(await findRepository(where), base, undefined);
    return null;
  } catch (error) {
    if (isVivError(error, "INVALID") || isVivError(error, "UNSUPPORTED")) return error.message;
    throw error;
  }
}

async function openWorktree(
  { root, id, repository: where, base, begin }: WorkspaceRequest,
  path: string,
  stats: Stats | undefined,
  before: WorkspaceRecord | null,
): Promise<OpenWorkspace> {
  if (where === undefined) {
    throw new VivError("INVALID", 'workspace = "worktree" needs a repository, which is not set.');
  }
  const repository = await findRepository(where);
  const branch = branchOf(id);
  const old = before?.kind === "worktree" ? before : null;
  if (stats !== undefined && old !== null && old.repository !== repository.path) {
    throw invalid(
      path,
      `${path} was made from ${old.repository}, not from ${repository.path}; set that again, or remove it with: viv workspaces gc ${id}.`,
    );
  }
  let isThere = stats !== undefined;
  let admin = adminOf(repository, path);
  if (admin !== null && (!isThere || isHalfMade(admin))) {
    rmSync(path, { recursive: true, force: true }); // no attempt has worked in it yet
    await forget(repository, path);
    admin = null;
    isThere = false;
  }
  const hasBranch = (await commitOf(repository, `refs/heads/${branch}`)) !== null;
  const isOurs = old !== null && old.repository === repository.path;
  const known = isOurs && (admin !== null || hasBranch) ? old : null;
  if (known === null && hasBranch && branch === begin?.target) {
    throw invalid(
      path,
      `${branch} is the branch that all work goes into, so ${id} cannot work on it; enqueue it under another id, or set into in [merge].`,
    );
  }
  const record: WorktreeRecord = known ?? {
    kind: "worktree",
    repository: repository.path,
    branch,
    ...(hasBranch
      ? { base: await beganAt(repository, await startOf(repository, base, begin), branch) }
      : await beginAt(repository, id, await startOf(repository, base, begin), begin)),
    created_at: new Date().toISOString(),
  };
  if (admin === null) {
    if (isThere && readdirSync(path).length > 0) {
      throw invalid(
        path,
        `${path} is no worktree of ${repository.path}; if the run was moved, run: git -C ${repository.path} worktree repair ${path}; otherwise move the folder away.`,
      );
    }
    if (known === null) writeRecord(root, id, record);
    // Each of the two steps may be done already, by a try before.
    if (!hasBranch) await makeBranch(repository, branch, record.base);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    await git(["worktree", "add", "--quiet", path, branch], { cwd: repository.path });
  } else {
    if (known === null) writeRecord(root, id, record);
    restorePointer(admin, path);
  }
  const now = await bringOnto({ root, id, path, repository }, record);
  return { path, branch, base: now.base, note: noteOf(now) };
}

function noteOf({ without = [] }: WorktreeRecord): string | undefined {
  const sentences = without.map(
    ({ task, branch, files }) =>
      `The work of ${task} (branch ${branch}) is not in this workspace: it conflicts with the rest in ${files.join(", ")}.`,
  );
  return sentences.join(" ") || undefined;
}

/** The tip of the target, if there is one already; else `base`. */
async function startOf(
  repository: Repository,
  base: string | undefined,
  begin: Begin | undefined,
): Promise<string> {
  const tip = begin?.target ? await commitOf(repository, `refs/heads/${begin.target}`) : null;
  const commit = tip ?? (await commitOf(repository, base ?? "HEAD"));
  if (commit === null) throw await noSuchBase(repository, base);
  return commit;
}

/** Of a branch that exists. */
async function beganAt(repository: Repository, commit: string, branch: string): Promise<string> {
  const question = ["merge-base", commit, `refs/heads/${branch}`];
  const { status, stdout } = await askGit(question, { cwd: repository.path });
  return status === 0 ? stdout.toString().trim() : commit;
}

async function noSuchBase({ path }: Repository, name: string | undefined): Promise<VivError> {
  const any = await git(["rev-list", "--all", "--max-count=1"], { cwd: path });
  if (any === "") {
    return invalid(
      path,
      `the repository ${path} has no commits; make the first one, then try again.`,
    );
  }
  if (name === undefined) {
    return invalid(path, `HEAD of ${path} is no commit; set base to a branch of it.`);
  }
  return invalid(
    path,
    `the repository ${path} has no commit called ${name}; set base to a branch, a tag or a commit of it.`,
  );
}

async function makeBranch({ path }: Repository, branch: string, base: string): Promise<void> {
  try {
    // To track a branch, all workers would write to one file of the repository.
    await git(["branch", "--no-track", branch, base], { cwd: path });
  } catch (error) {
    const question = ["show-ref", "--verify", "--quiet", "refs/heads/viv"];
    if ((await askGit(question, { cwd: path })).status !== 0) throw error;
    throw invalid(
      path,
      `the repository ${path} has a branch called viv, so it cannot have ${branch}; rename it with: git -C ${path} branch -m viv other-name.`,
      error,
    );
  }
}

function mustBeFolder(path: string): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return stats;
  const what = stats.isSymbolicLink() ? "a symbolic link" : "no folder";
  throw invalid(path, `${path} is ${what}; remove it, so that a workspace can be made there.`);
}
