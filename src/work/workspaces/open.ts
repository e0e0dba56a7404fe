import { lstatSync, readdirSync, rmSync, type Stats } from "node:fs";
import { resolve } from "node:path";
import { isVivError, VivError } from "../../base/errors.ts";
import { quoted } from "../../base/text.ts";
import { mkdirSync } from "../../platform/files/beneath.ts";
import { askGit, git } from "../../platform/git/git.ts";
import { type Begin, beginAt } from "./begin.ts";
import { bringOnto } from "./onto.ts";
import { branchIn, exists, ifMade, makeOwnBranch } from "./own-branch.ts";
import {
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
  /** The run's name, which is part of the names of its branches. */
  run: string;
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
  request: WorkspaceRequest,
  path: string,
  stats: Stats | undefined,
  before: WorkspaceRecord | null,
): Promise<OpenWorkspace> {
  const { root, id, repository: where } = request;
  if (where === undefined) {
    throw new VivError("INVALID", 'workspace = "worktree" needs a repository, which is not set.');
  }
  const repository = await findRepository(where);
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
  if (admin === null && isThere && readdirSync(path).length > 0) {
    throw invalid(
      path,
      `${path} is no worktree of ${repository.path}; if the run was moved, run: git -C ${quoted(repository.path)} worktree repair ${quoted(path)}; otherwise move the folder away.`,
    );
  }
  const record = await recordFor(request, { repository, path, admin }, before);
  const { branch } = record;
  if (record !== before) writeRecord(root, id, record);
  if (admin === null) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    await git(["worktree", "add", "--quiet", path, branch], { cwd: repository.path });
  } else restorePointer(admin, path);
  const now = await bringOnto({ root, id, path, repository }, record);
  return { path, branch, base: now.base, note: noteOf(now) };
}

/** As it is, or of the branch that is made now. */
async function recordFor(
  { root, id, run, base, begin }: WorkspaceRequest,
  { repository, path, admin }: { repository: Repository; path: string; admin: string | null },
  before: WorkspaceRecord | null,
): Promise<WorktreeRecord> {
  const isOurs = before?.kind === "worktree" && before.repository === repository.path;
  const known = isOurs ? await ifMade(repository, before) : null;
  if (known !== null && (admin !== null || (await exists(repository, known.branch)))) return known;
  const start = await startOf(repository, base, begin);
  if (admin === null) {
    const at = await beginAt(repository, id, start, begin);
    return makeOwnBranch({ root, id, run, repository }, before, at);
  }
  const branch = await branchIn(admin, path, id);
  const at = { base: await beganAt(repository, start, branch) };
  const created_at = new Date().toISOString();
  return { kind: "worktree", repository: repository.path, branch, ...at, created_at };
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
  const target = await begin?.target?.(repository);
  const tip = target ? await commitOf(repository, `refs/heads/${target}`) : null;
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

function mustBeFolder(path: string): Stats | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory()) return stats;
  const what = stats.isSymbolicLink() ? "a symbolic link" : "no folder";
  throw invalid(path, `${path} is ${what}; remove it, so that a workspace can be made there.`);
}
