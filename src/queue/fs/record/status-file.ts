import { dirname } from "node:path";
import { unlessCorrupt, VivError } from "../../../base/errors.ts";
import { canonicalJson, parseExactly } from "../../../base/json.ts";
import type { Checkpoint, CheckpointUpdate, RunStatus } from "../../store.ts";
import {
  linkIfFree,
  readRegular,
  replaceFile,
  statIfThere,
  syncFolder,
  translate,
  viaTemporary,
  withLock,
} from "../files/atomic.ts";
import { type FsRun, nowIso, temporaryPath } from "../fs-run.ts";
import type { Paths } from "../layout.ts";

/** completed_tasks of a million tasks is some 30 MB. */
const MAX_STATUS_BYTES = 512 * 1024 * 1024;

/** Null when there is none. Throws CORRUPT for anything but schema 0.x. */
export function readStatusFile(paths: Paths): RunStatus | null {
  const file = readRegular(paths.status, MAX_STATUS_BYTES);
  if (file === null) return null;
  const corrupt = (problem: string, details = {}, cause?: unknown) =>
    new VivError("CORRUPT", `status.json ${problem}`, details, { cause });
  let raw: unknown;
  try {
    raw = parseExactly(file.text);
  } catch (cause) {
    const why = (cause as Error).message;
    throw corrupt(`is not JSON (${why}); repair it by hand or move it away.`, {}, cause);
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw corrupt("is not a JSON object; move it away.");
  }
  const status = raw as Partial<RunStatus>;
  const version = String(status.schema_version ?? "0.0");
  if (!version.startsWith("0.")) {
    const problem = `has schema_version ${JSON.stringify(version)}; this version reads 0.x.`;
    throw corrupt(problem, { schema_version: version });
  }
  return {
    ...status,
    schema_version: version,
    run_id: status.run_id ?? paths.root.slice(paths.root.lastIndexOf("/") + 1),
    checkpoint: { ...emptyCheckpoint(), ...status.checkpoint },
    metadata: status.metadata ?? {},
  };
}

/** The same, but null for a broken one: doctor reports and repairs it. */
export function readStatusLeniently(paths: Paths): RunStatus | null {
  return unlessCorrupt(() => readStatusFile(paths));
}

function emptyCheckpoint(): Checkpoint {
  return {
    summary: "",
    next_step: "",
    next_task_id: null,
    risk: "",
    completed_tasks: [],
    current_worker: null,
    timestamp: "",
    resume_command: null,
  };
}

function freshStatus(run: FsRun, runId: string, update: CheckpointUpdate): RunStatus {
  const checkpoint = { ...emptyCheckpoint(), summary: "Initialized", ...checkpointPart(update) };
  return {
    schema_version: "0.1",
    run_id: runId,
    checkpoint: { ...checkpoint, timestamp: nowIso(run) },
    metadata: update.metadata ?? {},
  };
}

/** For a new run; one that another process made meanwhile stays. */
export function createStatus(run: FsRun, runId: string): void {
  const tmp = temporaryPath(run, "status");
  const text = canonicalJson(freshStatus(run, runId, {}));
  viaTemporary(tmp, text, run.durability === "safe", () => linkIfFree(tmp, run.paths.status));
}

export function initStatus(
  run: FsRun,
  runId: string,
  update: CheckpointUpdate,
): Promise<RunStatus> {
  return withStatusLock(run, () => writeSynced(run, freshStatus(run, runId, update)));
}

/** A new checkpoint: completed_tasks stay, metadata is merged, the rest is replaced if given. */
export function updateStatus(run: FsRun, update: CheckpointUpdate): Promise<RunStatus> {
  return withStatusLock(run, () => {
    const old = readStatusFile(run.paths) ?? freshStatus(run, run.runId, {});
    return writeSynced(run, {
      ...old,
      checkpoint: { ...old.checkpoint, ...checkpointPart(update), timestamp: nowIso(run) },
      metadata: { ...old.metadata, ...update.metadata },
    });
  });
}

/** completed_tasks is derived; a person's checkpoint is not. */
function writeSynced(run: FsRun, status: RunStatus): RunStatus {
  writeStatusFile(run, status);
  if (run.durability === "safe") syncFolder(dirname(run.paths.status));
  return status;
}

function checkpointPart(update: CheckpointUpdate): Partial<Checkpoint> {
  const { metadata: _, ...rest } = update;
  return Object.fromEntries(Object.entries(rest).filter(([, v]) => v !== undefined));
}

export function writeStatusFile(run: FsRun, status: RunStatus): void {
  const isSafe = run.durability === "safe";
  try {
    replaceFile(run.paths.status, temporaryPath(run, "status"), canonicalJson(status), isSafe);
  } catch (error) {
    throw translate(error, "writing status.json");
  }
  run.memo.completedSeen = null;
}

/** Every writer of status.json, swarm-lib's included, holds this lock. */
export function withStatusLock<T>(run: FsRun, critical: () => T, waitSeconds?: number): Promise<T> {
  return withLock(run.paths.statusLock, critical, waitSeconds);
}

/** completed_tasks of status.json, read again only when the file was replaced. */
export function completedTasks(run: FsRun): ReadonlySet<string> {
  const stats = statIfThere(run.paths.status);
  if (!stats) return new Set();
  const key = `${stats.ino}.${stats.mtimeMs}.${stats.size}`;
  if (run.memo.completedSeen?.key !== key) {
    const list = readStatusLeniently(run.paths)?.checkpoint.completed_tasks ?? [];
    run.memo.completedSeen = { key, ids: new Set(list) };
  }
  return run.memo.completedSeen.ids;
}
