import { larger } from "./larger.ts";
import { impute } from "./price.ts";
import type { DollarSource, PriceTable } from "./prices.ts";
import { addTokens, type ModelUsage, NO_TOKENS, totalTokens } from "./usage.ts";

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
   * What one of its runs says that it used. `steps`: the same, answer by answer; the larger counts. A long
   * prompt has another price, which only they can know: of what we impute, that is so for each model.
   */
  add(usage: readonly ModelUsage[] | null, steps?: Bill): void {
    if (usage === null) this.isUnreadable = true;
    const run = new Bill(this.#prices, this.#asked);
    for (const each of usage ?? []) run.#add(this.#priced(each));
    for (const line of steps?.lines ?? []) {
      const own = run.#lines.get(line.model);
      if (own?.source !== "imputed" || line.source !== "imputed") continue;
      run.#lines.set(line.model, { ...own, usd: Math.max(own.usd ?? 0, line.usd ?? 0) });
    }
    for (const line of larger(run.lines, steps?.lines ?? [])) this.#add(line);
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

  #priced(usage: ModelUsage): BillLine {
    const priced = impute(usage, this.#prices, this.#asked);
    const { prompt: _, ...rest } = usage;
    return { ...rest, usd: priced?.usd ?? null, source: priced?.source ?? null };
  }

  #add(line: BillLine): void {
    const { model, usd, source } = line;
    // What has no price is a line of its own: it must neither hide the dollars that are known, nor be free.
    const key = usd === null ? `${model} (unpriced)` : model;
    const before = this.#lines.get(key);
    this.#lines.set(key, {
      model,
      ...addTokens(line, before ?? NO_TOKENS),
      usd: usd === null ? null : usd + (before?.usd ?? 0),
      // Of both, the part that we made up says more about the sum.
      source: before?.source === "imputed" ? "imputed" : source,
    });
  }
}
