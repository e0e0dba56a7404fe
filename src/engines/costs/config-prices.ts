import type { ConfigTable } from "../../base/config-table.ts";
import type { Price, PriceTable } from "./prices.ts";

const KEYS = ["input", "output", "cached_read", "cached_write"];

/** `[prices."claude-sonnet-4*"]` and its like: dollars for a million tokens. */
export function readPrices(top: ConfigTable): PriceTable {
  const found = new Map<string, Price>();
  const prices = top.table("prices");
  if (prices === undefined && top.has("prices")) {
    top.note(["prices"], 'prices must hold a table for each model, like [prices."MODEL"]');
  }
  for (const model of prices?.keys ?? []) {
    const table = prices?.table(model);
    if (table === undefined) {
      prices?.note([model], `a model's prices are a table: [prices.${JSON.stringify(model)}]`);
      continue;
    }
    table.refuseUnknown(KEYS, (key) =>
      table.hasTable(key) ? "a model with a dot in its name needs quotes" : undefined,
    );
    for (const key of ["input", "output"]) {
      if (!table.has(key)) table.note([], `${table.title} needs ${key}, in dollars for a million`);
    }
    const [input = 0, output = 0] = [table.price("input"), table.price("output")];
    const [cachedRead, cachedWrite] = [table.price("cached_read"), table.price("cached_write")];
    found.set(model, {
      input,
      output,
      ...(cachedRead === undefined ? {} : { cachedRead }),
      ...(cachedWrite === undefined ? {} : { cachedWrite }),
    });
  }
  return found;
}
