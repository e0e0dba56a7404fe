import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { BusyTimes, SLOTS } from "./busy-times.ts";

const START = 1000;
const END = START + SLOTS * 10;

/** Work from one moment to a later one; whole milliseconds, also outside of the period. */
const span = fc
  .tuple(fc.integer({ min: 900, max: 1300 }), fc.integer({ min: 0, max: 200 }))
  .map(([from, length]) => ({ from, to: from + length }));

/** Each millisecond of the period in which there was work. */
function brute(spans: readonly { from: number; to: number }[]): Set<number> {
  const busy = new Set<number>();
  for (const { from, to } of spans) {
    for (let ms = Math.max(from, START); ms < Math.min(to, END); ms++) busy.add(ms);
  }
  return busy;
}

function played(spans: readonly { from: number; to: number }[]): BusyTimes {
  const times = new BusyTimes(START, END);
  const events = spans.flatMap(({ from, to }) => [
    { at: from, isEnd: false },
    { at: to, isEnd: true },
  ]);
  events.sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd));
  for (const { at, isEnd } of events) {
    if (isEnd) times.end("w", at);
    else times.begin("w", at);
  }
  return times;
}

describe("busy times", () => {
  it("count tasks side by side once, and only within the period", () => {
    holds(
      fc.property(fc.array(span, { maxLength: 8 }), (spans) => {
        const busy = brute(spans);
        const found = played(spans).all().get("w");
        expect(found?.busyMs ?? 0).toBe(busy.size);
        const slots = Array.from({ length: SLOTS }, (_, slot) => {
          const own = [...busy].filter((ms) => Math.floor((ms - START) / 10) === slot);
          return own.length / 10;
        });
        (found?.slots ?? slots).forEach(
          (share, i) => void expect(share).toBeCloseTo(slots[i] ?? 0),
        );
        if (busy.size === 0) return;
        expect(found?.from).toBeLessThanOrEqual(Math.min(...busy));
        expect(found?.to).toBeGreaterThanOrEqual(Math.max(...busy));
      }),
    );
  });

  it("name only workers that worked in the period, the first to begin first", () => {
    const times = new BusyTimes(START, END);
    times.add("late", START + 50, START + 60);
    times.add("early", START - 10, START + 10);
    times.add("before", START - 20, START - 10);
    times.begin("open", START);
    expect([...times.all().keys()]).toEqual(["early", "late"]);
  });

  it("survive an end without a beginning, and a clock that was set back", () => {
    const times = new BusyTimes(START, END);
    times.end("w", START);
    times.begin("w", START + 50);
    times.end("w", START + 20);
    times.begin("w", START + 60);
    times.end("w", START + 70);
    expect(times.all().get("w")?.busyMs).toBe(10);
  });
});
