import { setTimeout } from "node:timers/promises";
import { isVivError } from "../../base/errors.ts";
import type { Store } from "../../queue/store.ts";
import type { Entry } from "./entry.ts";

export interface Changed {
  insertions: number;
  deletions: number;
}

/** An answer waits so long for git; what comes later is in the next one. */
const PATIENCE_MS = 200;
const AT_ONCE = 2;
const MOST_KEPT = 1000;

/** How much tasks in review have changed. Each is computed once for each time it came there. */
export class ChangesInReview {
  readonly #known = new Map<string, Changed | null>();
  readonly #queue = new Map<string, { key: string; store: Store; id: string }>();
  readonly #running = new Set<Promise<void>>();

  async of(store: Store, entries: readonly Entry[]): Promise<Map<string, Changed>> {
    const unknown = entries.filter((entry) => !this.#known.has(keyOf(entry)));
    for (const entry of unknown) {
      const key = keyOf(entry);
      this.#queue.set(key, { key, store, id: entry.id });
    }
    if (unknown.length > 0) await this.#wait();
    const found = entries.map(
      (entry) => [entry.id, this.#known.get(keyOf(entry)) ?? null] as const,
    );
    return new Map(found.filter((one): one is [string, Changed] => one[1] !== null));
  }

  async #wait(): Promise<void> {
    const late = new AbortController();
    const isLate = setTimeout(PATIENCE_MS, true, { signal: late.signal }).catch(() => true);
    for (;;) {
      this.#startSome();
      if (this.#running.size === 0) break;
      if (await Promise.race([isLate, ...[...this.#running].map((one) => one.then(() => false))]))
        break;
    }
    late.abort();
  }

  #startSome(): void {
    for (const [key, { store, id }] of this.#queue) {
      if (this.#running.size >= AT_ONCE) return;
      this.#queue.delete(key);
      const running = this.#compute(key, store, id).finally(() => {
        this.#running.delete(running);
        this.#startSome();
      });
      this.#running.add(running);
    }
  }

  async #compute(key: string, store: Store, id: string): Promise<void> {
    const { changesOf, changedFiles, sumOf } = await import("../../merge/changes.ts");
    let changed: Changed | null = null;
    try {
      const changes = await changesOf(store, id);
      changed = changes && sumOf(await changedFiles(changes));
    } catch (error) {
      if (!isVivError(error)) throw error; // its repository or branch is gone: nothing to show
    }
    if (this.#known.size >= MOST_KEPT) this.#known.clear();
    this.#known.set(key, changed);
  }
}

function keyOf({ id, since }: Entry): string {
  return `${id} ${since}`;
}
