import type { Stats } from "node:fs";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import type { Task } from "../../task.ts";
import type { FsRun } from "../fs-run.ts";

/** A task from its file's text, as the run's layout writes it. Throws CORRUPT. */
export function parseIn(run: FsRun, file: { text: string; stats: Stats }, id: string): Task {
  // The time it was last changed moves on when it comes back; the time it was made does not.
  const { birthtimeMs, mtimeMs } = file.stats;
  const createdAt = new Date(Math.min(birthtimeMs || mtimeMs, mtimeMs)).toISOString();
  return run.paths.layout.parse(file.text, id, { runId: run.runId, createdAt });
}

export function assertWorker(run: FsRun, name: unknown): string {
  const worker = assertName("worker name", name);
  const why = run.paths.layout.whyNotWorker(worker);
  if (why !== null) throw new VivError("INVALID", why);
  return worker;
}
