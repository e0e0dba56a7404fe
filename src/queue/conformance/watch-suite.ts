import { describe, expect, test } from "vitest";
import type { Change, Store } from "../store.ts";
import { claimOne, type MakeHarness, refOf, useRun } from "./harness.ts";

type TaskChange = Extract<Change, { kind: "task" }>;

export function watchSuite(make: MakeHarness): void {
  describe("watch", () => {
    const run = useRun(make);

    test("each change is emitted, with the states before and after", async () => {
      const watching = await run().open({ durability: "fast" });
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "old", type: "t", depends_on: ["x"] });
      const feed = new Feed(watching);
      await feed.begins(store);
      await store.enqueue({ id: "a", type: "t", review: true });
      expect(await feed.next("a")).toMatchObject({ from: null, to: "pending" });
      const claim = await claimOne(store, "w1", { types: ["t"] });
      expect(await feed.next("a")).toMatchObject({ from: "pending", to: "claimed", worker: "w1" });
      await store.complete(refOf(claim));
      expect(await feed.next("a")).toMatchObject({ from: "claimed", to: "review" });
      await store.approve("a");
      expect(await feed.next("a")).toMatchObject({ from: "review", to: "done" });
      await store.enqueue({ id: "b", type: "t", depends_on: ["c"] });
      expect(await feed.next("b")).toMatchObject({ from: null, to: "waiting" });
      await store.cancel("b");
      expect(await feed.next("b")).toMatchObject({ from: "waiting", to: "failed" });
      await feed.stop();
      // A task that was there before is no change.
      expect(feed.all.filter(({ id }) => id === "old")).toEqual([]);
    });

    test("a change has its time, and the stream ends with the signal", async () => {
      const store = await run().open({ durability: "fast" });
      const feed = new Feed(store);
      await feed.begins(store);
      run().clock.advance(5_000);
      await store.enqueue({ id: "a", type: "t" });
      expect((await feed.next("a")).at).toBe(new Date(run().clock.now()).toISOString());
      await feed.stop();
      const before = AbortSignal.abort();
      for await (const _ of store.watch({ signal: before })) throw new Error("too late");
    });

    test("a consumer that leaves in the middle ends the stream", async () => {
      const store = await run().open({ durability: "fast" });
      const timer = setInterval(() => void store.enqueue({ type: "t" }), 10);
      try {
        for await (const change of store.watch()) {
          expect(change.kind).toBe("task");
          break;
        }
      } finally {
        clearInterval(timer);
      }
    });

    test("a burst arrives whole: every task, in its last state", async () => {
      const watching = await run().open({ durability: "fast" });
      const store = await run().open({ durability: "fast" });
      const feed = new Feed(watching);
      await feed.begins(store);
      const ids = Array.from({ length: 500 }, (_, n) => `t${n}`);
      await store.enqueueMany(ids.map((id) => ({ id, type: "burst" })));
      for (const claim of await store.claim({ worker: "w", types: ["burst"], max: 250 })) {
        await store.complete(refOf(claim));
      }
      const last = () => new Map(feed.all.map((change) => [change.id, change.to]));
      await feed.until(() => {
        const now = last();
        const done = ids.filter((id) => now.get(id) === "done").length;
        return done === 250 && ids.every((id) => now.has(id));
      });
      await feed.stop();
      expect(ids.filter((id) => last().get(id) === "pending")).toHaveLength(250);
    });
  });

  describe("waitForWork", () => {
    const run = useRun(make);
    const LONG = 30_000;

    test("true at once when there is something", async () => {
      const store = await run().open();
      await store.enqueue({ id: "a", type: "t" });
      expect(await store.waitForWork({ timeoutMs: LONG })).toBe(true);
      expect(await store.waitForWork({ timeoutMs: LONG, types: ["t"] })).toBe(true);
      expect(await claimOne(store)).toBeDefined();
    });

    test("false after the time, or when the signal comes", async () => {
      const store = await run().open();
      expect(await store.waitForWork({ timeoutMs: 20 })).toBe(false);
      await store.enqueue({ id: "a", type: "t" });
      expect(await store.waitForWork({ timeoutMs: 20, types: ["other"] })).toBe(false);
      const stop = new AbortController();
      const waiting = store.waitForWork({
        timeoutMs: LONG,
        types: ["other"],
        signal: stop.signal,
      });
      stop.abort();
      expect(await waiting).toBe(false);
      const late = { timeoutMs: LONG, types: ["other"], signal: AbortSignal.abort() };
      expect(await store.waitForWork(late)).toBe(false);
    });

    test("woken by an enqueue of another process", async () => {
      const store = await run().open({ durability: "fast" });
      const other = await run().open({ durability: "fast" });
      for (let n = 0; n < 5; n++) {
        const waiting = store.waitForWork({ timeoutMs: LONG });
        await other.enqueue({ id: `a${n}`, type: "t" });
        expect(await waiting).toBe(true);
        expect(await claimOne(store)).toMatchObject({ task: { task_id: `a${n}` } });
      }
    });

    test("woken by a release, a retry, a reap and a promotion", async () => {
      const store = await run().open({ durability: "fast" });
      const other = await run().open({ durability: "fast" });
      await other.enqueue({ id: "a", type: "t" });
      await other.enqueue({ id: "b", type: "t", depends_on: ["a"] });
      const held = await claimOne(other, "w2");
      const wakes: (() => Promise<unknown>)[] = [
        () => other.release(refOf(held)),
        async () => other.cancel("a").then(() => other.retry("a")),
        async () => {
          run().clock.advance(3_600_000);
          return other.reap();
        },
      ];
      for (const wake of wakes) {
        const waiting = store.waitForWork({ timeoutMs: LONG });
        await wake();
        expect(await waiting).toBe(true);
        await claimOne(store);
      }
      const waiting = store.waitForWork({ timeoutMs: LONG });
      await other.complete({ id: "a", worker: "w" });
      expect(await waiting).toBe(true);
      expect((await claimOne(store)).task.task_id).toBe("b");
    });

    test("while review/ is full there is no work; woken when something leaves it", async () => {
      const store = await run().open({ durability: "fast" });
      const person = await run().open({ durability: "fast" });
      for (const id of ["r1", "r2"]) {
        await store.enqueue({ id, type: "t", review: true });
        await store.complete(refOf(await claimOne(store)));
      }
      await store.enqueue({ id: "a", type: "t" });
      const limited = { reviewLimit: 2 };
      expect(await store.waitForWork({ timeoutMs: 20, ...limited })).toBe(false);
      expect(await store.waitForWork({ timeoutMs: LONG, reviewLimit: 3 })).toBe(true);
      for (const decide of [() => person.approve("r1"), () => person.reject("r2")]) {
        const waiting = store.waitForWork({ timeoutMs: LONG, ...limited });
        await decide();
        expect(await waiting).toBe(true);
        const [claim] = await store.claim({ worker: "w", ...limited });
        if (!claim) throw new Error("there was room for one");
        await store.complete(refOf(claim), { review: true });
        await store.enqueue({ type: "t" });
        expect(await store.claim({ worker: "w", ...limited })).toEqual([]);
      }
    });

    test("woken when a time comes", async () => {
      const store = await run().open({ durability: "fast" });
      await store.enqueue({ id: "a", type: "t", not_before: "+10m" });
      run().clock.advance(600_000 - 30);
      const waiting = store.waitForWork({ timeoutMs: LONG });
      run().clock.advance(60);
      expect(await waiting).toBe(true);
      expect((await claimOne(store)).task.task_id).toBe("a");
    });
  });
}

