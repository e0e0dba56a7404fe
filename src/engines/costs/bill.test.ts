import * as fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { Bill } from "./bill.ts";
import { NO_TOKENS } from "./usage.ts";

test("usage without a price neither hides known dollars, nor is free", () => {
  const bill = new Bill(new Map(), "glm-5");
  bill.add([
    { model: "glm-5", ...NO_TOKENS, output: 1000, usd: 5 },
    { model: "glm-5", ...NO_TOKENS, output: 200, usd: null },
  ]);
  expect(bill.parts).toEqual([
    { model: "glm-5", tokens: 1000, usd: 5 },
    { model: "glm-5", tokens: 200, usd: null },
  ]);
});

const PRICES = new Map([["m", { input: 1_000_000, output: 1_000_000 }]]);
const stepped = (...usd: (number | null)[]) => {
  const steps = new Bill(PRICES, "m");
  steps.add(usd.map((each) => ({ model: "m", ...NO_TOKENS, output: 3, usd: each })));
  return steps;
};

test("a total that is less than the steps does not erase them", () => {
  for (const usd of [0, null, 4]) {
    for (const output of [0, 9]) {
      const bill = new Bill(PRICES, "m");
      // Three tokens each, at a dollar a token.
      bill.add([{ model: "m", ...NO_TOKENS, output, usd }], stepped(null, null, null));
      expect([bill.usd, bill.parts.reduce((sum, { tokens }) => sum + tokens, 0)]).toEqual([9, 9]);
    }
  }
});

test("of each run the larger counts, and runs add up", () => {
  const amount = fc.integer({ min: 0, max: 1000 });
  const run = fc.record({ total: amount, steps: fc.array(amount, { maxLength: 5 }) });
  holds(
    fc.property(fc.array(run, { maxLength: 4 }), (runs) => {
      const bill = new Bill(PRICES, "m");
      let sum = 0;
      for (const { total, steps } of runs) {
        bill.add([{ model: "m", ...NO_TOKENS, usd: total }], stepped(...steps));
        sum += Math.max(
          total,
          steps.reduce((all, usd) => all + usd, 0),
        );
      }
      expect(bill.usd ?? 0).toBeCloseTo(sum, 6);
    }),
  );
});
