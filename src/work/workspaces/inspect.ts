import { existsSync, lstatSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { counted, quoted } from "../../base/text.ts";
import { askGit, type GitPlace, git } from "../../platform/git/git.ts";
import type { WorktreeContent } from "../host.ts";
import { changesIn, submodulesIn } from "./commit.ts";
import { bytesIn } from "./disk-use.ts";
import { ifMade } from "./own-branch.ts";
import {
  idOfRecord,
  readRecord,
  type WorkspaceInfo,
  type WorktreeRecord,
  workspacePath,
} from "./record.ts";
import {
  adminOf,
  commitOf,
  findRepository,
  isLocked,
  placeOf,
  type Repository,
} from "./worktree.ts";

/** What the removal of a worktree needs besides. */
export interface Worktree {
  record: WorktreeRecord;
  repository: Repository;
  /** The commit of the branch, or null when the branch is gone. */
  tip: string | null;
  /** Null when the folder or the repository's side of it is gone. */
  place: GitPlace | null;
}

export interface Inspection {
  info: WorkspaceInfo;
  worktree?: Worktree;
  /** Why its content cannot be saved by a patch and a branch. */
  obstacle?: string;
}

/** Null when there is no such workspace. Only looks. */
export async function inspect(root: string, id: string): Promise<Inspection | null> {
  const path = workspacePath(root, id);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const record = readRecord(root, id);
  if (stats === undefined && record === null) return null;
  const info: WorkspaceInfo = {
    id,
    kind: record?.kind ?? "dir",
    path,
    dirty: stats !== undefined,
    ahead: 0,
    commits: 0,
    merged: false,
    missing: stats === undefined,
    bytes: stats === undefined ? 0 : await bytesIn(path),
  };
  if (stats !== undefined && !stats.isDirectory()) {
    return { info, obstacle: `${path} is no folder; remove it by hand` };
  }
  if (record?.kind === "worktree") {
    Object.assign(info, { branch: record.branch, repository: record.repository });
    try {
      return await inspectWorktree(info, record);
    } catch (error) {
      // One that git cannot read must not hide the others. It counts as unsaved.
      info.dirty = !info.missing;
      return { info, obstacle: (error as Error).message.replace(/\.$/, "") };
    }
  }
  info.dirty = !info.missing && readdirSync(path).length > 0;
  return { info };
}

async function inspectWorktree(info: WorkspaceInfo, record: WorktreeRecord): Promise<Inspection> {
  const repository = await findRepository(record.repository);
  const made = await ifMade(repository, record);
  const tip = made && (await commitOf(repository, `refs/heads/${record.branch}`));
  info.ahead = tip === null ? 0 : await countAhead(repository, record.branch);
  if (tip !== null) {
    info.head = tip;
    info.commits = await countSince(repository, record.base, tip);
    info.merged = info.ahead === 0 && info.commits !== 0;
  }
  const admin = adminOf(repository, info.path);
  const place = admin === null || info.missing ? null : placeOf(admin, info.path);
  const worktree = { record, repository, tip, place };
  if (info.missing) return { info, worktree };
  if (admin === null || place === null) {
    const repair = `git -C ${quoted(repository.path)} worktree repair ${quoted(info.path)}`;
    return { info, worktree, obstacle: `its repository does not know it any more; try: ${repair}` };
  }
  const { nested, isDirty } = await lookInto(place);
  info.dirty = isDirty;
  const obstacle = isLocked(admin)
    ? "it is locked (git worktree lock)"
    : await obstacleIn(place, info.path, nested);
  return { info, worktree, obstacle: obstacle ?? undefined };
}

/** What is in a worktree now; null when the task has none, or its folder is gone. */
export async function worktreeContent(root: string, id: string): Promise<WorktreeContent | null> {
  const record = readRecord(root, id);
  const path = workspacePath(root, id);
  if (record?.kind !== "worktree") return null;
  const repository = await findRepository(record.repository);
  const commit = await commitOf(repository, `refs/heads/${record.branch}`);
  const admin = existsSync(path) ? adminOf(repository, path) : null;
  const isDirty = admin !== null && (await lookInto(placeOf(admin, path))).isDirty;
  return { commit, isDirty };
}

async function lookInto(place: GitPlace): Promise<{ nested: string[]; isDirty: boolean }> {
  const { paths, nested } = await changesIn(place);
  const { status } = await askGit(["diff-index", "--cached", "--quiet", "HEAD", "--"], place);
  return { nested, isDirty: paths.length > 0 || nested.length > 0 || status !== 0 };
}

/** Another task's branch may begin with these commits, and a push to a forge merges nothing. */
export const NOT_OF_TASKS = [
  ...["--not", "--exclude=viv/*", "--branches"],
  ...["--exclude=*/viv/*", "--remotes"],
];

export async function countAhead(
  repository: Repository,
  branch: string,
  which: readonly string[] = [],
): Promise<number> {
  const count = ["rev-list", "--count", ...which, `refs/heads/${branch}`, ...NOT_OF_TASKS];
  return Number(await git(count, { cwd: repository.path }));
}

/** Null when the base is gone: a rewritten repository. */
async function countSince({ path }: Repository, base: string, tip: string): Promise<number | null> {
  const count = ["rev-list", "--count", tip, "--not", base];
  const { status, stdout } = await askGit(count, { cwd: path });
  return status === 0 ? Number(stdout.toString()) : null;
}

async function obstacleIn(
  place: GitPlace,
  path: string,
  nested: readonly string[],
): Promise<string | null> {
  const modules = (await submodulesIn(place)).filter((name) =>
    existsSync(join(path, name, ".git")),
  );
  const [inner] = [...nested, ...modules];
  if (inner !== undefined) {
    return `there is a repository of its own in ${join(path, inner)}; move it away or remove it`;
  }
  const loose = ["rev-list", "--count", "HEAD", "--not", "--branches", "--remotes"];
  const { status, stdout } = await askGit(loose, place);
  const count = status === 0 ? Number(stdout.toString()) : 0;
  if (count === 0) return null;
  const rescue = `git -C ${quoted(path)} branch NAME`;
  return `it has ${counted(count, "commit")} on no branch; keep with: ${rescue}`;
}

/** Every workspace, also one whose folder, record or repository is gone, by id. */
export async function listWorkspaces(root: string): Promise<WorkspaceInfo[]> {
  const folder = resolve(root);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const ids = names.map((name) => (name.startsWith(".") ? idOfRecord(name) : name));
  const found: WorkspaceInfo[] = [];
  for (const id of [...new Set(ids)].filter((each) => each !== null).sort()) {
    try {
      const inspection = await inspect(folder, id);
      if (inspection !== null) found.push(inspection.info);
    } catch {
      // Its record cannot be read. It is listed all the same; its removal reports the error.
      const path = join(folder, id);
      const unknown = { dirty: true, ahead: 0, commits: 0, merged: false, bytes: 0 };
      found.push({ id, kind: "dir", path, ...unknown, missing: !existsSync(path) });
    }
  }
  return found;
}
