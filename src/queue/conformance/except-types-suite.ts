import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PRIORITIES } from "../task.ts";
import { claimOne, drain, idsOf, type MakeHarness, refOf, useRun } from "./harness.ts";

const LONG = 30_000;
const RANK = { high: 0, normal: 1, low: 2 } as const;

/** Claiming all but some types, for example while their account is rate-limited. */
export function exceptTypesSuite(make: MakeHarness): void {
  describe("all types but these", () => {
    const run = useRun(make);

    test("are skipped, and keep their place", async () => {
      const store = await run().open({ durability: "fast" });
      for (let n = 0; n < 300; n++) await store.enqueue({ id: `t${n}`, type: `type${n % 3}` });
      const but = (types: string[]) => ({ worker: "w", exceptTypes: types });
      const of = (wanted: number[], from: number, to: number) =>
        Array.from({ length: to - from }, (_, i) => from + i)
          .filter((n) => wanted.includes(n % 3))
          .map((n) => `t${n}`);
      expect(idsOf(await store.claim({ ...but(["type0"]), max: 20 }))).toEqual(of([1, 2], 0, 30));
      const both = { ...but(["type0", "type2"]), max: 20 };
      expect(idsOf(await store.claim(both))).toEqual(of([1], 30, 90));
      // Now all: the first that were passed over come first.
      expect(idsOf(await store.claim({ worker: "w", max: 15 }))).toEqual([
        ...of([0], 0, 30),
        ...of([0, 2], 30, 38),
      ]);
      expect(idsOf(await store.claim({ ...but(["type1"]), max: 2 }))).toEqual(["t38", "t39"]);
      const rest = await drain(store);
      expect(rest).toEqual([...of([0, 2], 40, 90), ...of([0, 1, 2], 90, 300)]);
    });

    test("an empty list changes nothing; of chosen types, the remaining ones are claimed", async () => {
      const store = await run().open({ durability: "fast" });
      for (const type of ["a", "b", "c"]) await store.enqueue({ id: type, type });
      const chosen = { worker: "w", types: ["a", "b"], max: 9 };
      expect(await store.claim({ ...chosen, exceptTypes: ["a", "b"] })).toEqual([]);
      expect(idsOf(await store.claim({ ...chosen, exceptTypes: ["a", "x"] }))).toEqual(["b"]);
      expect(await store.claim({ ...chosen, exceptTypes: ["a"] })).toEqual([]);
      expect(idsOf(await store.claim({ ...chosen, exceptTypes: [] }))).toEqual(["a"]);
      expect(idsOf(await store.claim({ worker: "w", exceptTypes: [], max: 9 }))).toEqual(["c"]);
    });

    test("the order holds, whatever each claim skips", async () => {
      const TYPES = ["a", "b", "c", "d", "e"];
      const task = fc.record({
        type: fc.constantFrom(...TYPES),
        priority: fc.constantFrom(...PRIORITIES),
      });
      const step = fc.oneof(
        { weight: 1, arbitrary: fc.array(task, { maxLength: 12 }) },
        { weight: 2, arbitrary: fc.record({ but: fc.subarray(TYPES), max: fc.nat(4) }) },
      );
      const store = await run().open({ durability: "fast" });
      let serial = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const pending: { id: string; type: string; priority: keyof typeof RANK }[] = [];
          for (const one of steps) {
            if (Array.isArray(one)) {
              for (const { type, priority } of one) {
                const spec = { id: `t${serial++}`, type, priority };
                await store.enqueue(spec);
                pending.push(spec);
              }
              continue;
            }
            const expected = pending
              .filter(({ type }) => !one.but.includes(type))
              .sort((a, b) => RANK[a.priority] - RANK[b.priority])
              .slice(0, one.max + 1)
              .map(({ id }) => id);
            const request = { worker: "w", exceptTypes: one.but, max: one.max + 1 };
            expect(idsOf(await store.claim(request))).toEqual(expected);
            for (const id of expected) {
              pending.splice(
                pending.findIndex((p) => p.id === id),
                1,
              );
            }
          }
          const rest = pending.sort((a, b) => RANK[a.priority] - RANK[b.priority]);
          expect(await drain(store)).toEqual(rest.map(({ id }) => id));
        }),
        { numRuns: 25 },
      );
    });

    test("others take them meanwhile, and none is claimed twice", async () => {
      const stores = await Promise.all(
        Array.from({ length: 3 }, () => run().open({ durability: "fast" })),
      );
      const specs = Array.from({ length: 240 }, (_, n) => ({ id: `t${n}`, type: `type${n % 2}` }));
      await stores[0]?.enqueueMany(specs);
      const got = await Promise.all(
        stores.map(async (store, w) => {
          const mine: string[] = [];
          for (let n = 0; ; n++) {
            // One of them is not choosy, so that all is claimed in the end.
            const but = w === 0 || n % 3 === 0 ? [] : [`type${w - 1}`];
            const claims = await store.claim({ worker: `w${w}`, exceptTypes: but });
            if (claims.length === 0 && but.length === 0) return mine;
            mine.push(...idsOf(claims));
            await new Promise((resolve) => setImmediate(resolve));
          }
        }),
      );
      expect(got.flat().sort()).toEqual(specs.map(({ id }) => id).sort());
    });

    test("a task that comes back while its type is skipped is claimed later", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "slow" });
      const claim = await claimOne(store);
      await store.enqueue({ id: "b", type: "quick" });
      await store.release(refOf(claim));
      expect(idsOf(await store.claim({ worker: "w", exceptTypes: ["slow"], max: 9 }))).toEqual([
        "b",
      ]);
      expect(await store.claim({ worker: "w", exceptTypes: ["slow"] })).toEqual([]);
      expect(await claimOne(store)).toMatchObject({ attempt: 2, task: { task_id: "a" } });
    });

    test("a process that starts meanwhile finds them in their place", async () => {
      const first = await run().open({ durability: "fast" });
      for (let n = 0; n < 100; n++) await first.enqueue({ id: `t${n}`, type: `type${n % 2}` });
      const odd = { worker: "w", exceptTypes: ["type0"], max: 10 };
      await first.claim(odd);
      await first.close();
      const second = await run().open({ durability: "fast" });
      expect(idsOf(await second.claim({ ...odd, max: 1 }))).toEqual(["t21"]);
      expect(idsOf(await second.claim({ worker: "w", max: 3 }))).toEqual(["t0", "t2", "t4"]);
      await second.close();
      const third = await run().open({ durability: "fast" });
      expect(idsOf(await third.claim({ ...odd, max: 1 }))).toEqual(["t23"]);
      expect(idsOf(await third.claim({ worker: "w", max: 1 }))).toEqual(["t6"]);
    });

    test("a waiting worker is not woken for them, but for others", async () => {
      const store = await run().open({ durability: "fast" });
      const other = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "slow" });
      const but = { exceptTypes: ["slow"] };
      expect(await store.waitForWork({ timeoutMs: 20, ...but })).toBe(false);
      expect(await store.waitForWork({ timeoutMs: 20, types: ["slow"], ...but })).toBe(false);
      expect(await store.waitForWork({ timeoutMs: LONG, exceptTypes: ["x"] })).toBe(true);
      expect(await store.waitForWork({ timeoutMs: LONG })).toBe(true);
      const waiting = store.waitForWork({ timeoutMs: LONG, ...but });
      await other.enqueue({ id: "b", type: "slow" });
      await other.enqueue({ id: "c", type: "quick" });
      expect(await waiting).toBe(true);
      expect(idsOf(await store.claim({ worker: "w", max: 9, ...but }))).toEqual(["c"]);
    });

    test("`why` and others see a worker that takes them still", async () => {
      const store = await run().open();
      await store.register("w", { types: ["slow", "quick"] });
      await store.enqueue({ id: "a", type: "quick" });
      await store.claim({ worker: "w", types: ["slow", "quick"], exceptTypes: ["slow"] });
      expect(await store.workers()).toMatchObject([{ name: "w", types: ["slow", "quick"] }]);
    });
  });
}
