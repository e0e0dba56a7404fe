import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { afterDeath, type Death, NO_DEATHS, nextRunAt, type RestartHistory } from "./supervise.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What is decided at each of these ends, up to the one that parks it. */
function story(ends: readonly [Death, livedMs: number][]): (number | "parked")[] {
  const told: (number | "parked")[] = [];
  let history: RestartHistory = NO_DEATHS;
  for (const [death, livedMs] of ends) {
    const decision = afterDeath(history, death, livedMs);
    if (decision.kind === "park") return [...told, "parked"];
    told.push(decision.afterMs / SECOND);
    history = decision.history;
  }
  return told;
}

describe("a process that has died", () => {
  it("is started again after pauses that double up to a minute", () => {
    const ends = Array.from({ length: 9 }, (): [Death, number] => ["died", 2 * MINUTE]);
    expect(story(ends)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it("is parked at the fifth early death in a row", () => {
    const ends = Array.from({ length: 9 }, (): [Death, number] => ["died", SECOND]);
    expect(story(ends)).toEqual([1, 2, 4, 8, "parked"]);
  });

  it("has its early deaths forgotten when it lives for a minute", () => {
    const early: [Death, number] = ["died", MINUTE - 1];
    const long: [Death, number] = ["died", MINUTE];
    const ends = [early, early, early, early, long, early, early, early, early, early];
    expect(story(ends)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, "parked"]);
  });

  it("begins with short pauses again after a life of five minutes", () => {
    const ends: [Death, number][] = [
      ["died", SECOND],
      ["died", SECOND],
      ["died", 5 * MINUTE],
      ["died", SECOND],
    ];
    expect(story(ends)).toEqual([1, 2, 1, 2]);
  });
});

it("is parked at once when it is refused", () => {
  expect(afterDeath(NO_DEATHS, "refused", 10).kind).toBe("park");
});

it("tries again while another has its name, which counts as no death", () => {
  const port = Array.from({ length: 20 }, (): [Death, number] => ["occupied", SECOND]);
  expect(new Set(story(port))).toEqual(new Set([10]));
  const many = Array.from({ length: 20 }, (): [Death, number] => ["taken", SECOND]);
  expect(new Set(story(many))).toEqual(new Set([2]));
  const died: [Death, number] = ["died", SECOND];
  expect(story([died, ...many, died, died, died, died])).toEqual([
    1,
    ...Array.from({ length: 20 }, () => 2),
    ...[2, 4, 8, "parked"],
  ]);
});

it("never pauses for less than a second or more than a minute", () => {
  const end = fc.tuple(
    fc.constantFrom<Death>("died", "taken", "occupied"),
    fc.integer({ min: 0, max: 10 * MINUTE }),
  );
  fc.assert(
    fc.property(fc.array(end, { maxLength: 100 }), (ends) => {
      for (const told of story(ends)) {
        if (told === "parked") continue;
        expect(told).toBeGreaterThanOrEqual(1);
        expect(told).toBeLessThanOrEqual(60);
      }
    }),
  );
});

describe("the next run", () => {
  it("is an interval after the start, not after the end", () => {
    expect(nextRunAt(1_000, 1_000, 500)).toBe(1_500);
    expect(nextRunAt(1_000, 1_499, 500)).toBe(1_500);
  });

  it("is the first that is due after the end, and never before it", () => {
    expect(nextRunAt(1_000, 1_501, 500)).toBe(2_000);
    const ms = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(ms, ms, fc.integer({ min: 1_000, max: 100_000 }), (start, took, every) => {
        const next = nextRunAt(start, start + took, every);
        expect((next - start) % every).toBe(0);
        expect(next).toBeGreaterThanOrEqual(start + Math.max(took, every));
        expect(next - (start + took)).toBeLessThanOrEqual(every);
      }),
    );
  });
});
