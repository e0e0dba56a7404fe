import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { PRICE_LIST, PRICES_AS_OF, priceListWarning } from "./price-list.ts";
import {
  dearerThanAsked,
  impute,
  isAsked,
  type Price,
  type PriceTable,
  priceFor,
  priceOf,
} from "./prices.ts";
import { type ModelUsage, NO_TOKENS } from "./usage.ts";

const usage = (more: Partial<ModelUsage> = {}): ModelUsage => ({
  model: "m",
  usd: null,
  ...NO_TOKENS,
  ...more,
});
const table = (prices: Record<string, Price>): PriceTable => new Map(Object.entries(prices));
const flat = (input: number): Price => ({ input, output: input });

describe("which price", () => {
  const prices = table({
    "claude-opus-4": flat(1),
    "claude-opus-4*": flat(2),
    "claude-*": flat(3),
    "gpt-5": flat(4),
  });

  test.each([
    ["claude-opus-4", 1],
    ["claude-opus-4-1", 2],
    ["claude-opus-3", 3],
    ["claude-", 3],
    ["gpt-5", 4],
  ])("%s costs %i", (model, dollars) => {
    expect(priceOf(model, prices)).toEqual(flat(dollars));
  });

  test.each(["gpt-5-mini", "gpt", "claude", "my-claude-opus-4", "constructor", ""])(
    "%j has none",
    (model) => expect(priceOf(model, prices)).toBeUndefined(),
  );

  test("a star alone is for every model that has no other", () => {
    const all = table({ "*": flat(9), "gpt-*": flat(1) });
    expect(priceOf("llama", all)).toEqual(flat(9));
    expect(priceOf("gpt-5", all)).toEqual(flat(1));
  });

  test("the order of the table does not matter", () => {
    const names = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 4 });
    holds(
      fc.property(fc.uniqueArray(names), names, fc.nat(), (keys, model, turn) => {
        const at = keys.length === 0 ? 0 : turn % keys.length;
        const turned = [...keys.slice(at), ...keys.slice(0, at)];
        const of = (list: string[]) =>
          priceOf(model, new Map(list.map((k) => [k, flat(k.length)])));
        expect(of(turned)).toEqual(of(keys));
      }),
    );
  });
});

describe("the cost of a run", () => {
  const opus: Price = { input: 15, output: 75, cachedRead: 1.5, cachedWrite: 18.75 };

  test("each kind of token has its price", () => {
    const used = usage({ input: 1e6, output: 1e5, cacheRead: 2e6, cacheWrite: 4e5 });
    const cost = impute(used, table({ m: opus }));
    expect(cost).toEqual({ usd: 15 + 7.5 + 3 + 7.5, source: "imputed" });
  });

  test("without prices for the cache, its tokens cost as much as input", () => {
    const used = usage({ cacheRead: 1e6, cacheWrite: 1e6 });
    expect(impute(used, table({ m: { input: 2, output: 10 } }))?.usd).toBe(4);
    const own = table({ m: { input: 2, output: 10, cachedRead: 0 } });
    expect(impute(used, own)?.usd).toBe(2);
  });

  test("the vendor's dollars count, also zero", () => {
    const prices = table({ m: opus });
    const used = usage({ input: 1e6, usd: 0.25 });
    expect(impute(used, prices)).toEqual({ usd: 0.25, source: "reported" });
    expect(impute({ ...used, usd: 0 }, prices)).toEqual({ usd: 0, source: "reported" });
    for (const usd of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(impute({ ...used, usd }, prices)).toEqual({ usd: 15, source: "imputed" });
    }
  });

  test("a model without a price has no cost", () => {
    expect(impute(usage({ input: 1 }), table({ other: opus }))).toBeNull();
    expect(impute(usage({ input: 1, usd: 2 }), new Map())?.usd).toBe(2);
  });

  test("the cost of two runs is the cost of both together, and never negative", () => {
    const count = fc.nat({ max: 1e9 });
    const tokens = fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count });
    const dollars = fc.double({ min: 0, max: 1000, noNaN: true });
    const price = fc.record(
      { input: dollars, output: dollars, cachedRead: dollars, cachedWrite: dollars },
      { requiredKeys: ["input", "output"] },
    );
    holds(
      fc.property(tokens, tokens, price, (a, b, each) => {
        const prices = table({ m: each });
        const cost = (t: typeof a) => impute(usage(t), prices)?.usd ?? Number.NaN;
        const both = cost({
          input: a.input + b.input,
          output: a.output + b.output,
          cacheRead: a.cacheRead + b.cacheRead,
          cacheWrite: a.cacheWrite + b.cacheWrite,
        });
        expect(cost(a)).toBeGreaterThanOrEqual(0);
        expect(both).toBeCloseTo(cost(a) + cost(b), 3);
      }),
    );
  });
});

