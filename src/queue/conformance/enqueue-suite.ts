import { describe, expect, test } from "vitest";
import { TASK_STATES } from "../states.ts";
import type { Enqueued } from "../store.ts";
import { bringInto, claimOne, type MakeHarness, refused, stateOf, useRun } from "./harness.ts";

export function enqueueSuite(make: MakeHarness): void {
  describe("enqueue", () => {
    const run = useRun(make);

    test("a task is pending, and shown as it was given", async () => {
      const store = await run().open();
      const enqueued = await store.enqueue({ id: "a", type: "t", payload: { goal: "x" } });
      expect(enqueued).toEqual({ id: "a", state: "pending", created: true });
      const view = await store.show("a");
      expect(view).toMatchObject({ id: "a", state: "pending", history: [] });
      expect(view?.task).toEqual({
        task_id: "a",
        task_type: "t",
        run_id: store.runId,
        created_at: new Date(run().clock.now()).toISOString(),
        created_by: null,
        depends_on: [],
        payload: { goal: "x" },
        tier_hint: null,
        deadline: null,
      });
    });

    test("a missing id is generated, another one each time", async () => {
      const store = await run().open();
      const ids = new Set<string>();
      for (let n = 0; n < 50; n++) ids.add((await store.enqueue({ type: "t" })).id);
      expect(ids.size).toBe(50);
    });

    test("all properties of a task are kept", async () => {
      const store = await run().open();
      const now = run().clock.now();
      await store.enqueue({
        id: "a",
        type: "code/review:v2@x+y",
        payload: { text: "ünï \u{1F40D} \ud800", deep: [{ a: [null, true, 1.5] }] },
        depends_on: ["b", "c", "b"],
        priority: "high",
        not_before: "+10m",
        tier_hint: "haiku",
        deadline: "2031-01-02T03:04:05+02:00",
        created_by: "me",
        parent: "p",
        done_when: "test -f out",
        review: true,
        max_attempts: 3,
        timeout: "10m",
        extra: { mine: { kept: true }, "x-y": [1, 2] },
      });
      expect((await store.show("a"))?.task).toEqual({
        task_id: "a",
        task_type: "code/review:v2@x+y",
        run_id: store.runId,
        created_at: new Date(now).toISOString(),
        created_by: "me",
        depends_on: ["b", "c"],
        payload: { text: "ünï \u{1F40D} \ud800", deep: [{ a: [null, true, 1.5] }] },
        tier_hint: "haiku",
        deadline: "2031-01-02T01:04:05.000Z",
        priority: "high",
        not_before: new Date(now + 600_000).toISOString(),
        parent: "p",
        done_when: "test -f out",
        review: true,
        max_attempts: 3,
        timeout: "10m",
        mine: { kept: true },
        "x-y": [1, 2],
      });
    });

    test("a claim returns the task as enqueued, unknown keys included", async () => {
      const store = await run().open();
      const big = "x".repeat(20_000);
      for (const [id, payload] of Object.entries({ small: { a: 1 }, large: { big } })) {
        await store.enqueue({ id, type: "t", payload, extra: { mine: [id] } });
        const { task } = await claimOne(store);
        expect(task).toEqual((await store.show(id))?.task);
        expect(task).toMatchObject({ task_id: id, payload, mine: [id] });
      }
    });

    test("a payload key __proto__ is a key like any other", async () => {
      const store = await run().open();
      const text =
        '{"__proto__":{"polluted":1},"constructor":{"prototype":2},"b":[{"__proto__":3}]}';
      await store.enqueue({
        id: "a",
        type: "t",
        payload: JSON.parse(text) as Record<string, unknown>,
        extra: JSON.parse('{"__proto__":{"also":1},"k":2}') as Record<string, unknown>,
      });
      const { task } = await claimOne(store);
      const kept = JSON.parse(JSON.stringify(task.payload)) as unknown;
      expect(JSON.stringify(sorted(kept))).toBe(JSON.stringify(sorted(JSON.parse(text))));
      expect(Object.getOwnPropertyDescriptor(task, "__proto__")?.value).toEqual({ also: 1 });
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    });

    test("many processes enqueue one id at the same moment: exactly one wins", async () => {
      const stores = await Promise.all(Array.from({ length: 5 }, () => run().open()));
      for (let round = 0; round < 10; round++) {
        const id = `same-${round}`;
        const settled = await Promise.allSettled(
          stores.flatMap((store) => [
            store.enqueue({ id, type: "t" }),
            store.enqueue({ id, type: "t", depends_on: ["later"] }),
          ]),
        );
        const won = settled.filter((one) => one.status === "fulfilled");
        expect(won).toHaveLength(1);
        for (const one of settled) {
          if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "TASK_EXISTS" });
        }
        const { state } = (won[0] as PromiseFulfilledResult<Enqueued>).value;
        expect(await stateOf(stores[0] as (typeof stores)[0], id)).toBe(state);
      }
    });

    test.each(TASK_STATES)(
      "an id that is %s is refused, and the error names its state",
      async (state) => {
        const store = await run().open();
        await bringInto(store, "a", state);
        const before = await store.show("a");
        const details = await refused(store.enqueue({ id: "a", type: "other" }), "TASK_EXISTS");
        expect(details).toMatchObject({ id: "a", state });
        expect(details.message).toContain(state);
        if (state === "claimed") expect(details.worker).toBe("worker-of-a");

        const again = await store.enqueue({ id: "a", type: "other" }, { ifAbsent: true });
        expect(again).toEqual({ id: "a", state, created: false });
        const other = await run().open();
        await refused(other.enqueue({ id: "a", type: "t", depends_on: ["z"] }), "TASK_EXISTS");
        expect(await store.show("a")).toEqual(before);
      },
    );

    test("a refused task leaves nothing behind", async () => {
      const store = await run().open();
      await refused(store.enqueue({ id: "../x", type: "t" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", depends_on: ["a/b"] }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", parent: ".p" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", not_before: "soon" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", deadline: "2026-01-01" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", done_when: " " }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", timeout: "0s" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", max_attempts: 0 }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", priority: "urgent" as "high" }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", payload: [] as never }), "INVALID");
      await refused(store.enqueue({ id: "a", type: "t", prio: "high" } as never), "INVALID");
      for (const n of Object.values(await store.counts())) expect(n).toBe(0);
      expect(await store.enqueue({ id: "a", type: "t" })).toMatchObject({ created: true });
    });

    test("a time too far away to be written is refused, not a crash", async () => {
      const store = await run().open();
      await refused(store.enqueue({ type: "t", not_before: "+999999999999d" }), "INVALID");
    });

    test("both durabilities publish", async () => {
      const store = await run().open({ durability: "safe" });
      await store.enqueue({ id: "a", type: "t" }, { durability: "fast" });
      await store.enqueue({ id: "b", type: "t" }, { durability: "safe" });
      await store.enqueue({ id: "c", type: "t", depends_on: ["a"] }, { durability: "safe" });
      expect(await store.counts()).toMatchObject({ pending: 2, waiting: 1 });
    });
  });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, v]) => [key, sorted(v)]);
}
