import * as fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { parseInterval } from "./interval.ts";

test.each([
  ["90s", 90_000],
  ["10m", 600_000],
  ["2h", 7_200_000],
  ["250", 250],
  ["0", 0],
  ["0s", 0],
  ["007m", 420_000],
  ...["", "-1", "5d", "1.5h", "1 h", " 1h", "1h\n", "h", "1H", "1ms", "1e3", "９s"].map(
    (text): [string, null] => [text, null],
  ),
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ["9007199254740992", null],
  ["9".repeat(400), null],
])("%j", (text, ms) => expect(parseInterval(text)).toBe(ms));

test("what it takes is a safe whole number", () => {
  holds(
    fc.property(fc.stringMatching(/^\d{1,20}[smh]?$/), (text) => {
      const ms = parseInterval(text);
      expect(ms === null || Number.isSafeInteger(ms)).toBe(true);
    }),
  );
});
