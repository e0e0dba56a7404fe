import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { holds } from "../../test/support/property.ts";
import { parseQuiet, quietUntil } from "./quiet.ts";

const before = process.env.TZ;
beforeEach(() => {
  process.env.TZ = "Europe/Berlin";
});
afterEach(() => {
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

const at = (iso: string) => Date.parse(iso);
const end = (iso: string, quiet: string) => {
  const until = quietUntil(at(iso), parseQuiet(quiet));
  return until === null ? null : new Date(until).toISOString();
};

describe("quiet hours", () => {
  it("end at their local time, over midnight or within a day", () => {
    expect(end("2026-11-16T22:30:00Z", "23:00-07:00")).toBe("2026-11-17T06:00:00.000Z");
    expect(end("2026-11-17T02:00:00Z", "23:00-07:00")).toBe("2026-11-17T06:00:00.000Z");
    expect(end("2026-11-17T06:00:00Z", "23:00-07:00")).toBeNull();
    expect(end("2026-11-16T21:59:59Z", "23:00-07:00")).toBeNull();
    expect(end("2026-11-16T12:00:00Z", "12:30-14:00")).toBe("2026-11-16T13:00:00.000Z");
    expect(end("2026-11-16T23:30:00Z", "22:00-24:00")).toBeNull();
  });

  it("are an hour shorter, or longer, in the night in which the clock is set", () => {
    // Set forward at 02:00 on 29 March, back at 03:00 on 25 October.
    expect(end("2026-03-28T22:30:00Z", "23:00-07:00")).toBe("2026-03-29T05:00:00.000Z");
    expect(end("2026-10-24T21:30:00Z", "23:00-07:00")).toBe("2026-10-25T06:00:00.000Z");
    // 02:30 comes twice: it is quiet until the second one.
    expect(end("2026-10-25T01:10:00Z", "01:00-02:30")).toBe("2026-10-25T01:11:00.000Z");
    expect(end("2026-10-25T01:30:00Z", "01:00-02:30")).toBeNull();
  });

  it("are over at their end, whenever that is asked", () => {
    const minute = fc.integer({ min: 0, max: 1439 });
    const days = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-01-01T00:00:00Z") });
    holds(
      fc.property(days, minute, minute, (now, from, to) => {
        fc.pre(from !== to);
        let time = now;
        // Within a day and an hour, and never backwards.
        for (let until = quietUntil(time, { from, to }); until !== null; ) {
          expect(until).toBeGreaterThan(time);
          time = until;
          until = quietUntil(time, { from, to });
        }
        expect(time - now).toBeLessThanOrEqual(26 * 3_600_000);
      }),
    );
  });

  it.each(["23:00", "25:00-07:00", "7-8", "07:00-07:00", "00:00-24:00", "23:60-07:00", "x"])(
    "%s are none",
    (text) => {
      expect(() => parseQuiet(text)).toThrow(/write it like 23:00-07:00/);
    },
  );
});
