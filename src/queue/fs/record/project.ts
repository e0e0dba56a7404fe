import { existsSync } from "node:fs";
import { parseRecord } from "../../../base/json.ts";
import { isName } from "../../../base/names.ts";
import { LedgerFollower } from "../../../ledger/follower.ts";
import type { Afterwards } from "../ends/afterwards.ts";
import { readDerived, replaceFile, statIfThere } from "../files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../fs-run.ts";
import { fileOf, idLinkOf } from "../layout.ts";
import { lookOnce } from "../locate.ts";
import { readStatusFile, withStatusLock, writeStatusFile } from "./status-file.ts";

/**
 * `completed_tasks` in status.json, which swarm-lib's workers read, is a projection of done/. It is
 * carried over from the ledger in batches, so that finishing a task costs the same with a million
 * done as with ten. `.viv/projection.json` has the position; losing it costs one reading of the ledger.
 */
interface Projection {
  /** How much of each file of the ledger is carried over. */
  read: Record<string, number>;
  /** Recorded as done, but not seen in done/ yet: the worker was between the two steps. */
  open: string[];
}

/** Every command rewrites status.json at its end; above this size, commands in a loop share that. */
const LARGE = 4 * 1024 * 1024;

/** A writer needs milliseconds; a longer holder is stuck, and not waited for. */
const LOCK_SECONDS = 2;

/** A second after the first completion that is not carried over yet, by one worker for all. */
export function projectSoon(run: FsRun, now: number): void {
  const { memo } = run;
  if (!memo.projectionDue) {
    memo.projectionDue = true;
    memo.projectionDueSince = now;
  }
  if (memo.projecting !== null) return; // it waits for its lock; the next completion looks again
  if (now - memo.projectionDueSince < Math.max(1000, 50 * memo.projectCost)) return;
  // Another worker did it, and will again: it reads the ledger of us all.
  if (wasJustProjected(run)) memo.projectionDueSince = now;
  else projectInBackground(run);
}

/** Not by the time of status.json: swarm-lib's workers write that too, and know nothing of ours. */
function wasJustProjected(run: FsRun): boolean {
  const written = statIfThere(run.paths.projection)?.mtimeMs ?? 0;
  return Math.abs(Date.now() - written) < 1000;
}

/**
 * For a worker: a held lock is not waited for. A failed projection stays due: it is tried again a
 * second later, and at the latest when the run is closed, which warns if it fails again.
 */
function projectInBackground(run: FsRun): void {
  const { memo } = run;
  const tryProject = async () => {
    try {
      await project(run, 0);
    } catch {
      memo.projectionDue = true;
      memo.projectionDueSince = performance.now();
    }
    memo.projecting = null;
  };
  memo.projecting ??= tryProject();
}

/** Before a worker sleeps: its finished tasks must not wait for its next one. */
export function projectBeforeIdling(run: FsRun): void {
  if (run.memo.projectionDue) projectInBackground(run);
}

/** At the end of a command or of a worker: at once, unless that has become expensive. */
export async function projectAtClose(run: FsRun, after: Afterwards): Promise<void> {
  await run.memo.projecting;
  if (!run.memo.projectionDue) return;
  await after.tryAsync(
    "completed_tasks in status.json is not up to date; the next completion, a sweep or viv doctor --fix updates it",
    async () => {
      const stats = statIfThere(run.paths.status);
      if (!stats) return;
      if (stats.size > LARGE && run.memo.registered.size === 0 && wasJustProjected(run)) return;
      await project(run, LOCK_SECONDS);
    },
  );
}

/** Brings completed_tasks up to date, or leaves that due. Does nothing when there is no status.json. */
export async function project(run: FsRun, waitSeconds?: number): Promise<void> {
  const { memo } = run;
  const wasDue = memo.projectionDue;
  memo.projectionDue = false; // not later: a task done while we wait is due again
  try {
    const begin = performance.now();
    if (!existsSync(run.paths.status)) return;
    await withStatusLock(run, () => projectLocked(run), waitSeconds);
    memo.projectCost = performance.now() - begin;
  } catch (error) {
    memo.projectionDue ||= wasDue;
    throw error;
  }
}

