import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PRIORITIES } from "../task.ts";
import { claimOne, drain, idsOf, type MakeHarness, refOf, useRun } from "./harness.ts";

const RANK = { high: 0, normal: 1, low: 2 } as const;

export function orderSuite(make: MakeHarness): void {
  describe("order", () => {
    const run = useRun(make);

    test("first come, first served", async () => {
      const store = await run().open({ durability: "fast" });
      // Names in another order than the arrivals.
      const ids = Array.from({ length: 200 }, (_, n) => `t${(n * 37) % 200}`);
      for (const id of ids) await store.enqueue({ id, type: "t" });
      expect(await drain(store)).toEqual(ids);
    });

    test("priority first, then first come", async () => {
      const store = await run().open({ durability: "fast" });
      let n = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...PRIORITIES), { maxLength: 30 }),
          async (mix) => {
            const tasks = mix.map((priority) => ({ id: `t${n++}`, priority }));
            for (const { id, priority } of tasks) await store.enqueue({ id, type: "t", priority });
            const expected = [...tasks].sort((a, b) => RANK[a.priority] - RANK[b.priority]);
            expect(await drain(store)).toEqual(expected.map(({ id }) => id));
          },
        ),
        { numRuns: 15 },
      );
    });

    test("a high one that arrives in the middle goes next, a low one last", async () => {
      const store = await run().open({ durability: "fast" });
      const other = await run().open({ durability: "fast" });
      for (const id of ["n1", "n2", "n3"]) await store.enqueue({ id, type: "t" });
      expect((await claimOne(store)).task.task_id).toBe("n1");
      await other.enqueue({ id: "l1", type: "t", priority: "low" });
      await other.enqueue({ id: "h1", type: "t", priority: "high" });
      expect((await claimOne(store)).task.task_id).toBe("h1");
      await store.enqueue({ id: "h2", type: "t", priority: "high" });
      await store.enqueue({ id: "n4", type: "t" });
      expect(await drain(store)).toEqual(["h2", "n2", "n3", "n4", "l1"]);
    });

    test("up to N at a time, in the same order", async () => {
      const store = await run().open({ durability: "fast" });
      const ids = Array.from({ length: 10 }, (_, n) => `t${n}`);
      for (const id of ids) await store.enqueue({ id, type: "t" });
      await store.enqueue({ id: "h", type: "t", priority: "high" });
      expect(idsOf(await store.claim({ worker: "w", max: 4 }))).toEqual(["h", "t0", "t1", "t2"]);
      expect(idsOf(await store.claim({ worker: "w", max: 100 }))).toEqual(ids.slice(3));
      expect(await store.claim({ worker: "w", max: 100 })).toEqual([]);
    });

    test("a filter by types keeps the order, and leaves the others in theirs", async () => {
      const store = await run().open({ durability: "fast" });
      for (let n = 0; n < 90; n++) {
        const priority = n % 7 === 0 ? "high" : "normal";
        await store.enqueue({ id: `t${n}`, type: `type${n % 3}`, priority });
      }
      const expected = (types: number[]) => {
        const all = Array.from({ length: 90 }, (_, n) => n).filter((n) => types.includes(n % 3));
        return [...all.filter((n) => n % 7 === 0), ...all.filter((n) => n % 7 !== 0)];
      };
      const names = (ns: number[]) => ns.map((n) => `t${n}`);
      expect(await drain(store, "w", ["type2"])).toEqual(names(expected([2])));
      expect(await drain(store, "w", ["type2", "type9"])).toEqual([]);
      expect(await drain(store, "w", ["type0", "type2"])).toEqual(names(expected([0])));
      expect(await drain(store)).toEqual(names(expected([1])));
    });

    test("one process after the other, each claiming once, keep the order too", async () => {
      const ids = Array.from({ length: 12 }, (_, n) => `t${n}`);
      const first = await run().open({ durability: "fast" });
      for (const id of ids) await first.enqueue({ id, type: "t" });
      await first.close();
      const got: string[] = [];
      for (let n = 0; n < ids.length; n++) {
        const store = await run().open({ durability: "fast" });
        got.push((await claimOne(store, "shell")).task.task_id);
        await store.close();
      }
      expect(got).toEqual(ids);
    });

    test("what comes back, or is set free, is claimed again", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await store.enqueue({ id: "c", type: "t", priority: "low" });
      await store.release(refOf(await claimOne(store)));
      // Behind others of its priority or not: before those of a lower one.
      const again = await claimOne(store);
      expect(again.task.task_id).toBe("a");
      await store.complete(refOf(again));
      expect(await drain(store)).toEqual(["b", "c"]);
    });

    test("racing claimers never get the same task, and leave none behind", async () => {
      const stores = await Promise.all(
        Array.from({ length: 4 }, () => run().open({ durability: "fast" })),
      );
      const ids = Array.from({ length: 400 }, (_, n) => `t${n}`);
      const [first] = stores;
      await first?.enqueueMany(ids.map((id) => ({ id, type: "t" })));
      const got = await Promise.all(
        stores.map(async (store, n) => {
          const mine: string[] = [];
          for (;;) {
            const claims = await store.claim({ worker: `w${n}`, max: 1 + n });
            if (claims.length === 0) return mine;
            mine.push(...idsOf(claims));
            await new Promise((resolve) => setImmediate(resolve));
          }
        }),
      );
      expect(got.flat().sort()).toEqual([...ids].sort());
      // Tasks are overtaken within a small window only: here one of 64 for each claimer.
      const place = new Map(ids.map((id, n) => [id, n]));
      for (const mine of got) {
        for (const [n, id] of mine.entries()) {
          const later = Math.max(...mine.slice(0, n).map((one) => place.get(one) ?? 0), 0);
          expect(later - (place.get(id) ?? 0)).toBeLessThanOrEqual(4 * 64);
        }
      }
    });
  });
}
