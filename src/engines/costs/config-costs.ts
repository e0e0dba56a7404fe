import type { ConfigTable } from "../../base/config-table.ts";
import type { Section } from "../../base/section.ts";
import type { Limit } from "./budget.ts";
import type { PriceTable } from "./prices.ts";

/** `[budget]`: of all tasks together, in this run and in one day (UTC). */
export const budgetSection: Section<{ run: Limit; day: Limit }> = (top) => {
  const table = top.section("budget");
  const budget = { run: readLimit(table, "run"), day: readLimit(table, "day") };
  table.refuseOthers();
  return budget;
};

/** `{ usd = 2.00, tokens = 400000 }`; `more` are keys that the caller has read. */
export function readLimit(table: ConfigTable, key: string, more = ""): Limit {
  const budget = table.section(key, ` like { usd = …, tokens = …${more} }`);
  const limit = { usd: budget.amount("usd"), tokens: budget.whole("tokens") };
  budget.refuseOthers();
  return limit;
}

/** `[prices."claude-sonnet-4*"]` and its like: dollars for a million tokens, by model. */
export const pricesSection: Section<PriceTable> = (top) => {
  const models = top.tables("prices", 'a table for each model, like [prices."MODEL"]');
  return new Map(
    models.map(([model, table]) => {
      const isHalfAName = table.keys.some((key) => table.hasTable(key));
      for (const key of isHalfAName ? [] : ["input", "output"]) {
        if (!table.has(key))
          table.note([], `${table.title} needs ${key}, in dollars for a million`);
      }
      const price = {
        input: table.price("input") ?? 0,
        output: table.price("output") ?? 0,
        cachedRead: table.price("cached_read"),
        cachedWrite: table.price("cached_write"),
      };
      table.refuseOthers((key) =>
        table.hasTable(key) ? "a model with a dot in its name needs quotes" : undefined,
      );
      return [model, price];
    }),
  );
};
