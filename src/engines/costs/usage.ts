/** What a model run has used. Tokens as the vendor counts them; cached ones are not in `input`. */
export interface Tokens {
  input: number;
  output: number;
  /** Read from the vendor's cache, at a lower price. */
  cacheRead: number;
  /** Written to it, at a higher one. */
  cacheWrite: number;
}

export const NO_TOKENS: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export interface ModelUsage extends Tokens {
  /** As the vendor names it. */
  model: string;
  /** Dollars as the vendor reports them; null when it reports none. */
  usd: number | null;
  /** Of one answer: the tokens of its prompt, which may decide what all of it costs. */
  prompt?: number;
}

/**
 * What a vendor's session has used over the attempts that went on with it. Some vendors report a
 * run's total and some the session's; of the latter this is what an earlier attempt has counted already.
 */
export interface SessionUsed {
  /** As the vendor last reported it. */
  total: ModelUsage[];
  /** By runs since then that ended before they reported a total: the sum of their steps. */
  since: ModelUsage[];
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}

export function totalTokens({ input, output, cacheRead, cacheWrite }: Tokens): number {
  return input + output + cacheRead + cacheWrite;
}
