import { setBounded } from "../../base/bounded-map.ts";
import {
  addTokens,
  type ModelUsage,
  NO_TOKENS,
  type SessionUsed,
  type Tokens,
  totalTokens,
} from "../costs/usage.ts";

/** The model of a run that named none, with a vendor that reports none. */
export const UNNAMED_MODEL = "unknown";

/** A model as the vendor names it; null for an impossible name. */
export function modelName(name: string | null): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no name has any
  return name !== null && /^[^\u0000-\u001f\u007f]{1,200}$/.test(name) ? name : null;
}

/** Models beyond this number are counted together. */
const MAX_MODELS = 50;

/** The usage of a run so far, by model. */
export class UsageSum {
  readonly #models = new Map<string, ModelUsage>();

  add(usage: ModelUsage): void {
    const isFull = this.#models.size >= MAX_MODELS && !this.#models.has(usage.model);
    const model = isFull ? UNNAMED_MODEL : usage.model;
    const before = this.#models.get(model);
    const dollars = [before?.usd ?? null, usage.usd].filter((usd) => usd !== null);
    const usd = dollars.length === 0 ? null : dollars.reduce((sum, one) => sum + one, 0);
    this.#models.set(model, { model, ...addTokens(before ?? NO_TOKENS, usage), usd });
  }

  /** Null when nothing was reported: that is not the same as nothing used. */
  get(): ModelUsage[] | null {
    return this.#models.size === 0 ? null : [...this.#models.values()];
  }
}

/** Tokens by message. Vendors repeat the usage of a message; only new tokens count. */
export class MessageTokens {
  readonly #counted = new Map<string, Tokens>();
  readonly #max: number;

  /** `max`: messages that are remembered, the latest. */
  constructor(max = Infinity) {
    this.#max = max;
  }

  /** The tokens that were not counted before; null: none. */
  more(id: string, tokens: Tokens): Tokens | null {
    const before = this.#counted.get(id) ?? NO_TOKENS;
    const more = moreThan(before, tokens);
    this.#counted.delete(id);
    setBounded(this.#counted, id, addTokens(before, more ?? NO_TOKENS), this.#max);
    return more;
  }
}

/** The tokens on top of `before`; a counter that went back counts as nothing new. */
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

/** A vendor's report at the end of a run. */
export interface ReportedUsage {
  /** Of the run, or of the whole session. */
  total: ModelUsage[] | null;
  isSessions: boolean;
  /** Of the run, from a vendor that reports it as well. */
  run: ModelUsage[] | null;
}

/**
 * The usage of a run, each token once: of a session's total only the part that earlier attempts have not
 * counted. A killed run has reported no total: its steps were counted, and the session's next total
 * may or may not include them. Where the steps saw more than the total, the larger of the two counts.
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

/** Model by model. Where a counted part has our own price, the rest has no reported price. */
function minus(total: readonly ModelUsage[], counted: readonly ModelUsage[]): ModelUsage[] {
  return total.flatMap((usage) => {
    const same = sameModel(counted, usage);
    const more = moreThan(sumOf(same), usage);
    const isPriced = same.every(({ usd }) => usd !== null);
    const usd =
      usage.usd !== null && isPriced
        ? Math.max(0, usage.usd - same.reduce((sum, one) => sum + (one.usd ?? 0), 0))
        : null;
    return more === null && !usd ? [] : [{ model: usage.model, ...(more ?? NO_TOKENS), usd }];
  });
}

/** Missing tokens go to the model with the largest excess in `floor`, without a reported price. */
export function atLeast(usage: readonly ModelUsage[], floor: readonly ModelUsage[]): ModelUsage[] {
  const missing = moreThan(sumOf(usage), sumOf(floor));
  if (missing === null) return [...usage];
  const excess = (one: ModelUsage) =>
    totalTokens(moreThan(sumOf(sameModel(usage, one)), one) ?? NO_TOKENS);
  const [most] = [...floor].sort((a, b) => excess(b) - excess(a));
  return [...usage, { model: most?.model ?? UNNAMED_MODEL, ...missing, usd: null }];
}

export function sumOf(usages: readonly ModelUsage[]): Tokens {
  return usages.reduce<Tokens>(addTokens, NO_TOKENS);
}

/** claude names a model with a long context in its totals, and the plain one in its messages. */
function sameModel(usages: readonly ModelUsage[], { model }: ModelUsage): ModelUsage[] {
  const plain = (name: string) => name.replace(/\[1m\]$/, "");
  return usages.filter((one) => plain(one.model) === plain(model));
}
