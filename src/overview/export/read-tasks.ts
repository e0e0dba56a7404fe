import { setImmediate } from "node:timers/promises";
import { VivError } from "../../base/errors.ts";
import { dollarsOf, LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import type { HistoryRecord } from "../../queue/attempt.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { RunContext } from "../../queue/operation.ts";
import type { TaskSummary } from "../../queue/store.ts";
import { LedgerDigest, type TaskFacts } from "../report/ledger-digest.ts";
import { COLUMNS, type FilledColumn } from "./columns.ts";

/** Lets other work of this process go on, and ends the export when it is asked to. */
export async function breathe({ signal }: Pick<RunContext, "signal">): Promise<void> {
  await setImmediate();
  if (signal.aborted) {
    throw new VivError("INTERRUPTED", "the export was stopped; the folder is as it was before.");
  }
}

/** Every task once: one that moves on while the folders are listed stays in its first column. */
export async function readColumns(context: RunContext): Promise<FilledColumn[]> {
  const seen = new Set<string>();
  const columns: FilledColumn[] = [];
  for (const column of COLUMNS) {
    const tasks: TaskSummary[] = [];
    for await (const task of context.store.list({ states: [column.state], sorted: true })) {
      if (seen.has(task.id)) continue;
      seen.add(task.id);
      tasks.push(task);
      if (tasks.length % 1000 === 0) await breathe(context);
    }
    columns.push({ ...column, tasks });
  }
  return columns;
}

export interface RecordOfTasks {
  factsOf(id: string): TaskFacts | undefined;
  usdOf(id: string): number;
  /** Of the tasks that were asked for. */
  historyOf(id: string): HistoryRecord[];
}

/** One pass over the ledger. `show` would read it once for each task that was done at once. */
export async function readRecord(
  context: RunContext,
  wanted: (id: string) => boolean,
): Promise<RecordOfTasks> {
  const digest = new LedgerDigest(new Date(0).toISOString(), context.now());
  const money = new LedgerTotals(["task"]);
  const histories = new Map<string, HistoryRecord[]>();
  let lines = 0;
  for await (const line of context.store.ledger()) {
    digest.add(line);
    money.add(line);
    if (typeof line.task === "string" && wanted(line.task)) record(histories, line.task, line);
    if (++lines % 5000 === 0) await breathe(context);
  }
  const usd = new Map<string, number>();
  for (const [task, sum] of money.rows("task")) if (task !== null) usd.set(task, dollarsOf(sum));
  return {
    factsOf: (id) => digest.tasks.get(id),
    usdOf: (id) => usd.get(id) ?? 0,
    historyOf: (id) => histories.get(id) ?? [],
  };
}

/** Names of people are not in it. */
function record(histories: Map<string, HistoryRecord[]>, task: string, line: LedgerLine): void {
  const known = histories.get(task) ?? [];
  histories.set(task, known);
  const { event, at, token = "", note, outcome } = line;
  if (event === "ended" && outcome && line.to) {
    const { attempt = known.length + 1, worker = "?", to, fingerprint, retry_at } = line;
    known.push({ attempt, worker, token, outcome, to, at, note, fingerprint, retry_at });
  } else if (event === "void") {
    const end = known.findLastIndex((one) => "token" in one && one.token === token);
    if (end >= 0) known.splice(end, 1);
  } else if (event === "retried" || event === "rejected" || event === "reworked") {
    known.push({ retried: true, by: event, at, note });
  }
}
