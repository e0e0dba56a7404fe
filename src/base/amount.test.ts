import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { formatCount, formatUsd, shortCount } from "./amount.ts";

describe("amounts for people", () => {
  test.each([
    [0, "$0.00"],
    [0.00001, "<$0.0001"],
    [0.0001, "$0.0001"],
    [0.0123, "$0.0123"],
    [0.09545, "$0.0955"],
    [0.0954500000001, "$0.0955"],
    [0.0954499999999, "$0.0955"],
    [0.1, "$0.10"],
    [2, "$2.00"],
    [1234.5, "$1,234.50"],
    [1234567.891, "$1,234,567.89"],
  ])("%d dollars", (usd, text) => expect(formatUsd(usd)).toBe(text));

  test.each([
    [0, "0", "0"],
    [999, "999", "999"],
    [1000, "1,000", "1k"],
    [1250, "1,250", "1.25k"],
    [12_540, "12,540", "12.5k"],
    [999_949, "999,949", "999.9k"],
    [999_950, "999,950", "1M"],
    [400_000, "400,000", "400k"],
    [1_250_000, "1,250,000", "1.25M"],
    [3_000_000_000, "3,000,000,000", "3G"],
  ])("%d", (count, long, short) => {
    expect(formatCount(count)).toBe(long);
    expect(shortCount(count)).toBe(short);
  });

  test("a short count is off by one part in a hundred at most", () => {
    const units: Record<string, number> = { k: 1e3, M: 1e6, G: 1e9 };
    holds(
      fc.property(fc.nat({ max: 1e12 }), (count) => {
        const [, number = "", unit = ""] = /^([\d.]+)([kMG]?)$/.exec(shortCount(count)) ?? [];
        const back = Number(number) * (units[unit] ?? 1);
        expect(Math.abs(back - count)).toBeLessThanOrEqual(count / 100);
      }),
    );
  });
});
