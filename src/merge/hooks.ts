import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ifThere } from "../base/errno.ts";
import { listed } from "../base/text.ts";
import { mkdirSync } from "../platform/files/beneath.ts";
import { appendLine } from "../platform/files/state-files.ts";
import { askGit } from "../platform/git/git.ts";
import { isProgram } from "../platform/processes/programs.ts";
import type { Repository } from "../work/workspaces/worktree.ts";

/** Those that `git merge` and `git commit` would run. */
const HOOKS = [
  ...["pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg"],
  ...["post-commit", "post-merge", "pre-rebase"],
];
/** Said once for each repository of a run: its hooks are not run by the queue. Null: said, or none. */
export async function hooksNotice(run: string, repository: Repository): Promise<string | null> {
  const hooks = await hooksOf(repository, HOOKS);
  if (hooks.length === 0) return null;
  mkdirSync(join(run, "merge"), { recursive: true, mode: 0o700 });
  const told = join(run, "merge/.hooks-told");
  const line = JSON.stringify(repository.gitDir);
  const before = ifThere(() => readFileSync(told, "utf8")) ?? "";
  if (before.split("\n").includes(line)) return null;
  appendLine(told, `${line}\n`);
  return `the ${listed("hook", hooks)} of ${repository.path} are not run by the merge queue; put their checks into prove in [merge]`;
}

/** Whether a hook decides which branches may move: no proof can stand in for it. */
export async function hasGuard(repository: Repository): Promise<boolean> {
  return (await hooksOf(repository, ["reference-transaction"])).length > 0;
}

async function hooksOf({ path, gitDir }: Repository, wanted: readonly string[]): Promise<string[]> {
  const { stdout } = await askGit(["config", "--get-all", "core.hooksPath"], { cwd: path });
  // The last one is our own: with it git runs none.
  const set = stdout.toString().trim().split("\n").slice(0, -1).at(-1);
  const folder = set === undefined ? join(gitDir, "hooks") : resolve(path, set);
  const names = ifThere(() => readdirSync(folder)) ?? [];
  return wanted.filter((name) => names.includes(name) && isProgram(join(folder, name)));
}
