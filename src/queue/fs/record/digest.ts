import { isListedName, isName } from "../../../base/names.ts";
import type { AttemptRecord, HistoryRecord } from "../../attempt.ts";
import { isAttempt } from "../../attempt.ts";
import type { LedgerLine } from "../../ledger.ts";
import type { FsRun } from "../run.ts";
import { readLedger } from "./ledger.ts";

/** What the ledger knows of what is derived. */
export interface Digest {
  /** Of each task, what its file in attempts/ should say. */
  histories: Map<string, HistoryRecord[]>;
  /** Tasks that were enqueued or adopted by us: their ids are registered. */
  ours: Set<string>;
  /** Unreadable lines, by file. */
  torn: Map<string, number>;
  lines: number;
}

/** `only`: of one task. */
export function digestLedger(run: FsRun, only?: string): Digest {
  const digest: Digest = { histories: new Map(), ours: new Set(), torn: new Map(), lines: 0 };
  const { histories, ours, torn } = digest;
  /** Read before the ends that they take back: a wrong clock may have put them into an earlier file. */
  const early = new Set<string>();
  const onTorn = (file: string) => torn.set(file, (torn.get(file) ?? 0) + 1);
  for (const { line } of readLedger(run.paths.ledger, undefined, onTorn)) {
    digest.lines++;
    const { task } = line;
    if (!isListedName(task) || (only !== undefined && task !== only)) continue;
    if (line.event === "enqueued" && isName(task)) ours.add(task);
    const records = histories.get(task) ?? [];
    follow(records, line, early);
    if (records.length > 0) histories.set(task, records);
  }
  return digest;
}

function follow(records: HistoryRecord[], line: LedgerLine, early: Set<string>): void {
  const { event, token, outcome } = line;
  const end = `${line.task} ${token} ${outcome}`;
  switch (event) {
    case "ended":
      if (isLogged(line) && !early.delete(end)) records.push(attemptFrom(line));
      return;
    case "void": {
      const at = records.findLastIndex(
        (one) => isAttempt(one) && one.token === token && one.outcome === outcome,
      );
      if (at >= 0) records.splice(at, 1);
      else early.add(end);
      return;
    }
    case "executed": {
      const attempt = records.findLast((one) => isAttempt(one) && one.token === token);
      if (attempt && line.receipt) (attempt as AttemptRecord).receipt ??= line.receipt;
      return;
    }
    case "retried":
    case "rejected":
      records.push({
        retried: true,
        by: line.by ?? "someone",
        at: line.at,
        note: line.note || undefined,
      });
  }
}

/** A task that is done at its first attempt has no history: see finish.ts. */
function isLogged({ token, outcome, to, attempt }: LedgerLine): boolean {
  return Boolean(token && outcome && to) && !(to === "done" && (attempt ?? 1) === 1);
}

function attemptFrom(line: LedgerLine): AttemptRecord {
  return {
    attempt: line.attempt ?? 1,
    worker: line.worker ?? "?",
    token: line.token as string,
    outcome: line.outcome as AttemptRecord["outcome"],
    to: line.to as AttemptRecord["to"],
    at: line.at,
    note: line.note || undefined,
    fingerprint: line.fingerprint || undefined,
    retry_at: line.retry_at || undefined,
    receipt: line.receipt || undefined,
  };
}
