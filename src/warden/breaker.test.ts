import { expect, test } from "vitest";
import { mayExecute } from "./breaker.ts";

const settings = { executions: 3, withinMs: 600_000 };
const NOW = 10_000_000;

test.each([
  ["none yet", [], 0, 0, true],
  ["two of three", [NOW - 1, NOW - 2], 0, 0, true],
  ["three", [NOW - 1, NOW - 2, NOW - 3], 0, 0, false],
  ["those under way count", [NOW - 1], 2, 0, false],
  ["long ago", [NOW - 700_000, NOW - 2, NOW - 3], 0, 0, true],
  ["before a person resumed", [NOW - 1000, NOW - 2000, NOW - 3000], 0, NOW - 500, true],
  ["a resume that lies in the future says nothing", [NOW - 1, NOW - 2, NOW - 3], 0, NOW + 9, false],
  ["a clock that was set back", [NOW + 9, NOW + 8, NOW + 7], 0, 0, false],
])("%s", (_, ends, running, resumed, may) => {
  const all = ends.map((at) => ({ at }));
  expect(mayExecute(settings, all, running, NOW, resumed)).toBe(may);
});

test("a clock that was set forward: an execution of a minute ago still counts", () => {
  const ends = [1, 2, 3].map((at) => ({ at, agoMs: 60_000 }));
  expect(mayExecute(settings, ends, 0, NOW, 0)).toBe(false);
  const longAgo = ends.map(({ at }) => ({ at, agoMs: 700_000 }));
  expect(mayExecute(settings, longAgo, 0, NOW, 0)).toBe(true);
});

test("agents count, not sessions; one that is too large goes alone, after a person has looked", () => {
  const may = (agents: number, isReleased: boolean, ended: number[], running = 0) =>
    mayExecute(
      settings,
      ended.map((one) => ({ at: NOW - 1, agents: one })),
      running,
      NOW,
      0,
      {
        ...{ agents, isReleased },
      },
    );
  expect([may(3, false, []), may(6, false, []), may(6, true, [])]).toEqual([true, false, true]);
  expect([may(1, false, [3]), may(6, true, [1]), may(6, true, [], 1)]).toEqual([
    false,
    false,
    false,
  ]);
});
