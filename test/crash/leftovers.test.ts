import { appendFileSync, linkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { names, places } from "../support/run-files.ts";

/** What processes leave that died between two steps, laid out by hand. */

const HOUR = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

async function scene() {
  const run = join(newFolder(), "run");
  const host = new FakeHost();
  const open = () => openRun(run, { create: true, durability: "fast", machine: host.process() });
  return { run, host, open, store: await open() };
}

async function claim(store: Store, worker = "w") {
  const [one] = await store.claim({ worker });
  if (!one) throw new Error("nothing to claim");
  return { id: one.task.task_id, worker, token: one.token, attempt: one.attempt };
}

function recordEnd(run: string, ref: { id: string; worker: string; token: string }, end: object) {
  const [file = ""] = names(join(run, "ledger"));
  const { id: task, worker, token } = ref;
  const line = { at: new Date().toISOString(), event: "ended", task, worker, token, attempt: 1 };
  appendFileSync(
    join(run, "ledger", file),
    `${JSON.stringify({ ...line, from: "claimed", ...end })}\n`,
  );
}

describe("an end that was recorded, but not made", () => {
  test.each([
    { outcome: "done", to: "done" },
    { outcome: "done", to: "review" },
    { outcome: "failed", to: "failed", note: "no" },
    { outcome: "released", to: "pending" },
    { outcome: "rate_limited", to: "waiting", retry_at: "2999-01-01T00:00:00.000Z" },
  ])("is made by the reaper, and not run again: $outcome to $to", async (end) => {
    const { run, host, open, store } = await scene();
    await store.enqueue({ id: "a", type: "t" });
    await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
    const ref = await claim(store);
    await store.close();
    recordEnd(run, ref, end);
    host.advance(HOUR);
    const reaper = await open();
    expect((await reaper.reap()).reaped).toMatchObject([
      { id: "a", to: end.to, reason: "finished" },
    ]);
    expect(places(run).get("a")).toEqual([{ state: end.to }]);
    expect(await reaper.attemptsOf("a")).toMatchObject([
      { attempt: 1, worker: "w", token: ref.token, outcome: end.outcome },
    ]);
    expect((await reaper.show("b"))?.state).toBe(end.to === "done" ? "pending" : "waiting");
    expect((await reaper.reap()).reaped).toEqual([]);
    expect((await reaper.doctor()).findings).toEqual([]);
  });

  test("while its worker lives, it is that one's to make", async () => {
    const { run, open, store } = await scene();
    await store.enqueue({ id: "a", type: "t" });
    const ref = await claim(store);
    recordEnd(run, ref, { outcome: "done", to: "done" });
    const reaper = await open();
    expect(await reaper.reap()).toMatchObject({ reaped: [], live: ["w"] });
    expect(await store.complete(ref)).toMatchObject({ to: "done", attempt: 1 });
    expect(await reaper.attemptsOf("a")).toHaveLength(1);
  });
});

describe("a publication that was cut short", () => {
  const text = (id: string, more: object = {}) =>
    JSON.stringify({ task_id: id, task_type: "t", ...more });

  /** Old enough for nobody to be writing it any more: the files' ages follow the real time. */
  const later = () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });

  test.each([{}, { depends_on: ["x"] }, { not_before: "2999-01-01T00:00:00Z" }])(
    "the id is taken, the file waits in tmp/ (%j): the sweep publishes it, once",
    async (more) => {
      const { run, open, store } = await scene();
      const tmp = join(run, ".viv/tmp/a~host.1.0.x");
      writeFileSync(tmp, text("a", more));
      linkSync(tmp, join(run, ".viv/ids/a.json"));
      expect(await store.sweep()).toMatchObject({ recovered: 0 }); // it may still be at it
      later();
      const sweeper = await open();
      expect(await sweeper.sweep()).toMatchObject({ recovered: 1 });
      const state = Object.keys(more).length === 0 ? "pending" : "waiting";
      expect(places(run).get("a")).toEqual([{ state }]);
      expect(await sweeper.sweep()).toMatchObject({ recovered: 0 });
      expect((await sweeper.doctor()).findings).toEqual([]);
      expect(await sweeper.claim({ worker: "w", max: 9 })).toHaveLength(
        state === "pending" ? 1 : 0,
      );
    },
  );

  test("the sweep publishes it also when the clock was set back", async () => {
    const { run, store } = await scene();
    const tmp = join(run, ".viv/tmp/a~host.1.0.x");
    writeFileSync(tmp, text("a"));
    linkSync(tmp, join(run, ".viv/ids/a.json"));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - HOUR });
    expect(await store.sweep()).toMatchObject({ recovered: 1 });
  });

  test("whoever wants the id finishes it instead", async () => {
    const { run, store } = await scene();
    const tmp = join(run, ".viv/tmp/a~host.1.0.x");
    writeFileSync(tmp, text("a", { mine: "first" }));
    linkSync(tmp, join(run, ".viv/ids/a.json"));
    await expect(store.enqueue({ id: "a", type: "t" })).rejects.toMatchObject({
      code: "TASK_EXISTS",
      details: { state: "pending" },
    });
    const [one] = await store.claim({ worker: "w" });
    expect(one?.task).toMatchObject({ task_id: "a", mine: "first" });
  });

  test.each([{}, { ifAbsent: true }])("without its draft, the id is given out: %j", async (how) => {
    const { run, store } = await scene();
    writeFileSync(join(run, ".viv/ids/a.json"), text("a"));
    expect(await store.enqueue({ id: "a", type: "mine" }, how)).toMatchObject({ created: true });
    expect((await store.show("a"))?.task?.task_type).toBe("mine");
    expect(places(run).get("a")).toEqual([{ state: "pending" }]);
    expect((await store.doctor()).findings).toEqual([]);
  });

  test("a draft without the id counts for nothing, and does not block the id", async () => {
    const { run, open, store } = await scene();
    writeFileSync(join(run, ".viv/tmp/a~host.1.0.x"), text("a", { mine: "draft" }));
    expect(await store.enqueue({ id: "a", type: "t" })).toMatchObject({ created: true });
    later();
    const doctor = await open();
    await doctor.doctor({ fix: true });
    expect(names(join(run, ".viv/tmp"))).toEqual([]);
    expect(places(run).get("a")).toEqual([{ state: "pending" }]);
    expect((await doctor.doctor()).findings).toEqual([]);
  });

  test("published, but on no lane: claimers find it all the same", async () => {
    const { run, open, store } = await scene();
    for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t" });
    await store.close();
    rmSync(join(run, ".viv/lanes/normal.log"));
    const claimer = await open();
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1_100); // no line may still come
    const claims = await claimer.claim({ worker: "w", max: 9 });
    later.mockRestore();
    expect(claims.map(({ task }) => task.task_id).sort()).toEqual(["a", "b", "c"]);
    expect(await claimer.claim({ worker: "w", max: 9 })).toEqual([]);
  });

  test("waiting, but noted nowhere: doctor notes it again, and it wakes", async () => {
    const { run, open, store } = await scene();
    await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
    rmSync(join(run, ".viv/dependents/a"));
    const doctor = await open();
    expect((await doctor.doctor({ fix: true })).findings).toMatchObject([
      { code: "missing_index", fixed: true },
    ]);
    await doctor.enqueue({ id: "a", type: "t" });
    await doctor.complete(await claim(doctor));
    expect((await claim(doctor)).id).toBe("b");
  });

  test("done, but its dependents were not woken: the sweep wakes them", async () => {
    const { run, open, store } = await scene();
    await store.enqueue({ id: "a", type: "t" });
    await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
    await claim(store);
    renameSync(join(run, "claimed/w/a.json"), join(run, "done/a.json"));
    const sweeper = await open();
    expect(await sweeper.sweep()).toMatchObject({ promoted: 1 });
    expect((await claim(sweeper)).id).toBe("b");
  });
});
