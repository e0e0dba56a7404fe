import fc from "fast-check";
import { expect, it } from "vitest";
import { inOrder, type Ordered } from "./order.ts";

const candidates = fc
  .uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 12 })
  .chain((numbers) =>
    fc.tuple(
      ...numbers.map((n, i) =>
        fc.record({
          id: fc.constant(`t.${n}`),
          since: fc.integer({ min: 0, max: 5 }).map(String),
          isReworked: fc.boolean(),
          dependsOn: fc.subarray(numbers.slice(0, i).map((m) => `t.${m}`)),
        }),
      ),
    ),
  );

it("puts each after what it depends on, else reworks first, else the first that was done first", () => {
  fc.assert(
    fc.property(candidates, (given: Ordered[]) => {
      const sorted = inOrder(given);
      expect(sorted.map(({ id }) => id).sort()).toEqual(given.map(({ id }) => id).sort());
      sorted.forEach((one, i) => {
        const before = sorted.slice(0, i).map(({ id }) => id);
        for (const id of one.dependsOn) expect(before).toContain(id);
      });
      const free = given.filter(({ dependsOn }) => dependsOn.length === 0);
      if (free.length === given.length) {
        const turns = (list: Ordered[]) => list.map((one) => `${!one.isReworked} ${one.since}`);
        expect(turns(sorted)).toEqual(turns(given).sort());
      }
    }),
  );
});

it("keeps all of a cycle", () => {
  const cycle = ["a", "b"].map((id) => ({
    ...{ id, since: "1", isReworked: false, dependsOn: ["a", "b"] },
  }));
  expect(inOrder(cycle)).toHaveLength(2);
});

it("sorts a chain that is longer than a stack is deep", () => {
  const chain = Array.from({ length: 20_000 }, (_, i) => ({
    id: `t.${i}`,
    isReworked: false,
    since: String(30_000 - i), // the last of it was done first
    dependsOn: i === 0 ? [] : [`t.${i - 1}`],
  }));
  expect(inOrder(chain)).toEqual(chain);
});
