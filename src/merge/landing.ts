import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { ifThere } from "../base/errno.ts";
import { isListedName } from "../base/names.ts";
import { replaceFileSynced, replaceFileUnsynced } from "../platform/files/atomic-write.ts";
import { mkdirSync } from "../platform/files/beneath.ts";
import { readJsonFile } from "../platform/files/json-file.ts";

/**
 * The way of a done task's branch into its target: `merge/<id>.json` of the run's folder, one file
 * per task. A process that dies leaves the file as its last step; the next queue reads it and goes
 * on (see docs/spec/merge.md).
 */
export const LANDING_STATES = [
  "queued", // a candidate
  "merging", // onto the tip of the target
  "proving", // the merge commit is there, its proof runs
  "landing", // proven; the target may have moved: `from` and `to` tell
  "landed",
  "no_changes", // the branch has no commits of its own
  "conflict", // the task goes back
  "red", // the proof of the merge failed; the task goes back
  "reworked", // the task went back; done again, it is queued again
  "needs_you", // the reworks are used up
  "held", // nothing is wrong with it, but it cannot land now: `reason`, and `command` if one helps
  "pull_request", // open on a forge
  "closed", // its pull request was closed without a merge
] as const;
export type LandingState = (typeof LANDING_STATES)[number];

export const proofOfMerge = z.object({
  /** The merge commit that was proven; of a batch, its last. */
  commit: z.string(),
  /** The commands, in the order in which they ran. */
  commands: z.array(z.string()),
  at: z.string(),
  log: z.nullable(z.string()),
});

const landing = z.object({
  task: z.string(),
  state: z.enum(LANDING_STATES),
  /** When it entered this state. */
  at: z.string(),
  repository: z.string(),
  branch: z.string(),
  /** The commits that the branch began at and ends at. */
  base: z.string(),
  head: z.string(),
  /** The branch it goes into, without refs/heads/. */
  target: z.string(),
  strategy: z.enum(["merge", "squash", "rebase"]),
  /** `landing` and `landed`: the target's commit before and after. */
  from: z.optional(z.string()),
  to: z.optional(z.string()),
  proof: z.optional(proofOfMerge),
  /** One sentence: why it has not landed. */
  reason: z.optional(z.string()),
  /** What a person types to go on. */
  command: z.optional(z.string()),
  /** Paths with conflicts. */
  files: z.optional(z.array(z.string())),
  /** The file with the conflict, the failed proof or the comments of a review. */
  evidence: z.optional(z.string()),
  /** How many times the task went back. */
  reworks: z.number(),
  pull_request: z.optional(
    z.object({ url: z.string(), number: z.number(), forge: z.enum(["gh", "glab"]) }),
  ),
});
export type Landing = z.output<typeof landing>;

/** Of the run, for landings and what belongs to them. */
export const folderOf = (run: string) => join(run, "merge");

export function landingPath(run: string, task: string): string {
  return join(folderOf(run), `${task}.json`);
}

/** `run`: the run's folder on this host. Null when the task was never a candidate. */
export function readLanding(run: string, task: string): Landing | null {
  if (!isListedName(task)) return null;
  return readJsonFile(landingPath(run, task), landing);
}

/** Synced: it holds after a power cut, too. */
export function writeLanding(run: string, one: Landing, isSynced = true): void {
  const folder = folderOf(run);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `.new~${one.task}.${process.pid}`);
  const write = isSynced ? replaceFileSynced : replaceFileUnsynced;
  write(landingPath(run, one.task), `${JSON.stringify(one, null, 2)}\n`, { temporary });
}

/** The tasks that have a landing, in no order. */
export function tasksWithLanding(run: string): string[] {
  return tasksIn(folderOf(run));
}

/** Those of the files `<id>.json` in a folder. */
export function tasksIn(folder: string): string[] {
  const names = ifThere(() => readdirSync(folder)) ?? [];
  return names.flatMap((name) =>
    name.endsWith(".json") && !name.startsWith(".") ? [name.slice(0, -".json".length)] : [],
  );
}
