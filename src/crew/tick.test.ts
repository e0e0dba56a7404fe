import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { TICK_OUTCOMES } from "./member-status.ts";
import {
  BREATHER_MS,
  type EndedTick,
  firstDelay,
  isBackingOff,
  lastRunFrom,
  MOST_BAD_ENDS,
  nextDelay,
  noWorkIn,
} from "./tick.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

describe("the first tick", () => {
  const first = (index: number, sinceLastRunMs: number | null, intervalMs = 15 * MINUTE) =>
    firstDelay({ graceMs: MINUTE, intervalMs, sinceLastRunMs, index, staggerMs: 30 * SECOND });

  test("of a new crew: one after the other, after the grace", () => {
    expect([0, 1, 2, 3].map((i) => first(i, null) / SECOND)).toEqual([60, 90, 120, 150]);
  });

  test.each([
    ["is due", 20 * MINUTE, 60],
    ["was just on", 0, 15 * 60],
    ["was on for a while", 10 * MINUTE, 5 * 60],
    ["would be due within the grace", 14.5 * MINUTE, 60],
    ["ran in the future", -MINUTE, 15 * 60],
  ])("after a restart, of one that %s", (_, since, seconds) => {
    expect(first(0, since)).toBe(seconds * SECOND);
    expect(first(2, since)).toBe((seconds + 60) * SECOND);
  });
});

describe("the next tick", () => {
  const BASE = 15 * MINUTE;
  const next = (tick: Partial<EndedTick>) =>
    nextDelay({ outcome: "done", baseMs: BASE, streak: 0, crashes: 0, tookMs: 0, ...tick });

  test("after done: the base", () => {
    expect(next({})).toBe(BASE);
    expect(next({ tookMs: 4 * MINUTE })).toBe(11 * MINUTE);
    expect(next({ tookMs: BASE })).toBe(0);
    expect(next({ tookMs: BASE + 1 })).toBe(0);
  });

  test("after no work: later from the first time on, up to half an hour, never before the base", () => {
    const series = (baseMs: number) =>
      [1, 2, 3, 4, 5, 6, 7, 5000].map(
        (streak) => next({ outcome: "no_work", baseMs, streak }) / MINUTE,
      );
    expect(series(SECOND)).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
    expect(series(5 * MINUTE)).toEqual([10, 20, 30, 30, 30, 30, 30, 30]);
    expect(series(BASE)).toEqual([30, 30, 30, 30, 30, 30, 30, 30]);
    expect(series(20 * MINUTE)).toEqual([30, 30, 30, 30, 30, 30, 30, 30]);
    expect(series(60 * MINUTE)).toEqual([60, 60, 60, 60, 60, 60, 60, 60]);
  });

  test.each(["failed", "killed"] as const)("after %s: twice the base, doubled again", (outcome) => {
    const series = (baseMs: number) =>
      [1, 2, 3, 4].map((crashes) => next({ outcome, baseMs, crashes }) / MINUTE);
    expect(series(BASE)).toEqual([30, 60, 120, 240]);
    expect(series(60 * MINUTE)).toEqual([120, 240, 360, 360]);
    expect(series(24 * 60 * MINUTE)).toEqual([1440, 1440, 1440, 1440]);
    expect(series(1).map((minutes) => minutes * 60)).toEqual([1, 2, 4, 8]);
    expect(next({ outcome, crashes: 1, tookMs: 4 * MINUTE })).toBe(26 * MINUTE);
  });

  test("after a crash: ever longer pauses, whatever its interval is", () => {
    const pauses = [1, 2, 3, 4, 9, 10, 5000].map((crashes) =>
      next({ outcome: "crashed", crashes, tookMs: MINUTE }),
    );
    expect(pauses.map((ms) => ms / SECOND)).toEqual([1, 2, 4, 8, 256, 300, 300]);
    expect(MOST_BAD_ENDS).toBe(5);
  });

  test("of a continuous one: a breather, from its end", () => {
    const continuous = { baseMs: BREATHER_MS, isContinuous: true, tookMs: 10 * MINUTE };
    expect(next(continuous)).toBe(45 * SECOND);
    expect(next({ ...continuous, outcome: "no_work", streak: 3 })).toBe(6 * MINUTE);
  });

  test("is never before now, and never later than it must be", () => {
    const ms = fc.integer({ min: -MINUTE, max: 24 * 60 * MINUTE });
    const tick = fc.record({
      outcome: fc.constantFrom(...TICK_OUTCOMES),
      baseMs: fc.integer({ min: 1, max: 24 * 60 * MINUTE }),
      streak: fc.nat(3000),
      crashes: fc.nat(3000),
      tookMs: ms,
      isContinuous: fc.boolean(),
    });
    holds(
      fc.property(tick, (one) => {
        const delay = nextDelay(one);
        expect(delay).toBeGreaterThanOrEqual(0);
        const hours = one.outcome === "failed" || one.outcome === "killed" ? 6 : 0.5;
        expect(delay).toBeLessThanOrEqual(Math.max(one.baseMs, hours * 60 * MINUTE));
        // What is shown is what happens.
        const asUsual = nextDelay({ ...one, outcome: "done" });
        const isBeforeNow = one.tookMs >= one.baseMs && !one.isContinuous;
        if (one.outcome !== "crashed" && !isBeforeNow) {
          expect(isBackingOff(one)).toBe(delay > asUsual);
        }
        if (one.outcome === "no_work") {
          const more = nextDelay({ ...one, streak: one.streak + 1 });
          expect(more).toBeGreaterThanOrEqual(delay);
        }
      }),
    );
  });
});

