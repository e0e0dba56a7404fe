import { describe, expect, test } from "vitest";
import { claimOne, type MakeHarness, refOf, refused, stateOf, useRun } from "./harness.ts";

export function pauseSuite(make: MakeHarness): void {
  describe("a pause", () => {
    const run = useRun(make);

    test("nothing is claimed by any process, and what runs ends as usual", async () => {
      const store = await run().open();
      const other = await run().open();
      for (const id of ["a", "b"]) await store.enqueue({ id, type: "t" });
      const claim = await claimOne(store);
      expect(await store.paused()).toBeNull();
      expect(await other.pause({ by: "pia", note: "lunch" })).toMatchObject({ note: "lunch" });
      for (const one of [store, other, await run().open()]) {
        expect(await one.claim({ worker: "w2", max: 5 })).toEqual([]);
        expect(await one.paused()).toMatchObject({ by: "pia", note: "lunch" });
      }
      expect(await store.waitForWork({ timeoutMs: 1 })).toBe(false);
      expect(await store.complete(refOf(claim))).toMatchObject({ to: "done" });
      await store.enqueue({ id: "c", type: "t" });
      expect(await stateOf(store, "c")).toBe("pending");
    });

    test("the first time counts, and the last note", async () => {
      const store = await run().open();
      const { at } = await store.pause({ by: "pia", note: "lunch" });
      run().clock.advance(60_000);
      expect(await store.pause({ by: "moss" })).toEqual({ by: "moss", at, note: "lunch" });
      expect(await store.pause({ note: "dinner" })).toEqual({ by: "moss", at, note: "dinner" });
    });

    test("after it, tasks come in the order in which they would have come", async () => {
      const store = await run().open();
      for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
      await store.pause();
      expect(await store.claim({ worker: "w" })).toEqual([]);
      expect(await store.resume({ by: "pia" })).toMatchObject({ by: "someone" });
      expect(await store.resume()).toBeNull();
      const claims = await store.claim({ worker: "w", max: 3 });
      expect(claims.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    });

    test("a waiting worker wakes when it ends", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.pause();
      const waiting = store.waitForWork({ timeoutMs: 50_000 });
      await store.resume();
      expect(await waiting).toBe(true);
    });

    test.each([{}, { worker: "w" }])("a waiting worker wakes when it begins: %j", async (whose) => {
      const store = await run().open();
      const registration = await store.register("w");
      const waiting = store.waitForWork({ worker: "w", timeoutMs: 1_000_000 });
      await store.pause(whose);
      expect(await waiting).toBe(false);
      const again = store.waitForWork({ worker: "w", timeoutMs: 1_000_000 });
      await store.resume(whose);
      expect(await again).toBe(false); // nothing is pending
      await registration.release();
    });

    test("of one worker: it claims nothing in any process, the others go on, what it has ends as usual", async () => {
      const store = await run().open();
      const other = await run().open();
      for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
      const claim = await claimOne(store, "w");
      expect(await store.paused("w")).toBeNull();
      expect(await other.pause({ worker: "w", by: "pia", note: "odd" })).toMatchObject({
        note: "odd",
      });
      for (const one of [store, other, await run().open()]) {
        expect(await one.claim({ worker: "w", max: 5 })).toEqual([]);
        expect(await one.paused("w")).toMatchObject({ by: "pia", note: "odd" });
        expect(await one.paused()).toBeNull();
        expect(await one.paused("w2")).toBeNull();
      }
      expect(await store.waitForWork({ worker: "w", timeoutMs: 1 })).toBe(false);
      expect(await store.waitForWork({ worker: "w2", timeoutMs: 1 })).toBe(true);
      const view = async (name: string) =>
        (await store.workers()).find((one) => one.name === name)?.paused;
      expect(await view("w")).toMatchObject({ by: "pia", note: "odd" });
      expect((await claimOne(store, "w2")).id).toBe("b");
      expect(await view("w2")).toBeNull();
      expect(await store.complete(refOf(claim))).toMatchObject({ to: "done" });
      // Its claims are gone, its pause is not.
      expect(await view("w")).toMatchObject({ by: "pia" });
      expect(await other.resume({ worker: "w", by: "moss" })).toMatchObject({ by: "pia" });
      expect(await other.resume({ worker: "w" })).toBeNull();
      expect((await claimOne(store, "w")).id).toBe("c");
    });

    test("of one worker: it wakes when that ends, and a run's pause is another", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.pause({ worker: "w" });
      const waiting = store.waitForWork({ worker: "w", timeoutMs: 50_000 });
      await store.pause({ by: "pia" });
      await store.resume({ worker: "w" });
      expect(await store.claim({ worker: "w" })).toEqual([]);
      await store.resume();
      expect(await waiting).toBe(true);
      expect((await claimOne(store, "w")).id).toBe("a");
    });

    test("of one worker: it outlives the worker, and its next process", async () => {
      const store = await run().open();
      const worker = await run().open();
      await worker.register("w");
      await worker.enqueue({ id: "a", type: "t" });
      const { id } = await claimOne(worker, "w");
      await store.pause({ worker: "w", by: "pia" });
      run().kill(worker);
      await store.reap();
      expect(await stateOf(store, id)).toBe("pending");
      expect(await store.paused("w")).toMatchObject({ by: "pia" });
      const next = await run().open();
      await next.register("w");
      expect(await next.claim({ worker: "w" })).toEqual([]);
      await refused(store.pause({ worker: "../w" }), "INVALID");
      expect((await store.doctor()).findings).toEqual([]);
    });

    test("the ledger has both", async () => {
      const store = await run().open();
      await store.pause({ by: "pia", note: "n" });
      await store.resume({ by: "moss" });
      const lines = [];
      for await (const line of store.ledger()) lines.push(line);
      expect(lines).toMatchObject([
        { event: "paused", by: "pia", note: "n" },
        { event: "resumed", by: "moss" },
      ]);
      await store.pause({ worker: "w", by: "pia" });
      await store.resume({ worker: "w", by: "moss" });
      const all = [];
      for await (const line of store.ledger()) all.push(line);
      expect(all.slice(2)).toMatchObject([
        { event: "paused", worker: "w", by: "pia" },
        { event: "resumed", worker: "w", by: "moss" },
      ]);
    });
  });

  describe("proof", () => {
    const run = useRun(make);

    test("an end without the proof that is asked for is recorded as that, and not approved", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", done_when: "true", review: true });
      await store.complete(refOf(await claimOne(store)));
      expect(await store.attemptsOf("a")).toMatchObject([{ unproven: "no proof ran" }]);
      await refused(store.approve("a"), "UNPROVEN");
      expect(await store.approve("a", { unproven: true })).toMatchObject({ to: "done" });
      const lines = [];
      for await (const line of store.ledger({ task: "a" })) lines.push(line);
      expect(lines.at(-1)).toMatchObject({ event: "approved", unproven: "no proof ran" });
    });

    test("a passed proof is recorded with its commit", async () => {
      const store = await run().open();
      for (const inBackground of [false, true]) {
        const id = `a-${inBackground}`;
        await store.enqueue({ id, type: "t", done_when: "true" });
        const claim = refOf(await claimOne(store));
        await store.complete(claim, { proof: { commit: "c0ffee" }, inBackground });
        expect(await store.attemptsOf(id)).toMatchObject([{ proof: "passed", commit: "c0ffee" }]);
      }
    });

    test("work that was handed in is pending again, and costs no attempt", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", done_when: "true" });
      const ref = refOf(await claimOne(store));
      const left = await store.complete(ref, { handIn: true, note: "mine" });
      expect(left).toMatchObject({ from: "claimed", to: "pending", attempt: 1 });
      // Asked for again without an answer, it is made once.
      expect(await store.complete(ref, { handIn: true })).toMatchObject({ to: "pending" });
      const history = (await store.show("a"))?.history ?? [];
      expect(history).toMatchObject([{ outcome: "handed_in", note: "mine" }]);
      const again = await claimOne(store, "w2");
      expect(again.attempt).toBe(2);
      expect(await store.fail(refOf(again), { maxAttempts: 2 })).toMatchObject({ to: "waiting" });
    });

    test("a live worker's claim needs its token, for everything but its own process", async () => {
      const worker = await run().open();
      const shell = await run().open();
      await worker.register("w");
      await worker.enqueue({ id: "a", type: "t" });
      const { token } = await claimOne(worker, "w");
      const named = { id: "a", worker: "w" };
      for (const act of [shell.complete(named), shell.fail(named), shell.release(named)]) {
        await refused(act, "WORKER_TAKEN");
      }
      await refused(shell.heartbeat("w"), "WORKER_TAKEN");
      await refused(shell.heartbeat("w", { token: "1" }), "WORKER_TAKEN");
      await shell.heartbeat("w", { token });
      expect(await shell.complete({ ...named, token })).toMatchObject({ to: "done" });
      await worker.enqueue({ id: "b", type: "t" });
      await claimOne(worker, "w");
      expect(await worker.complete({ id: "b", worker: "w" })).toMatchObject({ to: "done" });
      // Dead, it holds nothing back: its claim is a shell's again.
      await worker.enqueue({ id: "c", type: "t" });
      await claimOne(worker, "w");
      run().kill(worker);
      expect(await shell.complete({ id: "c", worker: "w" })).toMatchObject({ to: "done" });
    });
  });

  describe("cancelled", () => {
    const run = useRun(make);
    const words = async (id: string) => {
      const store = await run().open();
      const view = await store.show(id);
      const { failed, cancelled } = await store.counts();
      const listed = [];
      for await (const one of store.list({ states: ["failed"], cancelled: true })) listed.push(one);
      expect(listed.some((one) => one.id === id)).toBe(view?.cancelled === true);
      return [view?.state, view?.cancelled === true, failed, cancelled];
    };

    test("is told from failed, until the task comes back", async () => {
      const store = await run().open();
      for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
      await store.cancel("a");
      expect(await words("a")).toEqual(["failed", true, 1, 1]);
      await store.fail(refOf(await claimOne(store)), { maxAttempts: 1 });
      expect(await words("b")).toEqual(["failed", false, 2, 1]);
      await claimOne(store);
      await store.cancel("c");
      expect(await words("c")).toEqual(["failed", true, 3, 2]);
      await store.retry("a");
      expect(await words("a")).toEqual(["pending", false, 2, 1]);
      await store.fail(refOf(await claimOne(store)), { maxAttempts: 1 });
      expect(await words("a")).toEqual(["failed", false, 3, 1]);
    });

    test("a task that fails with its dependency is failed", async () => {
      const store = await run().open({ onDependencyFailed: "fail" });
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await store.cancel("a");
      expect(await words("b")).toEqual(["failed", false, 2, 1]);
    });
  });
}
