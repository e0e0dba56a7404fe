import { existsSync } from "node:fs";
import { VivError } from "../base/errors.ts";
import { idWord } from "../base/names.ts";
import { quoted } from "../base/text.ts";
import { askGit, type GitPlace, gitNames, lastWord } from "../platform/git/git.ts";
import { mustShow } from "../queue/operation.ts";
import { wordOf } from "../queue/states.ts";
import type { Store } from "../queue/store.ts";
import { commitWorkspace, identity, mustBeOn, unfinishedIn } from "../work/workspaces/commit.ts";
import { unresolvedIn } from "../work/workspaces/onto.ts";
import {
  readRecord,
  type WorktreeRecord,
  workspacePath,
  writeRecord,
} from "../work/workspaces/record.ts";
import {
  adminOf,
  commitOf,
  findRepository,
  placeOf,
  type Repository,
} from "../work/workspaces/worktree.ts";
import { type Landing, type LandingState, readLanding, writeLanding } from "./landing.ts";
import { withQueueLock } from "./lock.ts";
import { UNMERGED } from "./merge-commit.ts";
import type { MergeContext } from "./session.ts";

/**
 * A person has resolved a task's work in its worktree: by hand, with a merge or a rebase of their own,
 * committed or not. What is there is committed on its branch, and the landing is queued again; a task
 * that has failed since it went back is done by that. Refused while something is unresolved; a refusal
 * changes nothing. Without a worktree, the branch counts.
 */
export async function continueLanding(
  store: Store,
  id: string,
  waiting: Pick<MergeContext, "onEvent" | "signal"> & { by?: string } = {
    signal: new AbortController().signal,
  },
): Promise<Landing> {
  const { repository: where } = await waitingLanding(store, id);
  const repository = await findRepository(where);
  // A queue may be at work on it, whose next word would be lost or would run over this one.
  const now = await withQueueLock(waiting, repository, () =>
    continueHere(store, id, repository, waiting.by),
  );
  if (now !== null) return now;
  throw new VivError("LOCKED", `another queue works on ${repository.path}; ${id} was left alone.`);
}

/** The landing of a task about which a person may have done something; otherwise refused. */
async function waitingLanding(store: Store, id: string): Promise<Landing> {
  const landing = readLanding(store.folder, id);
  const view = await mustShow(store, id);
  if (landing === null) {
    throw refused(id, `${id} has no landing to continue; queue it with: viv merge ${idWord(id)}.`);
  }
  const state = wordOf(view);
  if (state !== "done" && state !== "failed") {
    const next = { review: "decide first: viv approve", cancelled: "requeue it with: viv retry" };
    const how = next[state as keyof typeof next] ?? "see: viv why";
    throw refused(id, `${id} was sent back and is ${state}; ${how} ${idWord(id)}.`);
  }
  if (!WAITS.includes(landing.state)) throw refused(id, notWaiting(landing));
  return landing;
}

/** Under the lock. Killed after the task is done, its landing is queued by the next pass. */
async function continueHere(
  store: Store,
  id: string,
  repository: Repository,
  by: string | undefined,
): Promise<Landing> {
  const landing = await waitingLanding(store, id);
  const found = readRecord(store.workspaces, id);
  const record = found?.kind === "worktree" ? found : null;
  const path = workspacePath(store.workspaces, id);
  if (record !== null && existsSync(path)) await commitResolved(repository, record, path, landing);
  const { branch } = record ?? landing;
  const head = await commitOf(repository, `refs/heads/${branch}`);
  if (head === null) {
    throw refused(id, `the branch ${branch} is gone; bring it back, then try again.`);
  }
  const base = await baseOf(repository, landing, head);
  const isFailed = (await store.show(id))?.state === "failed";
  if (isFailed) await store.resolve(id, { by, note: "resolved in its worktree" });
  if (record !== null) {
    const { onto: _, conflicts: __, ...kept } = record;
    writeRecord(store.workspaces, id, { ...kept, base });
  }
  const { task, target, strategy, reworks } = landing;
  const now: Landing = {
    ...{ task, state: "queued", at: new Date().toISOString(), repository: landing.repository },
    ...{ branch, base, head, target, strategy, reworks },
  };
  writeLanding(store.folder, now);
  return now;
}

/** The states in which a person may have done something about it. */
const WAITS: readonly LandingState[] = [
  ...(["queued", "conflict", "red", "reworked", "needs_you"] as const),
  ...(["held", "no_changes", "closed"] as const),
];

function notWaiting({ task, state, to, target }: Landing): string {
  if (state === "landed") return `${task} has landed in ${target} (${to?.slice(0, 10)}) already.`;
  if (state === "pull_request") return `${task} has an open pull request; read it with: viv sync.`;
  return `the queue works on ${task} now (${state}); wait for it.`;
}

function refused(id: string, message: string): VivError {
  return new VivError("WRONG_STATE", message, { id });
}

async function commitResolved(
  repository: Repository,
  record: WorktreeRecord,
  path: string,
  landing: Landing,
): Promise<void> {
  const { task: id } = landing;
  const admin = adminOf(repository, path);
  if (admin === null) {
    const repair = `git -C ${quoted(repository.path)} worktree repair ${quoted(path)}`;
    throw refused(id, `${path} is no worktree of ${repository.path} any more; try: ${repair}.`);
  }
  const place = placeOf(admin, path);
  const unfinished = unfinishedIn(admin);
  const unmerged = await gitNames(UNMERGED, place);
  if (unmerged.length > 0) {
    const add = `git -C ${quoted(path)} add FILE`;
    throw refused(id, `not resolved in ${path}: ${unmerged.join(", ")}; edit, then ${add}.`);
  }
  const suspects = new Set([...(landing.files ?? []), ...(record.conflicts ?? [])]);
  const left = await unresolvedIn(path, [...suspects]);
  if (left.length > 0) {
    throw refused(id, `conflicts are left in ${left.join(", ")} (in ${path}); edit them.`);
  }
  if (unfinished === "merge") {
    await mustBeOn(record.branch, place);
    await endMerge(place);
  } else if (unfinished !== null) {
    const go = `git -C ${quoted(path)} ${unfinished} --continue`;
    throw refused(id, `a ${unfinished} is unfinished in ${path}; end it with: ${go}.`);
  }
  await commitWorkspace(path, `${id}: resolved by hand`);
}

/** Both sides stay parents of the commit; the person's own message, if one is there, is kept. */
async function endMerge(place: GitPlace): Promise<void> {
  const args = ["commit", "--quiet", "--no-verify", "--no-edit", "--all"];
  const { status, stderr } = await askGit(args, { ...place, env: await identity(place) });
  if (status === 0) return;
  throw new VivError("INVALID", `the merge cannot be committed: ${lastWord(stderr)}.`, { stderr });
}

/** After a merge or a rebase by hand, the branch begins where the target is. */
async function baseOf(repository: Repository, landing: Landing, head: string): Promise<string> {
  const question = ["merge-base", `refs/heads/${landing.target}`, head];
  const { status, stdout } = await askGit(question, { cwd: repository.path });
  return status === 0 ? stdout.toString().trim() : landing.base;
}
