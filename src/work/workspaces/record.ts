import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { ifThere } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { isListedName } from "../../base/names.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import { readJsonFile } from "../../platform/files/json-file.ts";

/** A workspace as `viv workspaces` shows it. */
export const workspaceInfo = z.object({
  id: z.string(),
  kind: z.enum(["dir", "worktree"]),
  path: z.string(),
  branch: z.optional(z.string()),
  repository: z.optional(z.string()),
  /** It has uncommitted changes; a plain folder: it is not empty. */
  dirty: z.boolean(),
  /** Commits on the branch that are in no other branch, local or remote, but those of tasks. */
  ahead: z.number(),
  /** Commits on the branch since it was made; null when the commit it began with is gone. */
  commits: z.nullable(z.number()),
  /** The branch has commits of its own, and every one is in a branch that is not a task's. */
  merged: z.boolean(),
  /** The commit that the branch ends at. */
  head: z.optional(z.string()),
  /** The folder is gone. */
  missing: z.boolean(),
  /** On the disk. */
  bytes: z.number(),
});
export type WorkspaceInfo = z.output<typeof workspaceInfo>;

export const removedWorkspace = z.object({
  id: z.string(),
  removed: z.boolean(),
  /** Where unsaved work is now: a patch, or a tar where no patch can hold it. */
  archived: z.optional(z.string()),
  branch_kept: z.optional(z.string()),
  /** Why it was not removed, or not completely. */
  reason: z.optional(z.string()),
});
export type RemovedWorkspace = z.output<typeof removedWorkspace>;

const place = {
  tip: z.string(),
  /** A ref that keeps the work as it was before. */
  keep: z.string(),
};

const onto = z.discriminatedUnion("step", [
  z.object({
    step: z.literal("noted"),
    ...place,
    /** The work's own commit and its merge with `tip`, if the queue has made one. */
    merged: z.optional(
      z.object({ from: z.string(), tree: z.string(), files: z.array(z.string()) }),
    ),
  }),
  z.object({
    step: z.literal("ready"),
    ...place,
    /** The branch's commit, and the one of all work: both are the same if all was committed. */
    head: z.string(),
    from: z.string(),
    /** The merge, with conflict markers in `files`. */
    tree: z.string(),
    files: z.array(z.string()),
  }),
]);
export type Onto = z.output<typeof onto>;

const schema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("dir"),
    created_at: z.string(),
    /** The key of the set-up that was done there. */
    setup: z.optional(z.string()),
  }),
  z.object({
    kind: z.literal("worktree"),
    repository: z.string(),
    branch: z.string(),
    /** The commit. */
    base: z.string(),
    created_at: z.string(),
    /** The branch is about to be made, with this text in its reflog: until then it is another's. */
    making: z.optional(z.string()),
    /** The next attempt begins on another commit: see onto.ts. */
    onto: z.optional(onto),
    /** Paths that conflicted when it was brought there: an attempt may leave no markers in them. */
    conflicts: z.optional(z.array(z.string())),
    /** Dependencies whose work is not in it, because it conflicts with the rest. */
    without: z.optional(
      z.array(z.object({ task: z.string(), branch: z.string(), files: z.array(z.string()) })),
    ),
  }),
]);

/** What a workspace was made from. It is written before the workspace is made. */
export type WorkspaceRecord = z.output<typeof schema>;
export type WorktreeRecord = Extract<WorkspaceRecord, { kind: "worktree" }>;

/** About the workspace or the repository at `path`. */
export function invalid(path: string, sentence: string, cause?: unknown): VivError {
  return new VivError("INVALID", sentence, { path }, { cause });
}

/**
 * Beside the workspace, where no sandbox shows it to the task. The dot keeps it apart from the
 * workspace of a task that is called `<id>.json`.
 */
export function recordPath(root: string, id: string): string {
  return join(root, `.${id}.json`);
}

export function workspacePath(root: string, id: string): string {
  if (isListedName(id)) return join(root, id);
  throw new VivError("INVALID", `${JSON.stringify(id)} cannot be the name of a workspace.`);
}

/** The id of a record's file name, or null for other names. */
export function idOfRecord(name: string): string | null {
  return name.match(/^\.([^.].*)\.json$/s)?.[1] ?? null;
}

/** The ids of all records below `workspaces/`, in no order. */
export function recordedIn(root: string): string[] {
  const names = ifThere(() => readdirSync(root)) ?? [];
  return names.flatMap((name) => idOfRecord(name) ?? []);
}

export function readRecord(root: string, id: string): WorkspaceRecord | null {
  return readJsonFile(recordPath(root, id), schema);
}

export function writeRecord(root: string, id: string, record: WorkspaceRecord): void {
  const temporary = join(root, `.new~${id}.${process.pid}`);
  const text = `${JSON.stringify(record, null, 2)}\n`;
  replaceFileSynced(recordPath(root, id), text, { temporary });
}

/**
 * The branch of a run's task; with a number, the one after those that others have. Different tasks
 * have different branches: characters that git refuses are written as %XX, and so are % and @.
 */
export function branchOf(id: string, run: string, number = 1): string {
  return nthName(`viv/${refPart(id)}@${refPart(run)}`, number);
}

export function nthName(name: string, number: number): string {
  return number === 1 ? name : `${name}-${number}`;
}

/** A name as a part of a ref's. */
export function refPart(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9._-]/gu, (character) =>
    [...Buffer.from(character)].map(percent).join(""),
  );
  // Not `..` anywhere, no `.` at the beginning, and neither `.` nor `.lock` at the end.
  return safe.replace(/^\.|\.(?=\.|$|lock$)/g, percent(0x2e));
}

/**
 * A ref of ours that goes with a task's branch: no other run has that branch, nor the ref. An older
 * branch, without the run in its name, has the run's name in the ref.
 */
export function refBeside(
  kind: "before" | "merge",
  { task, branch }: { task: string; branch: string },
  run: string,
): string {
  const own = branch.includes("@")
    ? branch.slice("viv/".length)
    : `${refPart(run)}/${refPart(task)}`;
  return `refs/viv/${kind}/${own}`;
}

/** The task that a branch would be of; null for other names. Older ones have no run in them. */
export function taskOfBranch(branch: string): string | null {
  if (!branch.startsWith("viv/")) return null;
  try {
    return decodeURIComponent(branch.slice("viv/".length).replace(/@.*$/s, ""));
  } catch {
    return null;
  }
}

function percent(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}
