import { describe, expect, test } from "vitest";
import { claimOne, type MakeHarness, refOf, refused, stateOf, useRun } from "./harness.ts";

export function finishSuite(make: MakeHarness): void {
  describe("finish", () => {
    const run = useRun(make);

    test("complete: done", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const claim = await claimOne(store);
      expect(await store.complete(refOf(claim), { note: "well" })).toEqual({
        id: "a",
        from: "claimed",
        to: "done",
        attempt: 1,
      });
      expect(await store.show("a")).toMatchObject({ state: "done" });
      expect(await store.attemptsOf("a")).toMatchObject([
        { attempt: 1, worker: "w", token: claim.token, outcome: "done", to: "done", note: "well" },
      ]);
    });

    test("complete in the background: the same, also when several end at once", async () => {
      const store = await run().open();
      const ids = ["a", "b", "c"];
      for (const id of ids) await store.enqueue({ id, type: "t" });
      await store.enqueue({ id: "d", type: "t", depends_on: ids });
      const claims = await store.claim({ worker: "w", max: 3 });
      const ended = await Promise.all(
        claims.map((claim) => store.complete(refOf(claim), { inBackground: true })),
      );
      expect(ended.map(({ id, to, attempt }) => ({ id, to, attempt }))).toEqual(
        ids.map((id) => ({ id, to: "done", attempt: 1 })),
      );
      expect(await stateOf(store, "d")).toBe("pending");
      const [first] = claims;
      if (first) {
        // Asked again (the answer may have been lost), it is the same end, and counts once.
        const again = await store.complete(refOf(first), { inBackground: true });
        expect(again).toEqual(ended[0]);
        expect(await store.attemptsOf(again.id)).toHaveLength(1);
      }
      const d = refOf(await claimOne(store));
      expect(await store.complete(d, { inBackground: true, review: true })).toMatchObject({
        to: "review",
      });
    });

    test("complete with review: a person must approve it first", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", review: true });
      const claim = await claimOne(store);
      expect(await store.complete(refOf(claim))).toMatchObject({ to: "review", attempt: 1 });
      expect(await stateOf(store, "a")).toBe("review");
      expect(await store.attemptsOf("a")).toMatchObject([{ outcome: "done", to: "review" }]);
    });

    test("complete with review, by another process than the one that claimed", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", review: true });
      const claim = await claimOne(store);
      const other = await run().open();
      expect(await other.complete(refOf(claim))).toMatchObject({ to: "review" });
    });

    test("complete with review because the route asks for it", async () => {
      const store = await run().open();
      for (const id of ["a", "b"]) await store.enqueue({ id, type: "t" });
      const [a, b] = await store.claim({ worker: "w", max: 2 });
      if (!a || !b) throw new Error("two were there");
      expect(await store.complete(refOf(a), { review: true })).toMatchObject({ to: "review" });
      expect(await store.attemptsOf("a")).toMatchObject([{ outcome: "done", to: "review" }]);
      const options = { review: true, note: "look" };
      expect(await store.complete(refOf(b), options)).toMatchObject({ to: "review" });
      await store.enqueue({ id: "c", type: "t", review: true });
      const c = refOf(await claimOne(store));
      expect(await store.complete(c, { review: false })).toMatchObject({ to: "review" });
    });

    test("fail: failed, with the note and the fingerprint", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const report = { note: "boom", fingerprint: "f1", maxAttempts: 1 };
      expect(await store.fail(refOf(await claimOne(store)), report)).toEqual({
        id: "a",
        from: "claimed",
        to: "failed",
        attempt: 1,
      });
      expect(await store.attemptsOf("a")).toMatchObject([
        { outcome: "failed", to: "failed", note: "boom", fingerprint: "f1" },
      ]);
    });

    test("final: failed, regardless of max_attempts", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 9 });
      const claim = await claimOne(store);
      expect(await store.fail(refOf(claim), { final: true })).toMatchObject({ to: "failed" });
    });

    test("release: pending again, untouched, and it does not count", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const released = await store.release(refOf(await claimOne(store)), { note: "not mine" });
      expect(released).toMatchObject({ from: "claimed", to: "pending", attempt: 1 });
      const again = await claimOne(store, "w2");
      expect(again.attempt).toBe(2);
      expect((await store.show("a"))?.history).toMatchObject([
        { attempt: 1, outcome: "released", note: "not mine" },
      ]);
      expect(await store.fail(refOf(again), { maxAttempts: 1 })).toMatchObject({
        to: "failed",
        attempt: 2,
      });
    });

    test("a finished task stays finished", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const ref = refOf(await claimOne(store));
      await store.complete(ref);
      const unnamed = { id: "a", worker: "w" };
      expect(await refused(store.complete(unnamed), "CLAIM_LOST")).toMatchObject({ state: "done" });
      for (const again of [ref, unnamed]) {
        await refused(store.fail(again), "CLAIM_LOST");
        await refused(store.release(again), "CLAIM_LOST");
      }
      expect(await stateOf(store, "a")).toBe("done");
      expect(await store.attemptsOf("a")).toHaveLength(1);
    });

    test("a task that is not claimed cannot be finished", async () => {
      const store = await run().open();
      await store.enqueue({ id: "p", type: "t" });
      await store.enqueue({ id: "w", type: "t", depends_on: ["p"] });
      for (const id of ["p", "w", "unknown"]) {
        await refused(store.complete({ id, worker: "w" }), "CLAIM_LOST");
        await refused(store.fail({ id, worker: "w" }), "CLAIM_LOST");
        await refused(store.release({ id, worker: "w" }), "CLAIM_LOST");
      }
      await refused(store.complete({ id: "../p", worker: "w" }), "INVALID");
      await refused(store.complete({ id: "p", worker: "a/b" }), "INVALID");
      expect(await store.counts()).toMatchObject({ pending: 1, waiting: 1 });
    });

    test("the same end asked for again with its token is made once, while the task lies there", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 3 });
      const ref = refOf(await claimOne(store));
      const ended = await store.fail(ref, { note: "no" });
      const other = await run().open();
      for (const one of [store, other]) expect(await one.fail(ref, { note: "no" })).toEqual(ended);
      expect(await store.attemptsOf("a")).toHaveLength(1);
      run().clock.advance(3_600_000);
      const next = refOf(await claimOne(store));
      await refused(other.fail(ref), "CLAIM_LOST");
      await store.complete(next);
      expect(await other.complete(next)).toMatchObject({ to: "done", attempt: 2 });
      expect(await store.attemptsOf("a")).toHaveLength(2);
    });

    test("an invalid time is refused before anything ends", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 3 });
      const ref = refOf(await claimOne(store));
      await refused(store.fail(ref, { retryAt: "tomorrow" }), "INVALID");
      expect(await stateOf(store, "a")).toBe("claimed");
    });
  });
}
