import {
  type AttemptRecord,
  type HistoryRecord,
  isAttempt,
  type ReceiptRecord,
  type VoidRecord,
} from "../../model/attempt.ts";
import { appendLine, readRegular } from "./atomic.ts";
import type { FsRun } from "./run.ts";

/**
 * `.viv/attempts/<id>.jsonl`: the ended attempts of a task, for those that did not succeed at
 * once. The ledger has them all; this is the part that the next claim of the task must know.
 */

const LIMIT = 64 * 1024 * 1024;

function pathOf(run: FsRun, id: string): string {
  return `${run.paths.attempts}/${id}.jsonl`;
}

export function readHistory(run: FsRun, id: string): HistoryRecord[] {
  const file = readRegular(pathOf(run, id), LIMIT);
  if (file === null) return [];
  const records: HistoryRecord[] = [];
  for (const line of file.text.split("\n")) {
    if (line === "") continue;
    let read: AnyRecord;
    try {
      read = JSON.parse(line) as AnyRecord;
    } catch {
      continue; // a line torn by a full disk; the ledger has the whole one
    }
    if ("executed" in read) {
      const { executed, receipt } = read;
      const attempt = records.findLast((one) => isAttempt(one) && one.token === executed);
      if (attempt) (attempt as AttemptRecord).receipt ??= receipt;
      continue;
    }
    if (!("void" in read)) {
      records.push(read);
      continue;
    }
    const { void: token, outcome } = read;
    const at = records.findLastIndex(
      (r) => isAttempt(r) && r.token === token && r.outcome === outcome,
    );
    if (at >= 0) records.splice(at, 1);
  }
  // Others may have written an attempt as well (recovery, a second reaper): the first counts.
  const seen = new Set<string>();
  return records.filter((one) => !isAttempt(one) || (!seen.has(one.token) && seen.add(one.token)));
}

type AnyRecord = HistoryRecord | VoidRecord | ReceiptRecord;

export function appendHistory(run: FsRun, id: string, entry: AnyRecord): void {
  appendLine(pathOf(run, id), JSON.stringify(entry));
}

export function attemptNumber(history: readonly HistoryRecord[]): number {
  return history.filter(isAttempt).length + 1;
}

/** When the task may run again, by the last attempt's verdict; 0 when at once. */
export function restsUntil(history: readonly HistoryRecord[]): number {
  const last = history.at(-1);
  if (last === undefined || !isAttempt(last)) return 0;
  return (last as AttemptRecord).retry_at ? Date.parse((last as AttemptRecord).retry_at ?? "") : 0;
}
