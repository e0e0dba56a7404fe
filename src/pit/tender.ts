import type { Store } from "../queue/store.ts";
import type { WorkerHost } from "../work/host.ts";
import type { ProvenResult, WorkerOptions } from "../work/worker.ts";
import { proveResults, provingFor } from "./prove-results.ts";

const TEND_EVERY_MS = 2_000;

/** What runs beside a worker in a pit. */
export function tenderFor(store: Store, host: WorkerHost, options: WorkerOptions): Tender {
  return new Tender({
    everyMs: TEND_EVERY_MS,
    prove: () => proveResults(store, host, provingFor(store, host, options)),
    onProven: (results) => {
      for (const result of results) options.onEvent?.({ kind: "proven", result });
    },
    onError: (error) => options.onEvent?.({ kind: "trouble", error }),
  });
}

/**
 * Proves, beside a worker, what snakes have finished by hand. Passes never overlap; an error is
 * reported, and the next pass comes all the same.
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
  #restsUntil = 0;

  constructor(options: TenderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      if (performance.now() < this.#restsUntil) return;
      this.#pass ??= this.runOnce().finally(() => {
        this.#pass = null;
      });
    }, this.#options.everyMs);
  }

  async runOnce(): Promise<void> {
    const begin = performance.now();
    try {
      const results = await this.#options.prove();
      if (results.length > 0) this.#options.onProven(results);
    } catch (error) {
      this.#options.onError(error);
    }
    // A pass over thousands of results takes at most a twentieth of the time.
    const end = performance.now();
    this.#restsUntil = end + 20 * (end - begin);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#pass;
  }
}
