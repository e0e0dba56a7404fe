import type { LedgerLine } from "../model/ledger.ts";
import { totalTokens } from "../model/usage.ts";
import { usedOn } from "../model/usage-line.ts";
import type { Limits, Spent, SpentBefore } from "../policy/budget.ts";
import type { Store } from "../store/store.ts";

/**
 * What has been spent on a run so far, by all its workers: the ledger, read on from where the last
 * look ended. Nothing is read for who has no budget. An attempt counts with its `usage` line, and
 * until it has one with its steps.
 */
export class Spending {
  readonly #store: Pick<Store, "ledgerFrom">;
  readonly #now: () => number;
  readonly #run: Spent = { usd: 0, tokens: 0 };
  readonly #days = new Map<string, Spent>();
  readonly #tasks = new Map<string, Spent>();
  /** What the steps of an attempt have added, until its usage comes. */
  readonly #running = new Map<string, { task: string; day: string } & Spent>();
  #cursor: string | null = null;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, "ledgerFrom">, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** By all others than this attempt. */
  async before(task: string, token: string, limits: Limits): Promise<SpentBefore> {
    if (![limits.task, limits.run, limits.day].some((limit) => limit?.usd ?? limit?.tokens)) {
      return {};
    }
    await this.refresh();
    const own = this.#running.get(keyOf(task, token)) ?? { usd: 0, tokens: 0, day: "" };
    const today = this.#today;
    const others = (all: Spent | undefined, mine: Spent) => ({
      usd: Math.max(0, (all?.usd ?? 0) - mine.usd),
      tokens: Math.max(0, (all?.tokens ?? 0) - mine.tokens),
    });
    return {
      task: others(this.#tasks.get(task), own),
      run: others(this.#run, own),
      day: others(this.#days.get(today), own.day === today ? own : { usd: 0, tokens: 0 }),
    };
  }

  /** As of the last look: for who asks often. */
  get run(): Spent {
    return this.#run;
  }

  get day(): Spent {
    return this.#days.get(this.#today) ?? { usd: 0, tokens: 0 };
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
      if (line.event === "step" || line.event === "usage") this.#count(line);
      else if (line.event === "ended") this.#running.delete(keyOf(line.task, line.token));
    }
  }

  #count(line: LedgerLine): void {
    const used = usedOn(line);
    const usd = used.reduce((sum, one) => sum + (one.usd ?? 0), 0);
    const tokens = used.reduce((sum, one) => sum + totalTokens(one), 0);
    const task = line.task ?? "";
    const day = line.at.slice(0, 10);
    const key = keyOf(task, line.token);
    const steps = this.#running.get(key);
    if (line.event === "step") {
      if (used.length === 0) return;
      const sum = { usd: (steps?.usd ?? 0) + usd, tokens: (steps?.tokens ?? 0) + tokens };
      this.#running.set(key, { task, day, ...sum });
      this.#add(task, day, usd, tokens);
      return;
    }
    this.#running.delete(key);
    if (steps && line.unreadable === true) {
      // Not all could be read: what the steps said stays, and only what is beyond it is added.
      this.#add(task, day, Math.max(0, usd - steps.usd), Math.max(0, tokens - steps.tokens));
      return;
    }
    if (steps) this.#add(steps.task, steps.day, -steps.usd, -steps.tokens);
    this.#add(task, day, usd, tokens);
  }

  #add(task: string, day: string, usd: number, tokens: number): void {
    for (const sum of [this.#run, sumIn(this.#tasks, task), sumIn(this.#days, day)]) {
      sum.usd += usd;
      sum.tokens += tokens;
    }
  }
}

function sumIn(sums: Map<string, Spent>, key: string): Spent {
  const sum = sums.get(key) ?? { usd: 0, tokens: 0 };
  sums.set(key, sum);
  return sum;
}

function keyOf(task: string | undefined, token: string | undefined): string {
  return `${token} ${task}`;
}
