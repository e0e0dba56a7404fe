import { VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";

export interface Tier {
  name: string;
  model: string;
}

export interface ModelChoice {
  /** Null: the model belongs to no tier. */
  tier: string | null;
  /** Null: the engine's own choice. */
  model: string | null;
}

export interface TierFacts {
  /** From the cheapest to the dearest. */
  tiers: readonly Tier[];
  /** The route's own, for tasks that name no tier. */
  model: string | null;
  tierHint: string | null;
  /** Unproven attempts of the task. */
  unproven: number;
  /** After so many of them, the next tier; null: never. */
  escalateAfter: number | null;
}

/**
 * The model of an attempt. A task's hint names the first tier; without one it is the route's model, or else
 * the first tier. After unproven attempts the next tier follows, up to the last. A route without tiers
 * ignores the hint, which may be meant for another.
 */
export function pickModel(facts: TierFacts): ModelChoice {
  const { tiers, model, tierHint, unproven, escalateAfter } = facts;
  if (tiers.length === 0) return { tier: null, model };
  const first = tierHint ? indexOfHint(tiers, tierHint) : indexOfModel(tiers, model);
  const steps = escalateAfter === null ? 0 : Math.floor(unproven / escalateAfter);
  const tier = tiers[Math.min(first + steps, tiers.length - 1)];
  return tier === undefined ? { tier: null, model } : { tier: tier.name, model: tier.model };
}

function indexOfHint(tiers: readonly Tier[], hint: string): number {
  const index = tiers.findIndex(({ name }) => name === hint);
  if (index >= 0) return index;
  const names = tiers.map(({ name }) => name);
  const meant = suggest(hint, names);
  const help = meant ? `did you mean ${JSON.stringify(meant)}?` : `there are ${names.join(", ")}.`;
  const message = `tier_hint ${JSON.stringify(hint)} is no tier of this route; ${help}`;
  throw new VivError("INVALID", message, { tier_hint: hint, tiers: names });
}

/** A model that belongs to no tier comes before the first. */
function indexOfModel(tiers: readonly Tier[], model: string | null): number {
  return model === null ? 0 : tiers.findIndex((tier) => tier.model === model);
}
