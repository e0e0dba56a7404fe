import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { knownPath } from "../../../../test/support/handle-paths.ts";
import { ledgerLines, places } from "../../../../test/support/run-files.ts";
import { openRun } from "../../../main.ts";
import { claimOne, refOf } from "../../conformance/harness.ts";
import type { Claim, Store } from "../../store.ts";

/** Tasks that a worker leaves to others, on the lanes of a run; conformance/choke-suite.ts has the
 * rules for any store. */

async function crowd(workers: string[]) {
  const path = join(newFolder(), "run");
  const stores: Store[] = [];
  for (const worker of workers) {
    const store = await openRun(path, { create: true, durability: "fast" });
    await store.register(worker);
    stores.push(store);
  }
  return { path, stores };
}

/** Puts a task on the lane that this worker has choked on. */
async function enqueueChoked(store: Store, worker: string, id: string): Promise<void> {
  await store.enqueue({ id, type: `only-${id}`, max_attempts: 9 });
  for (let n = 0; n < 3; n++) {
    const ref = refOf(await claimOne(store, worker, { types: [`only-${id}`] }));
    await store.fail(ref, { fingerprint: "f", backoffMs: 0 });
    await store.sweep(); // its time has come
  }
}

test("busy claimers that share a lane find the tasks that one of them left, without adopting them", async () => {
  const { path, stores } = await crowd(["w0", "w1"]);
  const [first, second] = stores;
  if (!first || !second) throw new Error("two were opened");
  const choked: string[] = [];
  for (let n = 0; n < 12; n++) {
    await first.enqueueMany(Array.from({ length: 100 }, () => ({ type: "x" })));
    await enqueueChoked(first, "w0", `c${n}`);
    choked.push(`c${n}`);
  }
  const taken: Claim[] = [];
  for (let idle = 0, i = 0; idle < 2; i++) {
    const claims = (await stores[i % 2]?.claim({ worker: `w${i % 2}` })) ?? [];
    taken.push(...claims);
    idle = claims.length > 0 ? 0 : idle + 1;
  }
  expect(taken).toHaveLength(12 * 101);
  const byWhom = new Map(taken.map(({ task, worker }) => [task.task_id, worker]));
  expect(choked.map((id) => byWhom.get(id))).toEqual(choked.map(() => "w1"));
  expect(ledgerLines(path).lines.filter(({ event }) => event === "adopted")).toEqual([]);
  for (const store of stores) await store.close();
});

test("a task cancelled while it is given back stays cancelled", async () => {
  const { path, stores } = await crowd(["w0", "w1"]);
  const [store] = stores;
  if (!store) throw new Error("two were opened");
  await enqueueChoked(store, "w0", "a");
  const original = fs.renameSync;
  const patch = (rename: typeof fs.renameSync) => {
    fs.renameSync = rename;
    syncBuiltinESMExports();
  };
  onTestFinished(() => patch(original));
  patch((from, to) => {
    if (knownPath(to) === join(path, "pending/a.json")) {
      patch(original);
      original(join(path, "claimed/w0/a.json"), join(path, "failed/a.json"));
    }
    original(from, to);
  });
  expect(await store.claim({ worker: "w0" })).toEqual([]);
  expect(places(path).get("a")).toEqual([{ state: "failed" }]);
  for (const one of stores) await one.close();
});

test("an old line leads the one that choked to the task: it gives it back at once", async () => {
  const { path, stores } = await crowd(["w0", "w1"]);
  const [first, second] = stores;
  if (!first || !second) throw new Error("two were opened");
  await enqueueChoked(first, "w0", "a");
  const claims = () =>
    ledgerLines(path).lines.filter(({ event, worker }) => event === "claimed" && worker === "w0");
  const before = claims().length;
  // This reader begins at the lane's beginning, where the line of the first attempt is.
  expect(await first.claim({ worker: "w0" })).toEqual([]);
  expect(places(path).get("a")).toEqual([{ state: "pending" }]);
  expect(claims()).toHaveLength(before);
  expect((await second.claim({ worker: "w1" })).map(({ attempt }) => attempt)).toEqual([4]);
  expect((await first.doctor()).findings).toEqual([]);
  for (const store of stores) await store.close();
});
