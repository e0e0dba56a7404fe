import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { DiskModel } from "../support/disk-model.ts";
import { newFolder } from "../support/folders.ts";

/**
 * In `safe`, before anything is acknowledged, every name and every line that it depends on is on the disk,
 * also on a file system that promises no more than it must; and of a rename the target before the source.
 */

type Layout = "run" | "pit";

async function scene(layout: Layout) {
  const disk = new DiskModel();
  onTestFinished(() => disk.restore());
  const folder = newFolder();
  const path = join(folder, "above", "run");
  const store = await openRun(path, { create: true, layout });
  const below = (names: string[]) => names.map((name) => name.slice(folder.length + 1));
  return { disk, store, path, lost: () => below(disk.lost) };
}

/** As a person would call them; what it is called in a pit follows from it. */
const spec = (layout: Layout, more: Record<string, unknown> = {}) => ({
  type: layout === "pit" ? "food" : "t",
  payload: { task: "do it" },
  ...more,
});

async function claim(store: Store, worker = "w") {
  const [claim] = await store.claim({ worker });
  if (!claim) throw new Error("there was something to claim");
  return { id: claim.task.task_id, worker, token: claim.token };
}

describe.each(["run", "pit"] as const)("a %s", (layout) => {
  test("that is new: its folders, and the one that it was made in", async () => {
    const { lost } = await scene(layout);
    expect(lost()).toEqual([]);
  });

  test.each([
    ["one", (store: Store) => store.enqueue(spec(layout))],
    ["one that waits", (store: Store) => store.enqueue(spec(layout, { not_before: "+1h" }))],
    ["several", (store: Store) => store.enqueueMany([spec(layout), spec(layout)])],
  ])("enqueue of %s", async (_, enqueue) => {
    const { disk, store, lost } = await scene(layout);
    await enqueue(store);
    // Its line in the ledger says nothing that the folders do not say.
    expect(lost().filter((name) => !name.includes("ledger/"))).toEqual([]);
    expect(disk.wrongOrder).toEqual([]);
  });

  test("claim: not it, but the folder that it lies in", async () => {
    const { store, lost } = await scene(layout);
    await store.enqueue(spec(layout));
    const { id } = await claim(store);
    const names = lost().filter((name) => !name.includes("ledger/"));
    expect(names.every((name) => name.includes(id) || name.endsWith(".heartbeat"))).toBe(true);
  });

  const ENDS: [string, Record<string, unknown>, (store: Store, ref: Ref) => Promise<unknown>][] = [
    ["complete", {}, (store, ref) => store.complete(ref)],
    ["complete in the background", {}, (store, ref) => store.complete(ref, { inBackground: true })],
    ["complete with a note", {}, (store, ref) => store.complete(ref, { note: "well" })],
    ["complete into review", { review: true }, (store, ref) => store.complete(ref)],
    ["fail for good", {}, (store, ref) => store.fail(ref, { final: true })],
    ["fail, to be tried again", { max_attempts: 3 }, (store, ref) => store.fail(ref)],
    ["release", {}, (store, ref) => store.release(ref)],
    ["cancel", {}, (store, ref) => store.cancel(ref.id)],
  ];
  test.each(ENDS)("%s", async (_, more, end) => {
    const { disk, store, lost } = await scene(layout);
    await store.enqueue(spec(layout, more));
    const ref = await claim(store);
    const claimOnly = new Set(lost().filter((name) => !name.includes("/claimed/")));
    await end(store, ref);
    const isOurs = (name: string) => !claimOnly.has(name) && !name.endsWith(".heartbeat");
    // What a pit tells its keeper is told again by a sweep.
    expect(lost().filter((name) => isOurs(name) && !name.includes("keeper"))).toEqual([]);
    expect(disk.unrecorded).toEqual([]);
    expect(disk.wrongOrder).toEqual([]);
  });

  test.each(["approve", "reject", "cancel", "retry"] as const)("%s", async (decide) => {
    const { disk, store, lost } = await scene(layout);
    await store.enqueue(spec(layout, { review: true }));
    const ref = await claim(store);
    await store.complete(ref);
    if (decide === "retry") await store.cancel(ref.id);
    const before = new Set(lost());
    await store[decide](ref.id);
    expect(lost().filter((name) => !before.has(name))).toEqual([]);
    expect(disk.wrongOrder).toEqual([]);
  });

  test("what was promoted", async () => {
    const { disk, store, lost } = await scene(layout);
    const { id } = await store.enqueue(spec(layout));
    await store.enqueue(spec(layout, { depends_on: [id] }));
    const ref = await claim(store);
    await store.complete(ref);
    expect(await store.counts()).toMatchObject({ waiting: 0, pending: 1, done: 1 });
    expect(lost().filter((name) => !name.includes(id) && !name.endsWith(".heartbeat"))).toEqual([]);
    expect(disk.wrongOrder).toEqual([]);
  });
});

interface Ref {
  id: string;
  worker: string;
  token: string;
}
