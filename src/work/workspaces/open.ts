import { lstatSync, readdirSync, rmSync, type Stats } from "node:fs";
import { resolve } from "node:path";
import { VivError } from "../../base/errors.ts";
import { mkdirSync } from "../../platform/files/beneath.ts";
import { askGit, git } from "../../platform/git/git.ts";
import {
  branchOf,
  readRecord,
  type WorkspaceRecord,
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

export interface WorkspaceRequest {
  kind: "none" | "dir" | "worktree";
  /** `workspaces/` of the run. */
  root: string;
  id: string;
  /** For a worktree. */
  repository?: string;
  /** For a worktree: what it is made from; without it, what HEAD is there. */
  base?: string;
}

export interface OpenWorkspace {
  path: string;
  branch?: string;
  /** The commit that the branch began at. */
  base?: string;
}

/** Makes the workspace of a task, or finds it as the attempt before has left it. */
export async function openWorkspace(request: WorkspaceRequest): Promise<OpenWorkspace | null> {
  if (request.kind === "none") return null;
  const root = resolve(request.root);
  const path = workspacePath(root, request.id);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  mustBeFolder(root);
  const stats = mustBeFolder(path);
  const record = readRecord(root, request.id);
  if (stats !== undefined && record !== null && record.kind !== request.kind) {
    throw new VivError(
      "INVALID",
      `${path} was made with workspace = "${record.kind}"; set that again, or remove it with: viv workspaces gc ${request.id}.`,
      { path },
    );
  }
  if (request.kind === "worktree") return openWorktree({ ...request, root }, path, stats, record);
  if (record === null) {
    writeRecord(root, request.id, { kind: "dir", created_at: new Date().toISOString() });
  }
  if (stats === undefined) mkdirSync(path, { mode: 0o700 });
  return { path };
}

async function openWorktree(
  { root, id, repository: where, base }: WorkspaceRequest,
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
    throw new VivError(
      "INVALID",
      `${path} was made from ${old.repository}, not from ${repository.path}; set that again, or remove it with: viv workspaces gc ${id}.`,
      { path },
    );
  }
  let isThere = stats !== undefined;
  let admin = adminOf(repository, path);
  if (admin !== null && (!isThere || isHalfMade(admin))) {
    rmSync(path, { recursive: true, force: true }); // nobody has worked in it yet
    await forget(repository, path);
    admin = null;
    isThere = false;
  }
  const hasBranch = (await commitOf(repository, `refs/heads/${branch}`)) !== null;
  const isOurs = old !== null && old.repository === repository.path;
  const known = isOurs && (admin !== null || hasBranch) ? old : null;
  const record = known ?? {
    kind: "worktree",
    repository: repository.path,
    branch,
    base: await baseFor(repository, base, hasBranch ? branch : null),
    created_at: new Date().toISOString(),
  };
  if (admin === null) {
    if (isThere && readdirSync(path).length > 0) throw notAWorktree(path, repository);
    if (known === null) writeRecord(root, id, record);
    // In two steps, each of which may be found done already by the next try.
    if (!hasBranch) await makeBranch(repository, branch, record.base);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    await git(["worktree", "add", "--quiet", path, branch], { cwd: repository.path });
  } else {
    if (known === null) writeRecord(root, id, record);
    restorePointer(admin, path);
  }
  return { path, branch, base: record.base };
}

/** What the branch begins at, or began at if it is there already. */
async function baseFor(
  repository: Repository,
  name: string | undefined,
  branch: string | null,
): Promise<string> {
  const commit = await commitOf(repository, name ?? "HEAD");
  if (commit === null) throw await noSuchBase(repository, name);
  if (branch === null) return commit;
  const question = ["merge-base", commit, `refs/heads/${branch}`];
  const { status, stdout } = await askGit(question, { cwd: repository.path });
  return status === 0 ? stdout.toString().trim() : commit;
}

async function noSuchBase({ path }: Repository, name: string | undefined): Promise<VivError> {
  const any = await git(["rev-list", "--all", "--max-count=1"], { cwd: path });
  const sentence =
    any === ""
      ? `the repository ${path} has no commits; make the first one, then try again.`
      : name === undefined
        ? `HEAD of ${path} is no commit; set base to a branch of it.`
        : `the repository ${path} has no commit called ${name}; set base to a branch, a tag or a commit of it.`;
  return new VivError("INVALID", sentence, { path, base: name });
}

async function makeBranch({ path }: Repository, branch: string, base: string): Promise<void> {
  const folder = "refs/heads/viv";
  // Without a branch to track: that would be noted in a file that all workers would write to.
  const args = ["branch", "--no-track", branch, base];
  try {
    await git(args, { cwd: path });
  } catch (error) {
    const { status } = await askGit(["show-ref", "--verify", "--quiet", folder], { cwd: path });
    if (status !== 0) throw error;
    throw new VivError(
      "INVALID",
      `the repository ${path} has a branch called viv, so it cannot have ${branch}; rename it with: git -C ${path} branch -m viv other-name.`,
      { path },
      { cause: error },
    );
  }
}

function notAWorktree(path: string, repository: Repository): VivError {
  return new VivError(
    "INVALID",
    `${path} is no worktree of ${repository.path}; if the run was moved, run: git -C ${repository.path} worktree repair ${path}; otherwise move the folder away.`,
    { path },
  );
}

function mustBeFolder(path: string): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return stats;
  const what = stats.isSymbolicLink() ? "a symbolic link" : "no folder";
  const sentence = `${path} is ${what}; remove it, so that a workspace can be made there.`;
  throw new VivError("INVALID", sentence, { path });
}
