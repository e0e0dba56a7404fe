import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import type { Price, PriceTable } from "../model/prices.ts";
import { type ModelUsage, NO_TOKENS } from "../model/usage.ts";
import { impute, priceOf } from "./price.ts";

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

describe("what a run cost", () => {
  const opus: Price = { input: 15, output: 75, cachedRead: 1.5, cachedWrite: 18.75 };

  test("each kind of token has its price", () => {
    const used = usage({ input: 1e6, output: 1e5, cacheRead: 2e6, cacheWrite: 4e5 });
    const cost = impute(used, table({ m: opus }));
    expect(cost).toEqual({ usd: 15 + 7.5 + 3 + 7.5, source: "imputed" });
  });

  test("without prices for the cache, its tokens cost what input does", () => {
    const used = usage({ cacheRead: 1e6, cacheWrite: 1e6 });
    expect(impute(used, table({ m: { input: 2, output: 10 } }))?.usd).toBe(4);
    const own = table({ m: { input: 2, output: 10, cachedRead: 0 } });
    expect(impute(used, own)?.usd).toBe(2);
  });

  test("what the vendor reports counts, and also zero is a report", () => {
    const prices = table({ m: opus });
    const used = usage({ input: 1e6, usd: 0.25 });
    expect(impute(used, prices)).toEqual({ usd: 0.25, source: "reported" });
    expect(impute({ ...used, usd: 0 }, prices)).toEqual({ usd: 0, source: "reported" });
    for (const usd of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expect(impute({ ...used, usd }, prices)).toEqual({ usd: 15, source: "imputed" });
    }
  });

  test("a model without a price cannot be told", () => {
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

test("what was asked for by a short name has the price of that name", () => {
  const prices = new Map([["haiku", { input: 1, output: 5 }]]);
  const usage = { model: "claude-haiku-4-5", input: 1e6, output: 0, cacheRead: 0, cacheWrite: 0 };
  expect(impute({ ...usage, usd: null }, prices, "haiku")).toEqual({ usd: 1, source: "imputed" });
  expect(impute({ ...usage, usd: null }, prices, "opus")).toBeNull();
  expect(impute({ ...usage, model: "claude-opus-4", usd: null }, prices, "haiku")).toBeNull();
});
