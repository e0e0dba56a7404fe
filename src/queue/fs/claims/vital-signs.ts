import type { Stats } from "node:fs";
import type { ProcessIdentity } from "../../../base/clock.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import { mkdirSync } from "../../../platform/files/beneath.ts";
import { judgeWorker, type VitalSigns } from "../../liveness.ts";
import {
  errno,
  overwrite,
  readDerived,
  readRegular,
  statIfThere,
  syncFolder,
  translate,
} from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { folderOf, heartbeatOf } from "../layout.ts";
import type { ClaimFile } from "./claimed.ts";

/** A worker's signs of life: the file of its process, its heartbeat, the age of its claims. */

export function assertWorker(run: FsRun, name: unknown): string {
  const worker = assertName("worker name", name);
  const why = run.paths.layout.whyNotWorker(worker);
  if (why !== null) throw new VivError("INVALID", why);
  return worker;
}

/** `.viv/workers/<worker>.json`: the process of a long-lived worker, which holds the name. */
export interface WorkerFile extends ProcessIdentity {
  worker: string;
  started_at: string;
  types: string[] | null;
}

export function workerFileOf(run: FsRun, worker: string): string {
  return `${run.paths.workers}/${worker}.json`;
}

/** Null when there is none, or none that its worker has written. */
export function readWorkerFile(run: FsRun, worker: string): WorkerFile | null {
  const file = readDerived(workerFileOf(run, worker), 64 * 1024);
  if (file === null) return null;
  try {
    const value: unknown = JSON.parse(file.text);
    return isWorkerFile(value) && value.worker === worker ? value : null;
  } catch {
    return null; // torn by a power loss: no process of this boot has written it
  }
}

function isWorkerFile(value: unknown): value is WorkerFile {
  if (typeof value !== "object" || value === null) return false;
  const { worker, host, boot, started, pid, types } = value as WorkerFile;
  return (
    [worker, host, boot, started].every((text) => typeof text === "string") &&
    Number.isSafeInteger(pid) &&
    (types === null || (Array.isArray(types) && types.every((type) => typeof type === "string")))
  );
}

/**
 * `claimed/<worker>/.heartbeat`: its mtime is the sign of life, its text is a note. Ours has a
 * second line with the seconds since boot, which do not jump when the clock is set.
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
    makeWorkerFolder(run, worker);
    try {
      overwrite(heartbeatOf(run.paths, worker), `${firstLine}\n${stamp}\n${lastLine}`);
      return;
    } catch (error) {
      if (errno(error) !== "ENOENT") throw translate(error, `writing the heartbeat of ${worker}`);
      run.memo.workerFolders.delete(worker); // removed meanwhile: make it again
    }
  }
}

export interface Heartbeat {
  /** Milliseconds since; negative when its time lies in the future. */
  age: number;
  note: string;
  /** The types that a one-shot claim under this name asked for; null for any. */
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

/** Makes the worker's folder in claimed/ when it is missing. A link or file there is refused. */
export function makeWorkerFolder(run: FsRun, worker: string): void {
  if (run.memo.workerFolders.has(worker)) return;
  const folder = folderOf(run.paths, worker);
  const stats = statIfThere(folder);
  if (stats && !stats.isDirectory()) {
    throw new VivError("RUN_INVALID", `claimed/${worker} is not a folder; run: viv doctor --fix`);
  }
  try {
    if (!stats) mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errno(error) !== "EEXIST") throw translate(error, `creating ${folder}`);
  }
  // Claims in it are synced later, and would be lost with the folder's own name.
  if (!stats && run.durability === "safe") syncFolder(run.paths.state.claimed);
  run.memo.workerFolders.add(worker);
}

export function vitalSigns(run: FsRun, worker: string, claims: readonly ClaimFile[]): VitalSigns {
  const file = readWorkerFile(run, worker);
  const heartbeat = readHeartbeat(run, worker);
  if (!file && !heartbeat) return shellSigns(run, worker, claims);
  return {
    process: file ? run.machine.vitality(file) : "none",
    heartbeatAge: heartbeat ? heartbeat.age : null,
    claimAge: ageOfYoungest(run, claims),
  };
}

/** Of claims that were made with a shell: neither process nor heartbeat says anything about them. */
export function shellSigns(run: FsRun, worker: string, claims: readonly ClaimFile[]): VitalSigns {
  const claimAge = sinceActivity(run, worker, ageOfYoungest(run, claims));
  return { process: "none", heartbeatAge: null, claimAge };
}

function ageOfYoungest(run: FsRun, claims: readonly ClaimFile[]): number {
  return run.machine.clock.now() - claims.reduce((latest, c) => Math.max(latest, c.claimedAt), 0);
}

/** A worker that has only a shell shows by its other activity that it is alive. */
function sinceActivity(run: FsRun, worker: string, claimAge: number): number {
  // The search for its traces is dear, and needed only when its claims are old.
  if (claimAge <= 60_000) return claimAge;
  return Math.min(claimAge, run.machine.clock.now() - (run.hooks?.lastActivity(run, worker) ?? 0));
}

const STALE_AFTER_SECONDS = 300;

/** A worker with heartbeats beats often; one with only a shell may not. */
export function staleAfterSeconds(
  run: FsRun,
  signs: Pick<VitalSigns, "process" | "heartbeatAge">,
): number {
  const hasOnlyShell = signs.process === "none" && signs.heartbeatAge === null;
  return hasOnlyShell ? run.paths.layout.staleAfterSeconds : STALE_AFTER_SECONDS;
}

/** By the rule of `reap` without options. */
export function isAlive(run: FsRun, signs: VitalSigns): boolean {
  return judgeWorker(signs, { staleAfterMs: staleAfterSeconds(run, signs) * 1000 }).alive;
}
