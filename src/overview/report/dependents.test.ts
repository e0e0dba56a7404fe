import * as fc from "fast-check";
import { expect, it } from "vitest";
import { holds } from "../../../test/support/property.ts";
import { Dependents } from "./dependents.ts";

it("counts each task that waits once, also through others and around rings", () => {
  const dependents = new Dependents();
  for (const [id, ...needs] of [
    ["b", "a"],
    ["c", "a", "b", "a"],
    ["d", "c"],
    ["x", "y"],
    ["y", "x"],
  ]) {
    dependents.add(id ?? "", needs);
  }
  expect(dependents.waitingFor(["a"])).toBe(3);
  expect(dependents.waitingFor(["a", "c"])).toBe(2);
  expect(dependents.waitingFor(["x"])).toBe(1);
  expect(dependents.waitingFor(["nobody"])).toBe(0);
});

it("counts what a walk along the dependencies finds, in any graph", () => {
  const ids = fc.constantFrom(..."abcdefgh");
  const edges = fc.uniqueArray(fc.tuple(ids, fc.array(ids)), { selector: ([id]) => id });
  holds(
    fc.property(edges, fc.uniqueArray(ids), (tasks, roots) => {
      const dependents = new Dependents();
      for (const [id, needs] of tasks) dependents.add(id, needs);
      const reached = new Set(roots);
      for (const _ of tasks) {
        for (const [id, needs] of tasks)
          if (needs.some((need) => reached.has(need))) reached.add(id);
      }
      expect(dependents.waitingFor(roots)).toBe(reached.size - roots.length);
    }),
  );
});
