import { formatCount, formatUsd } from "../../base/amount.ts";
import { VivError } from "../../base/errors.ts";
import { DUST } from "./bill.ts";
import { type PriceTable, priceFor } from "./prices.ts";

/**
 * A Budget watches one attempt: its limits, the spending before it, and its own. It gives one verdict when 80 %
 * of a limit is used, and one when all of it is: then budget-stop.ts ends the run before its next step.
 *
 * Dollars and tokens are used up when the limit is reached; turns only by one more than the limit.
 *
 * A limit in dollars cannot hold for a model without a price. Using one is a verdict of its own (`blind`),
 * treated as if the budget were used up.
 */
const SCOPES = ["attempt", "task", "run", "day"] as const;
type Scope = (typeof SCOPES)[number];
const UNITS = ["usd", "tokens", "turns"] as const;
type Unit = (typeof UNITS)[number];

export interface Limit {
  usd?: number;
  tokens?: number;
}

export interface Limits {
  attempt?: Limit & { turns?: number };
  /** Over all its attempts. */
  task?: Limit;
  run?: Limit;
  /** UTC. */
  day?: Limit;
}

export interface Spent {
  usd: number;
  tokens: number;
}

/** By others: by earlier attempts of the task, and by all other attempts of the run and the day. */
export interface SpentBefore extends Partial<Record<Exclude<Scope, "attempt">, Spent>> {
  /** Of the budgets of the run and the day, and not spent yet: see reserve-policy.ts. */
  reserved?: Spent;
}

export interface Delta {
  /** Null: there is no price. */
  usd: number | null;
  tokens: number;
  turns?: number;
  /** For the message when it has no price. */
  model?: string;
}

export type BudgetVerdict =
  | { level: "warn" | "over"; which: Scope; unit: Unit; text: string }
  | { level: "blind"; which: Scope; unit: "usd"; text: string };

const WARN_AT = 0.8;

export class Budget {
  readonly #limits: ReturnType<typeof limitsIn>;
  #before: SpentBefore;
  #day: string;
  #own = { usd: 0, tokens: 0, turns: 0 };
  /** The part of it that was spent on this day. */
  #today = { usd: 0, tokens: 0 };
  readonly #given = new Map<string, BudgetVerdict["level"]>();

  /** `day` is the present one, like 2026-11-15. */
  constructor(limits: Limits, before: SpentBefore, day: string) {
    this.#limits = limitsIn(limits);
    for (const { which, unit, limit } of this.#limits) {
      if (limit > 0 && Number.isFinite(limit)) continue;
      throw new VivError("INVALID", `the budget of this ${which}: ${unit} must be more than zero.`);
    }
    this.#before = before;
    this.#day = day;
  }

  /** Adds the usage since the last call. Without any: the verdicts that hold already. */
  spend(delta: Delta = { usd: 0, tokens: 0 }, day = this.#day): BudgetVerdict[] {
    this.#turnTo(day);
    this.#add(delta.usd ?? 0, delta.tokens);
    this.#own.turns += delta.turns ?? 0;
    return [...this.#blindTo([delta]), ...this.#verdicts()];
  }

  /** The vendor's total, model by model, instead of the sum of the steps. The difference is spent now. */
  settle(total: readonly Delta[], day = this.#day): BudgetVerdict[] {
    this.#turnTo(day);
    const usd = total.reduce((sum, part) => sum + (part.usd ?? 0), 0);
    const tokens = total.reduce((sum, part) => sum + part.tokens, 0);
    this.#add(usd - this.#own.usd, tokens - this.#own.tokens);
    return [...this.#blindTo(total), ...this.#verdicts()];
  }

  /** The present spending and reservations of the run's other attempts. */
  updateOthers(before: SpentBefore, day = this.#day): BudgetVerdict[] {
    this.#turnTo(day);
    this.#before = { ...this.#before, ...before };
    return this.#verdicts();
  }

  /** Whether dollars or tokens are limited: then all usage must be known. */
  get countsUsage(): boolean {
    return this.#limits.some(({ unit }) => unit !== "turns");
  }

  /** Dollars that are left of the tightest budget; null when none is in dollars. */
  leftUsd(): number | null {
    const left = this.#limits.flatMap(({ which, unit, limit }) => {
      if (unit !== "usd") return [];
      const isShared = which === "run" || which === "day";
      const reserved = isShared ? (this.#before.reserved?.usd ?? 0) : 0;
      return [limit - this.#spent(which, unit) - reserved];
    });
    return left.length === 0 ? null : Math.max(0, Math.min(...left));
  }

  /** A new day has a new budget; a clock that goes back has none to give. */
  #turnTo(day: string): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#today = { usd: 0, tokens: 0 };
    this.#before = { ...this.#before, day: { usd: 0, tokens: 0 } };
    for (const unit of UNITS) this.#given.delete(`day ${unit}`);
  }

  #verdicts(): BudgetVerdict[] {
    const verdicts: BudgetVerdict[] = [];
    for (const { which, unit, limit } of this.#limits) {
      const spent = this.#spent(which, unit);
      const level = levelOf(spent, limit, unit);
      const key = `${which} ${unit}`;
      const given = this.#given.get(key);
      if (level === null || given === level || given === "over") continue;
      this.#given.set(key, level);
      verdicts.push({ level, which, unit, text: textOf(level, which, unit, spent, limit) });
    }
    return verdicts;
  }

