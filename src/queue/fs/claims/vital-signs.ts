import type { Stats } from "node:fs";
import type { ProcessIdentity } from "../../../base/clock.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName, assertNewName } from "../../../base/names.ts";
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
  unlinkIfThere,
} from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { beatOf, folderOf, heartbeatOf } from "../layout.ts";
import type { ClaimFile } from "./claimed.ts";

/** A worker's signs of life: the file of its process, its heartbeat, the age of its claims. */

export function assertWorker(run: FsRun, name: unknown): string {
  const worker = assertName("worker name", name);
  const why = run.paths.layout.whyNotWorker(worker);
  if (why !== null) throw new VivError("INVALID", why);
  return worker;
}

/** For a claim or a registration, which may make a folder of that name. */
export function assertNewWorker(run: FsRun, name: unknown): string {
  return assertWorker(run, assertNewName("worker name", name));
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

/** Longer notes are cut. */
const MAX_NOTE = 16_000;

/**
 * `claimed/<worker>/.heartbeat`: its mtime is the sign of life, its whole text is a note, as in
 * swarm-lib. `.viv/heartbeats/<worker>` has our own lines about it: the seconds since boot, which do
 * not jump when the clock is set, and the types of one-shot claims. In a pit one file has all of it.
 */
export function writeHeartbeat(
  run: FsRun,
  worker: string,
  note: string,
  types?: readonly string[] | null,
): void {
  const { paths, machine } = run;
  const stamp = `viv ${machine.bootId()} ${machine.clock.uptime().toFixed(3)} ${Date.now()}`;
  const taken = types === undefined ? readHeartbeat(run, worker)?.types : types;
  const ours = `${stamp}\n${taken ? `types ${JSON.stringify(taken)}\n` : ""}`;
  const text = note.slice(0, MAX_NOTE);
  for (;;) {
    makeWorkerFolder(run, worker);
    try {
      overwrite(beatOf(paths, worker), paths.layout.isFlat ? `${oneLine(text)}\n${ours}` : ours);
      if (!paths.layout.isFlat) overwrite(heartbeatOf(paths, worker), text);
      return;
    } catch (error) {
      if (errno(error) !== "ENOENT") throw translate(error, `writing the heartbeat of ${worker}`);
      run.memo.workerFolders.delete(worker); // removed meanwhile: make it again
    }
  }
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

/** A worker that ended in order leaves no sign of life. */
export function removeHeartbeat({ paths }: FsRun, worker: string): void {
  unlinkIfThere(heartbeatOf(paths, worker));
  unlinkIfThere(beatOf(paths, worker));
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
  const [first = "", ...behind] = text.split("\n");
  // Behind the note in a pit, and in the files of earlier versions, which may run beside us.
  const isBehind = STAMP.test(behind[0] ?? "");
  const note = oneLine(isBehind ? first : text).slice(0, 500);
  const [stamp = "", asked = ""] = isBehind ? behind : linesBeside(run, worker);
  // A foreign heartbeat, or one that was touched: its mtime counts.
  const age = ageByUptime(run, stats, stamp) ?? run.machine.clock.now() - stats.mtimeMs;
  return { age, note, types: typesIn(asked) };
}

function linesBeside({ paths }: FsRun, worker: string): string[] {
  if (paths.layout.isFlat) return [];
  return readDerived(beatOf(paths, worker), 64 * 1024)?.text.split("\n") ?? [];
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

const STAMP = /^viv (\S+) (\S+) (\d+)$/;

/** Null when the stamp is not about the last beat, or of another boot. */
function ageByUptime(run: FsRun, stats: Stats, stamp: string): number | null {
  const [, boot, uptime, wall] = STAMP.exec(stamp) ?? [];
  const untouched = wall !== undefined && Math.abs(stats.mtimeMs - Number(wall)) < 2000;
  if (!untouched || boot !== run.machine.bootId()) return null;
  return (run.machine.clock.uptime() - Number(uptime)) * 1000;
}

/** Makes the worker's folder in claimed/ when it is missing. A link or file there is refused. */
export function makeWorkerFolder(run: FsRun, worker: string): void {
  if (run.memo.workerFolders.has(worker)) return;
  const folder = folderOf(run.paths, worker);
  const stats = statIfThere(folder);
  if (stats && !stats.isDirectory()) {
    throw new VivError("RUN_INVALID", `claimed/${worker} is not a folder; run: viv doctor --fix`);
  }
  if (!stats) assertNewName("worker name", worker);
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
