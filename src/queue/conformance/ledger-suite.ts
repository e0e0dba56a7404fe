import { describe, expect, test } from "vitest";
import { TASK_STATES } from "../states.ts";
import type { LedgerNews, LedgerPosition } from "../store.ts";
import { claimOne, collect, ledgerOf, type MakeHarness, refOf, useRun } from "./harness.ts";

export function ledgerSuite(make: MakeHarness): void {
  describe("ledger", () => {
    const run = useRun(make);

    test("a line for each transition, in order", async () => {
      const store = await run().open();
      const eventsOf = async (id: string) =>
        (await ledgerOf(store, id)).map(({ event, outcome, to }) =>
          [event, outcome, to].filter((part) => part !== undefined).join(" "),
        );
      await store.enqueue({ id: "a", type: "t", review: true, max_attempts: 2, created_by: "me" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      await store.release(refOf(await claimOne(store, "w1")));
      await store.fail(refOf(await claimOne(store, "w1")));
      run().clock.advance(60_000);
      await store.complete(refOf(await claimOne(store, "w2")));
      await store.reject("a", { by: "me", note: "again" });
      await claimOne(store, "w3");
      run().clock.advance(3_600_000);
      await store.reap();
      await store.cancel("a", { by: "me" });
      await store.retry("a", { by: "me" });
      await store.complete(refOf(await claimOne(store, "w4")));
      await store.approve("a", { by: "me" });
      expect(await eventsOf("a")).toEqual([
        "enqueued pending",
        "claimed",
        "ended released pending",
        "claimed",
        "ended failed waiting",
        "promoted pending",
        "claimed",
        "ended done review",
        "rejected pending",
        "claimed",
        "ended abandoned pending",
        "cancelled failed",
        "retried pending",
        "claimed",
        "ended done review",
        "approved done",
      ]);
      expect(await eventsOf("b")).toEqual(["enqueued waiting", "promoted pending"]);
    });

    test("lines carry the time, the worker, the token and the attempt", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", created_by: "me", parent: "p" });
      run().clock.advance(1_000);
      const claim = await claimOne(store, "w1");
      await store.complete(refOf(claim), { note: "fine" });
      const at = new Date(run().clock.now()).toISOString();
      const facts = { task: "a", worker: "w1", token: claim.token, attempt: 1, at };
      expect(await ledgerOf(store, "a")).toMatchObject([
        { event: "enqueued", task: "a", type: "t", by: "me", parent: "p" },
        { event: "claimed", ...facts },
        { event: "ended", ...facts, outcome: "done", from: "claimed", to: "done", note: "fine" },
      ]);
    });

    test("a finish that was refused leaves no line that counts", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const ref = refOf(await claimOne(store));
      await store.complete(ref);
      await store.complete(ref).catch(() => {});
      await store.fail(ref).catch(() => {});
      const ended = (await ledgerOf(store, "a")).filter(({ event }) => event === "ended");
      expect(ended).toHaveLength(1);
    });

    test("workers come and go", async () => {
      const store = await run().open();
      const registration = await store.register("w");
      await registration.release();
      expect((await ledgerOf(store)).map(({ event, worker }) => [event, worker])).toEqual([
        ["worker_started", "w"],
        ["worker_stopped", "w"],
      ]);
    });

    test("from a time on, over midnight", async () => {
      const store = await run().open();
      for (let day = 0; day < 4; day++) {
        await store.enqueue({ id: `d${day}`, type: "t" });
        run().clock.advance(86_400_000);
      }
      const now = run().clock.now();
      const since = new Date(now - 2.5 * 86_400_000).toISOString();
      const lines = await collect(store.ledger({ since }));
      expect(lines.map(({ task }) => task)).toEqual(["d2", "d3"]);
      expect((await ledgerOf(store)).map(({ task }) => task)).toEqual(["d0", "d1", "d2", "d3"]);
    });
  });

  describe("a follower of the ledger", () => {
    const run = useRun(make);

    test("begins at the end, or goes on where another one stopped", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      const fromEnd = store.followLedger({ from: "end" });
      const tasksOf = async (news: LedgerNews) =>
        (await collect(news.news())).map(({ line }) => line.task);
      expect(await tasksOf(fromEnd)).toEqual([]);
      await store.enqueue({ id: "b", type: "t" });
      expect(await tasksOf(fromEnd)).toEqual(["b"]);
      const position = JSON.parse(JSON.stringify(fromEnd.position())) as LedgerPosition;
      run().clock.advance(86_400_000);
      await store.enqueue({ id: "c", type: "t" });
      expect(await tasksOf(store.followLedger({ from: position }))).toEqual(["c"]);
    });

    test("is told of news", async () => {
      const store = await run().open();
      const told = new Promise<void>((resolve) => {
        const stop = store.followLedger({ from: "end" }).onNews(() => {
          stop();
          resolve();
        });
      });
      await store.enqueue({ id: "a", type: "t" });
      await told;
    });
  });

  describe("a clock that was wrong for a while", () => {
    const run = useRun(make);

    test("hides no later line from completed tasks, histories and followers", async () => {
      const store = await run().open();
      await store.initStatus("r", {});
      const news = store.followLedger();
      const newTasks = async () => (await collect(news.news())).map(({ line }) => line.task);
      for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
      await store.enqueue({ id: "after", type: "u", depends_on: ["c"] });
      expect(await newTasks()).toEqual(["a", "b", "c", "after"]);
      const finish = async () => store.complete(refOf(await claimOne(store)));
      await finish();
      for (const days of [2, -2, -3, 3]) {
        run().clock.advance(days * 86_400_000);
        await store.enqueue({ id: `on${days}`, type: "u" });
        await store.flushStatus();
        expect(await newTasks()).toContain(`on${days}`);
      }
      run().clock.advance(2 * 86_400_000);
      await finish();
      run().clock.advance(-2 * 86_400_000);
      await finish();
      await store.flushStatus();
      expect((await newTasks()).filter((id) => id === "c")).toHaveLength(2);
      expect(await newTasks()).toEqual([]);
      const status = await store.readStatus();
      expect(status?.checkpoint.completed_tasks.toSorted()).toEqual(["a", "b", "c"]);
      expect((await store.show("b"))?.history).toHaveLength(1);
      expect((await store.show("after"))?.state).toBe("pending");
    });
  });

  describe("looking", () => {
    const run = useRun(make);

    test("list: by state, type and number", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t", priority: "high" });
      await store.enqueue({ id: "b", type: "u" });
      await store.enqueue({ id: "c", type: "t", depends_on: ["a"] });
      await claimOne(store, "w1");
      const ids = async (query: Parameters<typeof store.list>[0]) =>
        (await collect(store.list(query))).map(({ id }) => id).sort();
      expect(await ids({})).toEqual(["a", "b", "c"]);
      expect(await ids({ states: ["claimed"] })).toEqual(["a"]);
      expect(await ids({ states: ["pending", "waiting"] })).toEqual(["b", "c"]);
      expect(await ids({ types: ["t"] })).toEqual(["a", "c"]);
      expect(await ids({ types: ["t"], states: ["waiting"] })).toEqual(["c"]);
      expect(await ids({ limit: 2 })).toHaveLength(2);
      for (const state of TASK_STATES) {
        expect((await store.ids(state)).sort()).toEqual(await ids({ states: [state] }));
      }
      expect(await collect(store.list({ states: ["claimed"] }))).toMatchObject([
        { id: "a", type: "t", state: "claimed", worker: "w1", priority: "high" },
      ]);
    });

    test("an unopened list has the same tasks, without what only their files say", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "x", priority: "high" });
      await store.enqueue({ id: "b", type: "y", depends_on: ["a"] });
      await store.claim({ worker: "w" });
      const opened = await collect(store.list());
      const expected = opened.map((one) => ({ ...one, type: null, priority: undefined }));
      expect(await collect(store.list({ unopened: true }))).toEqual(expected);
      const whole = await collect(store.list({ states: ["waiting"], tasks: true }));
      expect(whole).toMatchObject([{ id: "b", task: { task_id: "b", depends_on: ["a"] } }]);
    });

    test("a sorted list has the oldest first, of ended tasks the newest; a limit keeps the first", async () => {
      const store = await run().open({ durability: "fast" });
      const specs = Array.from({ length: 300 }, (_, n) => ({ id: `t.${n}`, type: `t${n % 3}` }));
      await store.enqueueMany(specs);
      const claims = await store.claim({ worker: "w", max: 200 });
      for (const { task, token } of claims.toReversed().slice(20)) {
        const ref = { id: task.task_id, worker: "w", token };
        if (task.task_type === "t1") await store.fail(ref, { final: true });
        else await store.complete(ref, { review: task.task_type === "t2" });
      }
      const states = ["review", "claimed", "pending", "failed", "done"] as const;
      const listed = (query: Parameters<typeof store.list>[0]) =>
        collect(store.list({ states, types: ["t0", "t1", "t2"], ...query, sorted: true }));
      const all = await listed({});
      expect(all).toHaveLength(300);
      expect([...new Set(all.map(({ state }) => state))]).toEqual(states);
      for (const state of states) {
        const times = all.filter((task) => task.state === state).map(({ since }) => since);
        const oldestFirst = times.toSorted();
        const isEnded = state === "done" || state === "failed";
        expect(times, state).toEqual(isEnded ? oldestFirst.reverse() : oldestFirst);
      }
      for (const limit of [0, 1, 20, 61, 150, 299, 300, 1000]) {
        expect(await listed({ limit })).toEqual(all.slice(0, limit));
      }
      const ofType = all.filter(({ type }) => type === "t0");
      expect(await listed({ types: ["t0"], limit: 30 })).toEqual(ofType.slice(0, 30));
    });

    test("show: null for an unknown id, INVALID for an impossible one", async () => {
      const store = await run().open();
      expect(await store.show("unknown")).toBeNull();
      await expect(store.show("../etc")).rejects.toMatchObject({ code: "INVALID" });
      expect(await store.attemptsOf("unknown")).toEqual([]);
    });

    test("a healthy run has no findings after any transition", async () => {
      const store = await run().open({ durability: "fast" });
      await store.register("w");
      for (let n = 0; n < 30; n++) {
        const depends_on = n % 3 === 2 ? [`t${n - 1}`] : [];
        await store.enqueue({ id: `t${n}`, type: "t", depends_on, max_attempts: 2 });
      }
      for (let n = 0; n < 20; n++) {
        const [claim] = await store.claim({ worker: "w" });
        if (!claim) break;
        if (n % 4 === 0) await store.fail(refOf(claim));
        else if (n % 4 === 1) await store.release(refOf(claim));
        else if (n % 4 === 2) await store.complete(refOf(claim));
      }
      expect((await store.doctor()).findings).toEqual([]);
      await store.close();
      expect((await (await run().open()).doctor()).findings).toEqual([]);
    });
  });
}
