import { formatCount, formatUsd } from "../../base/amount.ts";
import type { Limit, Spent } from "./budget.ts";

/**
 * Many attempts share a budget, and no model can be stopped in the middle of a step: by the time a limit is
 * seen, the money is spent. So an attempt reserves, before it begins, what it may spend in all; and before each
 * step beyond that, the step. At every moment the money spent, and the money reserved and not spent yet, fit
 * into the budget. An attempt that finds no room does not begin, or does not go on.
 *
 * An attempt may spend what others of its type did, or ten steps while none has ended. The only attempt may
 * begin with less, as long as a step fits: so a budget can be used up but for one step. While no step of a type
 * is known, one attempt at a time finds out what it costs.
 */
export interface Shared {
  run?: Limit;
  /** UTC. */
  day?: Limit;
}

const SCOPES = ["run", "day"] as const;
const UNITS = ["usd", "tokens"] as const;
type Scope = (typeof SCOPES)[number];
type Unit = (typeof UNITS)[number];

/** What is known at the time of a request. */
export interface Situation {
  limits: Shared;
  /** By all. */
  spent: Record<Scope, Spent>;
  /** By others, and not spent yet. */
  reserved: Spent;
  /** No other attempt is under way: one that has spent what it reserved may need one more step. */
  isAlone: boolean;
  /** What a step may cost; null: nobody knows. */
  step: Spent | null;
}

/** Why not. `isShared`: only because of what others have reserved, and that passes. */
export interface Held {
  which: Scope;
  isShared: boolean;
  text: string;
}

const NOTHING: Spent = { usd: 0, tokens: 0 };
/** Sums of dollars are off by less than this. */
const DUST = 1e-9;
const STEPS_OF_ATTEMPT = 10;

/** What an attempt may spend that is about to begin; `typical`: what others did, if any has ended. */
export function toBegin(at: Situation, typical: Spent | null): Spent | Held {
  const step = at.step ?? NOTHING;
  const whole = at.step
    ? wholeOf(at.step, typical)
    : { usd: Number.POSITIVE_INFINITY, tokens: Number.POSITIVE_INFINITY };
  const left = leftOf(at);
  // Nothing that is dearer than all could ever begin: that one step is let through.
  const alone = shortage({ ...at, reserved: NOTHING }, least(step, mostOf(at.limits)));
  if (alone) return heldBy(at, alone, step, "a step", false);
  const wanted = at.isAlone ? least(whole, left) : whole;
  const short = shortage(at, wanted);
  if (short === null) return onlyLimited(at.limits, wanted);
  return heldBy(at, short, at.step ? whole : null, "an attempt", true);
}

function wholeOf(step: Spent, typical: Spent | null): Spent {
  return most(step, typical ?? times(step, STEPS_OF_ATTEMPT));
}

/**
 * What an attempt needs that holds `total` and has spent so much: less, when it began before anybody knew
 * what a step costs; more, when its next step is not in it. Null: what it holds is right.
 */
export function toHold(
  total: Spent,
  spent: Spent,
  step: Spent,
  typical: Spent | null,
): { total: Spent; isMore: boolean } | null {
  const next = sumOf([spent, step]);
  const needed = most(next, wholeOf(step, typical));
  const held = UNITS.filter((unit) => total[unit] > 0); // the others are not limited
  const of = (unit: Unit, value: Spent) => (held.includes(unit) ? value[unit] : 0);
  if (held.some((unit) => next[unit] > total[unit] + DUST)) {
    const more = most(total, next);
    return { total: { usd: of("usd", more), tokens: of("tokens", more) }, isMore: true };
  }
  if (!held.some((unit) => needed[unit] < total[unit] * SHRINKS_AT)) return null;
  const less = least(total, needed);
  return { total: { usd: of("usd", less), tokens: of("tokens", less) }, isMore: false };
}

/** What would be only a little smaller is not worth a line. */
const SHRINKS_AT = 0.8;

