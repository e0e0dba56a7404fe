import type { EngineRequest, EngineResult, Step } from "../engine.ts";
import { Bill } from "./bill.ts";
import { Budget, type BudgetVerdict, type Limits, type SpentBefore } from "./budget.ts";
import { dearerThanAsked, impute, type PriceTable } from "./prices.ts";
import type { Held } from "./reserve-policy.ts";
import { type ModelUsage, totalTokens } from "./usage.ts";

/** The limits of an attempt, the spending before it, and the prices. */
export interface RunBudget {
  limits: Limits;
  before: SpentBefore;
  prices: PriceTable;
  /** Called after each step: others spend from the same budgets, and may leave no room for the next. */
  look(): Promise<{ before: SpentBefore; held?: Pick<Held, "which" | "text"> | null }>;
}

interface BudgetStopPorts {
  /** Ends the run that is under way. */
  stop(why: string): void;
  /** For the log and the ledger. */
  notice(text: string): void;
  /**
   * The usage of the run so far, and its known dollars: for an attempt whose end is never seen. Only the
   * steps show the higher price of a long prompt.
   */
  onUsed?: (used: readonly ModelUsage[], usd: number) => void;
  now(): number;
}

/** A vendor's program reports the usage of its last answer up to so long before its end. */
const LAST_ANSWER_MS = 50;

/**
 * Stops a run when a budget is used up: counts each step of an attempt, gives a notice at 80 % and at the
 * limit, and ends the run there, before its next step. It also keeps the attempt's bill.
 */
export class BudgetStop {
  /** Of all runs that have ended. */
  readonly bill: Bill;
  /** Whether the run that is under way has reported its end. */
  isRunOver: () => boolean = () => false;
  readonly #budget: Budget;
  readonly #config: RunBudget;
  readonly #asked: string | null;
  readonly #ports: BudgetStopPorts;
  readonly #compared = new Set<string>();
  /** Of the run that is under way, by its steps: it may end before it reports a total. */
  #steps: Bill;
  /** The limit that ended the run. */
  over: BudgetVerdict | undefined;
  /** There is no room for the next step: then the run is ended, unless it is just over. */
  #noRoom: { end(): void; timer: NodeJS.Timeout } | undefined;

  /** `asked`: the model as the route names it. */
  constructor(config: RunBudget, asked: string | null, ports: BudgetStopPorts) {
    this.#config = config;
    this.#asked = asked;
    this.#ports = ports;
    this.#budget = new Budget(config.limits, config.before, this.#day);
    this.bill = new Bill(config.prices, asked);
    this.#steps = new Bill(config.prices, asked);
  }

  /** The limit that is used up before the run begins. */
  usedUpBefore(): BudgetVerdict | undefined {
    return this.#budget.spend(undefined, this.#day).find(({ level }) => level === "over");
  }

  /** A limit in dollars or tokens is set, and a run did not report its usage. */
  get isBlind(): boolean {
    return this.#budget.countsUsage && this.bill.isUnreadable;
  }

  /** For a program that takes a budget itself. */
  get left(): Pick<EngineRequest, "budgetUsd" | "isBudgeted"> {
    const budgetUsd = this.#budget.leftUsd() ?? undefined;
    return { isBudgeted: this.#budget.countsUsage, budgetUsd };
  }

  /** A step of the run, with what it used. */
  count({ usage, isBegun }: Step, turns: number): void {
    if (!usage && turns === 0) return;
    if (usage) {
      this.#compare(usage.model);
      this.#steps.add([usage]);
      const usd = (this.bill.usd ?? 0) + (this.#steps.usd ?? 0);
      this.#ports.onUsed?.(this.#steps.unpriced, usd);
      this.#noRoom?.end(); // it has made another step
    }
    const { prices, look } = this.#config;
    const usd = usage ? (impute(usage, prices, this.#asked)?.usd ?? null) : null;
    const tokens = usage ? totalTokens(usage) : 0;
    this.#act(this.#budget.spend({ usd, tokens, turns, model: usage?.model ?? "" }, this.#day));
    if (!usage) return;
    const update = ({ before, held }: Awaited<ReturnType<RunBudget["look"]>>) => {
      this.#act(this.#budget.updateOthers(before, this.#day));
      // An answer that has begun is within the reservation.
      if (held && !isBegun && this.over === undefined) this.#stopSoon(held);
    };
    look().then(update, () => {}); // after an error: at the next step
  }

  /** The usage of a run cannot be read while it goes on. */
  countBlind(text: string): void {
    if (!this.#budget.countsUsage) return;
    this.#act([{ level: "blind", which: "attempt", unit: "usd", text }]);
  }

  /** A run has ended: its own total, or the sum of its steps. */
  endRun({ usage, outcome }: EngineResult): void {
    if (usage === null && outcome.kind === "session_lost") return; // it did not begin
    const isAll = usage !== null || this.#steps.lines.length === 0;
    this.bill.add(isAll ? usage : this.#steps.unpriced, this.#steps);
    this.#steps = new Bill(this.#config.prices, this.#asked);
  }

  /** All runs have ended: the difference between the bill and the steps is spent now. */
  endAttempt(): void {
    clearTimeout(this.#noRoom?.timer);
    for (const { model } of this.bill.lines) this.#compare(model);
    if (!this.over) this.#act(this.#budget.settle(this.bill.parts, this.#day));
  }

  get #day(): string {
    return new Date(this.#ports.now()).toISOString().slice(0, 10);
  }

  /** This is where a budget stops a run. */
  #act(verdicts: readonly BudgetVerdict[]): void {
    for (const verdict of verdicts) {
      this.#ports.notice(verdict.text);
      if (verdict.level === "warn" || this.over !== undefined) continue;
      this.over = verdict;
      this.#ports.stop(verdict.text);
    }
  }

  #stopSoon({ which, text }: Pick<Held, "which" | "text">): void {
    const verdict: BudgetVerdict = { level: "over", which, unit: "usd", text };
    const end = () => {
      if (!this.isRunOver()) this.#act([verdict]);
    };
    this.#noRoom ??= { end, timer: setTimeout(end, LAST_ANSWER_MS) };
  }

  #compare(model: string): void {
    if (this.#compared.has(model)) return;
    this.#compared.add(model);
    const text = dearerThanAsked(model, this.#asked, this.#config.prices);
    if (text !== null) this.#ports.notice(text);
  }
}
