import { describe, expect, test } from "vitest";
import { TASK_STATES, type TaskEvent, type TaskState, TRANSITIONS } from "../states.ts";
import {
  bringInto,
  claimOne,
  ledgerOf,
  type MakeHarness,
  refOf,
  refused,
  stateOf,
  useRun,
} from "./harness.ts";

const DECISIONS = [
  ...(["cancel", "retry", "approve", "reject", "rework", "resolve"] as const),
] satisfies TaskEvent[];
const CASES = TASK_STATES.flatMap((state) => DECISIONS.map((event) => ({ state, event })));

export function decideSuite(make: MakeHarness): void {
  describe("decisions of people", () => {
    const run = useRun(make);

    test.each(CASES)("$event of a task that is $state", async ({ state, event }) => {
      const store = await run().open();
      await bringInto(store, "a", state);
      const before = await store.show("a");
      const targets: readonly TaskState[] = TRANSITIONS[state][event];
      if (targets.length === 0) {
        const details = await refused(store[event]("a"), "WRONG_STATE");
        expect(details).toMatchObject({ id: "a", state, event });
        expect(await store.show("a")).toEqual(before);
        return;
      }
      const ended = await store[event]("a", { by: "me", note: "because" });
      expect(ended).toMatchObject({ id: "a", from: state });
      expect(targets).toContain(ended.to);
      expect(await stateOf(store, "a")).toBe(ended.to);
    });

    test.each(DECISIONS)("%s of an unknown task", async (event) => {
      const store = await run().open();
      await refused(store[event]("unknown"), "TASK_NOT_FOUND");
      await refused(store[event]("../a"), "INVALID");
    });

    test("rejected: back to the queue with the note, as a new attempt", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", review: true });
      const first = await claimOne(store);
      await store.complete(refOf(first));
      expect(await store.reject("a", { by: "me", note: "too short" })).toMatchObject({
        from: "review",
        to: "pending",
        attempt: 1,
      });
      const second = await claimOne(store);
      expect(second.attempt).toBe(2);
      expect((await store.show("a"))?.history).toMatchObject([
        { attempt: 1, outcome: "done", to: "review", token: first.token },
        { retried: true, by: "me", note: "too short" },
      ]);
      await store.complete(refOf(second));
      expect(await store.approve("a", { by: "me" })).toMatchObject({ to: "done", attempt: 2 });
      expect(await store.attemptsOf("a")).toHaveLength(2);
    });

    test("resolved: done, by a person's word, and unproven if it has a proof", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", done_when: "true" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await store.fail(refOf(await claimOne(store)), { final: true });
      expect(await store.resolve("a", { by: "me", note: "by hand" })).toMatchObject({
        ...{ from: "failed", to: "done", attempt: 1 },
      });
      expect((await ledgerOf(store, "a")).at(-1)).toMatchObject({
        ...{ event: "approved", from: "failed", to: "done", by: "me", note: "by hand" },
        unproven: expect.any(String),
      });
      expect((await claimOne(store)).id).toBe("b");
      expect((await store.doctor()).findings).toEqual([]);
      expect(await store.rework("a")).toMatchObject({ to: "pending" });
      expect((await claimOne(store)).attempt).toBe(2);
    });

    test("reworked: back to the queue with the note, and attempts count anew", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 2 });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      const first = await claimOne(store);
      await store.complete(refOf(first));
      const dependent = await claimOne(store);
      await store.complete(refOf(dependent));
      const note = "conflict with main in a.ts";
      expect(await store.rework("a", { by: "merge", note, why: "conflict" })).toMatchObject({
        from: "done",
        to: "pending",
        attempt: 1,
      });
      expect(await stateOf(store, "b"), "a dependent that ran is left alone").toBe("done");
      expect((await ledgerOf(store, "a")).at(-1)).toMatchObject({
        ...{ event: "reworked", from: "done", to: "pending", by: "merge", note, why: "conflict" },
      });
      expect((await store.show("a"))?.history).toMatchObject([
        { attempt: 1, outcome: "done", to: "done", token: first.token },
        { retried: true, by: "merge", note },
      ]);
      await store.flushStatus();
      expect((await store.readStatus())?.checkpoint.completed_tasks ?? []).not.toContain("a");
      const second = await claimOne(store);
      expect(second.attempt).toBe(2);
      expect(await store.fail(refOf(second))).toMatchObject({ to: "waiting" });
      run().clock.advance(3_600_000);
      expect(await store.complete(refOf(await claimOne(store)))).toMatchObject({
        to: "done",
        attempt: 3,
      });
      expect(await store.rework("a")).toMatchObject({ from: "done", to: "pending", attempt: 3 });
    });

    test("reworked with a dependency that is back as well: waits for it", async () => {
      const store = await run().open();
      await bringInto(store, "a", "done");
      await bringInto(store, "b", "done", { depends_on: ["a"] });
      await store.rework("a");
      await store.flushStatus();
      expect(await store.rework("b")).toMatchObject({ to: "waiting" });
      await store.complete(refOf(await claimOne(store)));
      expect((await claimOne(store)).task.task_id).toBe("b");
    });

    test("reworked while a task waits for it and another: that waits for both", async () => {
      const store = await run().open();
      await bringInto(store, "a", "done");
      await bringInto(store, "b", "pending");
      await store.enqueue({ id: "c", type: "t", depends_on: ["a", "b"] });
      const b = await claimOne(store);
      await store.rework("a");
      await store.complete(refOf(b));
      expect(await stateOf(store, "c")).toBe("waiting");
      expect((await store.doctor()).findings).toEqual([]);
      await store.complete(refOf(await claimOne(store)));
      expect(await stateOf(store, "c")).toBe("pending");
    });

    test("reworked while a task that had begun rests: that waits for it too", async () => {
      const store = await run().open();
      await bringInto(store, "a", "done");
      await store.enqueue({ id: "c", type: "t", depends_on: ["a"], max_attempts: 3 });
      const c = await claimOne(store);
      await store.rework("a");
      await store.fail(refOf(c));
      expect((await store.doctor()).findings).toEqual([]);
      run().clock.advance(3_600_000);
      const a = await claimOne(store);
      expect(a.task.task_id).toBe("a");
      expect((await store.doctor()).findings).toEqual([]);
      await store.complete(refOf(a));
      expect(await stateOf(store, "c")).toBe("pending");
    });

    test("reworked by two at the same moment: it goes back once", async () => {
      const [one, two] = await Promise.all([run().open(), run().open()]);
      await bringInto(one, "a", "done");
      const settled = await Promise.allSettled([one.rework("a"), two.rework("a")]);
      expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect((await ledgerOf(one, "a")).filter(({ event }) => event === "reworked")).toHaveLength(
        1,
      );
    });

    test("cancelled in the queue, it is not claimed any more", async () => {
      const store = await run().open();
      for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
      await store.cancel("b");
      expect(await store.claim({ worker: "w", max: 5 })).toHaveLength(2);
      await store.retry("b");
      expect((await claimOne(store)).task.task_id).toBe("b");
    });

    test("cancelled while claimed: recorded with the attempt", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const { token } = await claimOne(store, "w1");
      await store.cancel("a", { by: "me", note: "no need" });
      expect(await store.attemptsOf("a")).toMatchObject([
        { outcome: "cancelled", to: "failed", worker: "w1", token, note: "no need" },
      ]);
    });

    test("a decision and its opposite at the same moment: one of them happens", async () => {
      const [one, two] = await Promise.all([run().open(), run().open()]);
      for (let n = 0; n < 10; n++) {
        const id = `a${n}`;
        await bringInto(one, id, "review");
        const settled = await Promise.allSettled([one.approve(id), two.reject(id), one.cancel(id)]);
        const state = await stateOf(one, id);
        expect(settled.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
        expect(["done", "pending", "failed"]).toContain(state);
        if (state === "pending") await one.cancel(id);
      }
    });
  });
}
