import {
  addTokens,
  type ModelUsage,
  NO_TOKENS,
  type SessionUsed,
  type Tokens,
  totalTokens,
} from "../costs/usage.ts";

/** A vendor that does not say which model it used, in a run that did not ask for one. */
export const UNNAMED_MODEL = "unknown";

/** A model as the vendor names it; null for what can be no name. */
export function modelName(name: string | null): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no name has any
  return name !== null && /^[^\u0000-\u001f\u007f]{1,200}$/.test(name) ? name : null;
}

/** How many models one run can name before they are counted together. */
const MAX_MODELS = 50;

/** What a run has used so far, by model. */
export class UsageSum {
  readonly #models = new Map<string, ModelUsage>();

  add(usage: ModelUsage): void {
    const full = this.#models.size >= MAX_MODELS && !this.#models.has(usage.model);
    const model = full ? UNNAMED_MODEL : usage.model;
    const before = this.#models.get(model);
    const usd =
      usage.usd === null && (before?.usd ?? null) === null
        ? null
        : (usage.usd ?? 0) + (before?.usd ?? 0);
    this.#models.set(model, { model, ...addTokens(before ?? NO_TOKENS, usage), usd });
  }

  /** Null when nothing was told: that is not the same as nothing used. */
  get(): ModelUsage[] | null {
    return this.#models.size === 0 ? null : [...this.#models.values()];
  }
}

/** What has come on top of `before`; a counter that went back counts as nothing new. */
export function moreThan(before: Tokens, after: Tokens): Tokens | null {
  const more = {
    input: Math.max(0, after.input - before.input),
    output: Math.max(0, after.output - before.output),
    cacheRead: Math.max(0, after.cacheRead - before.cacheRead),
    cacheWrite: Math.max(0, after.cacheWrite - before.cacheWrite),
  };
  return totalTokens(more) === 0 ? null : more;
}

/** Of each kind, the larger number. */
export function mostOf(a: Tokens, b: Tokens | null): Tokens {
  return addTokens(a, moreThan(a, b ?? a) ?? NO_TOKENS);
}

/** What a vendor told at the end of a run. */
export interface ReportedUsage {
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
  { total, isSessions, run }: ReportedUsage,
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
