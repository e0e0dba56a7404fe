import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { mkdirSync, removeSync, renameSync } from "../../platform/files/beneath.ts";
import { git } from "../../platform/git/git.ts";
import { archiveFolder, archiveWorktree } from "./archive.ts";
import { noteBytes } from "./disk-use.ts";
import { countAhead, type Inspection, inspect, type Worktree } from "./inspect.ts";
import { type RemovedWorkspace, recordPath, type WorkspaceInfo } from "./record.ts";
import { adminOf, forget } from "./worktree.ts";

export interface RemovalOptions {
  isOnlySpent?: boolean;
  isForLater?: boolean;
}

/**
 * Removes a workspace that is not in use any more. Unsaved work is first written to `archiveTo` (or,
 * if there is such a file already, beside it) and read back. When that fails, nothing is removed.
 * `landed`: the commit of its branch that has landed, perhaps by a squash or a rebase. `isOnlySpent`:
 * not if it has work by now that has not landed. `isForLater`: if its branch stays, so does the record.
 */
export async function removeWorkspace(
  root: string,
  id: string,
  archiveTo: string,
  landed?: string,
  { isOnlySpent = false, isForLater = false }: RemovalOptions = {},
): Promise<RemovedWorkspace> {
  const folder = resolve(root);
  const kept = (reason: string): RemovedWorkspace => ({ id, removed: false, reason });
  let found: Inspection | null;
  let archived: string | null = null;
  try {
    found = await inspect(folder, id);
    if (found === null) return kept("there is no such workspace");
    if (found.obstacle !== undefined) return kept(found.obstacle);
    const { info, worktree } = found;
    if (isOnlySpent && hasWork(info, landed)) return kept("it has changed just now");
    if (worktree?.place && hasUnsaved(info, worktree, landed)) {
      archived = await archiveWorktree(folder, worktree.place, worktree.record.base, archiveTo);
    } else if (hasUnsaved(info, worktree, landed))
      archived = await archiveFolder(folder, info.path, archiveTo);
  } catch (error) {
    return kept(`its content could not be saved: ${(error as Error).message}`);
  }
  const { info, worktree } = found;
  const trash = join(folder, ".trash", id);
  const result: RemovedWorkspace = { id, removed: true, archived: archived ?? undefined };
  try {
    await rm(trash, { recursive: true, force: true }); // left by one that was killed
    // In one step: after a kill while deleting, no half of it looks like a workspace.
    if (!info.missing) {
      mkdirSync(dirname(trash), { recursive: true, mode: 0o700 });
      renameSync(info.path, trash);
    }
    if (worktree !== undefined) Object.assign(result, await release(worktree, info.path, landed));
    // A restored run finds its branch by the record, and makes the worktree anew where it needs it.
    if (!isForLater || result.branch_kept === undefined) removeSync(recordPath(folder, id));
    noteBytes(folder, id, 0);
  } catch (error) {
    return { ...result, removed: false, reason: (error as Error).message };
  }
  try {
    await rm(trash, { recursive: true, force: true }); // links are removed, not followed
  } catch (error) {
    result.reason = `${trash} is left, and can be removed by hand (${(error as Error).message})`;
  }
  return result;
}

function hasUnsaved(
  { missing, dirty, ahead }: WorkspaceInfo,
  worktree: Worktree | undefined,
  landed: string | undefined,
): boolean {
  if (missing || dirty || worktree === undefined) return !missing && dirty;
  const { tip } = worktree;
  return tip === null || (ahead > 0 && tip !== landed);
}

function hasWork(info: WorkspaceInfo, landed: string | undefined): boolean {
  if (info.missing) return false;
  return info.dirty || (info.ahead > 0 && info.commits !== 0 && info.head !== landed);
}

/** Takes the worktree off its repository, and the branch too if no commit is lost by that. */
async function release(
  worktree: Worktree,
  path: string,
  landed: string | undefined,
): Promise<{ branch_kept?: string }> {
  const { repository, record, tip } = worktree;
  const { branch } = record;
  const cwd = repository.path;
  if (adminOf(repository, path) !== null) await forget(repository, path);
  if (tip === null) return {};
  const ref = `refs/heads/${branch}`;
  const elsewhere = await git(["for-each-ref", "--format=%(worktreepath)", ref], { cwd });
  // Its work has landed, or it has none beyond the merges that it began with (see begin.ts).
  const isUnused = async () => (await countAhead(repository, branch, ["--no-merges"])) === 0;
  const isSpent = tip === landed || (tip === record.base && (await isUnused()));
  if (elsewhere !== "" || (!isSpent && (await countAhead(repository, branch)) > 0)) {
    return { branch_kept: branch };
  }
  await git(["update-ref", "-d", ref, tip], { cwd }); // not if it has moved meanwhile
  if (isSpent) return {};
  // Two branches with the same commits may each have been removed because of the other.
  const loose = ["rev-list", "--count", tip, "--not", "--branches", "--remotes"];
  if ((await git(loose, { cwd })) === "0") return {};
  await git(["update-ref", ref, tip], { cwd });
  return { branch_kept: branch };
}
