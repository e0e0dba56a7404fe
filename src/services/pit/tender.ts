import type { ProvenResult } from "./prove-results.ts";

/**
 * Looks after a pit beside a worker: proves what snakes have finished by hand. `start` holds only the
 * ticker; passes never overlap, and an error is reported and the next pass comes all the same.
 */
export interface TenderOptions {
  everyMs: number;
  prove(): Promise<ProvenResult[]>;
  onProven(results: readonly ProvenResult[]): void;
  onError(error: unknown): void;
}

export class Tender {
  readonly #options: TenderOptions;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> | null = null;

  constructor(options: TenderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#pass ??= this.runOnce().finally(() => {
        this.#pass = null;
      });
    }, this.#options.everyMs);
  }

  async runOnce(): Promise<void> {
    try {
      const results = await this.#options.prove();
      if (results.length > 0) this.#options.onProven(results);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#pass;
  }
}
