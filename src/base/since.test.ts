import { expect, test } from "vitest";
import { parseSince } from "./since.ts";

const NOW = Date.parse("2026-11-15T08:00:00Z");

test.each([
  ["2h", "2026-11-15T06:00:00.000Z"],
  [" 1.5d ", "2026-11-13T20:00:00.000Z"],
  ["9999999d", "1970-01-01T00:00:00.000Z"],
  ["2026-11-14", "2026-11-14T00:00:00.000Z"],
  ["2026-11-14T10:00:00+02:00", "2026-11-14T08:00:00.000Z"],
  ["now", "2026-11-15T08:00:00.000Z"],
])("since %j is %s", (text, at) => expect(parseSince(text, NOW)).toBe(at));

test.each(["+1h", "2026-11-16", "2026-11-15T08:00:01Z"])("since %j is refused: not yet", (text) =>
  expect(() => parseSince(text, NOW)).toThrow("lies in the future"),
);

/** In the zone of the machine that tests run on. */
const localTime = (iso: string) => new Date(iso).toTimeString().slice(0, 5);

test.each(["22:00", "00:00", "7:05", "07:59", "23:59"])(
  "since %s: the last time that a clock here showed it",
  (text) => {
    const at = parseSince(text, NOW);
    expect(localTime(at)).toBe(text.padStart(5, "0"));
    const ago = NOW - Date.parse(at);
    expect(ago).toBeGreaterThanOrEqual(0);
    expect(ago).toBeLessThan(25 * 3_600_000); // the longest day of a year
  },
);

test("since the present minute: now, and not yesterday", () => {
  expect(parseSince(localTime(new Date(NOW).toISOString()), NOW)).toBe(new Date(NOW).toISOString());
});

test.each([
  "",
  "24:00",
  "22:60",
  "22:00:00",
  "2026",
  "yesterday",
  "2 hours",
  "-2h",
  "2026-02-31",
  "11-15",
  "5x",
  "2026-11-14T10:00",
])("since %j makes no sense", (text) => {
  expect(() => parseSince(text, NOW)).toThrow(expect.objectContaining({ code: "INVALID" }));
  expect(() => parseSince(text, NOW)).toThrow(/--since .* write /);
});
