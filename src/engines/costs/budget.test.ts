import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { Budget, type Delta, type Limits, whatIsMissing } from "./budget.ts";

const DAY = "2026-11-15";
const usd = (amount: number): Delta => ({ usd: amount, tokens: 0 });
const tokens = (count: number): Delta => ({ usd: 0, tokens: count });
const turn: Delta = { usd: 0, tokens: 0, turns: 1 };
const keysOf = (verdicts: { level: string; which: string; unit: string }[]) =>
  verdicts.map(({ level, which, unit }) => `${level} ${which} ${unit}`);

describe("a budget", () => {
  test("gives one verdict at 80 %, and one when it is used up", () => {
    const budget = new Budget({ attempt: { usd: 2 } }, {}, DAY);
    expect(budget.spend(usd(1.59))).toEqual([]);
    expect(budget.spend(usd(0.01))).toEqual([
      {
        level: "warn",
        which: "attempt",
        unit: "usd",
        text: "80 % of the budget of this attempt are used: $1.60 of $2.00",
      },
    ]);
    expect(budget.spend(usd(0.1))).toEqual([]);
    expect(budget.spend(usd(0.4))).toMatchObject([
      { level: "over", text: "the budget of this attempt is used up: $2.10 of $2.00" },
    ]);
    expect(budget.spend(usd(9))).toEqual([]);
  });

  test("one big step goes straight over", () => {
    const budget = new Budget({ attempt: { tokens: 400_000 } }, {}, DAY);
    expect(budget.spend(tokens(500_000))).toMatchObject([
      {
        level: "over",
        text: "the budget of this attempt is used up: 500,000 of 400,000 tokens",
      },
    ]);
    expect(budget.spend(tokens(1))).toEqual([]);
  });

  test("ten dimes are a dollar", () => {
    const budget = new Budget({ attempt: { usd: 1 } }, {}, DAY);
    const all = Array.from({ length: 10 }, () => keysOf(budget.spend(usd(0.1))));
    expect(all.map((one) => one.join())).toEqual([
      ...Array(7).fill(""),
      "warn attempt usd",
      "",
      "over attempt usd",
    ]);
  });

  test("the last turn may be made", () => {
    const budget = new Budget({ attempt: { turns: 5 } }, {}, DAY);
    const all = Array.from({ length: 6 }, () => keysOf(budget.spend(turn)).join());
    expect(all).toEqual(["", "", "", "warn attempt turns", "", "over attempt turns"]);
  });

  test("earlier spending counts for the task, the run and the day, not for the attempt", () => {
    const limit = { usd: 10 };
    const before = { usd: 9.5, tokens: 0 };
    const limits: Limits = { attempt: limit, task: limit, run: limit, day: limit };
    const budget = new Budget(limits, { task: before, run: before, day: before }, DAY);
    expect(keysOf(budget.spend())).toEqual(["warn task usd", "warn run usd", "warn day usd"]);
    expect(keysOf(budget.spend(usd(0.5)))).toEqual([
      "over task usd",
      "over run usd",
      "over day usd",
    ]);
  });

  test("is known to be used up before anything is spent", () => {
    const budget = new Budget({ run: { usd: 5 } }, { run: { usd: 5, tokens: 0 } }, DAY);
    expect(keysOf(budget.spend())).toEqual(["over run usd"]);
  });

  test("counts the spending of others", () => {
    const budget = new Budget({ run: { tokens: 100 } }, {}, DAY);
    budget.spend(tokens(50));
    expect(keysOf(budget.updateOthers({ run: { usd: 0, tokens: 30 } }))).toEqual([
      "warn run tokens",
    ]);
    expect(keysOf(budget.updateOthers({ run: { usd: 0, tokens: 50 } }))).toEqual([
      "over run tokens",
    ]);
  });

  test("a day's begins anew at midnight, all others do not", () => {
    const limits: Limits = { attempt: { usd: 10 }, day: { usd: 5 } };
    const budget = new Budget(limits, { day: { usd: 3, tokens: 0 } }, DAY);
    expect(keysOf(budget.spend(usd(1)))).toEqual(["warn day usd"]);
    expect(keysOf(budget.spend(usd(3.9), "2026-11-16"))).toEqual([]);
    expect(keysOf(budget.spend(usd(0.2), "2026-11-16"))).toEqual(["warn day usd"]);
    expect(keysOf(budget.spend(usd(2.9), "2026-11-16"))).toEqual([
      "warn attempt usd",
      "over day usd",
    ]);
  });

  test("the vendor's total at the end replaces the sum of the steps", () => {
    const limits: Limits = { attempt: { usd: 1, tokens: 1000 } };
    const low = new Budget(limits, {}, DAY);
    low.spend({ usd: 0.5, tokens: 100 });
    expect(
      keysOf(
        low.settle([
          { usd: 0.5, tokens: 60 },
          { usd: 0.2, tokens: 40 },
        ]),
      ),
    ).toEqual([]);
    expect(keysOf(low.spend(usd(0.1)))).toEqual(["warn attempt usd"]);
    const high = new Budget(limits, {}, DAY);
    high.spend({ usd: 0.1, tokens: 900 });
    expect(keysOf(high.settle([{ usd: 1, tokens: 900 }]))).toEqual(["over attempt usd"]);
  });

  test("a correction of yesterday is no allowance for today", () => {
    const budget = new Budget({ day: { usd: 1 } }, {}, DAY);
    budget.spend(usd(5));
    budget.settle([usd(1)], "2026-11-16");
    expect(keysOf(budget.spend(usd(1), "2026-11-16"))).toEqual(["over day usd"]);
  });
});

