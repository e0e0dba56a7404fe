import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { isVivError } from "./errors.ts";
import { parseWhen } from "./when.ts";

const ZONE = process.env.TZ;
afterEach(() => {
  if (ZONE === undefined) delete process.env.TZ;
  else process.env.TZ = ZONE;
});

/** At this time, in this zone. */
const at = (zone: string, now: string, text: string) => {
  process.env.TZ = zone;
  return parseWhen(text, Date.parse(now));
};

describe("parseWhen", () => {
  test("a time of day is the next one, here", () => {
    expect(at("UTC", "2026-11-15T08:00:00Z", "22:00")).toBe("2026-11-15T22:00:00.000Z");
    expect(at("UTC", "2026-11-15T22:00:00Z", "22:00")).toBe("2026-11-16T22:00:00.000Z");
    expect(at("Europe/Berlin", "2026-11-15T08:00:00Z", "22:00")).toBe("2026-11-15T21:00:00.000Z");
    expect(at("Asia/Tokyo", "2026-11-15T22:30:00Z", "6:05")).toBe("2026-11-16T21:05:00.000Z");
    expect(at("UTC", "2026-12-31T23:30:00Z", "0:15")).toBe("2027-01-01T00:15:00.000Z");
  });

  test("today and tomorrow", () => {
    expect(at("UTC", "2026-11-15T08:00:00Z", "tomorrow 6:00")).toBe("2026-11-16T06:00:00.000Z");
    expect(at("UTC", "2026-11-15T08:00:00Z", " Today 9:30 ")).toBe("2026-11-15T09:30:00.000Z");
    expect(() => at("UTC", "2026-11-15T08:00:00Z", "today 7:00")).toThrow("write tomorrow 7:00");
  });

  test("days on which the clock changes", () => {
    const zone = "Europe/Berlin";
    // 29 March 2026: 02:00 becomes 03:00. 02:30 is skipped, and means 03:30.
    expect(at(zone, "2026-03-28T23:30:00Z", "2:30")).toBe("2026-03-29T01:30:00.000Z");
    expect(at(zone, "2026-03-28T12:00:00Z", "tomorrow 6:00")).toBe("2026-03-29T04:00:00.000Z");
    // 25 October 2026: 03:00 becomes 02:00. 02:30 comes twice, and means the first.
    expect(at(zone, "2026-10-24T22:30:00Z", "2:30")).toBe("2026-10-25T00:30:00.000Z");
    expect(at(zone, "2026-10-24T12:00:00Z", "tomorrow 6:00")).toBe("2026-10-25T05:00:00.000Z");
  });

  test("durations with and without a sign, and exact times", () => {
    const now = "2026-11-15T08:00:00Z";
    expect(at("UTC", now, "2h")).toBe("2026-11-15T10:00:00.000Z");
    expect(at("UTC", now, "+90s")).toBe("2026-11-15T08:01:30.000Z");
    expect(at("UTC", now, "2026-11-20T06:00:00+01:00")).toBe("2026-11-20T05:00:00.000Z");
    expect(at("UTC", now, "now")).toBe("2026-11-15T08:00:00.000Z");
  });

  test("anything else is refused with the forms", () => {
    for (const text of ["22", "24:00", "12:60", "tomorrow", "6 o'clock", "", "-2h", "2026-11-15"]) {
      expect(() => at("UTC", "2026-11-15T08:00:00Z", text), text).toThrow(/22:00, tomorrow 6:00/);
    }
    holds(
      fc.property(fc.string(), (text) => {
        try {
          expect(parseWhen(text, 0)).toMatch(/Z$/);
        } catch (error) {
          expect(isVivError(error, "INVALID")).toBe(true);
        }
      }),
    );
  });
});
