import { describe, expect, test } from "vitest";
import {
  claimOne,
  ledgerOf,
  type MakeHarness,
  refOf,
  refused,
  type StoreHarness,
  stateOf,
  useRun,
} from "./harness.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const isoNow = ({ clock }: StoreHarness) => new Date(clock.now()).toISOString();

export function reapSuite(make: MakeHarness): void {
  describe("reap", () => {
    const run = useRun(make);

    test("a registered worker that died is reaped at once", async () => {
      const worker = await run().open();
      const reaper = await run().open();
      for (const id of ["a", "b", "c"]) await worker.enqueue({ id, type: "t" });
      await worker.register("w");
      await worker.claim({ worker: "w", max: 2 });
      expect(await reaper.reap()).toEqual({ reaped: [], live: ["w"], skipped: [], stuck: [] });
      run().kill(worker);
      const report = await reaper.reap();
      expect(report.reaped.map(({ id }) => id).sort()).toEqual(["a", "b"]);
      for (const one of report.reaped) {
        expect(one).toMatchObject({ worker: "w", to: "pending", reason: "gone" });
      }
      expect(await reaper.counts()).toMatchObject({ pending: 3, claimed: 0 });
      expect(await reaper.attemptsOf("a")).toMatchObject([
        { attempt: 1, worker: "w", outcome: "abandoned", to: "pending" },
      ]);
      expect(await reaper.reap()).toEqual({ reaped: [], live: [], skipped: [], stuck: [] });
      expect((await reaper.workers()).map(({ name }) => name)).toEqual([]);
    });

    test("of one worker alone, with the receipt of its execution", async () => {
      const first = await run().open();
      const second = await run().open();
      const reaper = await run().open();
      for (const id of ["a", "b"]) await first.enqueue({ id, type: "t" });
      await first.register("w");
      await second.register("v");
      await claimOne(first, "w");
      await claimOne(second, "v");
      const execution = { receipt: "/state/completed/d1.json", since: isoNow(run()) };
      expect((await reaper.reap({ worker: "w", execution })).live).toEqual(["w"]);
      run().kill(first);
      run().kill(second);
      const report = await reaper.reap({ worker: "w", execution });
      expect(report.reaped).toMatchObject([{ id: "a", worker: "w", reason: "gone" }]);
      expect(await stateOf(reaper, "b")).toBe("claimed");
      const { receipt } = execution;
      expect(await reaper.attemptsOf("a")).toMatchObject([{ outcome: "abandoned", receipt }]);
      const lines = (await ledgerOf(reaper, "a")).filter((line) => line.receipt === receipt);
      expect(lines).toMatchObject([{ event: "ended", note: "the warden ended w" }]);
      const before = await ledgerOf(reaper);
      await reaper.reap({ worker: "w", execution });
      expect(await ledgerOf(reaper)).toEqual(before);
    });

    test("an attempt that another reaper ended names the receipt all the same, once", async () => {
      const worker = await run().open();
      const reaper = await run().open();
      for (const id of ["a", "b"]) await worker.enqueue({ id, type: "t" });
      await worker.register("w");
      await worker.release(refOf(await claimOne(worker))); // before: not because of it
      run().clock.advance(5);
      const execution = { receipt: "/state/completed/d1.json", since: isoNow(run()) };
      run().clock.advance(5);
      const held = await claimOne(worker);
      await claimOne(worker);
      await worker.release(refOf(held), { note: "stopping" });
      run().kill(worker);
      expect((await reaper.reap()).reaped).toHaveLength(1);
      for (let n = 0; n < 2; n++) {
        expect(await reaper.reap({ worker: "w", execution })).toMatchObject({ reaped: [] });
      }
      const attempts = [...(await reaper.attemptsOf("a")), ...(await reaper.attemptsOf("b"))];
      expect(attempts.map(({ receipt }) => receipt ?? null).sort()).toEqual(
        [null, execution.receipt, execution.receipt].sort(),
      );
      const lines = (await ledgerOf(reaper)).filter(({ event }) => event === "executed");
      expect(lines.map(({ task }) => task).sort()).toEqual(["a", "b"]);
      await refused(reaper.reap({ worker: "../w", execution }), "INVALID");
    });

    test("a worker that gives no sign of life is stale after the time, not before", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await claimOne(store);
      run().clock.advance(299 * SECOND);
      expect(await store.reap()).toMatchObject({ reaped: [], live: ["w"] });
      run().clock.advance(2 * SECOND);
      expect((await store.reap()).reaped).toMatchObject([
        { id: "a", worker: "w", reason: "stale", to: "pending", ageSeconds: 301 },
      ]);
    });

    test("the time can be chosen", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await claimOne(store);
      run().clock.advance(20 * SECOND);
      expect((await store.reap({ staleAfterSeconds: 21 })).reaped).toEqual([]);
      expect((await store.reap({ staleAfterSeconds: 19 })).reaped).toHaveLength(1);
    });

    test("a heartbeat keeps a claim, from whichever process it comes", async () => {
      const store = await run().open();
      const shell = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const claim = await claimOne(store);
      for (let n = 0; n < 10; n++) {
        run().clock.advance(200 * SECOND);
        await shell.heartbeat("w", { note: `step ${n}` });
        expect(await shell.reap()).toMatchObject({ reaped: [], live: ["w"] });
      }
      expect(await store.complete(refOf(claim))).toMatchObject({ to: "done" });
    });

    test("a live process that no longer beats is stuck, and reaped", async () => {
      const worker = await run().open();
      const reaper = await run().open();
      await worker.enqueue({ id: "a", type: "t" });
      await worker.register("w");
      await claimOne(worker);
      run().clock.advance(HOUR);
      expect((await reaper.reap()).reaped).toMatchObject([{ id: "a", reason: "stale" }]);
    });

    test("a one-shot claim is a lease: that its process has ended is no reason", async () => {
      const shell = await run().open();
      await shell.enqueue({ id: "a", type: "t" });
      await claimOne(shell, "shell");
      await shell.close();
      run().kill(shell);
      const reaper = await run().open();
      run().clock.advance(200 * SECOND);
      expect(await reaper.reap()).toMatchObject({ reaped: [], live: ["shell"] });
      run().clock.advance(200 * SECOND);
      expect((await reaper.reap()).reaped).toHaveLength(1);
    });

    test("without any heartbeat the claim's own age counts", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      await store.claim({ worker: "w", heartbeat: false });
      expect(await store.reap()).toMatchObject({ reaped: [], live: ["w"] });
      run().clock.advance(HOUR);
      expect((await store.reap()).reaped).toMatchObject([{ id: "a", ageSeconds: -1 }]);
    });

    test("by swarm-lib's rule a worker without a heartbeat is stale at once", async () => {
      const store = await run().open();
      for (const id of ["a", "b"]) await store.enqueue({ id, type: "t" });
      await store.claim({ worker: "silent", heartbeat: false });
      await store.claim({ worker: "beating" });
      expect(await store.reap({ heartbeatOnly: true })).toMatchObject({
        reaped: [{ id: "a", worker: "silent", ageSeconds: -1 }],
        live: ["beating"],
      });
    });

    test.each([
      ["forward", HOUR * 24],
      ["back", -HOUR * 24],
    ])("a wall clock that jumps %s does not reap a live worker", async (_, jump) => {
      const worker = await run().open();
      const reaper = await run().open();
      for (const id of ["a", "b"]) await worker.enqueue({ id, type: "t" });
      await worker.register("w");
      const claim = await claimOne(worker, "w");
      const lease = await claimOne(reaper, "shell");
      run().clock.jumpWall(jump);
      expect(await reaper.reap()).toMatchObject({ reaped: [], live: ["shell", "w"] });
      expect(await worker.complete(refOf(claim))).toMatchObject({ to: "done" });
      // Nor does it keep a dead one alive.
      run().clock.advance(301 * SECOND);
      expect((await reaper.reap()).reaped).toMatchObject([{ id: lease.task.task_id }]);
    });

    test("a task that loses ten workers in a row fails", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "t" });
      const lose = async () => {
        await claimOne(store);
        run().clock.advance(HOUR);
        return (await store.reap()).reaped[0]?.to;
      };
      for (let n = 1; n <= 9; n++) expect(await lose()).toBe("pending");
      expect(await lose()).toBe("failed");
      expect(await store.attemptsOf("a")).toHaveLength(10);
      await store.retry("a");
      for (let n = 1; n <= 9; n++) expect(await lose()).toBe("pending");
      // An attempt that ended in another way breaks the row.
      await store.release(refOf(await claimOne(store)));
      for (let n = 1; n <= 9; n++) expect(await lose()).toBe("pending");
      expect(await lose()).toBe("failed");
    });

    test("two reapers take a claim back once", async () => {
      const [one, two] = await Promise.all([run().open(), run().open()]);
      for (const id of ["a", "b", "c"]) await one.enqueue({ id, type: "t" });
      await one.claim({ worker: "w", max: 3 });
      run().clock.advance(HOUR);
      const reports = await Promise.all([one.reap(), two.reap()]);
      expect(reports.flatMap(({ reaped }) => reaped)).toHaveLength(3);
      expect(await one.attemptsOf("a")).toHaveLength(1);
      expect(await stateOf(one, "a")).toBe("pending");
    });
  });
}
