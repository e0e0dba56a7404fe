import { join } from "node:path";
import * as z from "zod/mini";
import { idWord, isName } from "../../base/names.ts";
import { quoted } from "../../base/text.ts";
import { accountsInUse } from "../../engines/accounts/accounts.ts";
import { dollarsOf } from "../../engines/costs/ledger-totals.ts";
import { totalTokens } from "../../engines/costs/usage.ts";
import { text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { countsInWords } from "../../queue/schemas.ts";
import type { Store, WorkerView } from "../../queue/store.ts";
import { hasWorkspaces, limitsSection, routeFor, routesSection } from "../../work/config-route.ts";
import { workspaceUsePort } from "../../work/host.ts";
import { remarkIn } from "../../work/remark.ts";
import { SINCE } from "../model-operations.ts";
import { Dependents, notEnqueued, readDependents } from "./dependents.ts";
import { groupFailures, timeOf } from "./failures.ts";
import { landedIn } from "./landed.ts";
import type { LedgerDigest } from "./ledger-digest.ts";
import { type NeedFacts, needsYou, type ReviewFact } from "./needs-you.ts";
import { readPeriod } from "./period.ts";
import {
  readDone,
  readLandings,
  readLedger,
  readStates,
  titleOf,
  whyUnproven,
} from "./read-run.ts";
import { branchesLeft, budgetRows, crewKey, killedIn, topTasks, workedIn } from "./report-parts.ts";
import type { ReportPort } from "./report-port.ts";
import { type Report, reportOutput } from "./report-shape.ts";

/** A night. */
const DEFAULT_PERIOD = "12h";
const REVIEWS = 50;

export const report = defineRunOperation({
  name: "report",
  summary: "what needs you first; then done, proven, landed, cost, who worked, what was killed",
  access: "read",
  readsAll: true,
  input: z.strictObject({ since: text(`${SINCE} (default: ${DEFAULT_PERIOD})`) }),
  output: reportOutput,
  async run(context, { since: wanted = DEFAULT_PERIOD }): Promise<Report> {
    const { store, here } = context;
    const { now, since, crew, warden, notes, port } = await readPeriod(context, wanted);
    const states = await readStates(store);
    const { digest, money, unreadable, limits, budget } = await readLedger(context, since);
    const held = new Map(states.claimed.map(({ id, worker }) => [id, worker]));
    digest.close((task, worker) => held.get(task) === worker);
    for (const { name, from, to } of crew?.runs ?? []) digest.busy.add(crewKey(name), from, to);
    const { landings, unreadable: badLandings } = readLandings(store, digest);
    const { done, withWorkspace } = await readDone(store, digest, since);
    const landed = await landedIn(digest, landings, since, port);
    const counts = countsInWords(await store.counts());
    const words = await runWords(context, port);
    const cancelled = states.failed.filter((one) => one.cancelled);
    const failed = states.failed
      .filter((one) => !one.cancelled)
      .map(({ id, since }) => ({ id, since, facts: digest.tasks.get(id) }));
    const failedNow = failed.filter((one) => !(timeOf(one) < since));
    const usedUp = (limits && budget?.usedUp(limits, null)) ?? null;
    const dependents = counts.waiting > 0 ? await readDependents(store) : new Dependents();
    const reviews = mostWaitedFor(states.review, dependents);
    const allWorkers = await store.workers();
    const workers = allWorkers.filter(({ alive }) => alive);
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
        parkedAgents: await port.parkedAgents(store.location),
        reviews: await reviewsOf(store, reviews.slice(0, REVIEWS), digest),
        otherReviews: reviews.slice(REVIEWS).map(({ id }) => id),
        reviewLimit: here.config?.section(limitsSection).review,
        failures: groupFailures(failedNow),
        olderFailures: failed.filter((one) => timeOf(one) < since).map(({ id }) => id),
        ...{ dependents, cancelled, notEnqueued: await notEnqueued(store, dependents) },
        accounts: (await accountsInUse(context)).all,
        budget: usedUp && !usedUp.isShared ? usedUp.text : null,
        quarantine: join(store.folder, "quarantine"),
        hasWorker: workers.some(({ process, claims }) => process !== "none" || claims.length > 0),
        remarks: remarksOf(workers, port.upNote(store.location)),
        failedSchedules: await port.failedSchedules(context),
        workCommand: await workCommand(context),
        damagedLines: digest.damaged,
        paused: await store.paused(),
        // Also of one that does not run now: its pause lasts.
        pausedWorkers: allWorkers.flatMap(({ name, paused }) => (paused ? { name, paused } : [])),
        setups: await heldTypes(context),
      }),
      cancelled: cancelled.length,
      done,
      landed: { ...landed, waiting: branchesLeft(store, withWorkspace, digest, landings) },
      outcomes: Object.fromEntries(digest.outcomes),
      cost: {
        usd,
        unpriced_tokens: total.unpriced,
        tokens: totalTokens(total.tokens),
        ...{ attempts: total.attempts, unreadable },
        usd_per_landed: landed.count === 0 ? null : usd / landed.count,
        budgets: budgetRows(limits, budget),
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

/** Types that are not claimed because of their workspaces; the disk is looked at only if there are any. */
async function heldTypes({ here: { config }, now, use }: RunContext): Promise<NeedFacts["setups"]> {
  if (!hasWorkspaces(config)) return [];
  const { heldBackIn } = await import("../../work/held-back.ts");
  const held = heldBackIn(config, now, () => use(workspaceUsePort));
  await held?.refresh();
  const first = new Map<string, NeedFacts["setups"][number]>();
  for (const [type, { detail: text, command }] of held?.all ?? []) {
    if (!first.has(text)) first.set(text, { type, text, command });
  }
  return [...first.values()];
}

/** What live workers and `viv up` say of their viv.toml, each once. */
function remarksOf(workers: readonly WorkerView[], ofUp: string | null): NeedFacts["remarks"] {
  const said = new Map<string, string[]>(ofUp === null ? [] : [[ofUp, []]]);
  for (const { name, note } of workers) {
    const text = remarkIn(note);
    if (text !== null) said.set(text, [...(said.get(text) ?? []), name]);
  }
  return [...said].map(([text, names]) => ({ text, workers: names }));
}

/** Commands name the run, unless the folder, or the environment, does. */
async function runWords(context: RunContext, port: ReportPort): Promise<string> {
  const { location } = context.store;
  return (await port.defaultRun(context)) === location ? "" : ` --run ${quoted(location)}`;
}

/** Where the first pending task has no route, a worker would not take it: `why` says so. */
async function workCommand({ store, here: { config } }: RunContext): Promise<string> {
  if (!config || config.section(routesSection).size === 0) return "viv work --handler COMMAND";
  for await (const { id, type } of store.list({ states: ["pending"], limit: 1 })) {
    if (isName(id) && !routeFor(config, type ?? "")) return `viv why ${idWord(id)}`;
  }
  return "viv work";
}

/** Of equal ones, in the order given. */
function mostWaitedFor<T extends { id: string }>(tasks: readonly T[], dependents: Dependents): T[] {
  const waiting = new Map(tasks.map(({ id }) => [id, dependents.waitingFor([id])]));
  const of = ({ id }: T) => waiting.get(id) ?? 0;
  return [...tasks].sort((a, b) => of(b) - of(a));
}

async function reviewsOf(
  store: Store,
  reviews: readonly { id: string; since: string }[],
  digest: LedgerDigest,
): Promise<ReviewFact[]> {
  const facts: ReviewFact[] = [];
  for (const { id, since } of reviews) {
    const task = isName(id) ? (await store.show(id))?.task : null;
    const proof = isName(id) ? await store.proof(id) : null;
    const last = digest.tasks.get(id)?.last ?? null;
    const unproven = whyUnproven(proof, last?.to === "review" ? last : null, task);
    facts.push({ id, title: titleOf(task), unproven, since });
  }
  return facts;
}
