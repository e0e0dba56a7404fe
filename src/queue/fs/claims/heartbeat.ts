import type { Stats } from "node:fs";
import { VivError } from "../../../base/errors.ts";
import { mkdirSync } from "../../../platform/files/beneath.ts";
import {
  errno,
  overwrite,
  readRegular,
  statIfThere,
  syncFolder,
  translate,
} from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { folderOf, heartbeatOf } from "../layout.ts";

/**
 * `claimed/<worker>/.heartbeat`: its change of mtime is the sign of life, its text is a note. Ours
 * has a second line with the seconds since boot, which do not jump when the clock is set.
 */
export function writeHeartbeat(
  run: FsRun,
  worker: string,
  note: string,
  types?: readonly string[] | null,
): void {
  const { clock } = run.machine;
  const stamp = `viv ${run.machine.bootId()} ${clock.uptime().toFixed(3)} ${Date.now()}`;
  const before = note === "" || types === undefined ? readHeartbeat(run, worker) : null;
  const firstLine = (note || before?.note || "").replace(/[\r\n]+/g, " ").slice(0, 500);
  const taken = types === undefined ? before?.types : types;
  const lastLine = taken ? `types ${JSON.stringify(taken)}\n` : "";
  for (;;) {
    workerFolder(run, worker);
    try {
      overwrite(heartbeatOf(run.paths, worker), `${firstLine}\n${stamp}\n${lastLine}`);
      return;
    } catch (error) {
      if (errno(error) !== "ENOENT") throw translate(error, `writing the heartbeat of ${worker}`);
      run.memo.workerFolders.delete(worker); // removed since we last looked: make it again
    }
  }
}

export interface Heartbeat {
  /** Milliseconds since; negative when its time lies in the future. */
  age: number;
  note: string;
  /** What a one-shot claim under this name asked for; null for anything. */
  types: string[] | null;
}

export function readHeartbeat(run: FsRun, worker: string): Heartbeat | null {
  const path = heartbeatOf(run.paths, worker);
  const stats = statIfThere(path);
  if (!stats?.isFile()) return null;
  const text = readRegular(path, 64 * 1024)?.text ?? "";
  const [note = "", stamp = "", last = ""] = text.split("\n");
  return { age: ageOf(run, stats, stamp), note, types: typesIn(last) };
}

function typesIn(line: string): string[] | null {
  if (!line.startsWith("types ")) return null;
  try {
    const value: unknown = JSON.parse(line.slice(6));
    return Array.isArray(value) ? value.map(String) : null;
  } catch {
    return null; // a foreign note
  }
}

function ageOf(run: FsRun, stats: Stats, stamp: string): number {
  const [, boot, uptime, wall] = /^viv (\S+) (\S+) (\d+)$/.exec(stamp) ?? [];
  // If the mtime is not the one we wrote (touch, a foreign writer), then the mtime counts.
  const untouched = wall !== undefined && Math.abs(stats.mtimeMs - Number(wall)) < 2000;
  if (untouched && boot === run.machine.bootId()) {
    return (run.machine.clock.uptime() - Number(uptime)) * 1000;
  }
  return run.machine.clock.now() - stats.mtimeMs;
}

/** The worker's folder in claimed/, made when missing. A link or file in its place is refused. */
export function workerFolder(run: FsRun, worker: string): string {
  const folder = folderOf(run.paths, worker);
  if (run.memo.workerFolders.has(worker)) return folder;
  const stats = statIfThere(folder);
  if (!stats) {
    try {
      makeWorkerFolder(run, folder);
    } catch (error) {
      throw translate(error, `creating ${folder}`);
    }
  } else if (!stats.isDirectory()) {
    throw new VivError("RUN_INVALID", `claimed/${worker} is not a folder; run: viv doctor --fix`);
  }
  run.memo.workerFolders.add(worker);
  return folder;
}

/** What lies in it is synced later, one by one, and is lost with the folder's own name. */
export function makeWorkerFolder(run: FsRun, folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errno(error) !== "EEXIST") throw error;
  }
  if (run.durability === "safe") syncFolder(run.paths.state.claimed);
}
