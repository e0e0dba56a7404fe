import { randomUUID } from "node:crypto";
import { quoted } from "../../base/text.ts";
import { askGit, git } from "../../platform/git/git.ts";
import {
  branchOf,
  invalid,
  readRecord,
  taskOfBranch,
  type WorkspaceRecord,
  type WorktreeRecord,
  workspacePath,
  writeRecord,
} from "./record.ts";
import { commitOf, placeOf, type Repository } from "./worktree.ts";

/**
 * A branch is a task's because its record says so, never because of its name: another run, with the
 * same name and the same task, may have made it. So a new one is made in these steps:
 *   1. the record names a branch that is free, with a mark that nothing else has (`making`)
 *   2. the branch is made, which fails if it is there by now, with that mark in its reflog
 *   3. the caller writes the record without the mark
 * After a kill, a record with a mark owns its branch if that has the same mark; else it begins anew.
 */
export async function makeOwnBranch(
  { root, id, run, repository }: { root: string; id: string; run: string; repository: Repository },
  before: WorkspaceRecord | null,
  begin: Pick<WorktreeRecord, "base" | "without">,
): Promise<WorktreeRecord> {
  const created_at = new Date().toISOString();
  let last = before;
  for (let number = 1; ; number++) {
    const branch = branchOf(id, run, number);
    if (await exists(repository, branch)) continue;
    const made = { kind: "worktree" as const, repository: repository.path, branch, created_at };
    const record = { ...made, ...begin };
    const making = { ...record, making: randomUUID() };
    // A process that slept through all of this must not write over what the next one has made.
    if (!isSame(readRecord(root, id), last)) {
      const path = workspacePath(root, id);
      throw invalid(path, `${path} was made by another process meanwhile; try again.`);
    }
    writeRecord(root, id, making);
    last = making;
    if (await make(repository, making)) return record;
  }
}

/** The record of a branch that was made; null for one whose maker was killed before that. */
export async function ifMade(
  { path }: Repository,
  record: WorktreeRecord,
): Promise<WorktreeRecord | null> {
  const { making, ...made } = record;
  if (making === undefined) return record;
  const log = ["reflog", "show", "--format=%gs", `refs/heads/${record.branch}`, "--"];
  const { status, stdout } = await askGit(log, { cwd: path });
  return status === 0 && stdout.toString().includes(making) ? made : null;
}

/** The branch that a worktree is on, if that can be the task's: of one whose record is gone. */
export async function branchIn(admin: string, path: string, id: string): Promise<string> {
  const { stdout } = await askGit(["symbolic-ref", "--quiet", "HEAD"], placeOf(admin, path));
  const branch = stdout
    .toString()
    .trim()
    .replace(/^refs\/heads\//, "");
  if (taskOfBranch(branch) === id) return branch;
  const on = branch === "" ? "a detached HEAD" : branch;
  throw invalid(path, `${path} is on ${on}, and no record tells its own branch; move it away.`);
}

export async function exists(repository: Repository, branch: string): Promise<boolean> {
  return (await commitOf(repository, `refs/heads/${branch}`)) !== null;
}

function isSame(a: WorkspaceRecord | null, b: WorkspaceRecord | null): boolean {
  const mark = (one: WorkspaceRecord | null) =>
    one && [one.created_at, one.kind === "worktree" && one.making];
  return JSON.stringify(mark(a)) === JSON.stringify(mark(b));
}

/** False when another has made it meanwhile. */
async function make(repository: Repository, record: WorktreeRecord): Promise<boolean> {
  const { path } = repository;
  const { branch, base, making } = record;
  const create = ["update-ref", "--create-reflog", "-m", `viv: ${making}`];
  try {
    await git([...create, `refs/heads/${branch}`, base, ""], { cwd: path });
    return true;
  } catch (error) {
    if (await exists(repository, branch)) return (await ifMade(repository, record)) !== null;
    if (!(await exists(repository, "viv"))) throw error;
    throw invalid(
      path,
      `the repository ${path} has a branch called viv, so it cannot have ${branch}; rename it with: git -C ${quoted(path)} branch -m viv other-name.`,
      error,
    );
  }
}
