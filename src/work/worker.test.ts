import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { VivError } from "../base/errors.ts";
import type { Claim, Store } from "../queue/store.ts";
import type { WorkerHost } from "./host.ts";
import { Worker } from "./worker.ts";
import type { WorkerEvent, WorkerOptions } from "./worker-options.ts";

/** A worker on a store that does what the test says; no processes, no files, no real time. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function scene(claim: () => Promise<Claim[]>, more: Partial<Store> = {}) {
  let claims = 0;
  const events: WorkerEvent[] = [];
  const store = {
    location: "/run",
    register: async () => ({ note: () => {}, take: () => {}, release: async () => {} }),
    heartbeat: async () => {},
    claim: () => {
      claims++;
      return claim();
    },
    paused: async () => null,
    waitForWork: async () => true, // there is always some
    reap: async () => ({ reaped: [], live: [], skipped: [], stuck: [] }),
    sweep: async () => ({ promoted: 0, adopted: 0, recovered: 0 }),
    ...more,
  };
  const worker = new Worker(store as unknown as Store, {} as WorkerHost, {
    worker: "w",
    types: null,
    routeFor: () => undefined,
    concurrency: 1,
    killAfterMs: 1,
    logBytes: 1,
    pollMs: 5_000,
    heartbeatMs: 30_000,
    reapEveryMs: 3_600_000,
    prices: new Map(),
    budget: { run: {}, day: {} },
    sharedBudget: {} as WorkerOptions["sharedBudget"],
    onEvent: (event) => void events.push(event),
  });
  return { worker, events, claims: () => claims };
}

test("a claim that keeps failing is tried with growing pauses, and a stop is heard meanwhile", async () => {
  const { worker, claims, events } = scene(async () => {
    throw new VivError("DISK_FULL", "the disk is full");
  });
  const running = worker.run();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(claims()).toBeGreaterThan(3);
  expect(claims()).toBeLessThan(15);
  expect(events.filter(({ kind }) => kind === "trouble")).toHaveLength(claims());
  worker.stop();
  await running;
});

test("a request that makes no sense is an end, not a loop", async () => {
  const { worker, claims } = scene(async () => {
    throw new VivError("INVALID", "max must be a whole number");
  });
  await expect(worker.run()).rejects.toThrow("max must be");
  expect(claims()).toBe(1);
});

test("after a failure that has passed it is as quick as before", async () => {
  let isFull = true;
  const { worker, claims } = scene(async () => {
    if (isFull) throw new VivError("DISK_FULL", "the disk is full");
    await new Promise((resolve) => setTimeout(resolve, 10));
    return [];
  });
  const running = worker.run();
  await vi.advanceTimersByTimeAsync(20_000);
  isFull = false;
  await vi.advanceTimersByTimeAsync(31_000);
  const before = claims();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(claims() - before).toBeGreaterThan(50);
  worker.stop();
  await vi.advanceTimersByTimeAsync(100);
  await running;
});

test("run() waits until a claim without a route is given back", async () => {
  const claim = { task: { task_id: "a", task_type: "x" }, worker: "w", token: "1", attempt: 1 };
  let isFull = true;
  const release = vi.fn(async () => {
    if (isFull) throw new VivError("DISK_FULL", "the disk is full");
    return { id: "a", from: "claimed", to: "pending", attempt: 1 } as const;
  });
  const claims = [[claim as unknown as Claim]];
  const { worker, events } = scene(async () => claims.pop() ?? [], {
    release,
    waitForWork: async ({ signal }) => {
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      return false;
    },
  });
  const ended = vi.fn();
  const running = worker.run().then(ended);
  await vi.advanceTimersByTimeAsync(10_000);
  worker.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ended).not.toHaveBeenCalled();
  isFull = false;
  await vi.advanceTimersByTimeAsync(30_000);
  await running;
  expect(release).toHaveBeenLastCalledWith({ id: "a", worker: "w", token: "1" });
  expect(ended).toHaveBeenCalledWith({ attempts: 0, done: 0, review: 0, other: 0 });
  expect(events.filter(({ kind }) => kind === "trouble")).toHaveLength(1);
});

test("a claim without a route that cannot be given back is reported, and the worker goes on", async () => {
  const claim = { task: { task_id: "a", task_type: "x" }, worker: "w", token: "1", attempt: 1 };
  const claims = [[claim as unknown as Claim]];
  const { worker, events } = scene(async () => claims.pop() ?? [], {
    release: async () => {
      throw new VivError("CLAIM_LOST", "it was reaped");
    },
    waitForWork: async ({ signal }) => {
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      return false;
    },
  });
  const running = worker.run();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(events).toContainEqual({
    kind: "trouble",
    error: expect.objectContaining({ code: "CLAIM_LOST" }),
    claim,
  });
  worker.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await running).toEqual({ attempts: 0, done: 0, review: 0, other: 0 });
});
