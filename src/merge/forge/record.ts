import { rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { isListedName } from "../../base/names.ts";
import { replaceFileSynced } from "../../platform/files/atomic-write.ts";
import { mkdirSync } from "../../platform/files/beneath.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";
import { readJsonFile } from "../../platform/files/json-file.ts";
import { tasksIn } from "../landing.ts";
import { FORGES, held } from "./forge.ts";

/**
 * `merge/forge/<id>.json`: what a forge has of a task, and what it must not get twice. Each fact is
 * written before the change that it allows, so that a process that dies in between is understood by
 * the next one.
 */
const forgeRecord = z.object({
  task: z.string(),
  forge: z.enum(FORGES),
  /** Where the repository lies: the host (null: the program's own default), and `owner/name`. */
  host: z.nullable(z.string()),
  repo: z.string(),
  /** The issue that the task was made of, and whether it has been told of the landing. */
  issue: z.optional(
    z.object({
      ...{ number: z.number(), url: z.string(), told: z.optional(z.string()) },
      /** When the forge refused the comment: it is not asked again by itself. */
      refused: z.optional(z.string()),
      /** Since when the comment is on its way. */
      telling: z.optional(z.string()),
      /** Where it lies, once the pull request's place stands above: that may be another. */
      from: z.optional(
        z.object({ forge: z.enum(FORGES), host: z.nullable(z.string()), repo: z.string() }),
      ),
    }),
  ),
  pull_request: z.optional(
    z.object({
      /** Of git. */
      remote: z.string(),
      branch: z.string(),
      base: z.string(),
      /** Commits that were pushed, or were about to be; the last one is the latest. */
      pushed: z.array(z.string()),
      /** None before it was opened. */
      number: z.optional(z.number()),
      url: z.optional(z.string()),
      /** Ids of comments and checks that the task went back with. */
      sent: z.array(z.string()),
      /** The same, while the task goes back. */
      sending: z.optional(z.array(z.string())),
    }),
  ),
});
export type ForgeRecord = z.output<typeof forgeRecord>;
export type PullRequestRecord = NonNullable<ForgeRecord["pull_request"]>;

/** The issue of a task, with the repository that its number is of. */
export function issueOf(record: ForgeRecord | null) {
  if (record?.issue === undefined) return null;
  const { forge, host, repo } = record;
  return { ...record.issue, from: record.issue.from ?? { forge, host, repo } };
}

const folderOf = (run: string) => join(run, "merge/forge");
export const forgePath = (run: string, task: string) => join(folderOf(run), `${task}.json`);

export function readForgeRecord(run: string, task: string): ForgeRecord | null {
  if (!isListedName(task)) return null;
  return readJsonFile(forgePath(run, task), forgeRecord);
}

export function writeForgeRecord(run: string, record: ForgeRecord): void {
  writeJson(run, `${record.task}.json`, record);
}

/** Tasks that a forge has something of, in the order of their names. */
export function tasksOnForges(run: string): string[] {
  return tasksIn(folderOf(run)).sort();
}

const pause = z.object({ until: z.string(), reason: z.string() });
const PAUSE = ".held.json";

/** A rate limit holds for every command of the run until it ends. */
export function mustBeOpen(run: string, now: number): void {
  const path = join(folderOf(run), PAUSE);
  const found = readJsonFile(path, pause, "remove it");
  if (found === null) return;
  if (Date.parse(found.until) > now) throw held(found.reason, { until: found.until });
  rmSync(path, { force: true });
}

export function holdUntil(run: string, until: string, reason: string): void {
  writeJson(run, PAUSE, { until, reason });
}

/** One command at a time speaks to the forge for a run: what it reads stays true while it acts. */
export async function withForgeLock<T>(run: string, critical: () => Promise<T>): Promise<T> {
  mkdirSync(folderOf(run), { recursive: true, mode: 0o700 });
  return withFileLock(join(folderOf(run), ".lock"), critical, { waitMs: PATIENCE_MS });
}
const PATIENCE_MS = 60_000;

function writeJson(run: string, name: string, value: unknown): void {
  const folder = folderOf(run);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `.new~${name}.${process.pid}`);
  replaceFileSynced(join(folder, name), `${JSON.stringify(value, null, 2)}\n`, { temporary });
}
