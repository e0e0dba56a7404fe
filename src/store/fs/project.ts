import { existsSync } from "node:fs";
import { readRegular, replaceFile, statIfThere } from "./atomic.ts";
import { fileOf } from "./layout.ts";
import { LEDGER_START, type LedgerPosition, readLedger } from "./ledger.ts";
import { type FsRun, temporaryPath } from "./run.ts";
import { readStatusFile, withStatusLock, writeStatusFile } from "./status.ts";

/**
 * `completed_tasks` in status.json is a projection of done/: what swarm-lib's workers read. It is
 * carried over from the ledger in batches, so that finishing a task costs the same with a million
 * done as with ten. `.viv/projection.json` says how far; losing it costs one reading of the ledger.
 */
interface Projection extends LedgerPosition {
  /** Recorded as done, but not seen in done/ yet: the worker was between the two steps. */
  open: string[];
}

/** Rewriting a small status.json at every turn is cheap, and foreign workers see it at once. */
const SMALL = 256 * 1024;

export function projectSoon(run: FsRun): void {
  run.memo.projectionDue = true;
  const now = performance.now();
  if (now - run.memo.projectedAt > Math.max(1000, 50 * run.memo.projectCost)) project(run);
}

/** At the end of a command or of a worker: at once, unless that has become expensive. */
export function projectAtClose(run: FsRun): void {
  if (!run.memo.projectionDue) return;
  const stats = statIfThere(run.paths.status);
  if (!stats) return;
  const recently = Date.now() - stats.mtimeMs < 1000;
  if (stats.size > SMALL && recently && run.memo.registered.size === 0) return;
  project(run);
}

/** Brings completed_tasks up to date. Does nothing when there is no status.json. */
export function project(run: FsRun): number {
  run.memo.projectionDue = false;
  const begin = performance.now();
  if (!existsSync(run.paths.status)) return 0;
  const added = withStatusLock(run, () => {
    const from = readProjection(run);
    const { ids, open, end } = collect(run, from);
    if (end.file === from.file && end.offset === from.offset && ids.length === 0) return 0;
    const status = readStatusFile(run.paths);
    if (status === null) return 0;
    const known = new Set(status.checkpoint.completed_tasks);
    const fresh = ids.filter((id) => !known.has(id));
    if (fresh.length > 0) {
      status.checkpoint.completed_tasks.push(...new Set(fresh));
      status.checkpoint.timestamp = new Date(run.machine.clock.now()).toISOString();
      writeStatusFile(run, status);
    }
    const text = JSON.stringify({ ...end, open });
    replaceFile(run.paths.projection, temporaryPath(run, "projection"), text, false);
    return fresh.length;
  });
  run.memo.projectedAt = performance.now();
  run.memo.projectCost = run.memo.projectedAt - begin;
  return added;
}

/** Is there anything in the ledger that status.json has not seen? */
export function projectionLags(run: FsRun): boolean {
  const from = readProjection(run);
  const { ids } = collect(run, from);
  return ids.length > 0;
}

function collect(
  run: FsRun,
  from: Projection,
): { ids: string[]; open: string[]; end: LedgerPosition } {
  const candidates = new Set(from.open);
  let end: LedgerPosition = { file: from.file, offset: from.offset };
  for (const { line, end: after } of readLedger(run.paths.ledger, from)) {
    end = after;
    if (line.to === "done" && typeof line.task === "string") candidates.add(line.task);
  }
  const ids: string[] = [];
  const open: string[] = [];
  for (const id of candidates) {
    if (existsSync(fileOf(run.paths.state.done, id))) ids.push(id);
    else if (existsSync(fileOf(run.paths.ids, id))) open.push(id);
  }
  return { ids, open: open.slice(-1000), end };
}

function readProjection(run: FsRun): Projection {
  const file = readRegular(run.paths.projection, 16 * 1024 * 1024);
  if (file === null) return { ...LEDGER_START, open: [] };
  try {
    const value = JSON.parse(file.text) as Projection;
    return { file: value.file, offset: value.offset, open: value.open ?? [] };
  } catch {
    return { ...LEDGER_START, open: [] }; // derived: reading the ledger again repairs it
  }
}
