import { dirname } from "node:path";
import { canonicalJson, parseRecord } from "../../base/json.ts";
import type { Pause } from "../store.ts";
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

/**
 * `paused.json`: while it is there, no task is claimed. Its existence counts, whatever it holds: a
 * person may make it with `touch`. A claimer looks for it before it takes a task and again right
 * after, and puts the task back if it came in between: so every claim that is handed out was taken
 * before the file was there.
 */
export function isPaused({ paths }: FsRun): boolean {
  return statIfThere(paths.paused) !== undefined;
}

export function readPause(run: FsRun): Pause | null {
  const stats = statIfThere(run.paths.paused);
  if (stats === undefined) return null;
  const text = (value: unknown) => (typeof value === "string" && value ? value : undefined);
  const { by, at, note } = parseRecord(textOf(run)) ?? {};
  return {
    by: text(by) ?? "someone",
    at: text(at) ?? new Date(stats.mtimeMs).toISOString(),
    note: text(note),
  };
}

function textOf({ paths }: FsRun): string {
  try {
    return readRegular(paths.paused, 64 * 1024)?.text ?? "";
  } catch (error) {
    if (!isForeign(error)) throw error;
    return ""; // a link or a folder pauses as well
  }
}

/** Paused again, it keeps the time of the first; the new note counts. */
export function pauseRun(run: FsRun, { by, note }: { by?: string; note?: string }): Pause {
  const before = readPause(run);
  const pause: Pause = {
    by: by || before?.by || "someone",
    at: before?.at ?? nowIso(run),
    note: note || before?.note,
  };
  const isSafe = run.durability === "safe";
  replaceFile(run.paths.paused, temporaryPath(run, "paused"), canonicalJson(pause), isSafe);
  if (isSafe) syncFolder(dirname(run.paths.paused));
  // The file is the fact; the ledger only tells of it.
  if (before === null || note) {
    ignoreMachineErrors(() => record(run, { event: "paused", by: pause.by, note: pause.note }));
  }
  return pause;
}

/** What it was; null when it was not paused, or another process resumed it just now. */
export function resumeRun(run: FsRun, { by }: { by?: string }): Pause | null {
  const before = readPause(run);
  if (before === null || !unlinkIfThere(run.paths.paused)) return null;
  if (run.durability === "safe") syncFolder(dirname(run.paths.paused));
  ignoreMachineErrors(() => record(run, { event: "resumed", by: by || undefined }));
  return before;
}
