import * as z from "zod/mini";
import { parseSince } from "../../base/since.ts";
import {
  DIMENSIONS,
  type Dimension,
  dollarsOf,
  type Key,
  LedgerTotals,
  type Spending,
} from "../../engines/costs/ledger-totals.ts";
import { isAsked } from "../../engines/costs/prices.ts";
import { SharedBudget } from "../../engines/costs/shared-budget.ts";
import { totalTokens } from "../../engines/costs/usage.ts";
import { usedOn } from "../../engines/costs/usage-line.ts";
import { count, text } from "../../operation/fields.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import type { Store } from "../../queue/store.ts";

const spending = z.object({
  usd: z.number(),
  /** Which part of it the vendors reported, and which was imputed from the price table. */
  reported: z.number(),
  imputed: z.number(),
  /** Tokens that have no price: what they cost is not in `usd`. */
  unpriced_tokens: z.number(),
  tokens: z.object({
    input: z.number(),
    output: z.number(),
    cache_read: z.number(),
    cache_write: z.number(),
  }),
  attempts: z.number(),
  proven: z.number(),
  usd_per_proven: z.nullable(z.number()),
});

export const costs = defineRunOperation({
  name: "costs",
  summary: "usage of model runs: dollars, tokens, dollars per proven task",
  access: "read",
  input: z.strictObject({
    by: z.optional(z.enum(DIMENSIONS).check(z.describe("group by (default: type)"))),
    since: text("start of the period: 2h, 7d, 2026-11-15 or a time"),
    limit: count("maximum number of rows (default 50)"),
  }),
  output: z.object({
    by: z.enum(DIMENSIONS),
    since: z.nullable(z.string()),
    rows: z.array(z.extend(spending, { key: z.nullable(z.string()) })),
    /** Rows that the limit left out. */
    more: z.number(),
    /** Models that were used although another was asked for. */
    unasked: z.array(
      z.object({ asked: z.string(), model: z.string(), usd: z.number(), attempts: z.number() }),
    ),
    /** Attempts that did not tell what they used: it is not in any sum. */
    unreadable: z.number(),
    total: spending,
    /** What attempts that run may still spend of a budget that they share. */
    reserved: z.object({ usd: z.number(), tokens: z.number(), attempts: z.number() }),
  }),
  async run({ store, now }, { by = "type", since: wanted, limit = 50 }) {
    const since = wanted === undefined ? null : parseSince(wanted, now());
    const tally = new LedgerTotals([by]);
    const unasked = new Unasked();
    let unreadable = 0;
    let hasReserved = false;
    for await (const line of store.ledger({ since: since ?? undefined })) {
      tally.add(line);
      if (line.event === "reserved") hasReserved = true;
      if (line.event !== "usage") continue;
      unasked.add(line);
      if (line.unreadable === true) unreadable++;
    }
    const reserved = hasReserved ? await reservedIn(store, now) : NOTHING;
    const rows = inOrder(tally.rows(by), by);
    return {
      by,
      since,
      // Of days the last are the ones that matter.
      rows: (by === "day" ? rows.slice(-limit) : rows.slice(0, limit)).map(([key, sum]) => ({
        key,
        ...shape(sum),
      })),
      more: Math.max(0, rows.length - limit),
      unasked: unasked.rows,
      unreadable,
      total: shape(tally.total()),
      reserved,
    };
  },
});

const NOTHING = { usd: 0, tokens: 0, attempts: 0 };

/** Only of those that still hold their claims: the run is asked for that. */
async function reservedIn(store: Store, now: () => number) {
  const money = new SharedBudget(store, now);
  await money.refresh();
  const { usd, tokens, runs } = money.reserved;
  return { usd, tokens, attempts: runs };
}

/** What was spent on models that nobody had asked for, by what was asked for instead. */
class Unasked {
  readonly #rows = new Map<
    string,
    { asked: string; model: string; usd: number; attempts: number }
  >();

  add(line: LedgerLine): void {
    const { asked } = line;
    if (typeof asked !== "string") return;
    for (const { model, usd } of usedOn(line)) {
      if (model === null || isAsked(model, asked)) continue;
      const key = JSON.stringify([asked, model]);
      const row = this.#rows.get(key) ?? { asked, model, usd: 0, attempts: 0 };
      this.#rows.set(key, { ...row, usd: row.usd + (usd ?? 0), attempts: row.attempts + 1 });
    }
  }

  /** The dearest first. */
  get rows() {
    return [...this.#rows.values()].sort((a, b) => b.usd - a.usd);
  }
}

/** The dearest first; days as they came. */
function inOrder(rows: ReadonlyMap<Key, Spending>, by: Dimension): [Key, Spending][] {
  const name = (key: Key) => key ?? "";
  const byName = (a: Key, b: Key) => (name(a) < name(b) ? -1 : 1);
  return [...rows].sort(([a, x], [b, y]) =>
    by === "day"
      ? byName(a, b)
      : dollarsOf(y) - dollarsOf(x) ||
        totalTokens(y.tokens) - totalTokens(x.tokens) ||
        byName(a, b),
  );
}

function shape(sum: Spending): z.output<typeof spending> {
  const { input, output, cacheRead, cacheWrite } = sum.tokens;
  const usd = dollarsOf(sum);
  return {
    usd,
    reported: sum.reported,
    imputed: sum.imputed,
    unpriced_tokens: sum.unpriced,
    tokens: { input, output, cache_read: cacheRead, cache_write: cacheWrite },
    attempts: sum.attempts,
    proven: sum.proven,
    usd_per_proven: sum.proven === 0 ? null : usd / sum.proven,
  };
}
