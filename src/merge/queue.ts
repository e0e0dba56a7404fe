import type { Repository } from "../work/workspaces/worktree.ts";
import {
  branchesOf,
  type Candidate,
  candidatesAmong,
  headsOf,
  repositoriesOf,
} from "./candidates.ts";
import type { MergeSettings } from "./config.ts";
import { hooksNotice } from "./hooks.ts";
import type { Landing } from "./landing.ts";
import { withQueueLock } from "./lock.ts";
import { inOrder } from "./order.ts";
import { endLeftProof } from "./prove-merge.ts";
import { recover } from "./recover.ts";
import { scratchPath } from "./scratch.ts";
import { type MergeContext, Session } from "./session.ts";
import { findTarget, takeTarget } from "./target.ts";
import { tryGroup } from "./try-group.ts";

/**
 * One pass of the merge queue: every done task (or each of `wanted`) whose branch has not landed, in
 * order. A repository has one queue at a time over all runs and processes: the holder of a lock in
 * its git directory, which goes with its process. Others wait for it.
 */
export async function mergeOnce(
  context: MergeContext,
  wanted: readonly string[] | null,
): Promise<void> {
  const { found, gone } = await repositoriesOf(branchesOf(context.store, wanted));
  for (const error of gone.values()) context.onEvent?.({ kind: "trouble", error });
  for (const { repository, paths } of found) {
    if (context.signal.aborted) return;
    await withQueueLock(context, repository, () => mergeHere(context, repository, paths, wanted));
  }
}

/** Under the lock: only now what is read stays true. */
async function mergeHere(
  context: MergeContext,
  repository: Repository,
  paths: ReadonlySet<string>,
  wanted: readonly string[] | null,
): Promise<void> {
  const { store, settings } = context;
  const branches = branchesOf(store, wanted).filter((one) => paths.has(one.repository));
  const heads = await headsOf(repository, branches);
  const all = inOrder(await candidatesAmong(store, branches, heads));
  const toForge = all.filter((one) => goesToForge(settings, one)).map(({ id }) => id);
  const tell = (landing: Landing) => context.onEvent?.({ kind: "landing", landing });
  if (toForge.length > 0) await context.openPullRequests?.(toForge, tell);
  const candidates = all.filter((one) => !goesToForge(settings, one));
  if (candidates.length === 0) return;
  await endLeftProof(context, scratchPath(store.folder, repository));
  const target = await findTarget(targetRequest(context, repository, candidates));
  await takeTarget(repository, target, store);
  const notice = await hooksNotice(store.folder, repository, settings.prove !== undefined);
  if (notice !== null) context.onEvent?.({ kind: "notice", message: notice });
  const session = await Session.open(context, repository, target);
  const left = await recover(session, candidates);
  while (left.length > 0 && !session.isStopped) {
    await tryGroup(session, left.splice(0, settings.batch));
    if (left.length === 0) left.push(...session.freed());
  }
}

/** Also without `via`: one that has a pull request is merged there. */
export function goesToForge(
  { via }: Pick<MergeSettings, "via">,
  { landing }: Pick<Candidate, "landing">,
): boolean {
  return via === "pr" || landing?.pull_request !== undefined;
}

export function targetRequest(
  { store, settings, routeFor }: Pick<MergeContext, "store" | "settings" | "routeFor">,
  repository: Repository,
  candidates: readonly Candidate[],
) {
  const into = settings.into ?? null;
  const base = routeFor(candidates[0]?.type ?? "")?.base;
  return { repository, into, store, base };
}
