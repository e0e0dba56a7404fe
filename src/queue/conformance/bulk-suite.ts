import { describe, expect, test } from "vitest";
import type { TaskSpec } from "../spec.ts";
import type { BulkResult } from "../store.ts";
import { drain, type MakeHarness, refused, stateOf, useRun } from "./harness.ts";

export function bulkSuite(make: MakeHarness): void {
  describe("many at once", () => {
    const run = useRun(make);
    const specs = (n: number): TaskSpec[] =>
      Array.from({ length: n }, (_, i) => ({ id: `t${i}`, type: "t" }));

    test.each(["safe", "fast"] as const)("all arrive, in order (%s)", async (durability) => {
      const store = await run().open({ durability });
      expect(await store.enqueueMany(specs(550))).toEqual({
        enqueued: 550,
        pending: 550,
        waiting: 0,
        existed: 0,
      });
      expect(await drain(store)).toEqual(specs(550).map(({ id }) => id));
    });

    test("from a stream, with progress", async () => {
      const store = await run().open({ durability: "fast" });
      async function* stream() {
        for (const spec of specs(330)) {
          yield spec;
          await Promise.resolve();
        }
      }
      const seen: number[] = [];
      const onProgress = ({ enqueued }: BulkResult) => void seen.push(enqueued);
      expect(await store.enqueueMany(stream(), { onProgress })).toMatchObject({ enqueued: 330 });
      expect(seen.at(-1)).toBe(330);
      expect([...seen].sort((a, b) => a - b)).toEqual(seen);
      expect(seen.length).toBeGreaterThan(1);
      expect(await store.enqueueMany([])).toMatchObject({ enqueued: 0 });
    });

    test("dependencies among them are allowed, in any order", async () => {
      const store = await run().open({ durability: "fast" });
      const result = await store.enqueueMany([
        { id: "last", type: "t", depends_on: ["first", "middle"] },
        { id: "middle", type: "t", depends_on: ["first"] },
        { id: "first", type: "t" },
      ]);
      expect(result).toEqual({ enqueued: 3, pending: 1, waiting: 2, existed: 0 });
    });

    test.each([0, 1, 99, 100, 149])(
      "a bad one at %i stops it, the error has its index, and all before it are in",
      async (at) => {
        const store = await run().open({ durability: "fast" });
        const list = specs(200);
        list[at] = { id: `t${at}`, type: "t", max_attempts: -1 };
        const details = await refused(store.enqueueMany(list), "INVALID");
        expect(details.index).toBe(at);
        expect(details.message).toContain(`task ${at + 1}`);
        expect(await store.counts()).toMatchObject({ pending: at });
        expect(await drain(store)).toEqual(specs(at).map(({ id }) => id));
        // The bad one and those behind it can be enqueued afterwards.
        const rest = await store.enqueueMany(specs(200), { ifAbsent: true });
        expect(rest).toEqual({ enqueued: 200 - at, pending: 200 - at, waiting: 0, existed: at });
      },
    );

    test("an id that is there, and one that comes twice", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "t120", type: "t" });
      const details = await refused(store.enqueueMany(specs(200)), "TASK_EXISTS");
      expect(details).toMatchObject({ id: "t120", state: "pending", index: 120 });
      expect(await store.counts()).toMatchObject({ pending: 121 });

      const twice = await refused(
        store.enqueueMany([
          { id: "x", type: "t" },
          { id: "y", type: "t" },
          { id: "x", type: "t" },
        ]),
        "TASK_EXISTS",
      );
      expect(twice.index).toBe(2);
      expect(await stateOf(store, "y")).toBe("pending");
      expect(
        await store.enqueueMany([...specs(200), ...specs(200)], { ifAbsent: true }),
      ).toMatchObject({ enqueued: 79, existed: 321 });
    });

    test("a stream that breaks off keeps all tasks before", async () => {
      const store = await run().open({ durability: "fast" });
      async function* stream() {
        yield* specs(130);
        throw new Error("the pipe broke");
      }
      await expect(store.enqueueMany(stream())).rejects.toThrow("the pipe broke");
      expect(await store.counts()).toMatchObject({ pending: 130 });
    });
  });
}