/** Whether one step more than what was reserved fits; null when it does. */
export function toGoOn(at: Situation): Held | null {
  const step = at.step ?? NOTHING;
  const short = shortage(at, step);
  if (short === null) return null;
  const isShared = shortage({ ...at, reserved: NOTHING }, step) === null;
  return heldBy(at, short, step, "a step", isShared);
}

/** For how many more attempts there is room at once; at least one may ask. */
export function roomFor(at: Situation, typical: Spent | null): number {
  if (at.step === null) return 1;
  const each = wholeOf(at.step, typical);
  const left = leftOf(at);
  const fits = UNITS.map((unit) => {
    const free = left[unit] - at.reserved[unit];
    return each[unit] > 0 ? Math.floor(free / each[unit] + DUST) : Number.POSITIVE_INFINITY;
  });
  return Math.max(1, Math.min(...fits));
}

export function isLimited({ run, day }: Shared): boolean {
  return [run, day].some((limit) => limit?.usd ?? limit?.tokens);
}

export function sumOf(amounts: readonly Spent[]): Spent {
  const sum = { usd: 0, tokens: 0 };
  for (const { usd, tokens } of amounts) {
    sum.usd += usd;
    sum.tokens += tokens;
  }
  return sum;
}

interface Short {
  which: Scope;
  unit: Unit;
}

function shortage({ limits, spent, reserved }: Situation, need: Spent): Short | null {
  for (const which of SCOPES) {
    for (const unit of UNITS) {
      const limit = limits[which]?.[unit];
      if (limit === undefined) continue;
      const before = spent[which][unit];
      // When it is reached it is used up, whatever a step costs.
      if (before >= limit - DUST) return { which, unit };
      if (before + reserved[unit] + need[unit] > limit + DUST) return { which, unit };
    }
  }
  return null;
}

function heldBy(
  at: Situation,
  { which, unit }: Short,
  need: Spent | null,
  what: string,
  isShared: boolean,
): Held {
  const shown = (value: number) =>
    unit === "usd" ? formatUsd(value) : `${formatCount(value)} ${unit}`;
  const of = `${shown(at.spent[which][unit])} of ${shown(at.limits[which]?.[unit] ?? 0)}`;
  const others = at.reserved[unit] > 0 ? `, ${shown(at.reserved[unit])} reserved by others` : "";
  const cost = need && need[unit] > 0 ? `, and ${what} may cost ${shown(need[unit])}` : "";
  const state = isShared ? "reserved" : "used up";
  const text = `the budget of this ${which} is ${state}: ${of}${others}${cost}`;
  return { which, isShared, text };
}

/** Of the tightest budget in each unit. */
function leftOf({ limits, spent }: Pick<Situation, "limits" | "spent">): Spent {
  const left = (unit: Unit) =>
    SCOPES.reduce((least, which) => {
      const limit = limits[which]?.[unit];
      return limit === undefined ? least : Math.min(least, limit - spent[which][unit]);
    }, Number.POSITIVE_INFINITY);
  return { usd: Math.max(0, left("usd")), tokens: Math.max(0, left("tokens")) };
}

function mostOf(limits: Shared): Spent {
  return leftOf({ limits, spent: { run: NOTHING, day: NOTHING } });
}

function onlyLimited(limits: Shared, wanted: Spent): Spent {
  const of = (unit: Unit) =>
    SCOPES.some((which) => limits[which]?.[unit] !== undefined) ? wanted[unit] : 0;
  return { usd: of("usd"), tokens: of("tokens") };
}

function least(a: Spent, b: Spent): Spent {
  return { usd: Math.min(a.usd, b.usd), tokens: Math.min(a.tokens, b.tokens) };
}

function most(a: Spent, b: Spent): Spent {
  return { usd: Math.max(a.usd, b.usd), tokens: Math.max(a.tokens, b.tokens) };
}

function times({ usd, tokens }: Spent, n: number): Spent {
  return { usd: usd * n, tokens: tokens * n };
}
