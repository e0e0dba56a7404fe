import { isVivError } from "../../base/errors.ts";
import { parseRecord } from "../../base/json.ts";
import { isName } from "../../base/names.ts";
import { quoted } from "../../base/text.ts";
import type { Limits } from "../../engines/costs/budget.ts";
import { dollarsOf, type LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import type { SharedBudget } from "../../engines/costs/shared-budget.ts";
import type { Store } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { readRecord } from "../../work/workspaces/record.ts";
import type { LedgerDigest } from "./ledger-digest.ts";
import { titleOf } from "./read-run.ts";
import type { CrewFacts, WardenFacts } from "./report-port.ts";
import type { Killed, Report } from "./report-shape.ts";

/** How many tasks are named as the slowest, the dearest, the most retried. */
const TOP = 5;

/** Branches that are in no target. `done`: done tasks that have a record of their workspace. */
export function branchesLeft(
  store: Store,
  done: readonly string[],
  digest: LedgerDigest,
  landings: readonly { task: string; state: string }[],
): number {
  const over = new Set(
    landings
      .filter(({ state }) => state === "landed" || state === "no_changes" || state === "closed")
      .map(({ task }) => task),
  );
  const isWorktree = (id: string) => {
    try {
      return readRecord(store.workspaces, id)?.kind === "worktree";
    } catch (error) {
      if (isVivError(error)) return false; // `viv workspaces` reports it
      throw error;
    }
  };
  const left = done.filter(
    (id) => !over.has(id) && !digest.tasks.get(id)?.landed && isWorktree(id),
  );
  return left.length;
}

/** The budgets that are set, with what is spent. */
export function budgetRows(limits: Limits | undefined, budget: Pick<SharedBudget, "spent"> | null) {
  if (limits === undefined || budget === null) return [];
  return (["day", "run"] as const).flatMap((of) =>
    (["usd", "tokens"] as const).flatMap((unit) => {
      const limit = limits[of]?.[unit];
      return limit === undefined ? [] : [{ of, unit, limit, spent: budget.spent[of][unit] }];
    }),
  );
}

/** A member may be called like a worker. */
export function crewKey(name: string): string {
  return `crew ${name}`;
}

export function workedIn(digest: LedgerDigest, crew: CrewFacts | null): Report["worked"] {
  const runs = new Map<string, number>();
  for (const { name } of crew?.runs ?? []) runs.set(name, (runs.get(name) ?? 0) + 1);
  return [...digest.busy.all()].map(([key, { from, to, busyMs, slots }]) => {
    // No worker's name has a space.
    const member = key.startsWith("crew ") ? key.slice("crew ".length) : null;
    return {
      name: member ?? key,
      kind: member === null ? ("worker" as const) : ("crew" as const),
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      tasks: member === null ? digest.tasksOf(key) : (runs.get(member) ?? 0),
      busy_ms: Math.round(busyMs),
      slots: slots.map((share) => Math.ceil(share * 1000) / 1000),
    };
  });
}

export async function topTasks(store: Store, digest: LedgerDigest, money: LedgerTotals) {
  const slowest = top(digest.tasks, ([, { workMs }]) => workMs);
  const retried = top(digest.tasks, ([, { attempts }]) => (attempts > 1 ? attempts : 0));
  const spent = [...money.rows("task")].filter(([key]) => key !== null);
  const dearest = top(spent, ([, sum]) => dollarsOf(sum));
  const named = (id: string) => nameOf(store, id, digest);
  const each = <T, R>(rows: readonly T[], of: (row: T) => Promise<R>) => Promise.all(rows.map(of));
  return {
    slowest: await each(slowest, async ([id, { workMs }]) => ({
      ...(await named(id)),
      ms: workMs,
    })),
    dearest: await each(dearest, async ([id, sum]) => ({
      ...(await named(id ?? "")),
      usd: dollarsOf(sum),
      unpriced_tokens: sum.unpriced,
    })),
    retried: await each(retried, async ([id, { attempts }]) => ({
      ...(await named(id)),
      attempts,
    })),
  };
}

async function nameOf(store: Store, id: string, digest: LedgerDigest) {
  const view = isName(id) ? await store.show(id) : null;
  if (view?.state === "done") {
    const task = parseRecord(await store.source(id)) as Task | null; // food is no JSON
    const type = task?.task_type ?? digest.tasks.get(id)?.type ?? null;
    return { id, type, state: "done" as const, title: titleOf(task) };
  }
  return { id, type: view?.type ?? null, state: view?.state ?? null, title: titleOf(view?.task) };
}

/** The largest, without those of size zero; of equals the first by name. */
function top<T extends readonly [string | null, unknown]>(
  rows: Iterable<T>,
  sizeOf: (row: T) => number,
): T[] {
  const byName = (a: T, b: T) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1);
  const largest: T[] = [];
  for (const row of rows) {
    const size = sizeOf(row);
    const least = largest[TOP - 1];
    if (!(size > 0) || (least !== undefined && size < sizeOf(least))) continue;
    largest.push(row);
    largest.sort((a, b) => sizeOf(b) - sizeOf(a) || byName(a, b)).splice(TOP);
  }
  return largest;
}

/** The warden's executions; and attempts that were ended by one whose receipt it no longer has. */
export function killedIn(store: Store, digest: LedgerDigest, warden: WardenFacts | null): Killed[] {
  const here = (warden?.kills ?? []).filter(
    ({ kind, home }) => kind !== "worker" || home === store.location,
  );
  const all = new Map<string, Killed>();
  for (const { target, at, why, warrant, receipt, tasks } of here) {
    const command = `viv epitaph ${warrant}`;
    all.set(receipt, { target, at, why, tasks: [...tasks], warrant, receipt, command });
  }
  for (const { task, worker, at, receipt } of digest.executions) {
    const key = receipt ?? `${worker} ${at}`;
    const known = all.get(key) ?? {
      ...{ target: worker, at, why: "ended by the warden", tasks: [], warrant: null, receipt },
      command: receipt && `cat ${quoted(receipt)}`,
    };
    if (!known.tasks.includes(task)) known.tasks.push(task);
    all.set(key, known);
  }
  return [...all.values()].sort((a, b) => (a.at < b.at ? 1 : -1));
}
