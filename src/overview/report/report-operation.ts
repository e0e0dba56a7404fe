import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { ifThere } from "../../base/errno.ts";
import { isVivError } from "../../base/errors.ts";
import { isName } from "../../base/names.ts";
import { parseSince } from "../../base/since.ts";
import { quoted } from "../../base/text.ts";
import { accountsInUse } from "../../engines/accounts/accounts.ts";
import { dollarsOf, type LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import { totalTokens } from "../../engines/costs/usage.ts";
import { text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";
import { limitsSection, routesSection } from "../../work/config-route.ts";
import { idOfRecord, readRecord } from "../../work/workspaces/record.ts";
import { SINCE } from "../model-operations.ts";
import { groupFailures, isCancelledByPerson, timeOf } from "./failures.ts";
import { landedIn } from "./landed.ts";
import type { LedgerDigest } from "./ledger-digest.ts";
import { needsYou, type ReviewFact } from "./needs-you.ts";
import {
  readDone,
  readLandings,
  readLedger,
  readStates,
  titleOf,
  whyUnproven,
} from "./read-run.ts";
import { type CrewFacts, type ReportPort, reportPort, type WardenFacts } from "./report-port.ts";
import { type Killed, type Report, reportOutput } from "./report-shape.ts";

/** A night. */
const DEFAULT_PERIOD = "12h";
const REVIEWS = 50;
const TOP = 5;

export const report = defineRunOperation({
  name: "report",
  summary: "what needs you first; then done, proven, landed, cost, who worked, what was killed",
  access: "read",
  input: z.strictObject({ since: text(`${SINCE} (default: ${DEFAULT_PERIOD})`) }),
  output: reportOutput,
  async run(context, { since: wanted = DEFAULT_PERIOD }): Promise<Report> {
    const { store, here } = context;
    const now = context.now();
    const since = parseSince(wanted, now);
    const port = await context.use(reportPort);
    const notes: string[] = [];
    const states = await readStates(store);
    const { digest, money, unreadable, limits, budget } = await readLedger(context, since);
    const held = new Map(states.claimed.map(({ id, worker }) => [id, worker]));
    digest.close((task, worker) => held.get(task) === worker);
    const crew = await unlessRefused(notes, () => port.crew(context, since));
    const warden = await unlessRefused(notes, () => port.warden(context, since));
    for (const { name, from, to } of crew?.runs ?? []) digest.busy.add(crewKey(name), from, to);
    const { landings, unreadable: badLandings } = readLandings(store, digest);
    const done = await readDone(store, states.done, digest, since);
    const landed = await landedIn(digest, landings, since, port);
    const counts = await store.counts();
    const words = await runWords(context, port);
    const failed = states.failed
      .map(({ id, since }) => ({ id, since, facts: digest.tasks.get(id) }))
      .filter((one) => !isCancelledByPerson(one));
    const failedNow = failed.filter((one) => !(timeOf(one) < since));
    const usedUp = (limits && budget?.usedUp(limits, null)) ?? null;
    const total = money.total();
    const usd = dollarsOf(total);
    return {
      run_id: store.runId,
      run_dir: store.location,
      run_words: words,
      since,
      until: new Date(now).toISOString(),
      counts,
      needs_you: needsYou({
        ...{ now, counts, crew, warden, landings, unreadableLandings: badLandings },
        runWords: words,
        reviews: await reviewsOf(store, states.review.slice(0, REVIEWS), digest),
        reviewLimit: here.config?.section(limitsSection).review,
        failures: groupFailures(failedNow),
        olderFailures: failed.length - failedNow.length,
        accounts: (await accountsInUse(context)).all,
        budget: usedUp && !usedUp.isShared ? usedUp.text : null,
        quarantine: join(store.folder, "quarantine"),
        hasWorker: (await store.workers()).some(
          ({ alive, process, claims }) => alive && (process !== "none" || claims.length > 0),
        ),
        hasRoutes: (here.config?.section(routesSection).size ?? 0) > 0,
        damagedLines: digest.damaged,
      }),
      done: { ...done, by_hand: done.byHand },
      landed: { ...landed, waiting: branchesLeft(store, states.done, digest, landings) },
      outcomes: Object.fromEntries(digest.outcomes),
      cost: {
        usd,
        unpriced_tokens: total.unpriced,
        tokens: totalTokens(total.tokens),
        ...{ attempts: total.attempts, unreadable },
        usd_per_landed: landed.count === 0 ? null : usd / landed.count,
        budgets: (["day", "run"] as const).flatMap((of) =>
          (["usd", "tokens"] as const).flatMap((unit) => {
            const limit = limits?.[of][unit];
            return limit === undefined || !budget
              ? []
              : [{ of, unit, limit, spent: budget.spent[of][unit] }];
          }),
        ),
        reserved_usd: budget?.reserved.usd ?? 0,
        crew_today_usd: crew?.members.reduce((sum, { usdToday }) => sum + usdToday, 0) ?? null,
      },
      worked: workedIn(digest, crew),
      ...(await topTasks(store, digest, money)),
      killed: killedIn(store, digest, warden),
      notes,
    };
  },
});

/** A folder that is not to be trusted, or a file that is damaged, costs a part of the report only. */
async function unlessRefused<T>(notes: string[], read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!isVivError(error)) throw error;
    notes.push(error.message);
    return null;
  }
}

