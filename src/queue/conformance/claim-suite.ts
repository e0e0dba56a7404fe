import { describe, expect, test } from "vitest";
import { claimOne, idsOf, type MakeHarness, refOf, refused, useRun } from "./harness.ts";

export function claimSuite(make: MakeHarness): void {
  describe("claim", () => {
    const run = useRun(make);

    test("a claim names its task, worker, token and attempt, and show agrees", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const claim = await claimOne(store, "w1");
      expect(claim).toMatchObject({ worker: "w1", attempt: 1, task: { task_id: "a" } });
      expect(claim.token).not.toBe("");
      const view = await store.show("a");
      expect(view).toMatchObject({ state: "claimed", worker: "w1", token: claim.token });
      expect(await store.counts()).toMatchObject({ pending: 0, claimed: 1 });
    });

    test("marks differ by run, task and claim; the source is there while the task is", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", payload: { text: "as written" } });
      expect(await store.source("a")).toContain("as written");
      expect(await store.source("b")).toBeNull();
      const first = await claimOne(store);
      await store.release(refOf(first));
      const second = await claimOne(store);
      const marks = [first, second].map(({ token }) => store.claimMark({ id: "a", token }));
      marks.push(store.claimMark({ id: "b", token: first.token }));
      expect(new Set(marks).size).toBe(3);
    });

    test("nothing to claim is no error", async () => {
      const store = await run().open();
      expect(await store.claim({ worker: "w" })).toEqual([]);
      await store.enqueue({ id: "a", type: "t" });
      expect(await store.claim({ worker: "w", types: ["other"] })).toEqual([]);
      expect(await store.claim({ worker: "w", types: [] })).toHaveLength(1);
    });

    test("tasks that are waiting, in review, done or failed are not claimed", async () => {
      const store = await run().open();
      await store.enqueue({ id: "r", type: "t", review: true });
      await store.complete(refOf(await claimOne(store)));
      await store.enqueue({ id: "f", type: "t" });
      await store.fail(refOf(await claimOne(store)));
      await store.enqueue({ id: "d", type: "t" });
      await store.complete(refOf(await claimOne(store)));
      await store.enqueue({ id: "w", type: "t", depends_on: ["f"] });
      await store.enqueue({ id: "n", type: "t", not_before: "+1h" });
      expect(await store.claim({ worker: "w", max: 10 })).toEqual([]);
    });

    test("a bad request is refused and takes nothing", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      for (const worker of ["", ".w", "a/b", "../w", "x".repeat(129), "a\nb", "a\0b"]) {
        await refused(store.claim({ worker }), "INVALID");
      }
      for (const max of [0, -1, 1.5, Number.NaN]) {
        await refused(store.claim({ worker: "w", max }), "INVALID");
      }
      expect(await store.counts()).toMatchObject({ pending: 1, claimed: 0 });
    });

    test("each claim of a task has another token and a higher attempt", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "t" });
      const tokens = new Set<string>();
      for (let n = 1; n <= 20; n++) {
        const claim = await claimOne(store);
        expect(claim.attempt).toBe(n);
        tokens.add(claim.token);
        await store.release(refOf(claim));
      }
      expect(tokens.size).toBe(20);
    });

    test("nothing while review/ is full", async () => {
      const store = await run().open();
      const person = await run().open();
      for (let n = 0; n < 6; n++) await store.enqueue({ id: `t${n}`, type: "t", review: true });
      const limited = { worker: "w", reviewLimit: 2 };
      const [first] = await store.claim(limited);
      const [second] = await store.claim(limited);
      if (!first || !second) throw new Error("nothing was in review yet");
      await store.complete(refOf(first));
      const third = await claimOne(store, "w", limited);
      await store.complete(refOf(second));
      expect(await store.claim(limited)).toEqual([]);
      expect(await store.claim(limited)).toEqual([]);
      expect(await store.claim({ ...limited, reviewLimit: 3 })).toHaveLength(1);
      await person.approve("t0");
      expect(await store.claim(limited)).toHaveLength(1);
      await store.complete(refOf(third));
      expect(await store.claim({ ...limited, max: 5 })).toEqual([]);
      await person.reject("t2");
      await person.cancel("t1");
      expect(await store.claim({ ...limited, max: 5 })).toHaveLength(2);
      for (const reviewLimit of [0, -1, 1.5, Number.NaN]) {
        await refused(store.claim({ worker: "w", reviewLimit }), "INVALID");
        await refused(store.waitForWork({ timeoutMs: 20, reviewLimit }), "INVALID");
      }
    });

    test("one-shot commands share a name, one after the other and at once", async () => {
      const first = await run().open();
      const second = await run().open();
      for (const id of ["a", "b", "c"]) await first.enqueue({ id, type: "t" });
      expect(idsOf(await first.claim({ worker: "shell" }))).toEqual(["a"]);
      expect(idsOf(await second.claim({ worker: "shell" }))).toEqual(["b"]);
      await first.close();
      const third = await run().open();
      expect(idsOf(await third.claim({ worker: "shell" }))).toEqual(["c"]);
      // The process that finishes need not be the one that claimed, nor know the token.
      for (const id of ["a", "b", "c"]) await third.complete({ id, worker: "shell" });
      expect(await third.counts()).toMatchObject({ done: 3 });
    });
  });
}
