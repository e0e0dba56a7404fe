import { dirname } from "node:path";
import { canonicalJson, parseRecord } from "../../base/json.ts";
import { assertName } from "../../base/names.ts";
import type { Pause } from "../store.ts";
import { makeWorkerFolder } from "./claims/vital-signs.ts";
import {
  ignoreMachineErrors,
  isForeign,
  readRegular,
  replaceFile,
  statIfThere,
  syncFolder,
  unlinkIfThere,
} from "./files/atomic.ts";
import { type FsRun, nowIso, record, temporaryPath } from "./fs-run.ts";
import { workerPauseOf } from "./layout.ts";

/**
 * `paused.json`: while it is there, no task is claimed; `claimed/<worker>/.paused`: none by that worker.
 * Its existence counts, whatever it holds: a person may make it with `touch`. A claimer looks for it
 * before it takes a task and again right after, and puts the task back if it came in between: so every
 * claim that is handed out was taken before the file was there.
 */
export function isPaused({ paths }: FsRun, worker?: string): boolean {
  if (statIfThere(paths.paused) !== undefined) return true;
  return worker !== undefined && statIfThere(workerPauseOf(paths, worker)) !== undefined;
}

export function readPause(run: FsRun, worker?: string): Pause | null {
  const path = pathFor(run, worker);
  const stats = statIfThere(path);
  if (stats === undefined) return null;
  const text = (value: unknown) => (typeof value === "string" && value ? value : undefined);
  const { by, at, note } = parseRecord(textOf(path)) ?? {};
  return {
    by: text(by) ?? "someone",
    at: text(at) ?? new Date(stats.mtimeMs).toISOString(),
    note: text(note),
  };
}

function pathFor({ paths }: FsRun, worker: string | undefined): string {
  return worker === undefined
    ? paths.paused
    : workerPauseOf(paths, assertName("worker name", worker));
}

function textOf(path: string): string {
  try {
    return readRegular(path, 64 * 1024)?.text ?? "";
  } catch (error) {
    if (!isForeign(error)) throw error;
    return ""; // a link or a folder pauses as well
  }
}

interface Asked {
  by?: string;
  note?: string;
  worker?: string;
}

/** Paused again, it keeps the time of the first; the new note counts. */
export function pauseRun(run: FsRun, { by, note, worker }: Asked): Pause {
  const before = readPause(run, worker);
  const pause: Pause = {
    by: by || before?.by || "someone",
    at: before?.at ?? nowIso(run),
    note: note || before?.note,
  };
  const path = pathFor(run, worker);
  if (worker !== undefined) {
    run.memo.workerFolders.delete(worker); // a reaper may have removed it since
    makeWorkerFolder(run, worker);
  }
  const isSafe = run.durability === "safe";
  replaceFile(path, temporaryPath(run, "paused"), canonicalJson(pause), isSafe);
  if (isSafe) syncFolder(dirname(path));
  // The file is the fact; the ledger only tells of it.
  if (before === null || note) {
    const told = { event: "paused" as const, worker, by: pause.by, note: pause.note };
    ignoreMachineErrors(() => record(run, told));
  }
  return pause;
}

/** What it was; null when it was not paused, or another process resumed it just now. */
export function resumeRun(run: FsRun, { by, worker }: Asked): Pause | null {
  const before = readPause(run, worker);
  const path = pathFor(run, worker);
  if (before === null || !unlinkIfThere(path)) return null;
  if (run.durability === "safe") syncFolder(dirname(path));
  ignoreMachineErrors(() => record(run, { event: "resumed", worker, by: by || undefined }));
  return before;
}
