import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { holds } from "../../../../test/support/property.ts";
import { ledgerLines } from "../../../../test/support/run-files.ts";
import { openRun } from "../../../main.ts";
import { covers, filterOf, keyOf, wantedBy } from "./lane-reader.ts";

const TYPES = ["a", "b", "c", "d"];
const subset = fc.subarray(TYPES);
const request = fc.record({ types: subset, exceptTypes: subset });

test("a filter takes the requested types", () => {
  holds(
    fc.property(request, fc.constantFrom(...TYPES, "z"), ({ types, exceptTypes }, type) => {
      const isAsked = (types.length === 0 || types.includes(type)) && !exceptTypes.includes(type);
      expect(wantedBy(filterOf({ types, exceptTypes }))?.has(type) ?? true).toBe(isAsked);
    }),
  );
});

test("a filter covers another if it takes all that the other takes", () => {
  holds(
    fc.property(request, request, (a, b) => {
      const [one, other] = [filterOf(a), filterOf(b)];
      const wants = (f: typeof one, type: string) => wantedBy(f)?.has(type) ?? true;
      // z stands for all types that are not named.
      const all = [...TYPES, "z"].every((type) => !wants(other, type) || wants(one, type));
      expect(covers(one, other)).toBe(all);
      if (keyOf(one) === keyOf(other)) expect(all).toBe(true);
    }),
  );
});

test("skipped tasks are not adopted as foreign, however often the filter changes", async () => {
  const path = join(newFolder(), "run");
  const store = await openRun(path, { create: true, durability: "fast" });
  const types = Array.from({ length: 24 }, (_, n) => `type${n}`);
  for (let round = 0; round < 3; round++) {
    for (const type of types) await store.enqueue({ id: `${type}.${round}`, type });
  }
  // More filters than are kept open, each of which finds nothing, and looks at all of pending/.
  for (let n = 0; n < types.length; n++) {
    const but = types.filter((_, i) => i !== n);
    for (let round = 0; round < 3; round++) {
      const claims = await store.claim({ worker: "w", exceptTypes: but });
      expect(claims.map(({ task }) => task.task_id)).toEqual([`type${n}.${round}`]);
    }
    expect(await store.claim({ worker: "w", exceptTypes: but })).toEqual([]);
  }
  expect(ledgerLines(path).lines.filter(({ event }) => event === "adopted")).toEqual([]);
  expect((await store.doctor()).findings).toEqual([]);
  await store.close();
});