  #spent(which: Scope, unit: Unit): number {
    if (unit === "turns") return this.#own.turns;
    const own = which === "day" ? this.#today[unit] : this.#own[unit];
    const before = which === "attempt" ? 0 : (this.#before[which]?.[unit] ?? 0);
    return before + own;
  }

  #add(usd: number, tokens: number): void {
    this.#own.usd += usd;
    this.#own.tokens += tokens;
    // A correction of yesterday's count is no allowance for today.
    this.#today.usd = Math.max(0, this.#today.usd + usd);
    this.#today.tokens = Math.max(0, this.#today.tokens + tokens);
  }

  #blindTo(parts: readonly Delta[]): BudgetVerdict[] {
    const unpriced = parts.filter(({ usd, tokens }) => usd === null && tokens > 0);
    const which = this.#limits.find(({ unit }) => unit === "usd")?.which;
    if (unpriced.length === 0 || which === undefined || this.#given.has("blind")) return [];
    this.#given.set("blind", "blind");
    const what = whatToAdd([...new Set(unpriced.map(({ model }) => model ?? null))]);
    const text = `the budget of this ${which} is in dollars, and there is no price for what was used: ${what}`;
    return [{ level: "blind", which, unit: "usd", text }];
  }
}

function limitsIn(limits: Limits): { which: Scope; unit: Unit; limit: number }[] {
  return SCOPES.flatMap((which) => {
    const own: { [unit in Unit]?: number } = limits[which] ?? {};
    return UNITS.flatMap((unit) => {
      const limit = own[unit];
      return limit === undefined ? [] : [{ which, unit, limit }];
    });
  });
}

function levelOf(spent: number, limit: number, unit: Unit): "warn" | "over" | null {
  if (unit === "turns" ? spent > limit : spent >= limit - DUST) return "over";
  return spent >= limit * WARN_AT - DUST ? "warn" : null;
}

function textOf(level: "warn" | "over", which: Scope, unit: Unit, spent: number, limit: number) {
  const shown = unit === "usd" ? formatUsd : formatCount;
  const amount = `${shown(spent)} of ${shown(limit)}${unit === "usd" ? "" : ` ${unit}`}`;
  if (level === "over") return `the budget of this ${which} is used up: ${amount}`;
  // Rounded down: 99.7 % is not all of it.
  const percent = Math.floor((spent / limit) * 100 + DUST);
  return `${percent} % of the budget of this ${which} are used: ${amount}`;
}

/**
 * Why a budget in dollars cannot be held with these models, and what to add; null when it can. Dollars
 * that an engine reports only at its end are too late, so each model needs a price. A null among the models:
 * the engine's own choice.
 */
export function whatIsMissing(
  limits: Limits,
  reportsDollars: "each step" | "at the end" | "never",
  models: readonly (string | null)[],
  prices: PriceTable,
): string | null {
  if (reportsDollars === "each step") return null;
  const which = limitsIn(limits).find(({ unit }) => unit === "usd")?.which;
  if (which === undefined) return null;
  // An empty name has the price of all names that have no other: that of the star alone.
  const missing = [...new Set(models)].filter((model) => !priceFor(model ?? "", prices));
  if (missing.length === 0) return null;
  const when =
    reportsDollars === "never"
      ? "this engine reports no dollars"
      : "this engine reports its dollars only at its end, which is too late";
  return `the budget of this ${which} is in dollars, but ${when}: ${whatToAdd(missing)}`;
}

/** A null is a model without a name. */
function whatToAdd(models: readonly (string | null)[]): string {
  const named = models.filter((model) => model !== null);
  const tables = named.map((model) => `[prices.${JSON.stringify(model)}]`);
  const hasUnnamed = named.length < models.length;
  if (hasUnnamed) tables.push('[prices."MODEL"]');
  const first = hasUnnamed ? 'name the model of the route, like model = "MODEL", and ' : "";
  return `${first}add ${tables.join(" and ")} to viv.toml, with input and output in dollars for a million tokens`;
}