test("a model that was asked for by a short name has the price of that name", () => {
  const prices = new Map([["haiku", { input: 1, output: 5 }]]);
  const usage = { model: "claude-haiku-4-5", input: 1e6, output: 0, cacheRead: 0, cacheWrite: 0 };
  expect(impute({ ...usage, usd: null }, prices, "haiku")).toEqual({ usd: 1, source: "imputed" });
  const other = { ...usage, model: "my-haiku" };
  expect(impute({ ...other, usd: null }, prices, "haiku")).toMatchObject({ usd: 1 });
  expect(impute({ ...other, usd: null }, prices, "opus")).toBeNull();
  // The price of what was used counts, not that of what was asked for.
  const dear = impute({ ...usage, model: "claude-opus-4-8", usd: null }, prices, "haiku");
  expect(dear).toEqual({ usd: 5, source: "imputed" });
});

describe("the list", () => {
  const none = new Map<string, Price>();
  test.each([
    ["claude-haiku-4-5-20251001", 1],
    ["us.anthropic.claude-haiku-4-5-20251001-v1:0", 1],
    ["claude-sonnet-5-5[1m]", 2],
    ["claude-opus-4-5@20251101", 5],
    ["anthropic/claude-opus-5", 5],
    ["openai/gpt-5.5", 5],
    ["gpt-5.5-2026-04-23", 5],
    ["haiku", 0.1],
    ["gemini-2.5-flash", 0.3],
  ])("%s costs $%d for a million in", (model, dollars) => {
    expect(priceFor(model, none)?.input).toBe(dollars);
  });

  test.each(["gpt-oss:20b", "gpt-5.5-mini-mine", "my-claude-opus-5", "constructor", ""])(
    "does not have %j",
    (model) => expect(priceFor(model, none)).toBeUndefined(),
  );

  test("stands behind every price of the user's own", () => {
    const own = table({ "*": flat(9) });
    expect(priceFor("claude-haiku-5-5", own)).toEqual(flat(9));
    expect(impute(usage({ model: "claude-haiku-5-5", input: 1e6 }), own)?.usd).toBe(9);
  });

  test("has a higher price for an answer to a long prompt, and for that answer only", () => {
    const answer = usage({ model: "gemini-3.1-pro-preview", input: 1e6 });
    expect(impute({ ...answer, prompt: 200_000 }, none)?.usd).toBe(2);
    expect(impute({ ...answer, prompt: 200_001 }, none)?.usd).toBe(4);
    expect(impute(answer, none)?.usd).toBe(2);
  });

  test("makes sense", () => {
    for (const [model, { input, output, cachedRead = 0, cachedWrite = 0, long }] of PRICE_LIST) {
      expect(input, model).toBeGreaterThan(0);
      expect(output, model).toBeGreaterThan(input);
      expect(cachedRead, model).toBeLessThan(input);
      expect(cachedWrite === 0 || cachedWrite > input, model).toBe(true);
      if (long) expect(long.input, model).toBeGreaterThan(input);
    }
  });

  test("has a warning when it is too old", () => {
    const day = (days: number) => Date.parse(PRICES_AS_OF) + days * 86_400_000;
    expect(priceListWarning(day(90))).toBeNull();
    expect(priceListWarning(day(-1))).toBeNull();
    expect(priceListWarning(day(91))).toContain("91 days old");
  });
});

describe("another model than was asked for", () => {
  test.each([
    ["claude-haiku-5-5", "haiku", true],
    ["claude-sonnet-5-5", "haiku", false],
    ["claude-sonnet-5-5", "sonnet[1m]", true],
    ["claude-opus-5-5", "opusplan", true],
    ["claude-opus-5-5", "default", true],
    ["claude-opus-5-5", null, true],
    ["mock/mock-model", "mock/mock-model", true],
    ["gpt-6-sol", "openai/gpt-6-sol", true],
  ])("%s for %s: %j", (model, asked, expected) => expect(isAsked(model, asked)).toBe(expected));

  test("gives a notice when it is dearer, or has no price", () => {
    const notice = (model: string, asked: string | null, own = {}) =>
      dearerThanAsked(model, asked, table(own));
    expect(notice("claude-sonnet-5-5", "haiku")).toBe(
      "claude-sonnet-5-5 is used, and haiku was asked for, at 20 times the price",
    );
    expect(notice("claude-haiku-5-5", "sonnet")).toBeNull();
    expect(notice("other", "haiku")).toBe("other is used, and haiku was asked for");
    expect(notice("claude-sonnet-5-5", "haiku", { haiku: flat(10) })).toBeNull();
    expect(notice("claude-sonnet-5-5", null)).toBeNull();
  });
});
