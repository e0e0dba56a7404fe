import { git, isAncestor } from "../../platform/git/git.ts";
import { mergeTrees } from "../../platform/git/merge-tree.ts";
import { identity } from "./commit.ts";
import type { WorktreeRecord } from "./record.ts";
import { commitOf, type Repository } from "./worktree.ts";

/** Where a task's branch begins: so that a task sees the work that it depends on. */
export interface Begin {
  /** A branch of that repository; its tip, if it exists, is taken instead of the route's base. */
  target?(repository: Repository): Promise<string>;
  /** Dependencies that are done and not in the target yet. */
  dependencies: readonly { task: string; branch: string; repository: string }[];
}

/**
 * `start` with the branches of the dependencies merged in. One that conflicts is left out, and noted.
 * Nothing points to the commits that are made here until the branch does.
 */
export async function beginAt(
  repository: Repository,
  id: string,
  start: string,
  begin: Begin | undefined,
): Promise<Pick<WorktreeRecord, "base" | "without">> {
  const place = { cwd: repository.path };
  const without: NonNullable<WorktreeRecord["without"]> = [];
  let base = start;
  for (const { task, branch, repository: of } of begin?.dependencies ?? []) {
    if (of !== repository.path) continue;
    const tip = await commitOf(repository, `refs/heads/${branch}`);
    if (tip === null || (await isAncestor(tip, base, place))) continue;
    const merged = await mergeTrees(place, base, tip);
    if (merged === null || merged.files.length > 0) {
      const files = merged?.files ?? ["all files, because git is older than 2.38"];
      without.push({ task, branch, files });
      continue;
    }
    const stdin = `viv: ${id} begins with the work of ${task}\n`;
    const parents = ["-p", base, "-p", tip];
    const env = await identity(place);
    base = await git(["commit-tree", merged.tree, ...parents, "-F", "-"], { ...place, env, stdin });
  }
  return without.length > 0 ? { base, without } : { base };
}
