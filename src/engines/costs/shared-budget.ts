import { setImmediate } from "node:timers/promises";
import type { Claim, LedgerNews, Store } from "../../queue/store.ts";
import type { Limits, Spent, SpentBefore } from "./budget.ts";
import { LedgerTotals } from "./ledger-totals.ts";
import { type Other, type Reservation, Reservations, Sizes } from "./reservations.ts";
import {
  type Held,
  isLimited,
  roomFor,
  type Shared,
  type Situation,
  sumOf,
  toBegin,
  toGoOn,
  toHold,
} from "./reserve-policy.ts";

type LedgerStore = Pick<Store, "followLedger" | "append" | "show">;
type IsMeant = (type: string) => boolean;

/** What others have spent and reserved, and whether there is room for one more step. */
export interface Looked {
  before: SpentBefore;
  held: Held | null;
}

/** How often reservations are checked against the claims they belong to. */
const VERIFY_MS = 2_000;

/**
 * The budgets that all attempts of a run share: what its workers have spent and reserved, by the ledger, which
 * is read on from where the last look ended. Without a budget nothing is read.
 */
export class SharedBudget {
  readonly #store: LedgerStore;
  readonly #ledger: LedgerNews;
  readonly #now: () => number;
  readonly #totals = new LedgerTotals(["task", "day"]);
  readonly #reservations = new Reservations();
  readonly #sizes = new Sizes();
  /** The day of the last look: what is new since was not written before it, whatever its date says. */
  #seen: string | null = null;
  #verified = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: LedgerStore, now: () => number = Date.now) {
    this.#store = store;
    this.#ledger = store.followLedger();
    this.#now = now;
  }

  /** Before a run begins: what it may spend is set aside until `release`, or until the attempt ends. */
  async reserve(claim: Claim, limits: Limits): Promise<Held | null> {
    if (!isLimited(limits)) return null;
    await this.refresh();
    const own = ownOf(claim);
    const isMeant = (type: string) => type === claim.task.task_type;
    const finding = this.#finding(isMeant, own);
    if (finding) return finding;
    const typical = capped(this.#sizes.attempt(isMeant), limits);
    const plan = toBegin(this.#at(limits, isMeant, own), typical);
    return "text" in plan ? plan : this.#write(claim, limits, plan, null);
  }

  /** Between steps: what others have spent by now; and when the next one is not reserved yet, that is tried. */
  async look(claim: Claim, limits: Limits): Promise<Looked> {
    const asked = [limits.task, limits.run, limits.day];
    if (!asked.some((limit) => limit?.usd ?? limit?.tokens)) return { before: {}, held: null };
    await this.refresh();
    const own = ownOf(claim);
    const before = {
      ...this.#totals.withoutAttempt(own, this.#today),
      reserved: this.#unspent(this.#reservations.others(own)),
    };
    const mine = this.#reservations.of(own);
    const isMeant = (type: string) => type === claim.task.task_type;
    const step = this.#sizes.step(isMeant);
    if (mine === undefined || step === null) return { before, held: null };
    const typical = capped(this.#sizes.attempt(isMeant), limits);
    const other = toHold(mine.total, this.#totals.spentBy(own), step, typical);
    if (other === null) return { before, held: null };
    if (!other.isMore) await this.#note(claim, other.total);
    if (!other.isMore) return { before, held: null };
    const held = toGoOn(this.#at(limits, isMeant, own));
    return { before, held: held ?? (await this.#write(claim, limits, other.total, mine.total)) };
  }

  async release(claim: Claim): Promise<void> {
    const own = ownOf(claim);
    if (this.#reservations.of(own) !== undefined) await this.#note(claim, { usd: 0, tokens: 0 });
    this.#reservations.forget(own);
  }

  /**
   * What keeps a run of this type from beginning, as of the last look; null when nothing does. A type that is
   * not known beforehand: `null`, any but `routed`.
   */
  usedUp(limits: Shared, type: string | null, routed: readonly string[] = []): Held | null {
    const isMeant = (one: string) => (type === null ? !routed.includes(one) : one === type);
    const finding = this.#finding(isMeant);
    const plan = toBegin(this.#at(limits, isMeant), this.#sizes.attempt(isMeant));
    return "text" in plan ? plan : finding;
  }

  /** For how many more there is room at once. */
  room(limits: Shared): number {
    if (!isLimited(limits)) return Number.POSITIVE_INFINITY;
    return roomFor(
      this.#at(limits, () => true),
      this.#sizes.attempt(() => true),
    );
  }

  /** What is set aside, and not spent yet. */
  get reserved(): Spent & { runs: number } {
    const { standing } = this.#reservations;
    return { ...this.#unspent(this.#reservations.others(NOBODY)), runs: standing.length };
  }

  /** One after the other: two readers would count a line twice. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read());
    return this.#reading;
  }

  get #today(): string {
    return new Date(this.#now()).toISOString().slice(0, 10);
  }

  #at(limits: Shared, isMeant: IsMeant, own = NOBODY, mine?: Reservation): Situation {
    const others = this.#reservations.others(own, mine);
    return {
      limits,
      spent: this.#totals.withoutAttempt(NOBODY, this.#today),
      reserved: this.#unspent(others),
      isAlone: others.length === 0,
      step: this.#sizes.step(isMeant) ?? this.#sizes.step(),
    };
  }

  #unspent(others: readonly Other[]): Spent {
    return sumOf(
      others.map(({ of, total }) => {
        const spent = this.#totals.spentBy(of);
        return {
          usd: Math.max(0, total.usd - spent.usd),
          tokens: Math.max(0, total.tokens - spent.tokens),
        };
      }),
    );
  }

  /** One of an unknown type runs: the others wait until its first step shows what one costs. */
  #finding(isMeant: IsMeant, own = NOBODY, mine?: Reservation): Held | null {
    const others = this.#reservations.others(own, mine);
    const first = others.find(
      ({ of, isLater }) => isMeant(of.type) && !this.#sizes.knows(of.type) && !isLater,
    );
    if (first === undefined) return null;
    const { task, type } = first.of;
    const text = `the first step of ${task} will show what those of type ${type} cost, and what is left of the budget for them`;
    return { which: "run", isShared: true, text };
  }

  /** The first line in the ledger has it; a later one is taken back. */
  async #write(
    claim: Claim,
    limits: Limits,
    total: Spent,
    was: Spent | null,
  ): Promise<Held | null> {
    const own = ownOf(claim);
    const isMeant = (type: string) => type === claim.task.task_type;
    await this.#note(claim, total);
    await this.refresh();
    const mine = this.#reservations.of(own);
    if (mine === undefined) return null; // all that it may spend is nothing: it is free
    const at = this.#at(limits, isMeant, own, mine);
    const spent = this.#totals.spentBy(own);
    const rest = {
      usd: Math.max(0, total.usd - spent.usd),
      tokens: Math.max(0, total.tokens - spent.tokens),
    };
    const late = toGoOn({ ...at, step: rest }) ?? (was ? null : this.#finding(isMeant, own, mine));
    if (late === null) return null;
    if (was === null) await this.release(claim);
    else await this.#note(claim, was);
    return late;
  }

  #note({ task, worker, token, attempt }: Claim, { usd, tokens }: Spent): Promise<void> {
    const of = { task: task.task_id, type: task.task_type, worker, token, attempt };
    return this.#store.append({ event: "reserved", ...of, usd, tokens });
  }

  async #read(): Promise<void> {
    await setImmediate(); // lines of this turn are written by then
    const to = this.#today;
    const from = this.#seen;
    const written = from === null ? undefined : { from, to: to < from ? from : to };
    for await (const { line, ...place } of this.#ledger.news()) {
      this.#totals.add(line, written);
      this.#reservations.hear(line, place);
      this.#sizes.hear(line);
    }
    this.#seen = to;
    await this.#verify();
  }

  /** A claim that was moved away by hand ends without a line; a dead worker's is taken back by the reaper. */
  async #verify(): Promise<void> {
    const at = performance.now();
    if (at - this.#verified < VERIFY_MS) return;
    this.#verified = at;
    for (const one of this.#reservations.standing) {
      const view = await this.#store.show(one.task).catch(() => undefined);
      if (view === undefined) continue; // it cannot be read now
      const isHeld = view?.state === "claimed" && (view.token ?? one.token) === one.token;
      if (!isHeld) this.#reservations.forget(one);
    }
  }
}

const NOBODY = { task: "", token: "" };

function ownOf({ task, token }: Claim) {
  return { task: task.task_id, token };
}

/** No attempt spends more than it may. */
function capped(typical: Spent | null, { attempt }: Limits): Spent | null {
  if (typical === null) return null;
  return {
    usd: Math.min(typical.usd, attempt?.usd ?? Number.POSITIVE_INFINITY),
    tokens: Math.min(typical.tokens, attempt?.tokens ?? Number.POSITIVE_INFINITY),
  };
}
