import { addTokens, type ModelUsage, NO_TOKENS, type Tokens, totalTokens } from "../costs/usage.ts";

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
