import { formatCount, formatUsd } from "../../base/amount.ts";
import { DUST } from "./bill.ts";
import type { Limits, Spent } from "./budget.ts";

/**
 * Many attempts share a budget, and no model can be stopped in the middle of a step: by the time a limit is
 * seen, the money is spent. So an attempt reserves, before it begins, what it may spend in all; and before each
 * step beyond that, the step. At every moment the money spent and the money reserved fit into the budget. An
 * attempt without room does not begin, or is ended.
 *
 * An attempt reserves the average of its type, or ten steps while none has ended. The only attempt may begin
 * with less, as long as a step fits: so a budget can be used up but for one step. While no step of a type is
 * known, one attempt at a time finds its cost.
 */
export type Shared = Pick<Limits, "run" | "day">;

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
  /** No other attempt is under way. */
  isAlone: boolean;
  /** What a step may cost; null: unknown. */
  step: Spent | null;
}

/** Why an attempt may not go on. `isShared`: only because of others' reservations, which pass. */
export interface Held {
  which: Scope;
  isShared: boolean;
  text: string;
}

export const NOTHING: Spent = { usd: 0, tokens: 0 };
const STEPS_OF_ATTEMPT = 10;

/** The reservation of an attempt that is about to begin; `typical`: the spending of one that has ended. */
export function toBegin(at: Situation, typical: Spent | null): Spent | Held {
  const step = at.step ?? NOTHING;
  const whole = at.step ? wholeOf(at.step, typical) : perUnit(() => Number.POSITIVE_INFINITY);
  const left = leftOf(at);
  // A step that is dearer than the whole budget is let through once: else it could never begin.
  const alone = shortage({ ...at, reserved: NOTHING }, least(step, mostOf(at.limits)));
  if (alone) return heldBy(at, alone, step, "a step", false);
  const wanted = at.isAlone ? least(whole, left) : whole;
  const short = shortage(at, wanted);
  if (short === null) return onlyLimited(at.limits, wanted);
  return heldBy(at, short, at.step ? whole : null, "an attempt", true);
}

function wholeOf(step: Spent, typical: Spent | null): Spent {
  return most(step, typical ?? perUnit((unit) => step[unit] * STEPS_OF_ATTEMPT));
}

/**
 * The new reservation of an attempt that holds `total` and has spent so much: less, when it began before the
 * cost of a step was known; more, when its next step is not in it. Null: no change.
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
  const ofHeld = (value: Spent) => perUnit((unit) => (held.includes(unit) ? value[unit] : 0));
  if (held.some((unit) => next[unit] > total[unit] + DUST)) {
    return { total: ofHeld(most(total, next)), isMore: true };
  }
  if (!held.some((unit) => needed[unit] < total[unit] * SHRINKS_AT)) return null;
  return { total: ofHeld(least(total, needed)), isMore: false };
}

/** A reservation that is only a little smaller is not worth a line. */
const SHRINKS_AT = 0.8;

/** Null when one step beyond the reservation fits. */
export function toGoOn(at: Situation): Held | null {
  const step = at.step ?? NOTHING;
  const short = shortage(at, step);
  if (short === null) return null;
  const isShared = shortage({ ...at, reserved: NOTHING }, step) === null;
  return heldBy(at, short, step, "a step", isShared);
}

/** How many more attempts fit at once; at least one, which may ask. */
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

function shortage(
  { limits, spent, reserved }: Situation,
  need: Spent,
): { which: Scope; unit: Unit } | null {
  for (const which of SCOPES) {
    for (const unit of UNITS) {
      const limit = limits[which]?.[unit];
      if (limit === undefined) continue;
      const before = spent[which][unit];
      // A limit that is reached is used up, however little a step costs.
      if (before >= limit - DUST) return { which, unit };
      if (before + reserved[unit] + need[unit] > limit + DUST) return { which, unit };
    }
  }
  return null;
}

function heldBy(
  at: Situation,
  { which, unit }: { which: Scope; unit: Unit },
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
  const left = (which: Scope, unit: Unit) =>
    (limits[which]?.[unit] ?? Number.POSITIVE_INFINITY) - spent[which][unit];
  return perUnit((unit) => Math.max(0, Math.min(...SCOPES.map((which) => left(which, unit)))));
}

function mostOf(limits: Shared): Spent {
  return leftOf({ limits, spent: { run: NOTHING, day: NOTHING } });
}

function onlyLimited(limits: Shared, wanted: Spent): Spent {
  const isLimit = (unit: Unit) => SCOPES.some((which) => limits[which]?.[unit] !== undefined);
  return perUnit((unit) => (isLimit(unit) ? wanted[unit] : 0));
}

export function perUnit(of: (unit: Unit) => number): Spent {
  return { usd: of("usd"), tokens: of("tokens") };
}

export function sumOf(amounts: readonly Spent[]): Spent {
  return perUnit((unit) => amounts.reduce((sum, one) => sum + one[unit], 0));
}

export function least(a: Spent, b: Spent): Spent {
  return perUnit((unit) => Math.min(a[unit], b[unit]));
}

export function most(a: Spent, b: Spent): Spent {
  return perUnit((unit) => Math.max(a[unit], b[unit]));
}

export function minus(a: Spent, b: Spent): Spent {
  return perUnit((unit) => Math.max(0, a[unit] - b[unit]));
}
