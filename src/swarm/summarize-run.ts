import { readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { JsonTree } from "./json.ts";
import { readStatusFile, type StatusFile, UnreadableStatus } from "./status-file.ts";

/** What `ls --json` prints of a run, key by key. */
export type RunSummary = {
  run_dir: string;
  run_id: string;
  exists: boolean;
  pending: number;
  claimed_by_worker: Map<string, number>;
  done: number;
  failed: number;
  next_step: JsonTree;
  next_task_id: JsonTree;
  last_completed: JsonTree;
  current_worker: JsonTree;
  completed_count: number;
};

/** Only looks, and at the names alone: it works on any folder, and on a run of any size. */
export function summarizeRun(runDir: string): RunSummary {
  const exists = statSync(runDir, { throwIfNoEntry: false }) !== undefined;
  const checkpoint = exists ? readCheckpoint(runDir) : new Map<string, JsonTree>();
  const completed = checkpoint.get("completed_tasks");
  const list = Array.isArray(completed) ? completed : [];
  return {
    run_dir: runDir,
    run_id: basename(runDir),
    exists,
    pending: countTasks(`${runDir}/pending`),
    claimed_by_worker: countClaims(`${runDir}/claimed`),
    done: countTasks(`${runDir}/done`),
    failed: countTasks(`${runDir}/failed`),
    next_step: checkpoint.get("next_step") || null,
    next_task_id: checkpoint.get("next_task_id") ?? null,
    last_completed: list.at(-1) ?? null,
    current_worker: checkpoint.get("current_worker") ?? null,
    completed_count: list.length,
  };
}

/** A run without a status.json, or with one that cannot be read, still has its counts. */
function readCheckpoint(runDir: string): StatusFile["checkpoint"] {
  try {
    return readStatusFile(runDir)?.checkpoint ?? new Map();
  } catch (error) {
    if (error instanceof UnreadableStatus) return new Map();
    throw error;
  }
}

function countTasks(folder: string): number {
  return namesIn(folder).filter((name) => name.endsWith(".json")).length;
}

function countClaims(claimed: string): Map<string, number> {
  const counts = namesIn(claimed).map((name): [string, number] => [
    name,
    countTasks(`${claimed}/${name}`),
  ]);
  return new Map(counts.filter(([, count]) => count > 0));
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Sorted; none when it is not there or not a folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}
