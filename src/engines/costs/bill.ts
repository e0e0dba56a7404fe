import { impute, type PriceTable } from "./prices.ts";
import {
  type Amount,
  addTokens,
  type ModelUsage,
  NO_TOKENS,
  type Tokens,
  totalTokens,
} from "./usage.ts";

/** The usage of an attempt, over all its runs and models. */
export class Bill {
  readonly #prices: PriceTable;
  readonly #asked: string | null;
  readonly #lines = new Map<string, Amount<string>>();
  /** One of its runs did not report its usage. */
  isUnreadable = false;

  /** `asked`: the model as the route names it. */
  constructor(prices: PriceTable, asked: string | null) {
    this.#prices = prices;
    this.#asked = asked;
  }

  /**
   * The usage that one of its runs reports. `steps`: the same, answer by answer; the larger counts. A long
   * prompt has another price, which only the steps show: of imputed dollars the larger counts for each model.
   */
  add(usage: readonly ModelUsage[] | null, steps?: Bill): void {
    if (usage === null) this.isUnreadable = true;
    const run = new Bill(this.#prices, this.#asked);
    for (const { prompt, ...rest } of usage ?? []) {
      const priced = impute({ ...rest, prompt }, this.#prices, this.#asked);
      run.#add({ ...rest, usd: priced?.usd ?? null, source: priced?.source ?? null });
    }
    for (const line of steps?.lines ?? []) {
      const own = run.#lines.get(line.model);
      if (own?.source !== "imputed" || line.source !== "imputed") continue;
      run.#lines.set(line.model, { ...own, usd: Math.max(own.usd ?? 0, line.usd ?? 0) });
    }
    for (const line of larger(run.lines, steps?.lines ?? [])) this.#add(line);
  }

  get lines(): Amount<string>[] {
    return [...this.#lines.values()];
  }

  /** Without our own prices: they are imputed again. */
  get unpriced(): ModelUsage[] {
    return this.lines.map(({ source, ...line }) => ({
      ...line,
      usd: source === "reported" ? line.usd : null,
    }));
  }

  /** Dollars, as far as there are prices. Null: nothing was used. */
  get usd(): number | null {
    return this.#lines.size === 0 ? null : dollarsIn(this.lines);
  }

  /** For the budget: model by model. */
  get parts(): { usd: number | null; tokens: number; model: string }[] {
    return this.lines.map((line) => {
      return { usd: line.usd, tokens: totalTokens(line), model: line.model };
    });
  }

  #add(line: Amount<string>): void {
    const { model, usd, source } = line;
    // Usage without a price is a line of its own: it must neither hide the known dollars, nor be free.
    const key = usd === null ? `${model} (unpriced)` : model;
    const before = this.#lines.get(key);
    this.#lines.set(key, {
      model,
      ...addTokens(line, before ?? NO_TOKENS),
      usd: usd === null ? null : usd + (before?.usd ?? 0),
      // One imputed part makes the sum imputed.
      source: before?.source === "imputed" ? "imputed" : source,
    });
  }
}

/** Sums of dollars are off by less than this, and no limit is so small. */
export const DUST = 1e-9;

/**
 * Of two counts of the same work, the larger counts: a vendor's total at the end must not erase what its steps
 * reported, nor the other way round. In dollars and in tokens each, since one of the two may lack either. The
 * steps' excess over the total becomes an entry of its own, for the model that has most of it.
 */
export function larger<Model>(
  total: readonly Amount<Model>[],
  steps: readonly Amount<Model>[],
): Amount<Model>[] {
  const usd = dollarsIn(steps) - dollarsIn(total);
  const tokens = excess(tokensIn(total), tokensIn(steps));
  if (usd <= DUST && totalTokens(tokens) === 0) return [...total];
  const [most] = [...steps].sort((a, b) => lead(b, total) - lead(a, total));
  if (most === undefined) return [...total];
  const isUnpriced = usd <= DUST && unpricedIn(steps) > unpricedIn(total);
  const priced = { usd: Math.max(0, usd), source: most.source ?? "imputed" };
  const dollars = isUnpriced ? { usd: null, source: null } : priced;
  return [...total, { model: most.model, ...tokens, ...dollars }];
}

/** The same for each model by itself: a partial total may lack one model and not the other. */
export function largerByModel<Model>(
  total: readonly Amount<Model>[],
  steps: readonly Amount<Model>[],
): Amount<Model>[] {
  const models = new Set([...total, ...steps].map(({ model }) => model));
  return [...models].flatMap((one) => {
    const isOf = ({ model }: Amount<Model>) => model === one;
    return larger(total.filter(isOf), steps.filter(isOf));
  });
}

/** How much of it the total of its model lacks: dollars first, then tokens. */
function lead<Model>(one: Amount<Model>, total: readonly Amount<Model>[]): number {
  const same = total.filter(({ model }) => model === one.model);
  const usd = (one.usd ?? 0) - dollarsIn(same);
  const tokens = totalTokens(one) - totalTokens(tokensIn(same));
  return Math.max(0, usd) * 1e9 + Math.max(0, tokens);
}

/** No more than the excess in all: tokens that are cached for the one may be input for the other. */
function excess(total: Tokens, steps: Tokens): Tokens {
  let left = Math.max(0, totalTokens(steps) - totalTokens(total));
  const take = (kind: keyof Tokens) => {
    const part = Math.min(left, Math.max(0, steps[kind] - total[kind]));
    left -= part;
    return part;
  };
  return {
    output: take("output"),
    input: take("input"),
    cacheWrite: take("cacheWrite"),
    cacheRead: take("cacheRead"),
  };
}

function dollarsIn(amounts: readonly Pick<Amount, "usd">[]): number {
  return amounts.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
}

function tokensIn(amounts: readonly Tokens[]): Tokens {
  return amounts.reduce<Tokens>(addTokens, NO_TOKENS);
}

function unpricedIn(amounts: readonly Amount<unknown>[]): number {
  return totalTokens(tokensIn(amounts.filter(({ usd }) => usd === null)));
}
