import { describe, expect, test } from "vitest";
import type { Store } from "../store.ts";
import {
  claimOne,
  ledgerOf,
  type MakeHarness,
  refOf,
  refused,
  stateOf,
  useRun,
} from "./harness.ts";

const HOUR = 3_600_000;

export function processesSuite(make: MakeHarness): void {
  describe("processes that outlive their workers", () => {
    const run = useRun(make);

    /** A worker with a claim on `a` and a process tree that works on it. */
    async function scene(how: { register?: boolean } = {}) {
      const worker = await run().open();
      const other = await run().open();
      await worker.enqueue({ id: "a", type: "t" });
      if (how.register) await worker.register("w");
      const ref = refOf(await claimOne(worker, "w"));
      const tree = run().trees.start();
      await worker.noteProcess(ref, tree);
      return { worker, other, ref, tree, isAlive: () => run().trees.isAlive(tree.pid) };
    }

    /** Where the task was when its tree was ended. */
    function watchEnds(store: Store) {
      const seen: Promise<string | null>[] = [];
      run().trees.onEnd(() => void seen.push(stateOf(store, "a")));
      return async () => Promise.all(seen);
    }

    test("shown with the claim, until it is forgotten", async () => {
      const { other, worker, ref, tree } = await scene();
      const process = { pid: tree.pid, vitality: "alive" };
      expect((await other.show("a"))?.process).toMatchObject(process);
      run().trees.die(tree.pid);
      expect((await other.show("a"))?.process).toMatchObject({ ...process, vitality: "gone" });
      await worker.forgetProcess("a", "another token");
      expect((await other.show("a"))?.process).toBeDefined();
      await worker.forgetProcess("a", ref.token);
      await worker.forgetProcess("a", ref.token);
      expect((await other.show("a"))?.process).toBeUndefined();
    });

    test.each([
      ["gone", { register: true }],
      ["stale", {}],
    ] as const)("reaped (%s): the tree is ended before the task moves", async (reason, how) => {
      const { worker, other, isAlive } = await scene(how);
      const places = watchEnds(other);
      expect((await other.reap()).reaped).toEqual([]);
      if (reason === "gone") run().kill(worker);
      else run().clock.advance(HOUR);
      const report = await other.reap();
      expect(report.reaped).toMatchObject([{ id: "a", reason, to: "pending" }]);
      expect(report.stuck).toEqual([]);
      expect(isAlive()).toBe(false);
      expect(await places()).toEqual(["claimed"]);
      const next = refOf(await claimOne(other, "w2"));
      expect((await other.show("a"))?.process).toBeUndefined();
      expect(await other.complete(next)).toMatchObject({ to: "done" });
    });

    test("by swarm-lib's rule too", async () => {
      const { other, isAlive } = await scene();
      run().clock.advance(HOUR);
      expect((await other.reap({ heartbeatOnly: true })).reaped).toHaveLength(1);
      expect(isAlive()).toBe(false);
    });

    test("one that would not die keeps its claim, and is reported each time", async () => {
      const { worker, other, tree } = await scene({ register: true });
      run().trees.makeStubborn(tree.pid);
      run().kill(worker);
      for (let n = 0; n < 2; n++) {
        expect(await other.reap()).toEqual({
          reaped: [],
          live: [],
          skipped: [],
          stuck: [{ worker: "w", id: "a", pids: [tree.pid] }],
        });
        expect(await other.show("a")).toMatchObject({ state: "claimed", worker: "w" });
      }
      expect(await other.attemptsOf("a")).toEqual([]);
      run().trees.die(tree.pid);
      expect((await other.reap()).reaped).toMatchObject([{ id: "a", reason: "gone" }]);
    });

    test("taking a dead worker's name ends its trees first, or is refused", async () => {
      const { worker, other, tree, isAlive } = await scene({ register: true });
      run().trees.makeStubborn(tree.pid);
      run().kill(worker);
      for (const take of [() => other.register("w"), () => other.claim({ worker: "w" })]) {
        expect(await refused(take(), "LOCKED")).toMatchObject({ id: "a", pids: [tree.pid] });
      }
      expect(await stateOf(other, "a")).toBe("claimed");
      run().trees.die(tree.pid);
      const second = run().trees.start();
      await other.register("w");
      const ref = refOf(await claimOne(other, "w"));
      await other.noteProcess(ref, second);
      run().kill(other);
      const third = await run().open();
      await third.register("w");
      expect(run().trees.isAlive(second.pid)).toBe(false);
      expect(await stateOf(third, "a")).toBe("pending");
      expect(isAlive()).toBe(false);
    });

    test("a tree of an earlier claim is not mistaken for the current one's", async () => {
      const { worker, other, ref, isAlive } = await scene();
      await worker.release(ref);
      // It left its note and its tree; the next claim has neither yet.
      await claimOne(worker, "w");
      run().clock.advance(HOUR);
      expect((await other.reap()).reaped).toHaveLength(1);
      expect(isAlive()).toBe(true);
    });

    test("the tree of an earlier claim is ended before the next one's is noted", async () => {
      const { worker, other, ref, tree, isAlive } = await scene();
      await worker.release(ref);
      const next = refOf(await claimOne(other, "w2"));
      run().trees.makeStubborn(tree.pid);
      const second = run().trees.start();
      const problem = await refused(other.noteProcess(next, second), "LOCKED");
      expect(problem).toMatchObject({ pids: [tree.pid] });
      run().trees.die(tree.pid);
      await other.noteProcess(next, second);
      // Another process of the same claim (the proof after the handler) takes the note over.
      const proof = run().trees.start();
      await other.noteProcess(next, proof);
      expect((await other.show("a"))?.process).toMatchObject({ pid: proof.pid });
      expect([second, proof].map(({ pid }) => run().trees.isAlive(pid))).toEqual([true, true]);
      expect(isAlive()).toBe(false);
    });

    test("a claim that is gone is not noted any more: its worker must end the tree", async () => {
      const { worker, other, ref } = await scene();
      run().clock.advance(HOUR);
      await other.reap();
      const late = run().trees.start();
      await refused(worker.noteProcess(ref, late), "CLAIM_LOST");
      const next = refOf(await claimOne(other, "w"));
      await refused(worker.noteProcess(ref, late), "CLAIM_LOST");
      const current = run().trees.start();
      await other.noteProcess(next, current);
      await refused(worker.noteProcess(ref, late), "CLAIM_LOST");
      await worker.forgetProcess("a", ref.token);
      expect((await other.show("a"))?.process).toMatchObject({ pid: current.pid });
      expect(run().trees.isAlive(current.pid)).toBe(true);
    });

    test("an invalid process is not noted", async () => {
      const { worker, ref, tree } = await scene();
      for (const pid of [1, -1, 1.5, Number.NaN]) {
        await refused(worker.noteProcess(ref, { ...tree, pid }), "INVALID");
      }
      await refused(worker.noteProcess(ref, { ...tree, claim: "" }), "INVALID");
      await refused(worker.noteProcess({ ...ref, id: "../a" }, tree), "INVALID");
      await refused(worker.forgetProcess("../a", ref.token), "INVALID");
    });

    test("noted before it is started: then its mark is searched for", async () => {
      const { worker, other, ref } = await scene({ register: true });
      await worker.noteProcess(ref, { pid: 0, started: "0", claim: "mark" });
      expect((await other.show("a"))?.process).toBeUndefined();
      const ends: number[] = [];
      run().trees.onEnd((pid) => void ends.push(pid));
      run().kill(worker);
      expect((await other.reap()).reaped).toHaveLength(1);
      expect(ends).toEqual([0]);
    });

    describe("cancel", () => {
      test("first the claim, so that its worker is fenced off, then the tree", async () => {
        const { worker, other, ref, isAlive } = await scene();
        const seen: Promise<unknown>[] = [];
        run().trees.onEnd(() => {
          seen.push(stateOf(other, "a"));
          // The worker sees its handler die and reports it, before cancel returns.
          seen.push(refused(worker.fail(ref, { maxAttempts: 9 }), "CLAIM_LOST"));
        });
        expect(await other.cancel("a", { by: "me" })).toMatchObject({ to: "failed" });
        expect(await Promise.all(seen)).toMatchObject(["failed", { state: "failed" }]);
        expect(isAlive()).toBe(false);
        expect(await stateOf(other, "a")).toBe("failed");
        expect(await other.attemptsOf("a")).toMatchObject([{ outcome: "cancelled" }]);
      });

      test("the worker was quicker: then its end is cancelled, whatever it was", async () => {
        const { worker, other, ref, tree } = await scene();
        run().trees.die(tree.pid);
        await worker.fail(ref, { maxAttempts: 3 });
        expect(await stateOf(other, "a")).toBe("waiting");
        expect(await other.cancel("a")).toMatchObject({ from: "waiting", to: "failed" });
      });

      test("would not die: failed all the same, the warning names the pids, and no retry before", async () => {
        const { other, tree, isAlive } = await scene();
        run().trees.makeStubborn(tree.pid);
        const { to, warnings } = await other.cancel("a");
        expect({ to, warnings }).toEqual({
          to: "failed",
          warnings: [expect.stringContaining(`process ${tree.pid} would not die`)],
        });
        expect(await stateOf(other, "a")).toBe("failed");
        expect(await refused(other.retry("a"), "LOCKED")).toMatchObject({ pids: [tree.pid] });
        expect(await stateOf(other, "a")).toBe("failed");
        run().trees.die(tree.pid);
        expect(await other.retry("a")).toMatchObject({ to: "pending" });
        expect(isAlive()).toBe(false);
      });

      test("without a process it is as ever", async () => {
        const store = await run().open();
        await store.enqueue({ id: "a", type: "t" });
        await claimOne(store);
        expect(await store.cancel("a")).toMatchObject({ to: "failed" });
      });
    });

    test("a retry does not end what a claim of now has started", async () => {
      const { worker, other, ref, tree, isAlive } = await scene();
      run().trees.die(tree.pid);
      await worker.fail(ref, { maxAttempts: 1 });
      await other.retry("a");
      const next = refOf(await claimOne(worker, "w"));
      const second = run().trees.start();
      await worker.noteProcess(next, second);
      await refused(other.retry("a"), "WRONG_STATE");
      expect(run().trees.isAlive(second.pid)).toBe(true);
      expect(isAlive()).toBe(false);
      expect((await ledgerOf(other, "a")).filter(({ event }) => event === "retried")).toHaveLength(
        1,
      );
    });
  });
}
