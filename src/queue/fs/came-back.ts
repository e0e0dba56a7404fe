import { type HistoryRecord, isAttempt } from "../attempt.ts";
import { outdateLines } from "./after-move.ts";
import { statIfThere } from "./atomic.ts";
import { appendHistory, historyAt, readHistory } from "./attempts.ts";
import { fileOf } from "./layout.ts";
import { type FsRun, nowIso, record } from "./run.ts";

/**
 * The history of a task in pending/. Who moves one from failed/ back there by hand has decided the same
 * as with `retry`, and whoever notices first says so.
 */
export function historyOfPending(run: FsRun, id: string): HistoryRecord[] {
  const stats = statIfThere(fileOf(run.paths, "pending", id));
  const history = stats ? historyAt(run, id, stats) : readHistory(run, id);
  const last = history.at(-1);
  const hasFailed = last !== undefined && isAttempt(last) && last.to === "failed";
  if (!hasFailed && !run.hooks?.wasStuck(run, id)) return history;
  appendHistory(run, id, { retried: true, by: "hand", at: nowIso(run) });
  record(run, { event: "retried", task: id, from: "failed", to: "pending", by: "hand" });
  outdateLines(fileOf(run.paths, "pending", id)); // they tell of earlier attempts
  return readHistory(run, id);
}
