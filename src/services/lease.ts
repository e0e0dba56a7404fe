import type { Registration, Store } from "../store/store.ts";

/**
 * A long-lived worker's presence: it holds its name and beats. The beats come from the event loop
 * on purpose: when the worker is stuck, they stop, and others may take its claims.
 */
export class Lease {
  readonly #store: Store;
  readonly #everyMs: number;
  #registration: Registration | undefined;
  #timer: NodeJS.Timeout | undefined;
  #note = "idle";

  constructor(store: Store, options: { everyMs?: number } = {}) {
    this.#store = store;
    this.#everyMs = options.everyMs ?? 30_000;
  }

  async start(worker: string, types?: readonly string[]): Promise<void> {
    this.#registration = await this.#store.register(worker, types ? { types } : {});
    this.#timer = setInterval(() => {
      // A beat that fails (disk full) is no reason to stop working; the next one may succeed.
      this.#store.heartbeat(worker, { note: this.#note }).catch(() => {});
    }, this.#everyMs);
    this.#timer.unref();
  }

  /** What the next beat says this worker is doing. */
  note(text: string): void {
    this.#note = text;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#registration?.release();
    this.#registration = undefined;
  }
}
