import { describe, expect, test } from "vitest";
import { claimOne, drain, type MakeHarness, refOf, refused, stateOf, useRun } from "./harness.ts";

const SECOND = 1000;
const FOREVER = 3_600_000;

export function retrySuite(make: MakeHarness): void {
  describe("retries", () => {
    const run = useRun(make);

    test("up to max_attempts, with a longer rest each time", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 4 });
      for (let n = 1; n <= 3; n++) {
        const failedAt = run().clock.now();
        const ended = await store.fail(refOf(await claimOne(store)), { note: `no ${n}` });
        expect(ended).toMatchObject({ to: "waiting", attempt: n });
        const rest = Date.parse(ended.retryAt ?? "") - failedAt;
        const full = SECOND * 2 ** (n - 1);
        expect(rest).toBeGreaterThanOrEqual(full / 2);
        expect(rest).toBeLessThanOrEqual(full);
        run().clock.advance(rest - 100);
        expect(await store.claim({ worker: "w" })).toEqual([]);
        run().clock.advance(200);
      }
      const last = await claimOne(store);
      expect(last.attempt).toBe(4);
      expect(await store.fail(refOf(last))).toMatchObject({ to: "failed", attempt: 4 });
      run().clock.advance(FOREVER);
      expect(await store.claim({ worker: "w" })).toEqual([]);
      expect((await store.attemptsOf("a")).map((a) => [a.attempt, a.outcome, a.to])).toEqual([
        [1, "failed", "waiting"],
        [2, "failed", "waiting"],
        [3, "failed", "waiting"],
        [4, "failed", "failed"],
      ]);
    });

    test("unproven and timed out count as well", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 3 });
      for (const outcome of ["unproven", "timed_out"] as const) {
        const ended = await store.fail(refOf(await claimOne(store)), { outcome });
        expect(ended.to).toBe("waiting");
        run().clock.advance(FOREVER);
      }
      expect(await store.fail(refOf(await claimOne(store)))).toMatchObject({ to: "failed" });
      expect((await store.attemptsOf("a")).map((a) => a.outcome)).toEqual([
        "unproven",
        "timed_out",
        "failed",
      ]);
    });

    test("a rate limit does not count, and rests until its reset", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 1 });
      for (let n = 1; n <= 5; n++) {
        const retryAt = new Date(run().clock.now() + 50 * 60_000).toISOString();
        const claim = await claimOne(store);
        expect(claim.attempt).toBe(n);
        expect(await store.fail(refOf(claim), { outcome: "rate_limited", retryAt })).toMatchObject({
          to: "waiting",
          retryAt,
        });
        run().clock.advance(49 * 60_000);
        expect(await store.claim({ worker: "w" })).toEqual([]);
        run().clock.advance(2 * 60_000);
      }
      expect(await store.complete(refOf(await claimOne(store)))).toMatchObject({
        to: "done",
        attempt: 6,
      });
    });

    test.each([
      ["rate limit", "rate_limited"],
      ["failed set-up", "setup_failed"],
    ] as const)("a %s without a time rests longer each time in a row", async (_, outcome) => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 1 });
      const rest = async () => {
        const from = run().clock.now();
        const claim = refOf(await claimOne(store));
        const { to, retryAt = "" } = await store.fail(claim, { outcome });
        expect(to).toBe("waiting");
        run().clock.advance(FOREVER);
        return Date.parse(retryAt) - from;
      };
      for (const full of [1, 2, 4, 8]) {
        const ms = await rest();
        expect(ms).toBeGreaterThanOrEqual((full * SECOND) / 2);
        expect(ms).toBeLessThanOrEqual(full * SECOND);
      }
      await store.release(refOf(await claimOne(store)));
      expect(await rest()).toBeLessThanOrEqual(SECOND);
    });

    test("the route's attempts and first rest count when the task has none of its own", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.enqueue({ id: "own", type: "own", max_attempts: 2 });
      const route = { maxAttempts: 3, backoffMs: 60_000 };
      for (const full of [60_000, 120_000]) {
        const from = run().clock.now();
        const ended = await store.fail(refOf(await claimOne(store, "w", { types: ["t"] })), route);
        expect(ended.to).toBe("waiting");
        const ms = Date.parse(ended.retryAt ?? "") - from;
        expect(ms).toBeGreaterThanOrEqual(full / 2);
        expect(ms).toBeLessThanOrEqual(full);
        run().clock.advance(FOREVER);
      }
      const third = refOf(await claimOne(store, "w", { types: ["t"] }));
      expect(await store.fail(third, route)).toMatchObject({ to: "failed", attempt: 3 });
      await store.fail(refOf(await claimOne(store)), route);
      run().clock.advance(FOREVER);
      expect(await store.fail(refOf(await claimOne(store)), route)).toMatchObject({
        id: "own",
        to: "failed",
        attempt: 2,
      });
    });

    test("invalid numbers are refused before anything ends", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const ref = refOf(await claimOne(store));
      for (const maxAttempts of [0, -1, 1.5, Number.NaN]) {
        await refused(store.fail(ref, { maxAttempts }), "INVALID");
      }
      for (const backoffMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
        await refused(store.fail(ref, { backoffMs }), "INVALID");
      }
      expect(await stateOf(store, "a")).toBe("claimed");
      const longest = { maxAttempts: 2, backoffMs: Number.MAX_SAFE_INTEGER };
      expect(await store.fail(ref, longest)).toMatchObject({ to: "waiting" });
    });

    test("a release or a dead worker does not count either", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 2 });
      await store.release(refOf(await claimOne(store)));
      await claimOne(store);
      run().clock.advance(FOREVER);
      await store.reap();
      expect(await store.fail(refOf(await claimOne(store)))).toMatchObject({ to: "waiting" });
      run().clock.advance(FOREVER);
      expect(await store.fail(refOf(await claimOne(store)))).toMatchObject({
        to: "failed",
        attempt: 4,
      });
    });

    test("a retry by a person resets the attempts", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 2 });
      const use = async () => {
        await store.fail(refOf(await claimOne(store)));
        run().clock.advance(FOREVER);
        return store.fail(refOf(await claimOne(store)));
      };
      expect(await use()).toMatchObject({ to: "failed", attempt: 2 });
      expect(await store.retry("a", { by: "me", note: "fixed it" })).toMatchObject({
        from: "failed",
        to: "pending",
      });
      expect(await use()).toMatchObject({ to: "failed", attempt: 4 });
      expect((await store.show("a"))?.history[2]).toMatchObject({
        retried: true,
        by: "me",
        note: "fixed it",
      });
    });

    test("a task that rests is found by another process", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", max_attempts: 2 });
      await store.fail(refOf(await claimOne(store)));
      await store.close();
      expect(await stateOf(await run().open(), "a")).toBe("waiting");
      run().clock.advance(FOREVER);
      expect(await drain(await run().open())).toEqual(["a"]);
    });
  });
}
