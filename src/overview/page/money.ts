import * as z from "zod/mini";
import { parseSince } from "../../base/since.ts";
import { budgetSection } from "../../engines/costs/config-costs.ts";
import { dollarsOf, LedgerTotals } from "../../engines/costs/ledger-totals.ts";
import { isLimited } from "../../engines/costs/reserve-policy.ts";
import { SharedBudget } from "../../engines/costs/shared-budget.ts";
import { text } from "../../operation/fields.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { inOrder, SINCE, shape, spending } from "../model-operations.ts";
import { budgetRows } from "../report/report-parts.ts";

const GROUPS = ["type", "model", "worker", "agent"] as const;
const MOST_ROWS = 100;
const DEFAULT_PERIOD = "14d";

const row = z.extend(spending, { key: z.nullable(z.string()) });

export const money = defineRunOperation({
  name: "money",
  summary: "costs by type, model, worker, agent and day, and budgets, in one reading",
  access: "read",
  readsAll: true,
  input: z.strictObject({ since: text(`${SINCE} (default: ${DEFAULT_PERIOD})`) }),
  output: z.object({
    since: z.string(),
    until: z.string(),
    total: spending,
    /** The dearest first. */
    by: z.object({
      ...{ type: z.array(row), model: z.array(row), worker: z.array(row), agent: z.array(row) },
    }),
    /** In order; UTC. */
    days: z.array(
      z.extend(row, { models: z.array(z.object({ model: z.string(), usd: z.number() })) }),
    ),
    budgets: z.array(
      z.object({
        of: z.enum(["day", "run"]),
        unit: z.enum(["usd", "tokens"]),
        limit: z.number(),
        spent: z.number(),
      }),
    ),
    /** Of shared budgets, by attempts that run. */
    reserved_usd: z.number(),
    /** Attempts that did not report all of their usage. */
    unreadable: z.number(),
  }),
  async run(context, { since: wanted = DEFAULT_PERIOD }) {
    const now = context.now();
    const since = parseSince(wanted, now);
    const tally = new LedgerTotals([...GROUPS, "day"], { landed: true });
    const models = new ModelsByDay();
    let unreadable = 0;
    for await (const line of context.store.ledger({ since })) {
      tally.add(line);
      models.add(line);
      if (line.event === "usage" && line.unreadable === true) unreadable++;
    }
    const rows = (by: (typeof GROUPS)[number] | "day") =>
      inOrder(tally.rows(by), by).map(([key, sum]) => ({ key, ...shape(sum) }));
    const by = Object.fromEntries(GROUPS.map((one) => [one, rows(one).slice(0, MOST_ROWS)]));
    return {
      since,
      until: new Date(now).toISOString(),
      total: shape(tally.total()),
      by: by as Record<(typeof GROUPS)[number], ReturnType<typeof rows>>,
      days: rows("day").map((day) => ({ ...day, models: models.of(day.key ?? "", day.usd) })),
      ...(await budgetsOf(context)),
      unreadable,
    };
  },
});

async function budgetsOf({ here, store, now }: RunContext) {
  const limits = here.config?.section(budgetSection);
  if (limits === undefined || !isLimited(limits)) return { budgets: [], reserved_usd: 0 };
  const budget = new SharedBudget(store, now);
  await budget.refresh();
  return { budgets: budgetRows(limits, budget), reserved_usd: budget.reserved.usd };
}

/** The share of each model in a day's dollars. */
class ModelsByDay {
  readonly #days = new Map<string, LedgerTotals>();

  add(line: LedgerLine): void {
    if (line.event !== "step" && line.event !== "usage") return;
    const day = String(line.at).slice(0, 10);
    let totals = this.#days.get(day);
    if (totals === undefined) {
      totals = new LedgerTotals(["model"]);
      this.#days.set(day, totals);
    }
    totals.add(line);
  }

  /** An attempt that goes over midnight counts on its last day: the shares are those of the day's own sum. */
  of(day: string, usd: number): { model: string; usd: number }[] {
    const rows = [...(this.#days.get(day)?.rows("model") ?? [])];
    const sum = rows.reduce((all, [, one]) => all + dollarsOf(one), 0);
    if (sum === 0) return [];
    const shares = rows.map(([model, one]) => ({
      model: model ?? "unknown",
      usd: (dollarsOf(one) / sum) * usd,
    }));
    return shares.filter((one) => one.usd > 0).sort((a, b) => b.usd - a.usd);
  }
}
