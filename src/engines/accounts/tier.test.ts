import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { pickModel, type TierFacts } from "./tier.ts";

const tiers = [
  { name: "haiku", model: "claude-haiku" },
  { name: "sonnet", model: "claude-sonnet" },
  { name: "opus", model: "claude-opus" },
];
const pick = (more: Partial<TierFacts> = {}) =>
  pickModel({ tiers, model: null, tierHint: null, unproven: 0, escalateAfter: null, ...more });

describe("the model of an attempt", () => {
  test("is the hinted tier's", () => {
    expect(pick({ tierHint: "opus" })).toEqual({ tier: "opus", model: "claude-opus" });
    expect(pick({ tierHint: "opus", model: "other" })).toEqual({
      tier: "opus",
      model: "claude-opus",
    });
  });

  test("without a hint: the route's own, or the cheapest", () => {
    expect(pick()).toEqual({ tier: "haiku", model: "claude-haiku" });
    expect(pick({ tierHint: "" }).tier).toBe("haiku");
    expect(pick({ model: "claude-sonnet" }).tier).toBe("sonnet");
    expect(pick({ model: "other" })).toEqual({ tier: null, model: "other" });
  });

  test("without tiers it is the route's own, whatever the hint", () => {
    expect(pick({ tiers: [], model: "m", tierHint: "opus" })).toEqual({ tier: null, model: "m" });
    expect(pick({ tiers: [], unproven: 9, escalateAfter: 1 })).toEqual({ tier: null, model: null });
  });

  test("an unknown hint is refused, with a suggestion or the known tiers", () => {
    expect(() => pick({ tierHint: "sonet" })).toThrow(
      'tier_hint "sonet" is no tier of this route; did you mean "sonnet"?',
    );
    expect(() => pick({ tierHint: "giant" })).toThrow("there are haiku, sonnet, opus.");
    expect(() => pick({ tierHint: "giant" })).toThrow(expect.objectContaining({ code: "INVALID" }));
  });

  test.each([
    [0, "haiku"],
    [1, "haiku"],
    [2, "sonnet"],
    [3, "sonnet"],
    [4, "opus"],
    [99, "opus"],
  ])("after %i unproven attempts, two for each: %s", (unproven, tier) => {
    expect(pick({ unproven, escalateAfter: 2 }).tier).toBe(tier);
  });

  test("the ladder begins where the task does", () => {
    expect(pick({ tierHint: "sonnet", unproven: 1, escalateAfter: 1 }).tier).toBe("opus");
    const other = { model: "other", escalateAfter: 1 };
    expect(pick({ ...other, unproven: 0 }).model).toBe("other");
    expect(pick({ ...other, unproven: 1 }).tier).toBe("haiku");
  });

  test("never steps down, never leaves the tiers, and stays without a number", () => {
    const after = fc.option(fc.integer({ min: 1, max: 5 }));
    const hint = fc.constantFrom(null, ...tiers.map(({ name }) => name));
    holds(
      fc.property(hint, after, fc.nat(20), (tierHint, escalateAfter, unproven) => {
        const at = (n: number) =>
          tiers.findIndex(
            ({ name }) => name === pick({ tierHint, escalateAfter, unproven: n }).tier,
          );
        expect(at(unproven)).toBeGreaterThanOrEqual(0);
        expect(at(unproven + 1)).toBeGreaterThanOrEqual(at(unproven));
        if (escalateAfter === null) expect(at(unproven)).toBe(at(0));
        else expect(at(unproven + escalateAfter)).toBe(Math.min(2, at(unproven) + 1));
      }),
    );
  });
});
