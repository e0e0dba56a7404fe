import { addTokens, type ModelUsage, NO_TOKENS, type Tokens } from "../costs/usage.ts";

/** What the run has used, and what of that has not been told yet. */
export class Tally {
  readonly #model: string;
  #used: Tokens = NO_TOKENS;
  #untold: Tokens | null = null;
  #isCounted = true;

  constructor(model: string) {
    this.#model = model;
  }

  /** Null: the API did not count. */
  add(tokens: Tokens | null): void {
    if (tokens === null) {
      this.#isCounted = false;
      return;
    }
    this.#used = addTokens(this.#used, tokens);
    this.#untold = addTokens(this.#untold ?? NO_TOKENS, tokens);
  }

  get hasNews(): boolean {
    return this.#untold !== null;
  }

  /** What has come since it was last asked for. */
  takeNews(): ModelUsage | null {
    const news = this.#untold && { model: this.#model, ...this.#untold, usd: null };
    this.#untold = null;
    return news;
  }

  /** Null when one call was not counted: the sum of the others would mislead. */
  get total(): ModelUsage | null {
    return this.#isCounted ? { model: this.#model, ...this.#used, usd: null } : null;
  }
}