test.each([
  ["NO-WORK", "NO-WORK"],
  ["no-work: the board is empty", "no-work: the board is empty"],
  [" \n\tNo-Work\n", "No-Work"],
  ["NO-WORK\n\nTwo stories are claimed by wren.", "NO-WORK"],
  ["**NO-WORK**: nothing is ASSIGNED", "**NO-WORK**: nothing is ASSIGNED"],
  ["## NO-WORK", "## NO-WORK"],
  ["I looked at the board.\nNO-WORK: nothing is ASSIGNED\n", "NO-WORK: nothing is ASSIGNED"],
  ["Already up to date.\nchecked\nchecked again\nNO-WORK", "NO-WORK"],
  [
    "I looked at the board.\n\nNO-WORK: all claimed.\n\n- a: wren\n- b: hale",
    "NO-WORK: all claimed.",
  ],
  ["I looked.\r\n\r\n**NO-WORK** — nothing\r\nto do", "**NO-WORK** — nothing"],
  [
    "I looked at the board.\nNO-WORK: nothing is ASSIGNED.\n- a: claimed by wren",
    "NO-WORK: nothing is ASSIGNED.",
  ],
  ["NO-WORK\nAdvanced nothing, committed nothing.", "NO-WORK"],
  ["WRITING: advanced hello-world\nNO-WORK: nothing in EDIT", null],
  ["I've published a.\nNO-WORK: b and c are claimed", null],
  ["The def ends with\n```\nNO-WORK: nothing\n```", null],
  ["I found NO-WORK", null],
  ["NO WORK", null],
  ["", null],
  ["Wrote the story.\nNO-WORK: is what wren had said\nCommitted it.", null],
  ["Wrote the story.\nCommitted it.\n\nNO-WORK: was wrong yesterday.\n\nIt is in EDIT now.", null],
  ["Fixed the def: it now ends with\n> NO-WORK: nothing to do", null],
  ["The answer of moss was\n`NO-WORK: nothing`", null],
  ["Done.\nNO-WORKING day tomorrow", null],
  // Idle, in other words.
  ["- NO-WORK: nothing is ASSIGNED", "- NO-WORK: nothing is ASSIGNED"],
  ["`NO-WORK`: nothing", "`NO-WORK`: nothing"],
  ["```text\nno-work: nothing\n```", "no-work: nothing"],
  [
    "Good morning!\n\nNO-WORK, as all is claimed. I look again later.",
    "NO-WORK, as all is claimed. I look again later.",
  ],
  ["Hallo,\nNO-WORK: nichts zu tun", "NO-WORK: nichts zu tun"],
  [
    "I checked the board.\nNothing is ASSIGNED.\nNo drafts either.\n\nNO\u2011WORK (all claimed)\n\nSee you.",
    "NO\u2011WORK (all claimed)",
  ],
  // Work, whatever the verb, the language and the form.
  ["**NO-WORK** handling in tick.ts is fixed.", null],
  ["## NO-WORK detection rewritten\n\nAdded tests.", null],
  ["NO-WORKING was the title; I fixed it", null],
  ["Finished the article.\nNO-WORK: nothing else is ASSIGNED", null],
  ["hello-world → WRITING\nNO-WORK: nothing else", null],
  ["All tests pass; hello-world is in EDIT.\nNO-WORK: nothing else", null],
  ["1. Published hello-world\nNO-WORK: nothing else", null],
  ["I looked at the board and drafted a.\nNO-WORK: nothing else", null],
  ["Ich habe den Artikel geschrieben.\nNO-WORK: sonst nichts", null],
  ["J'ai fini l'article.\nNO-WORK: rien d'autre", null],
  ["- NO-WORK: nothing in EDIT\n- Published hello-world", null],
])("%j reports that there was nothing to do: %j", (text, expected) =>
  expect(noWorkIn(text)).toBe(expected),
);

describe("the last run", () => {
  const NOW = Date.parse("2026-11-15T12:00:00Z");
  const AGO = NOW - 90_000;

  test.each([
    ["milliseconds", `${AGO}\n`, AGO],
    ["seconds", `${AGO / 1000}`, AGO],
    ["seconds with a fraction", `${AGO / 1000}.5`, AGO + 500],
    ["ISO", "2026-11-15T11:58:30Z", AGO],
    ["ISO with a zone", "2026-11-15T12:58:30+01:00", AGO],
    ["the future", String(NOW + 86_400_000), NOW],
    ["the future in ISO", "2027-01-01T00:00:00Z", NOW],
    ["far in the future", "9999999999999999", NOW],
    ["the beginning", "0", 0],
    ["no file", null, null],
  ])("in %s", (_, text, at) => expect(lastRunFrom(text, NOW)).toEqual({ at }));

  test.each([
    "",
    "\0\0\0\0",
    "yesterday",
    "-5",
    "NaN",
    "1e12",
    "2026-13-45T99:99:99Z",
    "0001-01-01T00:00Z",
    "9".repeat(50),
  ])("%j counts as never, with a warning", (text) => {
    const { at, problem } = lastRunFrom(text, NOW);
    expect(at).toBeNull();
    expect(problem).toContain("is not a time; it counts as never");
  });

  test("is never in the future for any text, and our own format is read back", () => {
    holds(
      fc.property(fc.string(), fc.integer({ min: 1e11, max: NOW }), (text, ran) => {
        expect(lastRunFrom(text, NOW).at ?? 0).toBeLessThanOrEqual(NOW);
        expect(lastRunFrom(String(ran), NOW)).toEqual({ at: ran });
      }),
    );
  });
});
