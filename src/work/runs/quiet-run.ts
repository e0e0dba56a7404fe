import { VivError } from "../../base/errors.ts";
import { counted } from "../../base/text.ts";
import type { Store, WorkerView } from "../../queue/store.ts";
import type { WorkerHost } from "../host.ts";
import type { WorkspaceInfo } from "../workspaces/record.ts";

/** What archiving and removing a run have in common: nothing may be at work in it. */

export function liveWorkers(workers: readonly WorkerView[]): WorkerView[] {
  return workers.filter(
    ({ alive, process, claims }) => alive && (process === "alive" || claims.length > 0),
  );
}

export async function assertNoWorkers(store: Store, verb: string): Promise<void> {
  const live = liveWorkers(await store.workers());
  if (live.length === 0) return;
  const names = live.map(({ name }) => name).join(", ");
  const they = live.length === 1 ? "a live worker" : "live workers";
  const message = `${store.location} has ${they} (${names}); stop ${live.length === 1 ? "it" : "them"} before you ${verb} it.`;
  throw new VivError("LOCKED", message, { workers: live.map(({ name }) => name) });
}

/**
 * Holds the run still for `act`: paused, so that no claim can begin after the check. If `act` throws,
 * a pause of ours ends again.
 */
export async function withQuietRun<T>(
  store: Store,
  verb: string,
  by: string | undefined,
  act: () => Promise<T>,
): Promise<T> {
  const wasPaused = await store.paused();
  if (wasPaused === null) await store.pause({ by, note: `to ${verb} it` });
  try {
    await assertNoWorkers(store, verb);
    const { claimed } = await store.counts();
    if (claimed > 0) {
      const message = `${counted(claimed, "task")} of ${store.location} ${claimed === 1 ? "is" : "are"} claimed; end or release ${claimed === 1 ? "it" : "them"}, or give claims of dead workers back with: viv reap`;
      throw new VivError("LOCKED", message);
    }
    return await act();
  } catch (error) {
    if (wasPaused === null) await store.resume({ by });
    throw error;
  }
}

export function worktreesOf(all: readonly WorkspaceInfo[]): WorkspaceInfo[] {
  return all.filter(({ kind }) => kind === "worktree");
}

/**
 * Takes the git worktrees off their repositories: unsaved work goes to a patch in artifacts/, branches
 * with commits of their own stay. Returns those branches. What set-ups made is made again, and may have
 * a copied secret in it: it goes, too.
 */
export async function removeWorktrees(host: WorkerHost, verb: string): Promise<string[]> {
  const kept: string[] = [];
  for (const { id } of worktreesOf(await host.listWorkspaces())) {
    const { removed, reason, branch_kept } = await host.removeWorkspace(id, undefined, {
      isForLater: verb === "archive",
    });
    if (!removed) {
      const message = `the worktree of ${id} is in the way: ${reason}; then ${verb} the run again.`;
      throw new VivError("LOCKED", message, { id });
    }
    if (branch_kept !== undefined) kept.push(branch_kept);
  }
  await (await host.workspaceUse()).removeKept();
  return kept;
}
