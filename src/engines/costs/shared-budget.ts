import { setImmediate } from "node:timers/promises";
import type { Claim, LedgerNews, Store } from "../../queue/store.ts";
import type { Limits, Spent, SpentBefore } from "./budget.ts";
import { type AttemptId, LedgerTotals } from "./ledger-totals.ts";
import { type Other, type Reservation, Reservations, Sizes } from "./reservations.ts";
import {
  type Held,
  isLimited,
  least,
  minus,
  NOTHING,
  perUnit,
  roomFor,
  type Shared,
  type Situation,
  sumOf,
  toBegin,
  toGoOn,
  toHold,
} from "./reserve-policy.ts";

type News = Pick<LedgerNews, "news">;
type LedgerStore = Pick<Store, "append" | "show"> & { followLedger(): News };
type IsMeant = (type: string) => boolean;

/** The spending and reservations of others; and `held`: why there is no room for one more step. */
interface Looked {
  before: SpentBefore;
  held: Held | null;
}

/** How often reservations are checked against their claims. */
const VERIFY_MS = 2_000;

/**
 * The budgets that all attempts of a run share. Spending and reservations are in the ledger, of which only new
 * lines are read; without a budget none are.
 */
export class SharedBudget {
  readonly #store: LedgerStore;
  readonly #ledger: News;
  readonly #now: () => number;
  readonly #totals = new LedgerTotals(["task", "day"]);
  readonly #reservations = new Reservations();
  readonly #sizes = new Sizes();
  /** The day of the last read: later lines were not written before it, whatever their date. */
  #seen: string | null = null;
  #verified = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> = Promise.resolve();

  constructor(store: LedgerStore, now: () => number = Date.now) {
    this.#store = store;
    this.#ledger = store.followLedger();
    this.#now = now;
  }

  /** Before a run begins: reserves its spending until `release`, or until the attempt ends. */
  async reserve(claim: Claim, limits: Limits): Promise<Held | null> {
    if (!isLimited(limits)) return null;
    await this.refresh();
    const own = ownOf(claim);
    const isMeant = ofType(claim);
    const finding = this.#finding(isMeant, own);
    if (finding) return finding;
    const typical = capped(this.#sizes.attempt(isMeant), limits);
    const plan = toBegin(this.#at(limits, isMeant, own), typical);
    return "text" in plan ? plan : this.#write(claim, limits, plan, null);
  }

  /** Between steps: reads the spending of others, and reserves the next step if it is not reserved yet. */
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
    const isMeant = ofType(claim);
    const step = this.#sizes.step(isMeant);
    if (mine === undefined || step === null) return { before, held: null };
    const typical = capped(this.#sizes.attempt(isMeant), limits);
    const other = toHold(mine.total, this.#totals.spentBy(own), step, typical);
    if (other === null) return { before, held: null };
    if (!other.isMore) {
      await this.#note(claim, other.total);
      return { before, held: null };
    }
    const held = toGoOn(this.#at(limits, isMeant, own));
    return { before, held: held ?? (await this.#write(claim, limits, other.total, mine.total)) };
  }

  async release(claim: Claim): Promise<void> {
    const own = ownOf(claim);
    if (this.#reservations.of(own) !== undefined) await this.#note(claim, NOTHING);
    this.#reservations.forget(own);
  }

  /** Why a run of this type may not begin, as of the last read; type null: any but `routed`. */
  usedUp(limits: Shared, type: string | null, routed: readonly string[] = []): Held | null {
    const isMeant = (one: string) => (type === null ? !routed.includes(one) : one === type);
    const finding = this.#finding(isMeant);
    const plan = toBegin(this.#at(limits, isMeant), this.#sizes.attempt(isMeant));
    return "text" in plan ? plan : finding;
  }

  /** How many more runs fit at once. */
  room(limits: Shared): number {
    if (!isLimited(limits)) return Number.POSITIVE_INFINITY;
    return roomFor(
      this.#at(limits, () => true),
      this.#sizes.attempt(() => true),
    );
  }

  /** By all attempts, in this run and today. */
  get spent(): Record<"run" | "day", Spent> {
    return this.#totals.withoutAttempt(NONE, this.#today);
  }

  /** Reserved, and not spent yet. */
  get reserved(): Spent & { runs: number } {
    const { standing } = this.#reservations;
    return { ...this.#unspent(this.#reservations.others(NONE)), runs: standing.length };
  }

  /** One after the other: two readers would count a line twice. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read());
    return this.#reading;
  }

  get #today(): string {
    return new Date(this.#now()).toISOString().slice(0, 10);
  }

  #at(limits: Shared, isMeant: IsMeant, own = NONE, mine?: Reservation): Situation {
    const others = this.#reservations.others(own, mine);
    return {
      limits,
      spent: this.spent,
      reserved: this.#unspent(others),
      isAlone: others.length === 0,
      step: this.#sizes.step(isMeant) ?? this.#sizes.step(),
    };
  }

  #unspent(others: readonly Other[]): Spent {
    return sumOf(others.map(({ of, total }) => minus(total, this.#totals.spentBy(of))));
  }

  /** An attempt of an unknown type runs: others wait until its first step shows the cost of one. */
  #finding(isMeant: IsMeant, own = NONE, mine?: Reservation): Held | null {
    const others = this.#reservations.others(own, mine);
    const first = others.find(
      ({ of, isLater }) => isMeant(of.type) && !this.#sizes.knows(of.type) && !isLater,
    );
    if (first === undefined) return null;
    const { task, type } = first.of;
    const text = `the first step of ${task} will show the cost of type ${type}; until then the budget is reserved`;
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
    const isMeant = ofType(claim);
    await this.#note(claim, total);
    await this.refresh();
    const mine = this.#reservations.of(own);
    if (mine === undefined) return null; // a reservation of nothing: it is free
    const at = this.#at(limits, isMeant, own, mine);
    const step = minus(total, this.#totals.spentBy(own));
    const late = toGoOn({ ...at, step }) ?? (was ? null : this.#finding(isMeant, own, mine));
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
    await setImmediate(); // by then, lines of this turn are written
    const to = this.#today;
    const from = this.#seen;
    const written = from === null ? undefined : { from, to: to < from ? from : to };
    for await (const { line, ...place } of this.#ledger.news()) {
      this.#totals.add(line, written);
      this.#reservations.add(line, place);
      this.#sizes.add(line);
    }
    this.#seen = to;
    await this.#verify();
  }

  /** A claim that was moved by hand ends without a line. */
  async #verify(): Promise<void> {
    const at = performance.now();
    if (at - this.#verified < VERIFY_MS) return;
    this.#verified = at;
    for (const one of this.#reservations.standing) {
      const view = await this.#store.show(one.task).catch(() => undefined);
      if (view === undefined) continue; // unreadable now
      const isHeld = view?.state === "claimed" && (view.token ?? one.token) === one.token;
      if (!isHeld) this.#reservations.forget(one);
    }
  }
}

/** No attempt. */
const NONE: AttemptId = { task: "", token: "" };

function ownOf({ task, token }: Claim): AttemptId {
  return { task: task.task_id, token };
}

function ofType({ task }: Claim): IsMeant {
  return (type) => type === task.task_type;
}

/** No attempt spends more than its own limit. */
function capped(typical: Spent | null, { attempt }: Limits): Spent | null {
  const limit = perUnit((unit) => attempt?.[unit] ?? Number.POSITIVE_INFINITY);
  return typical && least(typical, limit);
}
