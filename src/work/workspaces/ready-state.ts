import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { ifThere } from "../../base/errno.ts";
import { VivError } from "../../base/errors.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import type { GitPlace } from "../../platform/git/git.ts";

const before = z.object({
  /** Tracked files that differ. */
  changed: z.array(z.string()),
  /** Neither tracked nor ignored. */
  stray: z.array(z.string()),
  ignored: z.array(z.string()),
});

/**
 * What was done to make a worktree ready: `viv-ready.json` in the repository's side of it, where no
 * sandbox lets a task write, and which goes when the worktree goes.
 */
const schema = z.object({
  /** Of the set-up that was done; null before the first, and while one is done. */
  key: z.nullable(z.string()),
  /** What came from the checkout, by path: never committed. With a mark of the source; "" while it is brought. */
  brought: z.record(z.string(), z.string()),
  /** The paths that the set-up made, and that git ignores. */
  made: z.array(z.string()),
  /** What git saw before a set-up that has not succeeded yet: else what it changed would be the task's. */
  before: z.optional(before),
});
export type Before = z.output<typeof before>;
export type ReadyState = z.output<typeof schema>;

const fileIn = (admin: string) => join(admin, "viv-ready.json");

/** `admin`: the repository's side of the worktree. */
export function readReady(admin: string): ReadyState {
  const path = fileIn(admin);
  const text = ifThere(() => readFileSync(path, "utf8"));
  if (text === null) return { key: null, brought: {}, made: [] };
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const message = `${path} cannot be read, and says which files must not be committed; remove the worktree, or the file if there are none.`;
    throw new VivError("CORRUPT", message, { path }, { cause });
  }
}

export function writeReady(admin: string, state: ReadyState): void {
  replaceFileSynced(fileIn(admin), `${JSON.stringify(state, null, 2)}\n`);
}

/** The paths in this worktree that came from the checkout. */
export function broughtTo(place: GitPlace): string[] {
  return place.gitDir === undefined ? [] : Object.keys(readReady(place.gitDir).brought);
}

/** A line of an exclude file that means exactly this path. */
export function excludeLine(path: string): string {
  return `/${path.replace(/[\\*?[\]]/g, "\\$&").replace(/ $/, "\\ ")}`;
}
