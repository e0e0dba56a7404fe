import { countsInWords } from "../queue/schemas.ts";
import type { Change, Counts, Store } from "../queue/store.ts";

/**
 * Tasks by state, kept up to date by their moves: to count 100,000 names takes longer than a person
 * would notice a number. A move may be missed, or be counted already when it is told; so after changes
 * they are counted anew, as often as costs at most a hundredth of the time.
 */
export class LiveCounts {
  readonly #store: Pick<Store, "counts">;
  readonly #now: () => number;
  #counts: Counts | null = null;
  #countedAt = Number.NEGATIVE_INFINITY;
  #cost = 0;
  #isUnsure = false;

  constructor(store: Pick<Store, "counts">, now: () => number = () => performance.now()) {
    this.#store = store;
    this.#now = now;
  }

  /** Milliseconds until they can be made sure; null: they are. */
  get recountIn(): number | null {
    if (!this.#isUnsure) return null;
    return Math.max(0, this.#countedAt + Math.max(LEAST_MS, 100 * this.#cost) - this.#now());
  }

  async read(): Promise<Counts> {
    if (this.#counts === null || this.recountIn === 0) {
      this.#isUnsure = false;
      const begin = this.#now();
      this.#counts = await this.#store.counts();
      this.#countedAt = this.#now();
      this.#cost = this.#countedAt - begin;
    }
    return countsInWords(this.#counts);
  }

  apply({ from, to, cancelled }: Extract<Change, { kind: "task" }>): void {
    this.#isUnsure = true;
    const counts = this.#counts;
    if (counts === null) return;
    // Whether the task had been cancelled is not known.
    if (from === "failed" && counts.cancelled > 0) {
      this.forget();
      return;
    }
    if (from !== null) counts[from] = Math.max(0, counts[from] - 1);
    if (to !== null) counts[to]++;
    if (cancelled) counts.cancelled++;
  }

  /** They may have changed, without a word. */
  doubt(): void {
    this.#isUnsure = true;
  }

  forget(): void {
    this.#counts = null;
  }
}

const LEAST_MS = 2_000;
