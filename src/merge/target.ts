import { VivError } from "../base/errors.ts";
import { quoted } from "../base/text.ts";
import { askGit, git } from "../platform/git/git.ts";
import { isBranchName } from "../platform/git/ref-name.ts";
import type { Store } from "../queue/store.ts";
import { taskOfBranch } from "../work/workspaces/record.ts";
import { commitOf, type Repository } from "../work/workspaces/worktree.ts";
import { branchOfTask } from "./candidates.ts";
import { branchIn } from "./config.ts";
import { ownTarget, takeName } from "./own-target.ts";

/** A branch that work goes into, and the commit that it ends at. */
export interface Target {
  branch: string;
  ref: string;
  tip: string;
}

export interface TargetRequest {
  repository: Repository;
  /** Null: the run's own, which is made from `base` when it is not there. */
  into: string | null;
  store: Store;
  base: string | undefined;
}

/** A target, and whether it is to be made, or to be known as the run's own, before it is used. */
export interface FoundTarget extends Target {
  exists: boolean;
  isFree: boolean;
}

/** The commit that a missing target of the run would begin at, or the refusal of a wrong one. */
export async function findTarget(request: TargetRequest): Promise<FoundTarget> {
  const { repository, into, store } = request;
  const { branch, isFree } =
    into === null
      ? await ownTarget(repository, store)
      : { branch: plainName(repository, into), isFree: false };
  const owner = taskOfBranch(branch);
  if (owner !== null && (branch.includes("@") || branchOfTask(store, owner)?.branch === branch)) {
    const why = `${branch} is the branch of the task ${owner}`;
    throw refused(repository, `${why}; name another one with --into, or with into in [merge].`);
  }
  const ref = `refs/heads/${branch}`;
  const other = await git(["for-each-ref", "--format=%(symref)", ref], { cwd: repository.path });
  if (other.startsWith("refs/heads/")) {
    const real = other.slice("refs/heads/".length);
    throw refused(repository, `${branch} is another name of ${real}; set into to ${real}.`);
  }
  const tip = await commitOf(repository, ref);
  if (tip !== null) return { branch, ref, tip, exists: true, isFree };
  if (into !== null) throw await missing(repository, branch);
  const base = await commitOf(repository, request.base ?? "HEAD");
  if (base === null) {
    const what = request.base ?? "HEAD";
    throw refused(repository, `${what} of ${repository.path} is no commit to begin ${branch} at.`);
  }
  return { branch, ref, tip: base, exists: false, isFree };
}

/** Under the lock of the queue. Its owner comes first: no other run takes it for a branch without one. */
export async function takeTarget(
  repository: Repository,
  { branch, ref, tip, exists, isFree }: FoundTarget,
  store: Pick<Store, "folder">,
): Promise<void> {
  const { path } = repository;
  if (isFree) await takeName(repository, branch, store);
  if (exists) return;
  try {
    await git(["update-ref", "-m", "viv: target of a run", ref, tip, ""], { cwd: path });
  } catch (error) {
    const question = ["show-ref", "--verify", "--quiet", "refs/heads/viv"];
    if ((await askGit(question, { cwd: path })).status !== 0) throw error;
    const rename = `git -C ${quoted(path)} branch -m viv other-name`;
    const message = `the repository ${path} has a branch called viv, so it cannot have ${ref.slice("refs/heads/".length)}; rename it with: ${rename}.`;
    throw new VivError("INVALID", message, { path }, { cause: error });
  }
}

function refused({ path }: Repository, message: string): VivError {
  return new VivError("INVALID", message, { path });
}

function plainName(repository: Repository, into: string): string {
  const name = branchIn(into);
  if (isBranchName(name)) return name;
  const why = name === "HEAD" ? "HEAD is no branch" : `${JSON.stringify(into)} cannot be a branch`;
  throw refused(repository, `${why}; name the branch that the work goes into, like main.`);
}

/** A branch is never made where a person named it: it may be a typing error. */
async function missing(repository: Repository, name: string): Promise<VivError> {
  const { path } = repository;
  const isThere = async (ref: string) => (await commitOf(repository, ref)) !== null;
  const make = `git -C ${quoted(path)} branch`;
  if (await isThere(`refs/tags/${name}`)) {
    return refused(repository, `${name} is a tag of ${path}, and work goes into a branch.`);
  }
  const local = name.slice(name.indexOf("/") + 1);
  if (await isThere(`refs/remotes/${name}`)) {
    const how = `make a local one with: ${make} ${quoted(local)} ${quoted(name)}`;
    return refused(repository, `${name} is a branch of a remote; ${how}, and set into to that.`);
  }
  const how = `make it with: ${make} ${quoted(name)}`;
  return refused(repository, `the repository ${path} has no branch ${name}; ${how}.`);
}
