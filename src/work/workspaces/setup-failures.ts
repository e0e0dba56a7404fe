import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { ifThere } from "../../base/errno.ts";
import { growingPause } from "../../base/growing-pause.ts";
import { replaceFileUnsynced } from "../../platform/files/atomic-write.ts";
import { mkdirSync, removeSync } from "../../platform/files/beneath.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import type { Route } from "../config-route.ts";
import { setupFolder } from "./setup-cache.ts";

/**
 * Set-ups that fail, by route: `workspaces/.setup/failures/<type>.json`. The third failure in a row
 * holds the route's tasks back, so that not each of the queue meets the same one. They are tried again
 * when the route or the commit at its base has changed, when a person asks for it, and by themselves
 * after a pause that grows: a registry that was out of reach may be back.
 */
export const setupFailure = z.object({
  /** Of `[handlers.TYPE]`. */
  type: z.string(),
  /** What the route looked like, and the commit that its worktrees begin at. */
  route: z.string(),
  commit: z.nullable(z.string()),
  /** In a row. */
  failures: z.number(),
  /** Nothing is claimed before; null after fewer than three. */
  until: z.nullable(z.string()),
  at: z.string(),
  task: z.string(),
  note: z.string(),
  log: z.string(),
});
export type SetupFailure = z.output<typeof setupFailure>;

export const HOLD_AT = 3;
const PAUSE_MS = { first: 5 * 60_000, longest: 60 * 60_000 };

export type Failed = Omit<SetupFailure, "failures" | "until" | "at">;

export function afterSetupFailure(
  before: SetupFailure | null,
  failed: Failed,
  now: number,
): SetupFailure {
  const isSame = before?.route === failed.route && before.commit === failed.commit;
  const at = new Date(now).toISOString();
  // One that began before the pause says nothing about what comes after it.
  if (isSame && before.until !== null && now < Date.parse(before.until)) return before;
  const failures = isSame ? before.failures + 1 : 1;
  const pause = growingPause(failures - HOLD_AT + 1, PAUSE_MS);
  const until = failures < HOLD_AT ? null : new Date(now + pause).toISOString();
  return { ...failed, failures, until, at };
}

/** Until when the route's tasks are held back; null when they are not. */
export function heldUntil(
  failure: SetupFailure | null,
  { route, commit, now }: { route: string; commit: string | null; now: number },
): number | null {
  if (failure === null || failure.until === null) return null;
  if (failure.route !== route || failure.commit !== commit) return null;
  const until = Date.parse(failure.until);
  return until > now ? until : null;
}

/** Another text for another set-up. */
export function routeMark(route: Omit<Route, "env">): string {
  const { setup, setupKey, setupTimeoutMs, copy, link, workspace, repository, base } = route;
  const all = [setup, setupKey, setupTimeoutMs, copy, link, workspace, repository, base];
  return createHash("sha256")
    .update(JSON.stringify([...all, route.sandbox]))
    .digest("hex")
    .slice(0, 16);
}

const folderOf = (root: string) => join(setupFolder(root), "failures");
const fileOf = (root: string, type: string) =>
  join(folderOf(root), `${encodeURIComponent(type)}.json`);

/** A file that cannot be read is as none. */
export function readSetupFailure(root: string, type: string): SetupFailure | null {
  try {
    const text = ifThere(() => readFileSync(fileOf(root, type), "utf8"));
    return text === null ? null : setupFailure.parse(JSON.parse(text));
  } catch {
    return null; // then three more failures hold it
  }
}

export function setupFailures(root: string): SetupFailure[] {
  const names = ifThere(() => readdirSync(folderOf(root))) ?? [];
  return names
    .filter((name) => name.endsWith(".json") && !name.startsWith("."))
    .map((name) => readSetupFailure(root, decodeURIComponent(name.slice(0, -".json".length))))
    .filter((one) => one !== null);
}

export async function noteSetupFailure(
  root: string,
  failed: Failed,
  now: number,
): Promise<SetupFailure> {
  mkdirSync(folderOf(root), { recursive: true, mode: 0o700 });
  return withFileLock(join(folderOf(root), ".lock"), () => {
    const after = afterSetupFailure(readSetupFailure(root, failed.type), failed, now);
    replaceFileUnsynced(fileOf(root, failed.type), `${JSON.stringify(after, null, 2)}\n`);
    return after;
  });
}

/** After a success, or because a person asks to try again. */
export function forgetSetupFailure(root: string, type: string): void {
  removeSync(fileOf(root, type));
}
