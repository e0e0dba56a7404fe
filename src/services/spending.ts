import { Budget, type BudgetVerdict, type Limits, type SpentBefore } from "../policy/budget.ts";
import { Tally } from "../policy/tally.ts";
import type { LedgerNews, Store } from "../store/store.ts";

/**
 * What has been spent on a run so far, by all its workers: the ledger, read on from where the last
 * look ended. Nothing is read for who has no budget.
 */
export class Spending {
  readonly #ledger: LedgerNews;
  readonly #now: () => number;
  readonly #tally = new Tally(["task", "day"]);
  /** The day of the last look: what is new since was not written before it, whatever its date says. */
  #seen: string | null = null;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, "followLedger">, now: () => number = Date.now) {
    this.#ledger = store.followLedger();
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
    const to = this.#today;
    const from = this.#seen;
    const written = from === null ? undefined : { from, to: to < from ? from : to };
    for await (const { line } of this.#ledger.news()) this.#tally.add(line, written);
    this.#seen = to;
  }
}