/** Commands name the run, unless the folder, or the environment, does. */
async function runWords(context: RunContext, port: ReportPort): Promise<string> {
  const { location } = context.store;
  return (await port.defaultRun(context)) === location ? "" : ` --run ${quoted(location)}`;
}

async function reviewsOf(
  store: Store,
  reviews: readonly { id: string }[],
  digest: LedgerDigest,
): Promise<ReviewFact[]> {
  const facts: ReviewFact[] = [];
  for (const { id } of reviews) {
    const task = isName(id) ? (await store.show(id))?.task : null;
    const proof = isName(id) ? await store.proof(id) : null;
    const last = digest.tasks.get(id)?.last ?? null;
    const unproven = whyUnproven(proof, last?.to === "review" ? last : null, task);
    facts.push({ id, title: titleOf(task), unproven });
  }
  return facts;
}

/** Branches of done tasks that are in no target: by the records of their workspaces. */
function branchesLeft(
  store: Store,
  done: readonly { id: string }[],
  digest: LedgerDigest,
  landings: readonly { task: string; state: string }[],
): number {
  const names = ifThere(() => readdirSync(store.workspaces)) ?? [];
  const recorded = new Set(names.map(idOfRecord));
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
    ({ id }) =>
      recorded.has(id) && !over.has(id) && !digest.tasks.get(id)?.landed && isWorktree(id),
  );
  return left.length;
}

/** A member may be called like a worker. */
function crewKey(name: string): string {
  return `crew ${name}`;
}

function workedIn(digest: LedgerDigest, crew: CrewFacts | null): Report["worked"] {
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
      slots: slots.map((share) => Math.round(share * 1000) / 1000),
    };
  });
}

async function topTasks(store: Store, digest: LedgerDigest, money: LedgerTotals) {
  const all = [...digest.tasks];
  const slowest = top(all, ([, { workMs }]) => workMs);
  const retried = top(all, ([, { attempts }]) => (attempts > 1 ? attempts : 0));
  const spent = [...money.rows("task")].filter(([key]) => key !== null);
  const dearest = top(spent, ([, sum]) => dollarsOf(sum));
  const named = async (id: string) => {
    const view = isName(id) ? await store.show(id) : null;
    return { id, type: view?.type ?? null, state: view?.state ?? null, title: titleOf(view?.task) };
  };
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

/** The largest, without those of size zero; of equals the first by name. */
function top<T extends readonly [string | null, unknown]>(
  rows: readonly T[],
  sizeOf: (row: T) => number,
): T[] {
  const sized = rows.filter((row) => sizeOf(row) > 0);
  const byName = (a: T, b: T) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1);
  return sized.sort((a, b) => sizeOf(b) - sizeOf(a) || byName(a, b)).slice(0, TOP);
}

/** The warden's executions; and attempts that were ended by one whose receipt it no longer has. */
function killedIn(store: Store, digest: LedgerDigest, warden: WardenFacts | null): Killed[] {
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
