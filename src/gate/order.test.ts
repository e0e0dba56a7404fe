import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { PRIORITIES } from "../base/priority.ts";
import { inOrder, mayEnter, RAISE_AFTER_MS, type Waiting } from "./order.ts";

const MIN = 60_000;

/** Tickets that came one after the other. */
const line = fc
  .array(
    fc.record({
      priority: fc.constantFrom(...PRIORITIES),
      gap: fc.integer({ min: 0, max: 4 * MIN }),
    }),
    { maxLength: 40 },
  )
  .map((arrivals) => {
    let since = 0;
    return arrivals.map(({ priority, gap }, order) => {
      since += gap;
      return { priority, since, order };
    });
  });

const orders = (waiting: Waiting[], now: number) => inOrder(waiting, now).map((one) => one.order);

describe("the order at a gate", () => {
  test("first come, first served; a higher priority before that", () => {
    const of = (...priorities: Waiting["priority"][]) =>
      priorities.map((priority, order) => ({ priority, since: order, order }));
    expect(orders(of("normal", "normal", "normal"), 10)).toEqual([0, 1, 2]);
    expect(orders(of("low", "normal", "high", "low", "high"), 10)).toEqual([2, 4, 1, 0, 3]);
  });

  test("five minutes are one step, and high is the highest", () => {
    const low: Waiting = { priority: "low", since: 0, order: 0 };
    const comes = (priority: Waiting["priority"], since: number) => ({ priority, since, order: 1 });
    const first = (other: Waiting, now: number) => orders([low, other], now)[0];
    expect(first(comes("normal", RAISE_AFTER_MS - 1), RAISE_AFTER_MS - 1)).toBe(1);
    expect(first(comes("normal", RAISE_AFTER_MS), RAISE_AFTER_MS)).toBe(0);
    expect(first(comes("high", RAISE_AFTER_MS), RAISE_AFTER_MS)).toBe(1);
    expect(first(comes("high", 1), 2 * RAISE_AFTER_MS)).toBe(0);
    expect(first(comes("high", 1), 9 * RAISE_AFTER_MS)).toBe(0);
  });

  test("for any line and clock: all of them, and in order among equals", () => {
    holds(
      fc.property(line, fc.integer({ min: -MIN, max: 200 * MIN }), (waiting, now) => {
        const order = inOrder([...waiting].reverse(), now);
        expect(new Set(order)).toEqual(new Set(waiting));
        for (const priority of PRIORITIES) {
          const own = order.filter((one) => one.priority === priority).map((one) => one.order);
          expect(own).toEqual([...own].sort((a, b) => a - b));
        }
      }),
    );
  });

  test("no later one passes one that has waited for ten minutes", () => {
    holds(
      fc.property(line, fc.integer({ min: 0, max: 60 * MIN }), (waiting, more) => {
        const now = (waiting.at(-1)?.since ?? 0) + more;
        const order = inOrder(waiting, now);
        order.forEach((one, i) => {
          if (now - one.since < 2 * RAISE_AFTER_MS) return;
          for (const before of order.slice(0, i)) expect(before.order).toBeLessThan(one.order);
        });
      }),
    );
  });

  test("never more than the maximum; none after it was lowered", () => {
    const max = fc.option(fc.integer({ min: 1, max: 10 }));
    holds(
      fc.property(line, fc.nat(12), max, (waiting, holders, max) => {
        const entering = mayEnter({ waiting, holders, max, now: 60 * MIN });
        if (max === null) expect(entering).toHaveLength(waiting.length);
        else expect(entering).toHaveLength(Math.min(waiting.length, Math.max(0, max - holders)));
        expect(entering).toEqual(inOrder(waiting, 60 * MIN).slice(0, entering.length));
      }),
    );
  });

  test("however many urgent ones keep coming, each is served after a bounded number of others", () => {
    const arrival = fc.constantFrom<Waiting["priority"]>("high", "high", "high", "normal", "low");
    const busy = fc.array(arrival, { minLength: 60, maxLength: 200 });
    holds(
      fc.property(busy, fc.constantFrom(...PRIORITIES), (coming, priority) => {
        const ours: Waiting = { priority, since: 0, order: 5 };
        const ahead = Array.from({ length: 5 }, (_, order) => ({ ...ours, order }));
        let waiting: Waiting[] = [...ahead, ours];
        let served = 0;
        // Each minute one leaves, and another two come.
        for (let minute = 1; waiting.includes(ours); minute++) {
          for (const k of [0, 1]) {
            const next = coming[(2 * minute + k) % coming.length] ?? "high";
            waiting.push({ priority: next, since: minute * MIN, order: 4 + 2 * minute + k });
          }
          const [entered] = mayEnter({ waiting, holders: 0, max: 1, now: minute * MIN });
          waiting = waiting.filter((one) => one !== entered);
          served++;
          // Ten minutes in which others may pass, and then those that came before.
          expect(served).toBeLessThanOrEqual(10 + 5 + 1);
        }
      }),
    );
  });
});