/** For a holder of the lock of status.json. */
export function projectLocked(run: FsRun): void {
  if (!existsSync(run.paths.status)) return;
  const from = readProjection(run);
  const { ids, open, read, reopened } = collect(run, from);
  if (isSame(read, from.read) && ids.length === 0) return;
  const status = readStatusFile(run.paths);
  if (status === null) return;
  const { checkpoint } = status;
  const known = new Set(checkpoint.completed_tasks);
  const fresh = ids.filter((id) => !known.has(id));
  const again = reopened.filter((id) => known.has(id));
  if (fresh.length + again.length > 0) {
    const gone = new Set(again);
    const kept = checkpoint.completed_tasks;
    checkpoint.completed_tasks = gone.size > 0 ? kept.filter((id) => !gone.has(id)) : kept;
    for (const id of fresh) checkpoint.completed_tasks.push(id);
    checkpoint.timestamp = nowIso(run);
    writeStatusFile(run, status);
  }
  const text = JSON.stringify({ read, open });
  replaceFile(run.paths.projection, temporaryPath(run, "projection"), text, false);
}

export function isProjectionDue(run: FsRun): boolean {
  const { ids, reopened } = collect(run, readProjection(run));
  return existsSync(run.paths.status) && ids.length + reopened.length > 0;
}

/** Tasks that the next projection will add: done, but not in status.json yet. */
export function notProjectedYet(run: FsRun): string[] {
  return collect(run, readProjection(run)).ids;
}

interface Collected extends Projection {
  ids: string[];
  /** Tasks that were enqueued again since, and are not done. */
  reopened: string[];
}

function collect(run: FsRun, from: Projection): Collected {
  const candidates = new Set(from.open);
  const again = new Set<string>();
  const follower = new LedgerFollower(run.paths.ledger, Object.entries(from.read));
  for (const { text } of follower.texts()) {
    // Most lines are about something else: a text search is ten times cheaper than parsing.
    const isAgain = text.includes('"from":"done"');
    if (!isAgain && !text.includes('"to":"done"')) continue;
    const id = /"task":"([^"\\]+)"/.exec(text)?.[1];
    if (isName(id)) (isAgain ? again : candidates).add(id);
  }
  const ids: string[] = [];
  const open: string[] = [];
  for (const id of candidates) {
    if (existsSync(fileOf(run.paths, "done", id))) ids.push(id);
    else if (existsSync(idLinkOf(run.paths, id)) || lookOnce(run, id) !== null) open.push(id);
  }
  const isDone = (id: string) => existsSync(fileOf(run.paths, "done", id));
  const reopened = [...again].filter((id) => !isDone(id));
  return { ids, open: open.slice(-1000), read: follower.position, reopened };
}

function isSame(a: Record<string, number>, b: Record<string, number>): boolean {
  return Object.keys(a).every((name) => a[name] === b[name]);
}

/** An unusable one (earlier versions had one position for all files) begins anew. */
function readProjection(run: FsRun): Projection {
  const text = readDerived(run.paths.projection, 16 * 1024 * 1024)?.text;
  const { read, open } = parseRecord(text ?? null) ?? {};
  const value = { read, open };
  return isProjection(value) ? value : { read: {}, open: [] };
}

function isProjection(value: Record<keyof Projection, unknown>): value is Projection {
  const { read, open } = value;
  if (typeof read !== "object" || read === null || !Array.isArray(open)) return false;
  const isPlace = (offset: unknown) => Number.isSafeInteger(offset) && Number(offset) >= 0;
  return Object.values(read).every(isPlace) && open.every(isName);
}