describe("without a price", () => {
  const unpriced: Delta = { usd: null, tokens: 10, model: "new-model" };

  test("a budget in dollars is blind, with one verdict", () => {
    const budget = new Budget({ attempt: { tokens: 100 }, run: { usd: 5 } }, {}, DAY);
    expect(budget.spend(unpriced)).toEqual([
      {
        level: "blind",
        which: "run",
        unit: "usd",
        text: 'the budget of this run is in dollars, and there is no price for what was used: add [prices."new-model"] to viv.toml, with input and output in dollars for a million tokens',
      },
    ]);
    expect(budget.spend(unpriced)).toEqual([]);
  });

  test("also when only the final total shows it", () => {
    const budget = new Budget({ attempt: { usd: 5 } }, {}, DAY);
    budget.spend({ usd: 1, tokens: 1000 });
    expect(keysOf(budget.settle([usd(1), unpriced]))).toEqual(["blind attempt usd"]);
  });

  test("no usage needs no price; a budget in tokens needs no dollars", () => {
    const dollars = new Budget({ attempt: { usd: 1 } }, {}, DAY);
    expect(dollars.spend({ ...unpriced, tokens: 0 })).toEqual([]);
    const budget = new Budget({ attempt: { tokens: 100 } }, {}, DAY);
    expect(budget.spend(unpriced)).toEqual([]);
    expect(keysOf(budget.spend(tokens(70)))).toEqual(["warn attempt tokens"]);
  });
});

