import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { ifThere } from "../../base/errno.ts";
import { bytesIn, DiskUse, diskAt, noteBytes } from "./disk-use.ts";
import { evict, type KeptSetup, keptSetups } from "./setup-cache.ts";
import {
  type Failed,
  forgetSetupFailure,
  noteSetupFailure,
  readSetupFailure,
  type SetupFailure,
  setupFailures,
} from "./setup-failures.ts";
import { commitOf, findRepository } from "./worktree.ts";

/** What the workspaces of a run take of the disk, and how their set-ups go. */
export interface WorkspaceUse {
  /** Bytes, as far as they were measured; `free` and `size` of the disk, null when unknown. */
  space(limit?: number): { used: number; free: number | null; size: number | null };
  /** Notes how much a workspace takes now. */
  measure(id: string): Promise<void>;
  /** The same for those that no worker has measured. */
  measureMissing(): Promise<void>;
  setupFailed(failed: Failed, now: number): Promise<SetupFailure>;
  /** Also when a person asks to try again. */
  forgetFailure(type: string): void;
  failureOf(type: string): SetupFailure | null;
  failures(): SetupFailure[];
  /** The commit that new worktrees begin at; null when there is none. */
  baseOf(repository: string, base: string | undefined): Promise<string | null>;
  kept(): (KeptSetup & { used_at: string })[];
  /** Removes what set-ups made before; returns that. */
  removeKept(): Promise<KeptSetup[]>;
}

/** `root`: `workspaces/` of the run. */
export function workspaceUseIn(root: string): WorkspaceUse {
  const disk = new DiskUse(root);
  const measure = async (name: string) => noteBytes(root, name, await bytesIn(join(root, name)));
  return {
    space: (limit = Number.POSITIVE_INFINITY) => {
      const { free = null, size = null } = diskAt(root) ?? diskAt(dirname(root)) ?? {};
      const used = disk.total();
      return { used: used < limit ? used : disk.exact(), free, size };
    },
    measure,
    measureMissing: async () => {
      disk.shorten();
      const names = ifThere(() => readdirSync(root)) ?? [];
      for (const name of names) {
        if (!name.startsWith(".") && !disk.isKnown(name)) await measure(name);
      }
    },
    setupFailed: (failed, now) => noteSetupFailure(root, failed, now),
    forgetFailure: (type) => forgetSetupFailure(root, type),
    failureOf: (type) => readSetupFailure(root, type),
    failures: () => setupFailures(root),
    baseOf: async (repository, base) => {
      try {
        return await commitOf(await findRepository(repository), base ?? "HEAD");
      } catch {
        return null; // what is wrong with it, the next attempt says
      }
    },
    kept: () => keptSetups(root),
    removeKept: () => evict(root, -1),
  };
}
