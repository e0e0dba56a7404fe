import type { Limits, SpentBefore } from "./budget.ts";
import type { PriceTable } from "./prices.ts";

/** What an attempt may spend, what was spent before, and what things cost. */
export interface Money {
  limits: Limits;
  before: SpentBefore;
  prices: PriceTable;
}
