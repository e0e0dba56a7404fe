import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { isVivError } from "../../base/errors.ts";
import { openRun } from "../../main.ts";
import type { Claim, Store } from "../../queue/store.ts";
import { COLUMNS, type Entry, workerOf } from "./entry.ts";
import { RunIndex } from "./run-index.ts";

const IDS = ["a", "b", "c", "d.2", "d.10", "e"];
const WORKERS = ["ada", "bob"];

async function newRun(): Promise<Store> {
  const store = await openRun(join(newFolder(), "run"), { create: true, durability: "fast" });
  onTestFinished(() => store.close());
  return store;
}

const idsOf = (entries: readonly Entry[] | null) => (entries ?? []).map(({ id }) => id).sort();

/** Everything that an answer may be made of. */
function contents({ table: { entries, views, types, holders } }: RunIndex) {
  const tasks = [...entries.values()].filter(({ column }) => column !== null);
  return {
    columns: COLUMNS.map((column) => [...views.all.columns[column]].map(({ id }) => id)),
    types: Object.fromEntries(types),
    holders: Object.fromEntries(holders),
    tasks: Object.fromEntries(
      tasks.map((one) => {
        const { needs, neededBy, parent, children } = one;
        const plain = { ...one, worker: workerOf(one), views: 0, seenIn: 0, isRead: true };
        const kin = { needs: idsOf(needs), neededBy: idsOf(neededBy), children: idsOf(children) };
        return [one.id, { ...plain, ...kin, parent: parent?.id ?? null }];
      }),
    ),
  };
}

type Step = { kind: number; id: string; worker: string; other: string };

/** People and workers; what is refused has changed nothing. */
async function act(store: Store, claims: Map<string, Claim>, step: Step): Promise<void> {
  const { id, worker, other } = step;
  const claim = claims.get(id);
  const acts: (() => Promise<unknown>)[] = [
    () =>
      store.enqueue({ id, type: `t${id}`, payload: { title: `Do ${id}` }, depends_on: [other] }),
    () => store.enqueue({ id, type: "fix", priority: "high", parent: other, review: true }),
    () => store.enqueue({ id, type: "fix", payload: { title: "<b>x</b>" }, max_attempts: 2 }),
    async () => {
      for (const one of await store.claim({ worker, max: 2 })) claims.set(one.id, one);
    },
    async () => claim && store.complete(claim, { proof: {} }),
    async () => claim && store.complete(claim),
    async () => claim && store.fail(claim, { note: "exit 1", fingerprint: "exit 1" }),
    async () => claim && store.fail(claim, { final: true, outcome: "timed_out" }),
    async () => claim && store.release(claim),
    () => store.cancel(id, { by: worker, note: "no" }),
    () => store.retry(id),
    () => store.approve(id, { unproven: true }),
    () => store.reject(id, { note: "again" }),
    () => store.rework(id, { note: "conflict" }),
    async () => renameSync(`${store.folder}/pending/${id}.json`, `${store.folder}/done/${id}.json`),
    async () => renameSync(`${store.folder}/done/${id}.json`, `${store.folder}/failed/${id}.json`),
    async () => rmSync(`${store.folder}/failed/${id}.json`),
    async () => writeFileSync(`${store.folder}/review/${id}.json`, "{ not json"),
    async () => claim && store.append({ event: "usage", ...used(claim, 0.5) }),
    async () => claim && store.append({ event: "step", ...used(claim, 0.1), tool: "Edit" }),
    () => store.append({ event: "landed", task: id, target: "main" }),
    () => store.append({ event: "conflict", task: id, note: "2 files" }),
  ];
  try {
    await acts[step.kind % acts.length]?.();
  } catch (error) {
    if (!isVivError(error) && !(error instanceof Error && "syscall" in error)) throw error;
  }
}

function used({ id: task, worker, token, attempt }: Claim, usd: number) {
  const tokens = { input: 1, output: 1, cache_read: 0, cache_write: 0 };
  const priced = { model: "opus", usd, source: "reported" };
  return { task, worker, token, attempt, ...priced, tokens, models: [{ ...tokens, ...priced }] };
}

