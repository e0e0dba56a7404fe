import type { ProcessIdentity } from "../../../base/clock.ts";
import { VivError } from "../../../base/errors.ts";
import { canonicalJson } from "../../../base/json.ts";
import { counted } from "../../../base/text.ts";
import { rmdirSync } from "../../../platform/files/beneath.ts";
import type { ReapReport, RegisterOptions, Registration } from "../../store.ts";
import { assertWorker } from "../enqueue/parse.ts";
import {
  errno,
  ignoreMachineErrors,
  readDerived,
  replaceFile,
  translate,
  unlinkIfThere,
  withLock,
} from "../files/atomic.ts";
import { type FsRun, nowIso, record, temporaryPath } from "../fs-run.ts";
import { folderOf, heartbeatOf } from "../layout.ts";
import { readHeartbeat, writeHeartbeat } from "./heartbeat.ts";
import { wouldNotDie } from "./processes.ts";
import { claimsOf, takeBack } from "./take-back.ts";

/**
 * A long-lived worker holds its name with a file that says which process it is. One-shot commands
 * do not register: many of them may act under one name, one after the other.
 */
export interface WorkerFile extends ProcessIdentity {
  worker: string;
  started_at: string;
  types: string[] | null;
}

/** A worker of another host counts as alive while its heartbeat is younger than this. */
const FOREIGN_HOST_GRACE_MS = 300_000;

const BEAT_MS = 30_000;
const RETRY_MS = 1_000;

function pathOf(run: FsRun, worker: string): string {
  return `${run.paths.workers}/${worker}.json`;
}

