import { describe, expect, test } from "vitest";
import type { FailureReport, Store } from "../store.ts";
import {
  claimOne,
  drain,
  idsOf,
  ledgerOf,
  type MakeHarness,
  refOf,
  stateOf,
  useRun,
} from "./harness.ts";

const HOUR = 3_600_000;
const SAME = { note: "exit 1: no such branch", fingerprint: "f" };

export function chokeSuite(make: MakeHarness): void {
  describe("failures that repeat", () => {
    const run = useRun(make);

    /** Workers that keep beating. */
    const alive = new Set<string>();

    /** Lets a worker claim and fail, once. */
    async function fail(store: Store, worker: string, report: FailureReport = SAME) {
      for (const name of alive) await store.heartbeat(name);
      const claim = refOf(await claimOne(store, worker));
      const ended = await store.fail(claim, { backoffMs: 0, ...report });
      run().clock.advance(100);
      return ended;
    }

    async function choke(store: Store, worker: string) {
      await fail(store, worker);
      await fail(store, worker);
      return fail(store, worker);
    }

    async function open(living: string[]): Promise<Store> {
      const store = await run().open();
      alive.clear();
      for (const name of living) alive.add(name);
      for (const name of living) await store.heartbeat(name);
      return store;
    }

    const task = { id: "a", type: "t", max_attempts: 99 };

    /** Where a task goes that its only worker has choked on, and the end of the note about it. */
    const alone = () =>
      run().keepsLoneChokes
        ? ({ to: "pending", why: "left for a worker that comes later" } as const)
        : ({ to: "failed", why: "no other worker is left to try it" } as const);

    /** The other ones are gone: the task is where `alone` has it, and a later worker gets it there. */
    async function isLeftAlone(store: Store): Promise<void> {
      expect(await stateOf(store, "a")).toBe(alone().to);
      if (alone().to === "pending")
        expect(await claimOne(store, "w9")).toMatchObject({ attempt: 4 });
    }

    test("the third time with one fingerprint: given to another worker, with a note", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      expect(await fail(store, "w1")).toMatchObject({ to: "waiting" });
      expect(await fail(store, "w1")).toMatchObject({ to: "waiting" });
      const third = await fail(store, "w1");
      expect(third).toEqual({ id: "a", from: "claimed", to: "pending", attempt: 3 });
      const note =
        "choked: three times the same failure with w1 (exit 1: no such branch); given to another worker";
      expect((await store.attemptsOf("a")).at(-1)).toMatchObject({
        ...SAME,
        outcome: "failed",
        to: "pending",
        note,
      });
      expect((await ledgerOf(store, "a")).at(-1)).toMatchObject({ event: "ended", note });
      // The one that choked does not get it, however often it asks; the other does, at once.
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      expect(await store.claim({ worker: "w1", max: 9, types: ["t"] })).toEqual([]);
      expect(await claimOne(store, "w2")).toMatchObject({ attempt: 4, task: { task_id: "a" } });
    });

    test("no other worker: the note has the reason", async () => {
      const store = await open(["w1"]);
      await store.enqueue(task);
      expect(await choke(store, "w1")).toMatchObject({ to: alone().to, attempt: 3 });
      expect((await store.attemptsOf("a")).at(-1)?.note).toBe(
        `choked: three times the same failure with w1 (exit 1: no such branch); ${alone().why}`,
      );
      await isLeftAlone(store);
    });

    test("workers that do not take the type, or are silent, do not count", async () => {
      const store = await open(["w1", "w2", "w3"]);
      alive.delete("w3");
      run().clock.advance(HOUR);
      await store.enqueue({ id: "b", type: "u" });
      await claimOne(store, "w2", { types: ["u"] });
      await store.enqueue(task);
      expect(await choke(store, "w1")).toMatchObject({ to: alone().to });
    });

    test("a registered worker counts while its process lives", async () => {
      const store = await open(["w1"]);
      const other = await run().open();
      await other.register("w2", { types: ["t", "u"] });
      await store.enqueue(task);
      expect(await choke(store, "w1")).toMatchObject({ to: "pending" });
      await store.cancel("a");
      await store.retry("a");
      run().kill(other);
      expect(await choke(store, "w1")).toMatchObject({ to: alone().to });
    });

    test("each has its three; when all have choked, it fails", async () => {
      const store = await open(["w1", "w2", "w3"]);
      await store.enqueue(task);
      expect(await choke(store, "w1")).toMatchObject({ to: "pending" });
      expect(await fail(store, "w3")).toMatchObject({ to: "waiting" });
      expect(await fail(store, "w3")).toMatchObject({ to: "waiting" });
      expect(await fail(store, "w3")).toMatchObject({ to: "pending" });
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      expect(await store.claim({ worker: "w3" })).toEqual([]);
      expect(await choke(store, "w2")).toMatchObject({ to: "failed", attempt: 9 });
    });

    test("max_attempts still ends it, and the note is not about a choke", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue({ ...task, max_attempts: 3 });
      expect(await choke(store, "w1")).toMatchObject({ to: "failed" });
      expect((await store.attemptsOf("a")).at(-1)?.note).toBe(SAME.note);
      await store.enqueue({ ...task, id: "b", max_attempts: 4 });
      expect(await choke(store, "w1")).toMatchObject({ to: "pending" });
      expect(await fail(store, "w2")).toMatchObject({ to: "failed", attempt: 4 });
    });

    test("another failure, or one without a fingerprint, begins a new row", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      for (const other of [{ fingerprint: "g" }, {}, { outcome: "timed_out" as const }]) {
        await fail(store, "w1");
        await fail(store, "w1");
        expect(await fail(store, "w1", other)).toMatchObject({ to: "waiting" });
      }
      // What does not count does not break it either.
      await fail(store, "w1");
      await fail(store, "w1", { outcome: "rate_limited", fingerprint: "x" });
      await store.release(refOf(await claimOne(store, "w1")));
      await fail(store, "w1");
      expect(await fail(store, "w1")).toMatchObject({ to: "pending" });
    });

    test("after a retry by a person, any worker may take it", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      await store.cancel("a");
      await store.retry("a", { by: "me" });
      expect(await fail(store, "w1")).toMatchObject({ to: "waiting", attempt: 4 });
    });

    test("it keeps its place for others: in this process and in the next", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      for (const id of ["b", "c", "d", "e"]) await store.enqueue({ id, type: "t" });
      expect(idsOf(await store.claim({ worker: "w1", max: 2 }))).toEqual(["b", "c"]);
      expect(idsOf(await store.claim({ worker: "w2" }))).toEqual(["a"]);
      await store.release({ id: "a", worker: "w2" });
      await store.enqueue({ id: "f", type: "t" });
      expect(idsOf(await store.claim({ worker: "w1", max: 9 }))).toEqual(["d", "e", "f"]);
      await store.enqueue({ id: "g", type: "t" });
      await store.close();
      const next = await run().open();
      expect(idsOf(await next.claim({ worker: "w1" }))).toEqual(["g"]);
      await next.enqueue({ id: "h", type: "t" });
      await next.close();
      expect(await drain(await run().open(), "w2")).toEqual(["a", "h"]);
    });

    test("in its own priority", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      await store.enqueue({ id: "n", type: "t" });
      await store.enqueue({ id: "h", type: "t", priority: "high" });
      await store.enqueue({ id: "l", type: "t", priority: "low" });
      expect(idsOf(await store.claim({ worker: "w1", max: 2 }))).toEqual(["h", "n"]);
      expect(await drain(store, "w2")).toEqual(["a", "l"]);
    });

    test("the last of the others leaves: the one that choked gives the task up", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      expect(await stateOf(store, "a")).toBe("pending");
      run().clock.advance(HOUR);
      await store.heartbeat("w1");
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      await isLeftAlone(store);
      if (run().keepsLoneChokes) return;
      const line = (await ledgerOf(store, "a")).at(-1);
      expect(line).toMatchObject({ from: "pending", to: "failed", by: "w1" });
      expect(line?.note).toMatch(/^choked: .* with w1 \(exit 1: no such branch\); no other worker/);
      expect((await store.attemptsOf("a")).at(-1)).toMatchObject({ attempt: 3, to: "pending" });
      await store.retry("a");
      expect((await claimOne(store, "w1")).attempt).toBe(4);
    });

    test("so does a new process of that one; the others are not listed every time", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      // The other leaves, within the few seconds for which the last look counts.
      const other = await run().open();
      await (await other.register("w2")).release();
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      expect(await stateOf(store, "a")).toBe("pending");
      const next = await run().open();
      expect(await next.claim({ worker: "w1" })).toEqual([]);
      await isLeftAlone(next);
    });

    test("only workers that may take the task are woken for it", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      expect(await store.claim({ worker: "w1" })).toEqual([]);
      for (const worker of [undefined, "w1"]) {
        const waiting = { timeoutMs: 20, worker };
        expect(await store.waitForWork(waiting)).toBe(false);
      }
      expect(await store.waitForWork({ timeoutMs: 30_000, worker: "w2" })).toBe(true);
      expect(idsOf(await store.claim({ worker: "w2" }))).toEqual(["a"]);
    });

    test("a healthy run has no findings, and adopts nothing twice", async () => {
      const store = await open(["w1", "w2"]);
      await store.enqueue(task);
      await choke(store, "w1");
      for (let n = 0; n < 3; n++) {
        await store.enqueue({ id: `b${n}`, type: "t" });
        expect(idsOf(await store.claim({ worker: "w1", max: 9 }))).toEqual([`b${n}`]);
        expect(await store.claim({ worker: "w1" })).toEqual([]);
        expect(await store.sweep()).toMatchObject({ adopted: 0 });
      }
      expect((await store.doctor()).findings).toEqual([]);
      await store.close();
      expect((await (await run().open()).doctor()).findings).toEqual([]);
    });
  });
}
