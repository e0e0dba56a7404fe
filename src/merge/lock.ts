import { join } from "node:path";
import { isVivError } from "../base/errors.ts";
import { tryFileLock, withFileLock } from "../platform/files/file-lock.ts";
import type { Repository } from "../work/workspaces/worktree.ts";
import type { MergeContext } from "./session.ts";

/**
 * The lock of a repository's queue, over all runs and processes; it goes with its process. Null: told
 * to stop while another had it.
 */
export async function withQueueLock<T>(
  { onEvent, signal }: Pick<MergeContext, "onEvent" | "signal">,
  repository: Repository,
  act: () => Promise<T>,
): Promise<T | null> {
  const path = join(repository.gitDir, "viv-merge.lock");
  const lock = await tryFileLock(path);
  if (lock !== null) {
    try {
      return await act();
    } finally {
      lock.release();
    }
  }
  onEvent?.({ kind: "waits", repository: repository.path });
  try {
    return await withFileLock(path, act, { waitMs: A_LONG_TIME_MS, signal });
  } catch (error) {
    if (!signal.aborted || !isVivError(error, "LOCKED")) throw error;
    return null;
  }
}

/** Another queue's proofs take as long as they take. */
const A_LONG_TIME_MS = 24 * 3_600_000;
