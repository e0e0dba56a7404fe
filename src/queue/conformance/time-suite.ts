import { describe, expect, test } from "vitest";
import { claimOne, drain, idsOf, type MakeHarness, refOf, stateOf, useRun } from "./harness.ts";

const MINUTE = 60_000;

export function timeSuite(make: MakeHarness): void {
  describe("time", () => {
    const run = useRun(make);

    test("not before its time, and then at once", async () => {
      const store = await run().open();
      const at = new Date(run().clock.now() + 10 * MINUTE).toISOString();
      expect(await store.enqueue({ id: "a", type: "t", not_before: at })).toMatchObject({
        state: "waiting",
      });
      run().clock.advance(10 * MINUTE - 1);
      expect(await store.claim({ worker: "w" })).toEqual([]);
      run().clock.advance(1000);
      expect(idsOf(await store.claim({ worker: "w" }))).toEqual(["a"]);
    });

    test("a task whose time has passed is pending at once", async () => {
      const store = await run().open();
      const at = new Date(run().clock.now() - 1).toISOString();
      expect(await store.enqueue({ id: "a", type: "t", not_before: at })).toMatchObject({
        state: "pending",
      });
    });

    test("many times, each at its own", async () => {
      const store = await run().open({ durability: "fast" });
      for (const minutes of [5, 1, 3, 200, 2, 4]) {
        await store.enqueue({ id: `m${minutes}`, type: "t", not_before: `+${minutes}m` });
      }
      for (const minutes of [1, 2, 3, 4, 5]) {
        run().clock.advance(MINUTE);
        expect(await drain(store)).toEqual([`m${minutes}`]);
      }
      run().clock.advance(195 * MINUTE);
      expect(await drain(store)).toEqual(["m200"]);
    });

    test("its time and its dependencies must both have come", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"], not_before: "+10m" });
      await store.enqueue({ id: "c", type: "t", depends_on: ["b"], not_before: "+5m" });
      await store.complete(refOf(await claimOne(store)));
      expect(await store.claim({ worker: "w" })).toEqual([]);
      run().clock.advance(6 * MINUTE);
      expect(await store.claim({ worker: "w" })).toEqual([]);
      run().clock.advance(6 * MINUTE);
      await store.complete(refOf(await claimOne(store)));
      expect(await drain(store)).toEqual(["c"]);
    });

    test("another process, or the sweep, promotes due tasks", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", not_before: "+10m" });
      await store.close();
      run().clock.advance(11 * MINUTE);
      const other = await run().open();
      expect(await other.sweep()).toMatchObject({ promoted: 1 });
      expect(await stateOf(other, "a")).toBe("pending");
    });

    test("a retry does not make its time come", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", not_before: "+10m" });
      await store.cancel("a");
      expect(await store.retry("a")).toMatchObject({ to: "waiting" });
      expect(await store.claim({ worker: "w" })).toEqual([]);
      run().clock.advance(11 * MINUTE);
      expect(await drain(store)).toEqual(["a"]);
    });

    test("a clock that is set back delays, one that is set forward hastens: none is lost", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", not_before: "+10m" });
      run().clock.jumpWall(-86_400_000 * 3);
      await store.enqueue({ id: "b", type: "t", not_before: "+10m" });
      run().clock.advance(11 * MINUTE);
      expect(await drain(store)).toEqual(["b"]);
      run().clock.jumpWall(86_400_000 * 30);
      expect(await drain(store)).toEqual(["a"]);
    });
  });
}
