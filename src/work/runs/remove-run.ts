import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { syncFolder } from "../../platform/files/atomic-write.ts";
import { isThere, removeTree } from "../../platform/files/remove-tree.ts";
import { assertNoMounts, type RunPlace } from "./run-place.ts";

/**
 * Removing a run: one rename to `.NAME.removing`, then the rest. A crash after the rename leaves that
 * folder, and the next call removes it. Links are removed, never followed.
 */
export function removeRun({ path, parent, removing }: RunPlace): void {
  assertNoMounts(path);
  removeTree(removing);
  renameSync(path, removing);
  syncFolder(parent);
  removeTree(removing);
  syncFolder(parent);
}

/** Finishes a removal that was cut short. */
export function finishRemoval({ path, parent, removing }: RunPlace): boolean {
  if (!isThere(removing) || isThere(path)) return false;
  assertNoMounts(removing);
  removeTree(removing);
  syncFolder(parent);
  return true;
}

/** The names that a run, or a pit, has at its top. */
const OF_A_RUN = new Set([
  ...["waiting", "pending", "claimed", "review", "done", "failed", "artifacts", "workspaces"],
  ...["ledger", "quarantine", ".viv", "status.json", ".status.lock", "paused.json", "merge"],
  ...["outbox", "food", "resting", "scraps", "waste", "record", "README.md"],
]);

/** Before it is opened, which makes what a run lacks: other things are kept in `pending/` and `done/`, too. */
export function assertRun(path: string): void {
  const has = (name: string) => isThere(join(path, name));
  if (has(".viv") || has("status.json")) return;
  if (!has("pending") && !has("food")) return; // opening it says what is missing
  const isByHand = ["food", "claimed", "done"].every(has);
  if (isByHand || ["pending", "claimed", "done", "failed"].every(has)) return; // swarm-lib's
  const message = `${path} has neither .viv/ nor status.json, and not all folders of a run; remove it with rm if it is one. Nothing was changed.`;
  throw new VivError("RUN_INVALID", message, { path });
}

/** A folder that also holds other things, or in which others are mounted, is more than a run: those would be lost with it. */
export function assertOnlyRun(path: string): void {
  assertNoMounts(path);
  const others = readdirSync(path).filter((name) => !OF_A_RUN.has(name));
  if (others.length === 0) return;
  const shown = others.slice(0, 5).join(", ");
  const more = others.length > 5 ? ` and ${others.length - 5} more` : "";
  const message = `${path} holds more than a run: ${shown}${more}; move ${others.length === 1 ? "that" : "those"} away first, nothing was removed.`;
  throw new VivError("RUN_INVALID", message, { others });
}
