import { Budget, type BudgetVerdict, type Limits, type SpentBefore } from "../policy/budget.ts";
import { Tally } from "../policy/tally.ts";
import type { Store } from "../store/store.ts";

/**
 * What has been spent on a run so far, by all its workers: the ledger, read on from where the last
 * look ended. Nothing is read for who has no budget.
 */
export class Spending {
  readonly #store: Pick<Store, "ledgerFrom">;
  readonly #now: () => number;
  readonly #tally = new Tally(["task", "day"]);
  #cursor: string | null = null;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, "ledgerFrom">, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** By all others than this attempt. */
  async before(task: string, token: string, limits: Limits): Promise<SpentBefore> {
    const asked = [limits.task, limits.run, limits.day];
    if (!asked.some((limit) => limit?.usd ?? limit?.tokens)) return {};
    await this.refresh();
    return this.#tally.withoutAttempt({ task, token }, this.#today);
  }

  get #sums(): SpentBefore {
    return this.#tally.withoutAttempt({ task: "", token: "" }, this.#today);
  }

  /** Which of these budgets is used up, as of the last look; null when none is. */
  usedUp(limits: Pick<Limits, "run" | "day">): BudgetVerdict | null {
    const budget = new Budget(limits, this.#sums, this.#today);
    return budget.spend().find(({ level }) => level === "over") ?? null;
  }

  /** One after the other: two readers would count a line twice. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read());
    return this.#reading;
  }

  get #today(): string {
    return new Date(this.#now()).toISOString().slice(0, 10);
  }

  async #read(): Promise<void> {
    for await (const { line, cursor } of this.#store.ledgerFrom(this.#cursor)) {
      this.#cursor = cursor;
      this.#tally.add(line);
    }
  }
}
