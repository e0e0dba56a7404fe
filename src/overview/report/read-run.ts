import { compareIds } from "../../base/compare-ids.ts";
import { isVivError } from "../../base/errors.ts";
import { budgetSection } from "../../engines/costs/config-costs.ts";
import { LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import { isLimited } from "../../engines/costs/reserve-policy.ts";
import { SharedBudget } from "../../engines/costs/shared-budget.ts";
import { type Landing, readLanding, tasksWithLanding } from "../../merge/landing.ts";
import type { Proof } from "../../queue/attempt.ts";
import type { RunContext } from "../../queue/operation.ts";
import type { LedgerNews, Store, TaskSummary } from "../../queue/store.ts";
import type { Task } from "../../queue/task.ts";
import { recordedIn } from "../../work/workspaces/record.ts";
import { type LastMove, LedgerDigest } from "./ledger-digest.ts";

/** One pass over the ledger: the facts about tasks, the money of the period, and the budgets of now. */
export async function readLedger({ store, now, here }: RunContext, since: string) {
  const digest = new LedgerDigest(since, now());
  const money = new LedgerTotals(["task"]);
  let unreadable = 0;
  const onTorn = () => {
    digest.damaged++;
  };
  const lines = async function* () {
    let offset = 0;
    for await (const line of store.ledger({ onTorn })) {
      digest.add(line);
      if (!(line.at < since)) {
        money.add(line);
        if (line.event === "usage" && line.unreadable === true) unreadable++;
      }
      yield { line, file: "", offset: offset++ };
    }
  };
  const limits = here.config?.section(budgetSection);
  const budget = limits && isLimited(limits) ? await readBudget(store, now, lines) : null;
  if (budget === null) for await (const _ of lines());
  return { digest, money, unreadable, limits, budget };
}

/** The shared budgets, from the same pass. */
async function readBudget(
  store: Store,
  now: () => number,
  news: LedgerNews["news"],
): Promise<SharedBudget> {
  const budget = new SharedBudget(
    {
      followLedger: () => ({ news }),
      append: (line) => store.append(line),
      show: (id) => store.show(id),
    },
    now,
  );
  await budget.refresh();
  return budget;
}

/** Tasks by their place on disk, which is their state whatever the ledger says. Of done ones: `readDone`. */
export async function readStates(store: Store) {
  const all = { review: [], failed: [], claimed: [] } as Record<string, TaskSummary[]>;
  const states = ["review", "claimed", "failed"] as const;
  for await (const task of store.list({ states, unopened: true })) {
    all[task.state]?.push(task);
  }
  const { review = [], failed = [], claimed = [] } = all;
  review.sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : compareIds(a.id, b.id)));
  return { review, failed, claimed };
}

/** Why a result is not proven; null: its proof passed, in the attempt that ended there. */
export function whyUnproven(proof: Proof | null, last: LastMove | null, task?: Task | null) {
  if (last?.proven) return null;
  if (proof === null) return task?.done_when ? "its done_when has not run" : "nothing proves it";
  if (proof.timed_out) return "the time of its proof was up";
  if (proof.exit !== 0) return `its proof ended with ${proof.signal ?? `exit ${proof.exit}`}`;
  const isOfThis = last?.attempt === undefined || proof.attempt === last.attempt;
  if (!isOfThis) return `its proof is of attempt ${proof.attempt}`;
  return "it was ended without a proof";
}

/**
 * Done tasks of the period: the ledger has the time; of one that was moved by hand, its file. And those
 * with a record of their workspace. There may be a hundred thousand: none is kept.
 */
export async function readDone(store: Store, digest: LedgerDigest, since: string) {
  const recorded = new Set(recordedIn(store.workspaces));
  const withWorkspace: string[] = [];
  const result = { count: 0, proven: 0, unproven: [] as string[], by_hand: 0 };
  for await (const { id, since: at } of store.list({ states: ["done"], unopened: true })) {
    if (recorded.has(id)) withWorkspace.push(id);
    const facts = digest.tasks.get(id);
    const move = facts?.last?.to === "done" ? facts.last : null;
    if ((move === null ? at : (facts?.lastAt ?? "")) < since) continue;
    result.count++;
    if (move === null) result.by_hand++;
    if (move?.proven) result.proven++;
    else if (result.unproven.length < MOST_NAMED) result.unproven.push(id);
  }
  return { done: result, withWorkspace };
}

const MOST_NAMED = 100;

/** The landings that the ledger does not know as landed; and those that cannot be read, in words. */
export function readLandings(store: Store, digest: LedgerDigest) {
  const landings: Landing[] = [];
  const unreadable: string[] = [];
  for (const task of tasksWithLanding(store.folder)) {
    if (digest.tasks.get(task)?.landed) continue;
    try {
      const landing = readLanding(store.folder, task);
      if (landing) landings.push(landing);
    } catch (error) {
      if (!isVivError(error)) throw error;
      unreadable.push(error.message);
    }
  }
  return { landings, unreadable };
}

const TITLES = ["title", "task", "goal", "subject", "summary"];
const LONGEST_TITLE = 200;

/** What a person would call it: the first line of such a text in its payload. */
export function titleOf(task: Task | null | undefined): string {
  for (const key of TITLES) {
    const value = task?.payload?.[key];
    if (typeof value !== "string" || value.trim() === "") continue;
    return [...(value.trim().split("\n")[0] ?? "")].slice(0, LONGEST_TITLE).join("");
  }
  return "";
}
