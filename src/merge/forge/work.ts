import { VivError } from "../../base/errors.ts";
import { idWord } from "../../base/names.ts";
import { git } from "../../platform/git/git.ts";
import { mustShow } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { commitOf, findRepository } from "../../work/workspaces/worktree.ts";
import { branchOfTask } from "../candidates.ts";
import type { Landing } from "../landing.ts";

/** A done task's branch, as it is now. */
export interface DoneWork {
  id: string;
  task: Task;
  repository: string;
  branch: string;
  /** The commits that it began at and ends at. */
  from: string;
  to: string;
  commits: number;
  before: Landing | null;
}

/** Refuses a task that is not done, or has no branch. */
export async function doneWork(store: Store, id: string): Promise<DoneWork> {
  const view = await mustShow(store, id);
  if (view.state !== "done" || view.task === null) {
    const message = `${id} is ${view.state}; only a done task has a result. See: viv why ${idWord(id)}`;
    throw new VivError("WRONG_STATE", message, { id, state: view.state });
  }
  const known = branchOfTask(store, id);
  if (known === null) throw noBranch(id);
  const repository = await findRepository(known.repository);
  const to = await commitOf(repository, `refs/heads/${known.branch}`);
  if (to === null) throw noBranch(id, `its branch ${known.branch} is gone`);
  const { path } = repository;
  const count = await git(["rev-list", "--count", to, "--not", known.base], { cwd: path });
  const { branch, base: from, landing: before } = known;
  const commits = Number(count);
  return { id, task: view.task, repository: path, branch, from, to, commits, before };
}

function noBranch(id: string, why = `it has no branch; set workspace = "worktree" on its route`) {
  return new VivError("WRONG_STATE", `${id} has nothing to push: ${why}.`, { id });
}