const steps = fc.array(
  fc.record({
    kind: fc.nat(21),
    id: fc.constantFrom(...IDS),
    worker: fc.constantFrom(...WORKERS),
    other: fc.constantFrom(...IDS),
  }),
  { minLength: 1, maxLength: 30 },
);

describe("the index of a run", () => {
  it("is after any history what a fresh reading finds", async () => {
    const folder = newFolder();
    let n = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (history, hasMissed) => {
        const store = await openRun(join(folder, `run${n++}`), {
          create: true,
          durability: "fast",
        });
        const index = await RunIndex.read(store);
        await index.table.views.of("type:fix do");
        const claims = new Map<string, Claim>();
        for (const [i, step] of history.entries()) {
          await act(store, claims, step);
          // A change names a task; several may come at once, and a lost one is told as such.
          const at = new Date().toISOString();
          for (const id of hasMissed ? [] : IDS) {
            index.note({ kind: "task", id, from: null, to: null, at });
          }
          if (hasMissed) index.note({ kind: "missed", count: 1, since: at });
          if (i % 3 === 0) await index.settled();
        }
        await setImmediate(); // the line of a claim is written at the end of its turn
        await index.settled();
        await index.readNow(index.table.entries.values());
        const fresh = await RunIndex.read(store);
        expect(contents(index)).toEqual(contents(fresh));
        const [view, freshView] = [
          await index.table.views.of("type:fix do"),
          await fresh.table.views.of("do type:fix"),
        ];
        expect(view.counts()).toEqual(freshView.counts());
        await store.close();
      }),
      { numRuns: 40 },
    );
  });

  it("is what a fresh reading finds when it has begun with the names of done tasks", async () => {
    const folder = newFolder();
    let n = 0;
    await fc.assert(
      fc.asyncProperty(steps, steps, fc.boolean(), async (before, after, hasMissed) => {
        const path = join(folder, `run${n++}`);
        const store = await openRun(path, { create: true, durability: "fast" });
        const claims = new Map<string, Claim>();
        for (const step of before) await act(store, claims, step);
        await setImmediate();
        const index = new RunIndex(store, { fewDone: 0 });
        await index.listed();
        const { table } = await RunIndex.read(store);
        expect(index.table.views.all.counts()).toEqual(table.views.all.counts());
        for (const step of after) {
          await act(store, claims, step);
          const at = new Date().toISOString();
          if (hasMissed) index.note({ kind: "missed", count: 1, since: at });
          else for (const id of IDS) index.note({ kind: "task", id, from: null, to: null, at });
          await index.settled();
        }
        await index.complete();
        await setImmediate();
        await index.settled();
        const fresh = await RunIndex.read(store);
        expect(contents(index)).toEqual(contents(fresh));
        expect(index.table.views.all.counts()).toEqual(fresh.table.views.all.counts());
        await store.close();
      }),
      { numRuns: 40 },
    );
  });

  it("follows a done task of 1970, as on a disk that keeps no times", async () => {
    const store = await newRun();
    await store.enqueue({ id: "a", type: "fix" });
    for (const claim of await store.claim({ worker: "ada" })) await store.complete(claim);
    const since = new Date(0).toISOString();
    const [list, show] = [store.list.bind(store), store.show.bind(store)];
    vi.spyOn(store, "list").mockImplementation(async function* (query) {
      for await (const one of list(query)) yield { ...one, since };
    });
    vi.spyOn(store, "show").mockImplementation(async (id) => {
      const view = await show(id);
      return view && { ...view, since };
    });
    const index = await RunIndex.read(store);
    const { all } = index.table.views;
    expect([all.undated, all.columns.done.size, index.table.undatedIds().size]).toEqual([0, 1, 0]);
    renameSync(join(store.folder, "done/a.json"), join(store.folder, "failed/a.json"));
    const at = new Date().toISOString();
    index.note({ kind: "task", id: "a", from: null, to: null, at });
    await index.settled();
    expect(all.counts()).toMatchObject({ done: 0, failed: 1 });
    expect([all.undated, all.columns.done.size]).toEqual([0, 0]);
  });

  it("has the newest done tasks before it has looked at all of them", async () => {
    const store = await newRun();
    const ids = Array.from({ length: 70 }, (_, i) => `t.${i}`);
    await store.enqueueMany(ids.map((id) => ({ id, type: "fix" })));
    for (const claim of await store.claim({ worker: "ada", max: 70 })) await store.complete(claim);
    const index = new RunIndex(store, { fewDone: 0 });
    await index.listed();
    const { all } = index.table.views;
    expect(all.counts()).toMatchObject({ done: 70, working: 0 });
    expect([all.has("done", 50), all.has("done", 70)]).toEqual([true, false]);
    const first = all.columns.done.window(0, 50).map(({ id }) => id);
    expect(index.table.find("t.0")).toMatchObject({ column: "done" });
    await index.dated();
    expect(all.columns.done.window(0, 50).map(({ id }) => id)).toEqual(first);
    expect(all.columns.done.size).toBe(70);
  });

  it("follows a run by itself", async () => {
    const store = await newRun();
    const index = new RunIndex(store);
    index.start((error) => expect.fail(String(error)));
    onTestFinished(() => index.stop());
    await index.complete();
    await store.enqueue({ id: "a", type: "fix" });
    const [claim] = await store.claim({ worker: "ada" });
    await store.complete(claim as Claim, { proof: {} });
    await vi.waitFor(async () => {
      await index.settled();
      expect(index.table.entries.get("a")).toMatchObject({ column: "done", proof: "passed" });
    });
  });

  it("looks again at what it could not read: at a task, at a listing", async () => {
    const store = await newRun();
    await store.enqueue({ id: "a", type: "fix" });
    const index = await RunIndex.read(store);
    const at = new Date().toISOString();
    const full = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    vi.spyOn(store, "show").mockRejectedValueOnce(full);
    await store.cancel("a", { by: "ada" });
    index.note({ kind: "task", id: "a", from: null, to: null, at });
    await expect(index.settled()).rejects.toBe(full);
    await index.settled();
    expect(index.table.entries.get("a")).toMatchObject({ column: "failed" });
    vi.spyOn(store, "list").mockImplementationOnce(() => {
      throw full;
    });
    await store.enqueue({ id: "b", type: "fix" });
    index.note({ kind: "missed", count: 1, since: at });
    await expect(index.settled()).rejects.toBe(full);
    await index.settled();
    expect(index.table.entries.get("b")).toMatchObject({ column: "ready" });
  });

  it("has counts and windows before any file was read", async () => {
    const store = await newRun();
    for (const id of ["t.10", "t.2", "t.1"]) await store.enqueue({ id, type: "fix" });
    const index = new RunIndex(store);
    await index.listed();
    expect(index.table.views.all.counts()).toMatchObject({ ready: 3, done: 0 });
    expect(index.reading()).toEqual({ read: 0, total: 3 });
    const shown = index.table.views.all.columns.ready.window(0, 2);
    await index.readNow(shown);
    expect(shown.map(({ type }) => type)).toEqual(["fix", "fix"]);
    await index.complete();
    expect(index.reading()).toBeNull();
  });

  it("shows files that it cannot read, and names what only others name", async () => {
    const store = await newRun();
    mkdirSync(join(store.folder, "failed"), { recursive: true });
    writeFileSync(join(store.folder, "failed/x.json"), "not json");
    await store.enqueue({ id: "a", type: "fix", depends_on: ["nobody"] });
    const index = await RunIndex.read(store);
    expect(index.table.entries.get("x")).toMatchObject({ column: "failed", type: null, title: "" });
    expect(index.table.entries.get("nobody")).toMatchObject({ column: null });
    expect(idsOf(index.table.entries.get("nobody")?.neededBy ?? null)).toEqual(["a"]);
    expect(Object.values(index.table.views.all.counts()).reduce((a, b) => a + b)).toBe(2);
  });
});