/** Follows a store's changes and lets a test wait for them. */
class Feed {
  readonly all: TaskChange[] = [];
  readonly #stop = new AbortController();
  readonly #over: Promise<void>;
  readonly #taken = new Set<TaskChange>();
  #news: () => void = () => {};

  constructor(store: Store) {
    this.#over = this.#follow(store);
  }

  async #follow(store: Store): Promise<void> {
    for await (const change of store.watch({ signal: this.#stop.signal, rescanMs: 1_000 })) {
      if (change.kind === "task") this.all.push(change);
      this.#news();
    }
  }

  /** A change made before the stream has begun is not emitted: enqueues until the first one is. */
  async begins(store: Store): Promise<void> {
    const timer = setInterval(() => void store.enqueue({ type: "start", depends_on: ["x"] }), 20);
    try {
      await this.until(() => this.all.length > 0);
    } finally {
      clearInterval(timer);
    }
  }

  async until(holds: () => boolean): Promise<void> {
    const deadline = setTimeout(() => this.#stop.abort(), 20_000);
    while (!holds()) {
      if (this.#stop.signal.aborted) throw new Error("the change was not emitted within 20 s");
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#news = resolve;
        }),
        this.#over,
      ]);
    }
    clearTimeout(deadline);
  }

  /** The next change of this task that was not taken yet. */
  async next(id: string): Promise<TaskChange> {
    const find = () => this.all.find((change) => change.id === id && !this.#taken.has(change));
    await this.until(() => find() !== undefined);
    const change = find() as TaskChange;
    this.#taken.add(change);
    return change;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#over;
  }
}