/** Null when there is none, or none that its worker has written. */
export function readWorkerFile(run: FsRun, worker: string): WorkerFile | null {
  const file = readDerived(pathOf(run, worker), 64 * 1024);
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

/** The names that this process holds stay its own, though their files were removed. */
export function restoreWorkers(run: FsRun): void {
  for (const [worker, text] of run.memo.workerFiles) {
    if (readDerived(pathOf(run, worker), 64 * 1024)?.text === text) continue;
    if (readWorkerFile(run, worker) !== null) continue; // another process holds it by now
    replaceFile(pathOf(run, worker), temporaryPath(run, `worker-${worker}`), text, false);
  }
}

function isHeld(run: FsRun, holder: WorkerFile): boolean {
  const vitality = run.machine.vitality(holder);
  if (vitality !== "unknown") return vitality === "alive";
  const heartbeat = readHeartbeat(run, holder.worker);
  return heartbeat !== null && heartbeat.age < FOREIGN_HOST_GRACE_MS;
}

function takenError(holder: WorkerFile): VivError {
  return new VivError(
    "WORKER_TAKEN",
    `the name ${holder.worker} belongs to a live worker (pid ${holder.pid} on ${holder.host}); choose another one, or stop that worker first.`,
    { worker: holder.worker, pid: holder.pid, host: holder.host },
  );
}

/**
 * A one-shot claim under the name of a live worker would mix two owners in one folder. A dead one
 * leaves the name first: with its file there, the new claim would be taken for the dead one's.
 */
export function claimName(run: FsRun, worker: string): Promise<void> | undefined {
  if (run.memo.registered.has(worker)) return undefined;
  const holder = readWorkerFile(run, worker);
  if (!holder) return undefined;
  if (isSelf(run, holder) || isHeld(run, holder)) throw takenError(holder);
  return withLock(lockOf(run), async () => {
    const current = readWorkerFile(run, worker);
    if (!current || isSelf(run, current)) return;
    if (isHeld(run, current)) throw takenError(current);
    await takeOver(run, worker, current);
    unlinkIfThere(pathOf(run, worker));
  });
}

function isSelf(run: FsRun, holder: WorkerFile): boolean {
  const self = run.machine.self();
  return holder.pid === self.pid && holder.started === self.started && holder.host === self.host;
}

export async function registerWorker(
  run: FsRun,
  name: string,
  { types, heartbeatMs = BEAT_MS, onMissedBeat }: RegisterOptions,
): Promise<Registration> {
  const worker = assertWorker(run, name);
  const path = pathOf(run, worker);
  const file: WorkerFile = {
    ...run.machine.self(),
    worker,
    started_at: nowIso(run),
    types: types && types.length > 0 ? [...types] : null,
  };
  const text = canonicalJson(file);
  try {
    await withLock(lockOf(run), async () => {
      const holder = readWorkerFile(run, worker);
      if (holder && (isSelf(run, holder) || isHeld(run, holder))) throw takenError(holder);
      await takeOver(run, worker, holder);
      replaceFile(path, temporaryPath(run, `worker-${worker}`), text, false);
    });
  } catch (error) {
    throw translate(error, `registering ${worker}`);
  }
  run.memo.registered.set(worker, performance.now());
  run.memo.workerFiles.set(worker, text);
  try {
    writeHeartbeat(run, worker, "started");
    record(run, { event: "worker_started", worker, pid: file.pid });
  } catch (error) {
    ignoreMachineErrors(() => unregister(run, worker)); // its caller could not release it
    throw translate(error, `registering ${worker}`);
  }
  let note = "idle";
  let timer: NodeJS.Timeout | null = null;
  // From the event loop on purpose: when the worker is stuck, the beats stop.
  const beatAfter = (ms: number) => {
    timer = setTimeout(() => {
      let next = heartbeatMs;
      try {
        run.recoverIfLost();
        restoreWorkers(run);
        writeHeartbeat(run, worker, note);
      } catch {
        // No reason to stop working (a full disk): but others take us for gone until it is written.
        onMissedBeat?.();
        next = Math.min(next, RETRY_MS);
      }
      beatAfter(next);
    }, ms).unref();
  };
  beatAfter(heartbeatMs);
  return {
    worker,
    note: (text) => {
      note = text;
    },
    release: async () => {
      if (timer) clearTimeout(timer);
      unregister(run, worker);
    },
  };
}

/**
 * Claims in the folder of that name belong to another process. A dead predecessor's claims go
 * back now: with our heartbeat beside them, the reaper would take them for ours for ever.
 */
async function takeOver(run: FsRun, worker: string, predecessor: WorkerFile | null): Promise<void> {
  const claims = claimsOf(run, worker);
  if (claims.length === 0) return;
  const heartbeat = readHeartbeat(run, worker);
  const age = heartbeat?.age ?? Number.POSITIVE_INFINITY;
  if (predecessor === null && age < FOREIGN_HOST_GRACE_MS) {
    throw new VivError(
      "WORKER_TAKEN",
      `one-shot commands hold ${counted(claims.length, "claim")} as ${worker}; choose another name, or finish those first.`,
      { worker },
    );
  }
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  await takeBack(run, worker, claims, predecessor ? "gone" : "stale", age / 1000, report);
  const [stuck] = report.stuck;
  if (stuck) throw wouldNotDie(stuck.id, stuck.pids, `the ${worker} before, at`);
}

function unregister(run: FsRun, worker: string): void {
  if (!run.memo.registered.delete(worker)) return;
  run.memo.workerFiles.delete(worker);
  unlinkIfThere(pathOf(run, worker));
  unlinkIfThere(heartbeatOf(run.paths, worker));
  record(run, { event: "worker_stopped", worker });
}

/** After its claims were taken back, the name of a worker that is really gone is free again. */
export function buryWorker(run: FsRun, worker: string): Promise<void> {
  return withLock(lockOf(run), () => {
    const holder = readWorkerFile(run, worker);
    // None: while we waited for the lock, another reaper or the name's next user has buried it.
    if (holder === null || run.machine.vitality(holder) !== "gone") return;
    unlinkIfThere(pathOf(run, worker));
    unlinkIfThere(heartbeatOf(run.paths, worker));
    if (run.paths.layout.isFlat) return;
    try {
      rmdirSync(folderOf(run.paths, worker));
    } catch (error) {
      // Not empty: the name is in use again, or the folder holds foreign files.
      if (errno(error) !== "ENOTEMPTY" && errno(error) !== "ENOENT") throw error;
    }
  });
}

function lockOf(run: FsRun): string {
  return `${run.paths.workers}/.lock`;
}