describe("for any spending", () => {
  const amount = fc.double({ min: 0, max: 2, noNaN: true });
  const delta = fc.record({ usd: amount, tokens: fc.nat(200), turns: fc.nat(2) });
  const limit = fc.record(
    {
      usd: fc.double({ min: 0.01, max: 20, noNaN: true }),
      tokens: fc.integer({ min: 1, max: 2000 }),
    },
    { requiredKeys: [] },
  );
  const limits = fc.record({ attempt: limit, task: limit, run: limit, day: limit });
  const before = fc.record({ usd: amount, tokens: fc.nat(200) });

  test("each budget warns at most once, and is over exactly when it is used up", () => {
    holds(
      fc.property(limits, before, fc.array(delta, { maxLength: 20 }), (all, past, deltas) => {
        const budget = new Budget(all, { task: past, run: past, day: past }, DAY);
        const verdicts = [budget.spend(), ...deltas.map((one) => budget.spend(one))].flat();
        const keys = keysOf(verdicts);
        expect(new Set(keys).size).toBe(keys.length);
        for (const which of ["attempt", "task", "run", "day"] as const) {
          for (const unit of ["usd", "tokens"] as const) {
            const most = all[which][unit];
            if (most === undefined) {
              expect(keys.some((key) => key.endsWith(`${which} ${unit}`))).toBe(false);
              continue;
            }
            const own = deltas.reduce((sum, one) => sum + one[unit], 0);
            const spent = own + (which === "attempt" ? 0 : past[unit]);
            if (Math.abs(spent - most) < 1e-6 && unit === "usd") continue;
            expect(keys.includes(`over ${which} ${unit}`)).toBe(spent >= most);
          }
        }
      }),
    );
  });

  test("steps, and then their sum: the same as the steps alone", () => {
    holds(
      fc.property(limits, fc.array(delta, { minLength: 1, maxLength: 20 }), (all, deltas) => {
        const budget = new Budget(all, {}, DAY);
        const verdicts = deltas.flatMap((one) => budget.spend(one));
        const sum = deltas.reduce((a, b) => ({
          usd: a.usd + b.usd,
          tokens: a.tokens + b.tokens,
          turns: 0,
        }));
        expect(verdicts.length).toBeLessThanOrEqual(16);
        expect(budget.settle([sum])).toEqual([]);
      }),
    );
  });
});

describe("an invalid limit", () => {
  test.each<[Limits, string]>([
    [{ attempt: { usd: 0 } }, "the budget of this attempt: usd must be more than zero."],
    [{ task: { usd: -2 } }, "the budget of this task: usd must be more than zero."],
    [{ run: { tokens: Number.NaN } }, "the budget of this run: tokens must be more than zero."],
    [{ attempt: { turns: 0 } }, "the budget of this attempt: turns must be more than zero."],
    [{ attempt: { usd: Number.POSITIVE_INFINITY } }, "the budget of this attempt: usd must be"],
  ])("%j", (limits, message) => {
    expect(() => new Budget(limits, {}, DAY)).toThrow(message);
  });

  test("valid limits are accepted", () => {
    const limits = { attempt: { usd: 0.01, tokens: 1, turns: 1 }, day: {} };
    expect(() => new Budget(limits, {}, DAY)).not.toThrow();
    expect(() => new Budget({}, {}, DAY)).not.toThrow();
  });
});

describe("whatIsMissing", () => {
  const dollars: Limits = { task: { usd: 2 } };
  const prices = new Map([["gpt-5*", { input: 1, output: 10 }]]);

  test("null where dollars are reported in time or not needed", () => {
    expect(whatIsMissing(dollars, "each step", ["x"], new Map())).toBeNull();
    expect(
      whatIsMissing({ attempt: { tokens: 5, turns: 3 } }, "never", ["x"], new Map()),
    ).toBeNull();
    expect(whatIsMissing(dollars, "never", ["gpt-5", "gpt-5-mini"], prices)).toBeNull();
    const star = new Map([["*", { input: 1, output: 1 }]]);
    expect(whatIsMissing(dollars, "never", [null], star)).toBeNull();
  });

  test("a price for each model that has none", () => {
    expect(whatIsMissing(dollars, "never", ["gpt-5", 'o"3', "o4", "o4"], prices)).toBe(
      'the budget of this task is in dollars, but this engine reports no dollars: add [prices."o\\"3"] and [prices."o4"] to viv.toml, with input and output in dollars for a million tokens',
    );
    expect(whatIsMissing({ day: { usd: 1 } }, "at the end", ["x"], prices)).toBe(
      'the budget of this day is in dollars, but this engine reports its dollars only at its end, which is too late: add [prices."x"] to viv.toml, with input and output in dollars for a million tokens',
    );
  });

  test("the model's name, where none is given", () => {
    expect(whatIsMissing(dollars, "never", [null], prices)).toBe(
      'the budget of this task is in dollars, but this engine reports no dollars: name the model of the route, like model = "MODEL", and add [prices."MODEL"] to viv.toml, with input and output in dollars for a million tokens',
    );
  });
});
