import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { formatDuration, parseDuration, parseTime } from "./duration.ts";
import { isVivError } from "./errors.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const NOW = Date.parse("2026-11-15T08:00:00.000Z");

/** The value, or the code of the error: anything else is a bug. */
function outcome<T>(call: () => T): T | string {
  try {
    return call();
  } catch (error) {
    if (isVivError(error)) return error.code;
    throw error;
  }
}

describe("parseDuration", () => {
  test("every number with every unit", () => {
    holds(
      fc.property(
        fc.nat(1_000_000),
        fc.constantFrom(...(Object.keys(UNITS) as (keyof typeof UNITS)[])),
        (n, unit) => {
          expect(parseDuration(`${n}${unit}`)).toBe(n * UNITS[unit]);
          expect(parseDuration(` ${n}${unit} `)).toBe(n * UNITS[unit]);
        },
      ),
    );
  });

  test("bare digits are seconds, and fractions are allowed", () => {
    expect(parseDuration("90")).toBe(90_000);
    expect(parseDuration("1.5m")).toBe(90_000);
    expect(parseDuration("0")).toBe(0);
    expect(parseDuration(".5")).toBe(500); // as in `sleep .5`
  });

  test("anything else is refused with the word it could not read", () => {
    for (const text of ["", "m", "1 m", "-5s", "1h30m", "1w", "１s", "1e3s", "0x10", "+1s", "1."]) {
      expect(() => parseDuration(text, "timeout")).toThrow(/timeout .* is not a duration/);
    }
  });

  test("whatever is typed: a finite number, or INVALID", () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[0-9.]{1,400}(ms|s|m|h|d)?$/),
      fc.constantFrom(`${"9".repeat(400)}d`, "1e999s"),
    );
    holds(
      fc.property(text, (input) => {
        const result = outcome(() => parseDuration(input));
        if (result !== "INVALID") expect(Number.isFinite(result)).toBe(true);
      }),
    );
  });
});

describe("parseTime", () => {
  test("an ISO time comes back as the same moment, in UTC", () => {
    const date = fc.date({
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    });
    holds(
      fc.property(date, (at) => {
        expect(parseTime(at.toISOString(), NOW)).toBe(at.toISOString());
      }),
    );
  });

  test("a zone means what it says", () => {
    expect(parseTime("2026-11-15T10:00:00+02:00", NOW)).toBe("2026-11-15T08:00:00.000Z");
    expect(parseTime("2026-11-15T10:00+0200", NOW)).toBe("2026-11-15T08:00:00.000Z");
    expect(parseTime("2026-11-15T08:00:00.25Z", NOW)).toBe("2026-11-15T08:00:00.250Z");
  });

  test("now, and offsets from now", () => {
    expect(parseTime("now", NOW)).toBe("2026-11-15T08:00:00.000Z");
    holds(
      fc.property(fc.nat(10_000_000), (n) => {
        expect(Date.parse(parseTime(`+${n}s`, NOW))).toBe(NOW + n * 1000);
      }),
    );
  });

  test("a time without a zone, a day that is none, and other words are refused", () => {
    const bad = ["2026-11-15T08:00:00", "2026-11-15", "08:00", "tomorrow", "", "+", "-10m", "1"];
    for (const text of [...bad, "2026-13-01T00:00:00Z", "2026-02-31T00:00:00Z"]) {
      expect(
        outcome(() => parseTime(text, NOW)),
        text,
      ).toBe("INVALID");
    }
  });

  test("whatever is typed: a time that can be read again, or INVALID", () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^\+[0-9]{1,30}(ms|s|m|h|d)$/),
      fc.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/),
    );
    holds(
      fc.property(text, (input) => {
        const result = outcome(() => parseTime(input, NOW));
        if (result !== "INVALID") expect(new Date(result).toISOString()).toBe(result);
      }),
    );
  });
});

test("formatDuration says it the way people do", () => {
  const cases: [number, string][] = [
    [0, "0s"],
    [-5, "0s"],
    [59_400, "59s"],
    [60_000, "1m"],
    [61_000, "1m 1s"],
    [11 * 60_000 + 30_000, "11m"],
    [3_600_000, "1h"],
    [3 * 3_600_000 + 5 * 60_000, "3h 5m"],
    [49 * 3_600_000, "2d 1h"],
  ];
  for (const [ms, text] of cases) expect(formatDuration(ms)).toBe(text);
});
