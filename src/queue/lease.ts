import type { Registration, Store } from "./store.ts";

const RETRY_MS = 1_000;

/**
 * A long-lived worker's presence: it holds its name and beats. The beats come from the event loop
 * on purpose: when the worker is stuck, they stop, and others may take its claims.
 */
export class Lease {
  readonly #store: Store;
  readonly #everyMs: number;
  readonly #onFailure: () => void;
  #registration: Registration | undefined;
  #timer: NodeJS.Timeout | undefined;
  #note = "idle";

  /** `onFailure`: a beat could not be written. */
  constructor(store: Store, options: { everyMs?: number; onFailure?: () => void } = {}) {
    this.#store = store;
    this.#everyMs = options.everyMs ?? 30_000;
    this.#onFailure = options.onFailure ?? (() => {});
  }

  async start(worker: string, types?: readonly string[]): Promise<void> {
    this.#registration = await this.#store.register(worker, types ? { types } : {});
    this.#beatAfter(this.#everyMs, worker);
  }

  #beatAfter(ms: number, worker: string): void {
    const timer = setTimeout(async () => {
      let next = this.#everyMs;
      try {
        await this.#store.heartbeat(worker, { note: this.#note });
      } catch {
        // No reason to stop working (a full disk): but others think that we are gone until it is written.
        this.#onFailure();
        next = Math.min(next, RETRY_MS);
      }
      if (this.#timer === timer) this.#beatAfter(next, worker);
    }, ms);
    timer.unref();
    this.#timer = timer;
  }

  /** What the next beat says this worker is doing. */
  note(text: string): void {
    this.#note = text;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#registration?.release();
    this.#registration = undefined;
  }
}
