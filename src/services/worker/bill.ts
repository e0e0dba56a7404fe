import type { DollarSource, PriceTable } from "../../model/prices.ts";
import { addTokens, type ModelUsage, totalTokens } from "../../model/usage.ts";
import { impute } from "../../policy/price.ts";

export interface BillLine extends ModelUsage {
  /** Null: there is no price for it. */
  source: DollarSource | null;
}

/** What an attempt has used, over all its runs and models. */
export class Bill {
  readonly #prices: PriceTable;
  readonly #asked: string | null;
  readonly #lines = new Map<string, BillLine>();
  /** One of its runs did not tell. */
  isUnreadable = false;

  /** `asked`: the model as the route names it. */
  constructor(prices: PriceTable, asked: string | null) {
    this.#prices = prices;
    this.#asked = asked;
  }

  /**
   * `steps`: the same, answer by answer. A long prompt has another price, which only they can know: of
   * what we impute, the larger sum counts.
   */
  add(usage: readonly ModelUsage[] | null, steps?: Bill): void {
    if (usage === null) this.isUnreadable = true;
    for (const each of usage ?? []) this.#add(each);
    for (const line of steps?.lines ?? []) {
      const own = this.#lines.get(line.model);
      if (own?.source !== "imputed" || line.source !== "imputed") continue;
      this.#lines.set(line.model, { ...own, usd: Math.max(own.usd ?? 0, line.usd ?? 0) });
    }
  }

  get lines(): BillLine[] {
    return [...this.#lines.values()];
  }

  /** Dollars, as far as there are prices. Null: nothing was used. */
  get usd(): number | null {
    const { lines } = this;
    return lines.length === 0 ? null : lines.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
  }

  /** For the budget: model by model. */
  get parts(): { usd: number | null; tokens: number; model: string }[] {
    return this.lines.map((line) => ({
      usd: line.usd,
      tokens: totalTokens(line),
      model: line.model,
    }));
  }

  #add(usage: ModelUsage): void {
    const priced = impute(usage, this.#prices, this.#asked);
    const usd = priced?.usd ?? null;
    // What has no price is a line of its own: it must neither hide the dollars that are known, nor be free.
    const key = usd === null ? `${usage.model} (unpriced)` : usage.model;
    const before = this.#lines.get(key);
    this.#lines.set(key, {
      model: usage.model,
      ...addTokens(usage, before ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }),
      usd: usd === null ? null : usd + (before?.usd ?? 0),
      source: priced?.source ?? before?.source ?? null,
    });
  }
}
