import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ifThere, unlessTaken } from "../base/errno.ts";
import { VivError } from "../base/errors.ts";
import { createFileSynced } from "../platform/files/atomic-write.ts";
import { mkdirSync } from "../platform/files/beneath.ts";
import { askGit, git } from "../platform/git/git.ts";
import type { Store } from "../queue/store.ts";
import { nthName, refPart } from "../work/workspaces/record.ts";
import type { Repository } from "../work/workspaces/worktree.ts";

/**
 * The branch that the queue makes for a run, where `into` names no other: `viv/<run>`. Runs in
 * different folders may have one name, so the repository's config says whose it is: the setting
 * `branch.<branch>.viv-run` is the text in `merge/run-id` of the run, which moves with it. `git branch
 * -D` removes the setting with the branch. The next run of that name has `viv/<run>-2`.
 *
 * `isFree`: nobody owns it yet. That is so of a branch that a person made, too, if it has the name of
 * the run itself.
 */
export async function ownTarget(
  repository: Repository,
  { runId, folder }: Pick<Store, "runId" | "folder">,
): Promise<{ branch: string; isFree: boolean }> {
  const first = `viv/${refPart(runId)}`;
  const [branches, owners] = await Promise.all([
    branchesLike(repository, first),
    ownersOf(repository, first),
  ]);
  const own = readRunId(folder);
  const ours = [...owners].find(([branch, run]) => run === own && branches.has(branch));
  if (ours !== undefined) return { branch: ours[0], isFree: false };
  for (let number = 1; ; number++) {
    const branch = nthName(first, number);
    const isTaken = branches.has(branch) && (number > 1 || owners.has(branch));
    if (!isTaken) return { branch, isFree: true };
  }
}

/** From now on it is the run's. */
export async function takeName(
  { path }: Repository,
  branch: string,
  { folder }: Pick<Store, "folder">,
): Promise<void> {
  const own = readRunId(folder) ?? makeRunId(folder);
  await git(["config", "--replace-all", `branch.${branch}.${KEY}`, own], { cwd: path });
}

const KEY = "viv-run";
const fileOf = (folder: string) => join(folder, "merge/run-id");

function readRunId(folder: string): string | null {
  return ifThere(() => readFileSync(fileOf(folder), "utf8"))?.trim() || null;
}

/** Another process of this run, at another repository, may do the same. */
function makeRunId(folder: string): string {
  const path = fileOf(folder);
  mkdirSync(join(folder, "merge"), { recursive: true, mode: 0o700 });
  unlessTaken(() => createFileSynced(path, `${randomUUID()}\n`));
  const made = readRunId(folder);
  if (made === null) throw new VivError("CORRUPT", `${path} is empty; remove it.`, { path });
  return made;
}

async function branchesLike({ path }: Repository, first: string): Promise<Set<string>> {
  const refs = [`refs/heads/${first}`, `refs/heads/${first}-*`];
  const list = await git(["for-each-ref", "--format=%(refname:lstrip=2)", ...refs], { cwd: path });
  return new Set(list.split("\n"));
}

/** Of such a branch, the run that it is the target of. */
async function ownersOf({ path }: Repository, first: string): Promise<Map<string, string>> {
  const name = first.replace(/[.]/g, "[.]");
  const like = `^branch[.]${name}(-[0-9]+)?[.]${KEY}$`;
  const { status, stdout } = await askGit(["config", "--null", "--get-regexp", like], {
    cwd: path,
  });
  const entries = status === 0 ? stdout.toString().split("\0").filter(Boolean) : [];
  return new Map(
    entries.map((entry) => {
      const at = entry.indexOf("\n");
      return [entry.slice("branch.".length, at - KEY.length - 1), entry.slice(at + 1)] as const;
    }),
  );
}
