import type { ReapReport, Store } from "./store.ts";

/**
 * Takes back the claims of dead workers, and sweeps. `start` holds only the ticker; `runOnce` is one
 * pass. Passes never overlap; after an error the next pass comes all the same.
 */
export interface ReaperOptions {
  everyMs?: number;
  staleAfterSeconds?: number;
  onReaped?: (report: ReapReport) => void;
  onError?: (error: unknown) => void;
}

/** Time for all workers to beat again. */
const DOUBT_MS = 60_000;
const NEVER_STALE = { staleAfterSeconds: Number.POSITIVE_INFINITY };

export class Reaper {
  readonly #store: Store;
  readonly #options: ReaperOptions;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();
  #sweepsAt = Number.NEGATIVE_INFINITY;
  #doubtsUntil = Number.NEGATIVE_INFINITY;

  constructor(store: Store, options: ReaperOptions = {}) {
    this.#store = store;
    this.#options = options;
  }

  /**
   * A heartbeat could not be written just now. Other workers may have the same problem: for a while
   * only a worker whose process is gone counts as dead.
   */
  doubt(): void {
    this.#doubtsUntil = performance.now() + DOUBT_MS;
  }

  async runOnce(): Promise<ReapReport> {
    const isDoubtful = performance.now() < this.#doubtsUntil;
    const { staleAfterSeconds } = isDoubtful ? NEVER_STALE : this.#options;
    const report = await this.#store.reap({ staleAfterSeconds });
    if (performance.now() >= this.#sweepsAt) await this.#sweep();
    if (report.reaped.length > 0) this.#options.onReaped?.(report);
    return report;
  }

  /** Looks at the whole run: in a large one less often, for 1 % of the time. */
  async #sweep(): Promise<void> {
    const begin = performance.now();
    try {
      await this.#store.sweep();
    } finally {
      const cost = performance.now() - begin;
      this.#sweepsAt = begin + Math.max(this.#options.everyMs ?? 1_000, 100 * cost);
    }
  }

  start(): void {
    if (this.#timer) return;
    let busy = false;
    this.#timer = setInterval(() => {
      if (busy) return;
      busy = true;
      this.#pass = this.runOnce()
        .then(() => {})
        .catch((error) => this.#options.onError?.(error))
        .finally(() => {
          busy = false;
        });
    }, this.#options.everyMs ?? 1_000);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#pass;
  }
}
