import { addTokens, NO_TOKENS, type Tokens, totalTokens } from "./usage.ts";
import type { Used } from "./usage-line.ts";

/** What was spent, and what came of it. */
export interface Spending {
  tokens: Tokens;
  /** Dollars, by who says so. */
  reported: number;
  imputed: number;
  /** Tokens that nobody has a price for. */
  unpriced: number;
  attempts: number;
  /** Tasks that were done, and not only said to be. */
  proven: number;
}

export function noSpending(): Spending {
  return { tokens: NO_TOKENS, reported: 0, imputed: 0, unpriced: 0, attempts: 0, proven: 0 };
}

export function dollarsOf({ reported, imputed }: Spending): number {
  return reported + imputed;
}

export function addUsed(sum: Spending, used: Used): void {
  sum.tokens = addTokens(sum.tokens, used);
  if (used.usd === null) sum.unpriced += totalTokens(used);
  else if (used.source === "reported") sum.reported += used.usd;
  else sum.imputed += used.usd;
}

export function addSpending(sum: Spending, more: Spending): void {
  sum.tokens = addTokens(sum.tokens, more.tokens);
  sum.reported += more.reported;
  sum.imputed += more.imputed;
  sum.unpriced += more.unpriced;
  sum.attempts += more.attempts;
  sum.proven += more.proven;
}
