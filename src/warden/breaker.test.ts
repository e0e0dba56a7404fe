import { expect, test } from "vitest";
import { newBreaker } from "./breaker.ts";

const settings = { executions: 3, withinMs: 600_000 };
const NOW = 10_000_000;
const ONE = { agents: 1, isReleased: false };
const clockAt = (now: number, uptime = 0) => ({ now: () => now, uptime: () => uptime });

test.each([
  ["none yet", [], 0, 0, true],
  ["two of three", [NOW - 1, NOW - 2], 0, 0, true],
  ["three", [NOW - 1, NOW - 2, NOW - 3], 0, 0, false],
  ["those under way count", [NOW - 1], 2, 0, false],
  ["long ago", [NOW - 700_000, NOW - 2, NOW - 3], 0, 0, true],
  ["before a person resumed", [NOW - 1000, NOW - 2000, NOW - 3000], 0, NOW - 500, true],
  ["a resume in the future does not count", [NOW - 1, NOW - 2, NOW - 3], 0, NOW + 9, false],
  ["a clock that was set back", [NOW + 9, NOW + 8, NOW + 7], 0, 0, false],
])("%s", (_, ends, running, resumed, may) => {
  const before = ends.map((at) => ({ at, agents: 1 }));
  const breaker = newBreaker(settings, clockAt(NOW), before);
  breaker.resume(running);
  expect(breaker.mayBegin(ONE, resumed)).toBe(may);
});

test("a clock that was set forward: an execution of a minute ago still counts", () => {
  const after = (seconds: number) => {
    let [now, uptime] = [1, 0];
    const clock = { now: () => now, uptime: () => uptime };
    const breaker = newBreaker(settings, clock, []);
    for (let i = 0; i < 3; i++) {
      expect(breaker.mayBegin(ONE, 0)).toBe(true);
      breaker.end(1, true);
    }
    [now, uptime] = [NOW, seconds];
    return breaker.mayBegin(ONE, 0);
  };
  expect([after(60), after(700)]).toEqual([false, true]);
});

test("an execution that killed nothing frees its place", () => {
  const breaker = newBreaker({ ...settings, executions: 1 }, clockAt(NOW), []);
  expect(breaker.mayBegin(ONE, 0)).toBe(true);
  expect(breaker.mayBegin(ONE, 0)).toBe(false);
  breaker.end(1, false);
  expect(breaker.mayBegin(ONE, 0)).toBe(true);
});

test.each([
  [3, false, 0, 0, true],
  [6, false, 0, 0, false],
  [6, true, 0, 0, true],
  [1, false, 3, 0, false],
  [6, true, 1, 0, false],
  [6, true, 0, 1, false],
])(
  "%d agents, released %s, %d ended and %d running: %s",
  (agents, isReleased, ended, running, may) => {
    const breaker = newBreaker(
      settings,
      clockAt(NOW),
      ended ? [{ at: NOW - 1, agents: ended }] : [],
    );
    breaker.resume(running);
    expect(breaker.mayBegin({ agents, isReleased }, 0)).toBe(may);
  },
);
