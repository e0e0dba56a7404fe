import * as fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { afterSetupFailure, HOLD_AT, heldUntil, type SetupFailure } from "./setup-failures.ts";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const MINUTE = 60_000;
const failed = { type: "t", route: "r", commit: "c", task: "t.1", note: "exit 1", log: "l" };

function after(times: readonly number[], change: Partial<typeof failed> = {}) {
  let state: SetupFailure | null = null;
  for (const at of times) state = afterSetupFailure(state, { ...failed, ...change }, NOW + at);
  return state as SetupFailure | null;
}

test("the third in a row holds the route, for longer each time, up to an hour", () => {
  const until = (state: SetupFailure | null, now: number) =>
    heldUntil(state, { route: "r", commit: "c", now: NOW + now });
  expect(until(after([0, 1]), 2)).toBeNull();
  expect(until(after([0, 1, 2]), 3)).toBe(NOW + 2 + 5 * MINUTE);
  const third = 2 + 5 * MINUTE;
  expect(until(after([0, 1, 2]), third)).toBeNull();
  expect(until(after([0, 1, 2, third]), third + 1)).toBe(NOW + third + 10 * MINUTE);
  const many = Array.from({ length: 20 }, (_, i) => i * 61 * MINUTE);
  expect(until(after(many), 19 * 61 * MINUTE)).toBe(NOW + 20 * 61 * MINUTE - MINUTE);
});

test("a change of the route or of its base opens it, and the count begins anew", () => {
  const held = after([0, 1, 2]);
  const now = NOW + 3;
  expect(heldUntil(held, { route: "r", commit: "c", now })).not.toBeNull();
  expect(heldUntil(held, { route: "other", commit: "c", now })).toBeNull();
  expect(heldUntil(held, { route: "r", commit: "d", now })).toBeNull();
  expect(afterSetupFailure(held, { ...failed, commit: "d" }, now)).toMatchObject({
    ...{ failures: 1, until: null },
  });
});

test("property: attempts that began before the pause do not extend it", () => {
  const offsets = fc.array(fc.integer({ min: 0, max: 5 * MINUTE - 1 }), { maxLength: 20 });
  holds(
    fc.property(offsets, (late) => {
      const held = after([0, 0, 0]);
      const more = late.reduce(
        (state, at) => afterSetupFailure(state, { ...failed, task: "other" }, NOW + at),
        held,
      );
      expect(more).toEqual(held);
      expect(held?.failures).toBe(HOLD_AT);
    }),
  );
});
