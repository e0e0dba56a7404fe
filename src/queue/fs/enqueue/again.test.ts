import fs, {
  existsSync,
  linkSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { places } from "../../../../test/support/run-files.ts";
import { isVivError } from "../../../base/errors.ts";
import { openRun } from "../../../main.ts";
import type { Store } from "../../store.ts";

/** What test/mixed/swarm-cli-again.test.ts and test/crash/every-step.test.ts do not reach. */

const AGAIN = { asSwarmLib: true };

async function newRun(): Promise<{ path: string; store: Store }> {
  const path = join(newFolder(), "run");
  return { path, store: await openRun(path, { create: true, durability: "fast" }) };
}

async function endOne(store: Store, id: string, end: "complete" | "fail"): Promise<number> {
  const [claim] = await store.claim({ worker: "w" });
  if (claim?.task.task_id !== id) throw new Error(`${id} could not be claimed`);
  await store[end]({ id, worker: "w", token: claim.token });
  return claim.attempt;
}

test("attempts of earlier rounds have their numbers, and do not count against the new one", async () => {
  const { store } = await newRun();
  const spec = { id: "a", type: "t", max_attempts: 2 };
  await store.enqueue(spec);
  expect(await endOne(store, "a", "complete")).toBe(1);
  await store.enqueue(spec, AGAIN);
  expect(await endOne(store, "a", "fail")).toBe(2);
  // One failure of two: it rests, and is not failed.
  expect((await store.show("a"))?.state).toBe("waiting");
  await store.close();
});

test("what only viv enqueue can ask for holds in every round: no approval that nobody gave", async () => {
  const { path, store } = await newRun();
  const terms = { review: true, done_when: "true", priority: "high", max_attempts: 3 } as const;
  await store.enqueue({ id: "a", type: "t", timeout: "5m", ...terms });
  for (const remove of [false, true]) {
    await endOne(store, "a", "complete");
    await store.approve("a", { unproven: true });
    if (remove) rmSync(join(path, "done/a.json"));
    await store.enqueue({ id: "a", type: "t", payload: { remove } }, AGAIN);
    const { task } = (await store.show("a")) ?? {};
    expect(task).toMatchObject({ ...terms, timeout: "5m", payload: { remove } });
  }
  await endOne(store, "a", "complete");
  expect((await store.show("a"))?.state).toBe("review");
  await store.close();
});

test("after a loss of .viv/ the history is that of the ledger, rounds included", async () => {
  const { path, store } = await newRun();
  await store.enqueue({ id: "a", type: "t" });
  await endOne(store, "a", "complete");
  await store.enqueue({ id: "a", type: "t", payload: { round: 2 } }, AGAIN);
  await endOne(store, "a", "fail");
  const before = await store.attemptsOf("a");
  await store.close();
  expect(before.map(({ attempt, to }) => [attempt, to])).toEqual([
    [1, "done"],
    [2, "failed"],
  ]);
  rmSync(join(path, ".viv"), { recursive: true });
  const later = await openRun(path);
  await later.sweep();
  expect(await later.attemptsOf("a")).toEqual(before);
  expect((await later.doctor()).findings).toEqual([]);
  await later.close();
});

test("a round whose process died when it had the id is finished by the next request", async () => {
  const { path, store } = await newRun();
  await store.enqueue({ id: "a", type: "t", payload: { round: 1 } });
  await endOne(store, "a", "complete");
  const text = readFileSync(join(path, "done/a.json"), "utf8").replace('"round": 1', '"round": 2');
  const draft = join(path, ".viv/tmp/a~host.1.0.x");
  writeFileSync(draft, text);
  rmSync(join(path, ".viv/ids/a.json"));
  linkSync(draft, join(path, ".viv/ids/a.json"));

  const spec = { id: "a", type: "t", payload: { round: 2 } };
  expect(await store.enqueue(spec, AGAIN)).toMatchObject({ created: false });
  expect(places(path).get("a")).toEqual([{ state: "pending" }]);
  expect((await store.show("a"))?.task?.payload).toEqual({ round: 2 });
  const first = JSON.parse(readFileSync(join(path, "artifacts/a.rounds/1/done.json"), "utf8"));
  expect(first.payload).toEqual({ round: 1 });
  await store.close();
});

test("a retry by a person and a new round at the same moment: one of them, whole", async () => {
  for (let n = 0; n < 20; n++) {
    const { path, store } = await newRun();
    await store.enqueue({ id: "a", type: "t", payload: { round: 1 } });
    await endOne(store, "a", "fail");
    const other = await openRun(path, { durability: "fast" });
    const settled = await Promise.allSettled([
      other.retry("a"),
      store.enqueue({ id: "a", type: "t", payload: { round: 2 } }, AGAIN),
    ]);
    for (const one of settled) {
      if (one.status === "rejected" && !isVivError(one.reason)) throw one.reason;
    }
    expect(settled.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(places(path).get("a")).toEqual([{ state: "pending" }]);
    const isNew = settled[1]?.status === "fulfilled";
    const { payload } = JSON.parse(readFileSync(join(path, "pending/a.json"), "utf8"));
    expect(payload).toEqual({ round: isNew ? 2 : 1 });
    expect((await store.doctor()).findings).toEqual([]);
    expect(await endOne(store, "a", "complete")).toBe(2);
    await Promise.all([store.close(), other.close()]);
  }
});

test.each([
  ["linkSync", /\/a~/, /\/id~/],
  ["renameSync", /\/a~/, /\/a\.json$/],
] as const)(
  "the new file is removed from .viv/tmp before its %s: it is written again",
  async (name, from, to) => {
    const { path, store } = await newRun();
    await store.enqueue({ id: "a", type: "t", payload: { round: 1 } });
    await endOne(store, "a", "complete");
    const original = fs[name];
    let removed = 0;
    onTestFinished(() => {
      fs[name] = original;
      syncBuiltinESMExports();
    });
    fs[name] = (source, target) => {
      if (from.test(String(source)) && to.test(String(target)) && removed++ === 0) rmSync(source);
      original(source, target);
    };
    syncBuiltinESMExports();
    const again = { id: "a", type: "t", payload: { round: 2 } };
    expect(await store.enqueue(again, AGAIN)).toMatchObject({ created: true, state: "pending" });
    expect(removed).toBeGreaterThan(0);
    expect(places(path).get("a")).toEqual([{ state: "pending" }]);
    expect((await store.show("a"))?.task?.payload).toEqual({ round: 2 });
    expect((await store.doctor()).findings).toEqual([]);
    expect(await endOne(store, "a", "complete")).toBe(2);
    await store.close();
  },
);

test("a task that is published between two looks for it is found", async () => {
  const { path, store } = await newRun();
  await store.enqueue({ id: "a", type: "t" });
  const draft = join(path, ".viv/tmp/a~host.1.0.x");
  renameSync(join(path, "pending/a.json"), draft);
  const original = fs.readdirSync;
  onTestFinished(() => {
    fs.readdirSync = original;
    syncBuiltinESMExports();
  });
  fs.readdirSync = ((folder: string, ...more: []) => {
    const isTmp = folder.endsWith("/tmp") || realpathSync(folder).endsWith("/tmp");
    if (isTmp && existsSync(draft)) renameSync(draft, join(path, "pending/a.json"));
    return original(folder, ...more);
  }) as typeof fs.readdirSync;
  syncBuiltinESMExports();
  expect(await store.show("a")).toMatchObject({ state: "pending" });
  await store.close();
});

test("without asSwarmLib an id is given out once", async () => {
  const { store } = await newRun();
  await store.enqueue({ id: "a", type: "t" });
  await endOne(store, "a", "complete");
  await expect(store.enqueue({ id: "a", type: "t" })).rejects.toMatchObject({
    code: "TASK_EXISTS",
  });
  await store.close();
});

test("a pit's food is not given out again", async () => {
  const path = join(newFolder(), "pit");
  const store = await openRun(path, { create: true, layout: "pit", durability: "fast" });
  const { id } = await store.enqueue({ type: "food", payload: { task: "x" } });
  const again = store.enqueue({ id, type: "food", payload: { task: "x" } }, AGAIN);
  await expect(again).rejects.toMatchObject({ code: "TASK_EXISTS" });
  await store.close();
});
