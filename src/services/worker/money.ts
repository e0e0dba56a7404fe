import type { PriceTable } from "../../model/prices.ts";
import type { Limits, SpentBefore } from "../../policy/budget.ts";

/** What an attempt may spend, what was spent before, and what things cost. */
export interface Money {
  limits: Limits;
  before: SpentBefore;
  prices: PriceTable;
}
