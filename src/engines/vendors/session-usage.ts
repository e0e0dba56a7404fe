import { addTokens, type ModelUsage, NO_TOKENS, type SessionUsed } from "../costs/usage.ts";
import { moreThan } from "./json-line-usage.ts";

/** What a vendor told at the end of a run. */
export interface Told {
  /** Of the run, or of the whole session. */
  total: ModelUsage[] | null;
  isSessions: boolean;
  /** Of the run, from a vendor that tells it as well. */
  run: ModelUsage[] | null;
}

/**
 * What a run has used, each token once: of a session's total only what earlier attempts have not
 * counted. A run that was killed has told no total: its steps were counted, and whether the session's
 * next total has them depends on how it died. Where the steps saw more than the total says, the larger
 * of the two counts.
 */
export function usageOfRun(
  { total, isSessions, run }: Told,
  steps: ModelUsage[] | null,
  before: SessionUsed | undefined,
): ModelUsage[] | null {
  const seen = steps ?? [];
  if (total === null && run === null) return steps;
  if (total === null || !isSessions || before === undefined) {
    return atLeast(run ?? total ?? [], seen);
  }
  const all = minus(total, [...before.total, ...before.since]);
  if (run !== null) return atLeast(atLeast(run, seen), all);
  const hasKilled = moreThan(sumOf(all), sumOf(seen)) === null;
  return atLeast(hasKilled ? all : minus(total, before.total), seen);
}

/** Model by model; what was counted in dollars of our own leaves the rest without a reported price. */
function minus(total: readonly ModelUsage[], counted: readonly ModelUsage[]): ModelUsage[] {
  return total.flatMap((usage) => {
    const same = counted.filter(({ model }) => plainName(model) === plainName(usage.model));
    const more = moreThan(sumOf(same), usage);
    const isPriced = same.every(({ usd }) => usd !== null);
    const usd =
      usage.usd !== null && isPriced
        ? Math.max(0, usage.usd - same.reduce((sum, one) => sum + (one.usd ?? 0), 0))
        : null;
    return more === null && !usd ? [] : [{ model: usage.model, ...(more ?? NO_TOKENS), usd }];
  });
}

/** What is missing goes to the model that the floor has most of beyond it, without a reported price. */
export function atLeast(usage: readonly ModelUsage[], floor: readonly ModelUsage[]): ModelUsage[] {
  const missing = moreThan(sumOf(usage), sumOf(floor));
  if (missing === null) return [...usage];
  const beyond = (one: ModelUsage) => {
    const same = usage.filter(({ model }) => plainName(model) === plainName(one.model));
    const more = moreThan(sumOf(same), one) ?? NO_TOKENS;
    return more.input + more.output + more.cacheRead + more.cacheWrite;
  };
  const [most] = [...floor].sort((a, b) => beyond(b) - beyond(a));
  return [...usage, { model: most?.model ?? "unknown", ...missing, usd: null }];
}

export function sumOf(usages: readonly ModelUsage[]) {
  return usages.reduce<ReturnType<typeof addTokens>>(addTokens, NO_TOKENS);
}

/** claude names a model with a long context in its totals, and the plain one in its messages. */
function plainName(model: string): string {
  return model.replace(/\[1m\]$/, "");
}
