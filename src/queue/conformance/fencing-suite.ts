import { describe, expect, test } from "vitest";
import { claimOne, type MakeHarness, refOf, refused, stateOf, useRun } from "./harness.ts";

const HOUR = 3_600_000;

export function fencingSuite(make: MakeHarness): void {
  describe("fencing", () => {
    const run = useRun(make);

    test("an old token is refused, also when the same worker has claimed the task again", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const old = refOf(await claimOne(store));
      await store.release(old);
      const current = refOf(await claimOne(store));
      expect(current).not.toEqual(old);
      for (const finish of [store.complete(old), store.fail(old), store.release(old)]) {
        expect(await refused(finish, "CLAIM_LOST")).toMatchObject({ state: "claimed" });
      }
      expect(await store.show("a")).toMatchObject({ state: "claimed", token: current.token });
      expect(await store.complete(current)).toMatchObject({ to: "done", attempt: 2 });
    });

    test("a stale worker that wakes up finds its finish refused", async () => {
      const sleeper = await run().open();
      const reaper = await run().open();
      await sleeper.enqueue({ id: "a", type: "t" });
      const old = refOf(await claimOne(sleeper, "w1"));
      run().clock.advance(HOUR);
      expect((await reaper.reap()).reaped).toMatchObject([{ id: "a", to: "pending" }]);
      await refused(sleeper.complete(old), "CLAIM_LOST");
      expect(await stateOf(reaper, "a")).toBe("pending");

      const next = refOf(await claimOne(reaper, "w2"));
      expect(await refused(sleeper.complete(old), "CLAIM_LOST")).toMatchObject({
        state: "claimed",
      });
      expect(await reaper.complete(next)).toMatchObject({ to: "done" });
      await refused(sleeper.fail(old), "CLAIM_LOST");
      expect(await stateOf(sleeper, "a")).toBe("done");
    });

    test("even when a new process took the same name", async () => {
      const sleeper = await run().open();
      const successor = await run().open();
      await sleeper.enqueue({ id: "a", type: "t" });
      const old = refOf(await claimOne(sleeper, "w"));
      run().clock.advance(HOUR);
      await successor.reap();
      const current = refOf(await claimOne(successor, "w"));
      await refused(sleeper.complete(old), "CLAIM_LOST");
      await refused(sleeper.fail(old), "CLAIM_LOST");
      await refused(sleeper.release(old), "CLAIM_LOST");
      expect(await successor.show("a")).toMatchObject({ state: "claimed", token: current.token });
      expect(await successor.complete(current)).toMatchObject({ to: "done", attempt: 2 });
    });

    test("another worker's claim cannot be finished", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const claim = refOf(await claimOne(store, "w1"));
      await refused(store.complete({ ...claim, worker: "w2" }), "CLAIM_LOST");
      await refused(store.complete({ id: "a", worker: "w2" }), "CLAIM_LOST");
      await refused(store.complete({ ...claim, token: "0.000" }), "CLAIM_LOST");
      for (const token of ["", "no token", "1e999"]) {
        await refused(store.complete({ ...claim, token }), "CLAIM_LOST");
      }
      expect(await store.show("a")).toMatchObject({ state: "claimed", worker: "w1" });
    });

    test("a cancelled claim is fenced off at once", async () => {
      const store = await run().open();
      const person = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const claim = refOf(await claimOne(store));
      expect(await person.cancel("a", { by: "me" })).toMatchObject({
        from: "claimed",
        to: "failed",
      });
      await refused(store.complete(claim), "CLAIM_LOST");
      await person.retry("a");
      const again = refOf(await claimOne(store));
      await refused(store.complete(claim), "CLAIM_LOST");
      expect(await store.complete(again)).toMatchObject({ to: "done" });
    });

    test("a second long-lived worker under a live one's name is refused", async () => {
      const first = await run().open();
      const second = await run().open();
      await first.enqueue({ id: "a", type: "t" });
      await first.register("w");
      await refused(second.register("w"), "WORKER_TAKEN");
      await refused(first.register("w"), "WORKER_TAKEN");
      // Nor may a one-shot command act under it.
      await refused(second.claim({ worker: "w" }), "WORKER_TAKEN");
      expect(await second.counts()).toMatchObject({ pending: 1 });
      expect(await first.claim({ worker: "w" })).toHaveLength(1);
      const other = await second.register("w2");
      expect(other.worker).toBe("w2");
    });

    test("a name is free again when its worker has left, or died", async () => {
      const first = await run().open();
      const second = await run().open();
      const third = await run().open();
      const registration = await first.register("w");
      await registration.release();
      await registration.release();
      await second.register("w");
      await refused(third.register("w"), "WORKER_TAKEN");
      run().kill(second);
      await third.register("w");
      const fourth = await run().open();
      await refused(fourth.register("w"), "WORKER_TAKEN");
      await third.close();
      await fourth.register("w");
    });

    test("a successor under the dead one's name keeps its own claims when the dead is reaped", async () => {
      const first = await run().open();
      const second = await run().open();
      const reaper = await run().open();
      for (const id of ["a", "b"]) await first.enqueue({ id, type: "t" });
      await first.register("w");
      await claimOne(first, "w");
      run().kill(first);
      await second.register("w");
      const claim = refOf(await claimOne(second, "w"));
      await reaper.reap();
      expect(await second.complete(claim)).toMatchObject({ to: "done" });
    });

    test("a one-shot claim under a dead worker's name is a lease like any other", async () => {
      const worker = await run().open();
      const shell = await run().open();
      const reaper = await run().open();
      await worker.enqueue({ id: "a", type: "t" });
      await worker.register("w");
      run().kill(worker);
      const claim = refOf(await claimOne(shell, "w"));
      await shell.close();
      expect((await reaper.reap()).reaped).toEqual([]);
      expect(await reaper.complete(claim)).toMatchObject({ to: "done" });
    });
  });
}
