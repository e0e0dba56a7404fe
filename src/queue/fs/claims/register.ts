import { formatDuration } from "../../../base/duration.ts";
import { VivError } from "../../../base/errors.ts";
import { canonicalJson } from "../../../base/json.ts";
import { assertName } from "../../../base/names.ts";
import { counted } from "../../../base/text.ts";
import type { ReapReport, RegisterOptions, Registration } from "../../store.ts";
import {
  ignoreMachineErrors,
  readDerived,
  replaceFile,
  translate,
  unlinkIfThere,
  withLock,
} from "../files/atomic.ts";
import { type FsRun, nowIso, record, temporaryPath } from "../fs-run.ts";
import { claimsOf } from "./claimed.ts";
import { type Holding, holdingsOf } from "./holdings.ts";
import { wouldNotDie } from "./process-notes.ts";
import { takeBack, workersLock } from "./reap.ts";
import {
  assertNewWorker,
  isAlive,
  readHeartbeat,
  readWorkerFile,
  removeHeartbeat,
  staleAfterSeconds,
  type WorkerFile,
  workerFileOf,
  writeHeartbeat,
} from "./vital-signs.ts";

/**
 * A long-lived worker holds its name with a file about its process. One-shot commands do not
 * register: many of them may act under one name, one after the other.
 */

/** A worker of another host counts as alive while its heartbeat is younger than this. */
const FOREIGN_HOST_GRACE_MS = 300_000;

const BEAT_MS = 30_000;
const RETRY_MS = 1_000;

/** Writes the files of this process's names again if they were removed. */
export function restoreWorkers(run: FsRun): void {
  for (const [worker, text] of run.memo.workerFiles) {
    const path = workerFileOf(run, worker);
    if (readDerived(path, 64 * 1024)?.text === text) continue;
    if (readWorkerFile(run, worker) !== null) continue; // another process holds it by now
    replaceFile(path, temporaryPath(run, `worker-${worker}`), text, false);
  }
}

function isHeld(run: FsRun, holder: WorkerFile): boolean {
  const vitality = run.machine.vitality(holder);
  if (vitality !== "unknown") return vitality === "alive";
  const heartbeat = readHeartbeat(run, holder.worker);
  return heartbeat !== null && heartbeat.age < FOREIGN_HOST_GRACE_MS;
}

function takenError({ worker, pid, host }: WorkerFile): VivError {
  const message = `the name ${worker} belongs to a live worker (pid ${pid} on ${host}); choose another one, or stop that worker first.`;
  return new VivError("WORKER_TAKEN", message, { worker, pid, host });
}

/**
 * A one-shot claim under the name of a live worker would mix two owners in one folder. A dead
 * worker's file is removed first, or the new claim would count as the dead one's.
 */
export function claimName(run: FsRun, worker: string): Promise<void> | undefined {
  if (run.memo.registered.has(worker)) return undefined;
  const holder = readWorkerFile(run, worker);
  if (!holder) return undefined;
  if (isSelf(run, holder) || isHeld(run, holder)) throw takenError(holder);
  return withLock(workersLock(run), async () => {
    const current = readWorkerFile(run, worker);
    if (!current || isSelf(run, current)) return;
    if (isHeld(run, current)) throw takenError(current);
    await takeOver(run, worker);
    unlinkIfThere(workerFileOf(run, worker));
  });
}

/**
 * The name alone is enough for claims of a shell. Those of another process's live worker need a
 * token: only the worker and its handlers have it at hand.
 */
export function assertOwnName(run: FsRun, worker: string, what: string): void {
  if (run.memo.registered.has(worker)) return;
  const holder = readWorkerFile(run, worker);
  if (!holder || isSelf(run, holder) || !isHeld(run, holder)) return;
  const { pid, host } = holder;
  const message = `${what} held by the live worker ${worker} (pid ${pid} on ${host}); its claims need their token (viv show has it): pass --token, or stop the task with viv cancel.`;
  throw new VivError("WORKER_TAKEN", message, { worker, pid, host });
}

