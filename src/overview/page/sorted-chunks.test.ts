import * as fc from "fast-check";
import { expect, it } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { compareIds } from "../../base/compare-ids.ts";
import { SortedChunks } from "./sorted-chunks.ts";

it("is a sorted array, in any history, also over many chunks", () => {
  const changes = fc.array(fc.tuple(fc.boolean(), fc.nat(3000)), { maxLength: 4000 });
  const filled = fc.uniqueArray(fc.nat(3000), { maxLength: 1200 });
  holds(
    fc.property(changes, filled, fc.nat(3000), fc.nat(700), (history, first, offset, limit) => {
      const chunks = new SortedChunks<number>((a, b) => a - b);
      chunks.fill([...first]);
      const model = new Set<number>(first);
      for (const [isAdded, n] of history) {
        if (isAdded && !model.has(n)) {
          chunks.add(n);
          model.add(n);
        }
        if (!isAdded) expect(chunks.remove(n)).toBe(model.delete(n));
      }
      const sorted = [...model].sort((a, b) => a - b);
      expect([...chunks]).toEqual(sorted);
      expect(chunks.size).toBe(sorted.length);
      expect(chunks.window(offset, limit)).toEqual(sorted.slice(offset, offset + limit));
    }),
    { numRuns: 20 },
  );
});

it("splits as it grows", () => {
  const chunks = new SortedChunks<number>((a, b) => a - b);
  for (let i = 0; i < 5000; i++) chunks.add((i * 7919) % 5000);
  expect([...chunks]).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  expect(chunks.window(4990, 100)).toHaveLength(10);
});

it("orders ids by their numbers, and never two as equal", () => {
  const ids = ["t.10", "t.2", "t.2a", "a", "t.002", "t.1", "t", "t.10.3", "t.10.20", "7", "10"];
  expect(ids.sort(compareIds)).toEqual([
    ...["7", "10", "a", "t", "t.1", "t.002", "t.2", "t.2a", "t.10", "t.10.3", "t.10.20"],
  ]);
  const id = fc.stringMatching(/^[a-c0-3.]{1,6}$/);
  holds(
    fc.property(id, id, id, (a, b, c) => {
      expect(Math.sign(compareIds(a, b))).toBe(-Math.sign(compareIds(b, a)) + 0);
      expect(compareIds(a, b) === 0).toBe(a === b);
      if (compareIds(a, b) < 0 && compareIds(b, c) < 0) expect(compareIds(a, c)).toBeLessThan(0);
    }),
    { numRuns: 2000 },
  );
});
