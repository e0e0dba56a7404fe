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
  ["a clock that was set back", [NOW + 9, NOW + 8, NOW + 7], 0, 0, false],
])("%s", (_, ends, running, resumed, may) => {
  expect(mayExecute(settings, ends, running, NOW, resumed)).toBe(may);
});