/** A heartbeat from outside. That of a live worker would hide that it is stuck. */
export function beat(
  run: FsRun,
  name: string,
  { note = "", token }: { note?: string; token?: string },
): void {
  const worker = assertName("worker name", name);
  const isOwn = token !== undefined && claimsOf(run, worker).some((one) => one.token === token);
  if (!isOwn) assertOwnName(run, worker, "the name is");
  writeHeartbeat(run, worker, note);
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
  const worker = assertNewWorker(run, name);
  const file: WorkerFile = {
    ...run.machine.self(),
    worker,
    started_at: nowIso(run),
    types: types && types.length > 0 ? [...types] : null,
  };
  const text = canonicalJson(file);
  try {
    await withLock(workersLock(run), async () => {
      const holder = readWorkerFile(run, worker);
      if (holder && (isSelf(run, holder) || isHeld(run, holder))) throw takenError(holder);
      const [living] = await takeOver(run, worker);
      if (living) throw inUseError(run, worker, living);
      const tmp = temporaryPath(run, `worker-${worker}`);
      replaceFile(workerFileOf(run, worker), tmp, text, false);
    });
  } catch (error) {
    throw translate(error, `registering ${worker}`);
  }
  run.memo.registered.set(worker, performance.now());
  run.memo.workerFiles.set(worker, text);
  try {
    writeHeartbeat(run, worker, "");
    record(run, { event: "worker_started", worker, pid: file.pid });
  } catch (error) {
    ignoreMachineErrors(() => unregister(run, worker)); // its caller could not release it
    throw translate(error, `registering ${worker}`);
  }
  let note = "";
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
        // A full disk is no reason to stop working, but until a beat is written we count as gone.
        onMissedBeat?.();
        next = Math.min(next, RETRY_MS);
      }
      beatAfter(next);
    }, ms).unref();
  };
  beatAfter(heartbeatMs);
  return {
    worker,
    note: (text, { atOnce = false } = {}) => {
      note = text;
      if (!atOnce || timer === null) return;
      clearTimeout(timer);
      beatAfter(0);
    },
    take: (others) => {
      const changed = canonicalJson({
        ...file,
        types: others && others.length > 0 ? others : null,
      });
      run.memo.workerFiles.set(worker, changed);
      const tmp = temporaryPath(run, `worker-${worker}`);
      replaceFile(workerFileOf(run, worker), tmp, changed, false);
    },
    release: async () => {
      if (timer) clearTimeout(timer);
      timer = null;
      unregister(run, worker);
    },
  };
}

/**
 * Claims under that name belong to another process. A dead predecessor's claims go back now: beside
 * our heartbeat, the reaper would count them as ours for ever. Returns the claims that live on:
 * those of one-shot commands, or made by hand.
 */
async function takeOver(run: FsRun, worker: string): Promise<Holding[]> {
  const living: Holding[] = [];
  const report: ReapReport = { reaped: [], live: [], skipped: [], stuck: [] };
  for (const holding of holdingsOf(run, worker)) {
    const { claims, signs, byHand } = holding;
    if (claims.length === 0) continue;
    // A process of ours that closed in order has left neither file nor heartbeat.
    const hasLeft = !byHand && signs.process === "none" && signs.heartbeatAge === null;
    if (!hasLeft && isAlive(run, signs)) living.push(holding);
    else {
      const age = signs.heartbeatAge === null ? -1 : Math.max(0, signs.heartbeatAge / 1000);
      const reason = signs.process === "gone" ? "gone" : "stale";
      await takeBack(run, worker, claims, reason, age, report);
    }
  }
  const [stuck] = report.stuck;
  if (stuck) throw wouldNotDie(stuck.id, stuck.pids, `the ${worker} before, at`);
  return living;
}

function inUseError(run: FsRun, worker: string, { claims, signs, byHand }: Holding): VivError {
  const ids = claims.map(({ id }) => id).join(", ");
  const limit = formatDuration(staleAfterSeconds(run, signs) * 1000);
  const message = byHand
    ? `the name ${worker} is in use by hand: it claimed ${ids} without viv, ${formatDuration(signs.claimAge)} ago; choose another name, or finish that first (after ${limit} without a sign of life it counts as abandoned).`
    : `one-shot commands hold ${counted(claims.length, "claim")} as ${worker}; choose another name, or finish those first.`;
  return new VivError("WORKER_TAKEN", message, { worker });
}

function unregister(run: FsRun, worker: string): void {
  if (!run.memo.registered.delete(worker)) return;
  run.memo.workerFiles.delete(worker);
  unlinkIfThere(workerFileOf(run, worker));
  removeHeartbeat(run, worker);
  record(run, { event: "worker_stopped", worker });
}
