import { describe, expect, test } from "vitest";
import { claimOne, drain, type MakeHarness, refOf, refused, stateOf, useRun } from "./harness.ts";

export function dependenciesSuite(make: MakeHarness): void {
  describe("dependencies", () => {
    const run = useRun(make);

    async function finish(store: Awaited<ReturnType<ReturnType<typeof run>["open"]>>, id: string) {
      const claim = await claimOne(store);
      expect(claim.task.task_id).toBe(id);
      await store.complete(refOf(claim));
    }

    test("a task waits until the last of its dependencies is done", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "b", type: "t" });
      expect(await store.enqueue({ id: "c", type: "t", depends_on: ["a", "b"] })).toEqual({
        id: "c",
        state: "waiting",
        created: true,
      });
      await finish(store, "a");
      expect(await stateOf(store, "c")).toBe("waiting");
      await finish(store, "b");
      expect(await stateOf(store, "c")).toBe("pending");
      await finish(store, "c");
    });

    test("a task whose dependencies are done is pending at once", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await finish(store, "a");
      const b = await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      expect(b.state).toBe("pending");
    });

    test("one on an id that is not there yet is allowed, and met later", async () => {
      const store = await run().open();
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      const task = (await store.show("b"))?.task;
      if (!task) throw new Error("b has gone");
      expect(await store.dependencies(task)).toMatchObject([
        { id: "a", met: false, state: "unknown" },
      ]);
      expect(await store.claim({ worker: "w" })).toEqual([]);
      await store.enqueue({ id: "a", type: "t" });
      expect(await store.dependencies(task)).toMatchObject([
        { id: "a", met: false, state: "pending" },
      ]);
      const claim = await claimOne(store, "w7");
      expect(await store.dependencies(task)).toMatchObject([
        { id: "a", met: false, state: "claimed", worker: "w7" },
      ]);
      await store.complete(refOf(claim));
      expect(await store.dependencies(task)).toMatchObject([{ id: "a", met: true, state: "done" }]);
      await finish(store, "b");
    });

    test("a cancelled one is told from one that failed", async () => {
      const store = await run().open();
      for (const id of ["stopped", "broken"]) await store.enqueue({ id, type: "t" });
      await store.cancel("stopped");
      await store.fail(refOf(await claimOne(store, "w")), { final: true });
      const facts = await store.dependencies({ depends_on: ["stopped", "broken"] });
      expect(facts.map(({ state, cancelled }) => [state, cancelled])).toEqual([
        ["failed", true],
        ["failed", undefined],
      ]);
    });

    test("a graph is worked off in an order that respects it", async () => {
      const store = await run().open({ durability: "fast" });
      const edges: Record<string, string[]> = {
        g: ["e", "f"],
        f: ["c", "d"],
        e: ["b", "c"],
        d: ["a"],
        c: ["a"],
        b: ["a"],
        a: [],
      };
      for (const [id, depends_on] of Object.entries(edges)) {
        await store.enqueue({ id, type: "t", depends_on });
      }
      const order: string[] = [];
      for (;;) {
        const [claim] = await store.claim({ worker: "w" });
        if (!claim) break;
        order.push(claim.task.task_id);
        await store.complete(refOf(claim));
      }
      expect([...order].sort()).toEqual(Object.keys(edges).sort());
      for (const [id, before] of Object.entries(edges)) {
        for (const one of before) expect(order.indexOf(one)).toBeLessThan(order.indexOf(id));
      }
    });

    test("a thousand that wait for one all wake", async () => {
      const store = await run().open({ durability: "fast" });
      const ids = Array.from({ length: 1000 }, (_, n) => `d${n}`);
      await store.enqueueMany(ids.map((id) => ({ id, type: "t", depends_on: ["hub"] })));
      await store.enqueue({ id: "hub", type: "t" });
      await finish(store, "hub");
      expect((await drain(store)).sort()).toEqual([...ids].sort());
    });

    test("a failed dependency keeps its dependents waiting; a retry that succeeds frees them", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await store.fail(refOf(await claimOne(store)), { maxAttempts: 1 });
      expect(await stateOf(store, "b")).toBe("waiting");
      expect(await store.claim({ worker: "w" })).toEqual([]);
      await store.retry("a");
      await finish(store, "a");
      await finish(store, "b");
    });

    test("in review is not done yet", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", review: true });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await finish(store, "a");
      expect(await stateOf(store, "b")).toBe("waiting");
      await store.approve("a");
      expect(await stateOf(store, "b")).toBe("pending");
    });

    test("with onDependencyFailed = fail, tasks that wait for it fail too, and so on", async () => {
      const store = await run().open({ onDependencyFailed: "fail" });
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await store.enqueue({ id: "c", type: "t", depends_on: ["b"] });
      await store.enqueue({ id: "d", type: "t", depends_on: ["other"] });
      await store.fail(refOf(await claimOne(store)), { maxAttempts: 1 });
      expect(await store.counts()).toMatchObject({ failed: 3, waiting: 1 });
      // Sent round again, b waits for a as before.
      expect(await store.retry("b")).toMatchObject({ to: "waiting" });
      await store.retry("a");
      await finish(store, "a");
      await finish(store, "b");
    });

    test("one on itself is refused, with the cycle", async () => {
      const store = await run().open();
      const details = await refused(
        store.enqueue({ id: "a", type: "t", depends_on: ["b", "a"] }),
        "DEPENDENCY_CYCLE",
      );
      expect(details.cycle).toEqual(["a", "a"]);
      expect(await store.show("a")).toBeNull();
      expect(await store.enqueue({ id: "a", type: "t" })).toMatchObject({ created: true });
    });

    test.each([2, 3, 7])(
      "a cycle of %i is refused with all of it, and leaves no trace",
      async (n) => {
        const store = await run().open();
        // c0 waits for c1, … and the last would wait for c0.
        for (let i = 0; i < n - 1; i++) {
          await store.enqueue({ id: `c${i}`, type: "t", depends_on: ["out", `c${i + 1}`] });
        }
        const last = `c${n - 1}`;
        const details = await refused(
          store.enqueue({ id: last, type: "t", depends_on: ["out", "c0"] }),
          "DEPENDENCY_CYCLE",
        );
        const round = Array.from({ length: n }, (_, i) => `c${i}`);
        expect(details.cycle).toEqual([last, ...round]);
        for (const id of round) expect(details.message).toContain(id);
        expect(await store.show(last)).toBeNull();
        const bulk = store.enqueueMany([{ id: last, type: "t", depends_on: ["c0"] }]);
        await refused(bulk, "DEPENDENCY_CYCLE");
        // Without the closing edge it is accepted.
        expect(await store.enqueue({ id: last, type: "t" })).toMatchObject({ created: true });
      },
    );

    test("a retried task does not close a cycle either", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", depends_on: ["b"] });
      await store.cancel("a");
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      const details = await refused(store.retry("a"), "DEPENDENCY_CYCLE");
      expect(details.cycle).toEqual(["a", "b", "a"]);
      expect(await stateOf(store, "a")).toBe("failed");
      await store.cancel("b");
      expect(await store.retry("a")).toMatchObject({ to: "waiting" });
    });

    test("a diamond of dependencies is no cycle", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", depends_on: ["c", "d"] });
      await store.enqueue({ id: "b", type: "t", depends_on: ["c", "d"] });
      await store.enqueue({ id: "c", type: "t", depends_on: ["d"] });
      await store.enqueue({ id: "d", type: "t", depends_on: ["e"] });
      expect(await store.counts()).toMatchObject({ waiting: 4 });
    });

    test("two processes that close a cycle at the same moment do not both succeed", async () => {
      const [one, two] = await Promise.all([run().open(), run().open()]);
      const settled = await Promise.allSettled([
        one.enqueue({ id: "a", type: "t", depends_on: ["b"] }),
        two.enqueue({ id: "b", type: "t", depends_on: ["a"] }),
      ]);
      expect(settled.some(({ status }) => status === "rejected")).toBe(true);
    });

    test("no wake-up is lost between a completion and an enqueue in another process", async () => {
      const [one, two] = await Promise.all([
        run().open({ durability: "fast" }),
        run().open({ durability: "fast" }),
      ]);
      for (let n = 0; n < 30; n++) {
        await one.enqueue({ id: `a${n}`, type: "t" });
        const claim = await claimOne(one);
        await Promise.all([
          one.complete(refOf(claim)),
          two.enqueue({ id: `b${n}`, type: "t", depends_on: [`a${n}`] }),
        ]);
        expect(await stateOf(one, `b${n}`)).toBe("pending");
        await one.complete(refOf(await claimOne(one)));
      }
    });
  });
}
