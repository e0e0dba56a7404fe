import { type HistoryRecord, isAttempt } from "../../model/attempt.ts";
import { outdateLines } from "./after-move.ts";
import { appendHistory, readHistory } from "./attempts.ts";
import { fileOf } from "./layout.ts";
import { type FsRun, nowIso } from "./run.ts";

/**
 * The history of a task in pending/. Who moves one from failed/ back there by hand has decided the same
 * as with `retry`, and whoever notices first says so.
 */
export function historyOfPending(run: FsRun, id: string): HistoryRecord[] {
  const history = readHistory(run, id);
  const last = history.at(-1);
  const hasFailed = last !== undefined && isAttempt(last) && last.to === "failed";
  if (!hasFailed && !run.customs?.wasStuck(run, id)) return history;
  appendHistory(run, id, { retried: true, by: "hand", at: nowIso(run) });
  outdateLines(fileOf(run.paths, "pending", id)); // they tell of earlier attempts
  return readHistory(run, id);
}
