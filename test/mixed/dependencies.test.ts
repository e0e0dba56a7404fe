import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun, type Store } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { idsIn, readStatus, swarm, swarmCli } from "./company.ts";

const WORKER = "viv.1";
const LONG = 60_000;

/** A run in which swarm-lib's worker holds `first`, and our `second` waits for it. */
async function heldByAForeigner(options: { withStatus: boolean }): Promise<[string, Store]> {
  const run = join(newFolder(), "run");
  if (options.withStatus) await swarm(run, "init", ["run"]);
  await swarm(run, "enqueue", ["first"]);
  const store = await openRun(run, { create: true, durability: "fast" });
  expect(await swarm(run, "claim", ["py.1"])).toMatchObject([{ task_id: "first" }]);
  const enqueued = await store.enqueue({ id: "second", type: "work", depends_on: ["first"] });
  expect(enqueued.state).toBe("waiting");
  expect(await claimIds(store)).toEqual([]);
  return [run, store];
}

async function claimIds(store: Store): Promise<string[]> {
  const claims = await store.claim({ worker: WORKER, max: 10 });
  return claims.map(({ task }) => task.task_id);
}

for (const withStatus of [true, false]) {
  const when = withStatus ? "with a status.json" : "without a status.json";

  test(`a foreign completion wakes one of ours that waits, ${when}`, async () => {
    const [run, store] = await heldByAForeigner({ withStatus });
    const woken = store.waitForWork({ timeoutMs: LONG });
    await swarm(run, "complete", ["py.1", "first"]);
    expect(await woken).toBe(true);
    expect(idsIn(run, "waiting")).toEqual([]);
    expect(await claimIds(store)).toEqual(["second"]);
    await store.close();
  });

  test(`with nobody watching, the next sweep finds what a foreigner unblocked, ${when}`, async () => {
    const [run, store] = await heldByAForeigner({ withStatus });
    await store.close();
    await swarm(run, "complete", ["py.1", "first"]);
    const later = await openRun(run);
    expect((await later.sweep()).promoted).toBe(1);
    expect(idsIn(run, "pending")).toEqual(["second"]);
    expect(await claimIds(later)).toEqual(["second"]);
    await later.close();
  });

  test(`with nobody watching, a one-shot claim finds what a foreigner unblocked, ${when}`, async () => {
    const [run, store] = await heldByAForeigner({ withStatus });
    await store.close();
    await swarm(run, "complete", ["py.1", "first"]);
    const later = await openRun(run);
    expect(await claimIds(later)).toEqual(["second"]);
    await later.close();
  });

  test(`with nobody watching, swarm-cli claim finds what a foreigner unblocked, ${when}`, async () => {
    const [run, store] = await heldByAForeigner({ withStatus });
    await store.close();
    await swarm(run, "complete", ["py.1", "first"]);
    const { stdout } = await swarmCli(["claim", "--run-dir", run, "--worker-id", WORKER]);
    expect(JSON.parse(stdout)).toMatchObject({ task_id: "second" });
  });
}

test("what we promote, a worker of swarm-lib claims", async () => {
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  await store.enqueue({ id: "first", type: "work" });
  await store.enqueue({ id: "second", type: "work", depends_on: ["first"] });
  expect(await claimIds(store)).toEqual(["first"]);
  expect(await swarm(run, "claim", ["py.1"])).toEqual([null]);
  await store.complete({ id: "first", worker: WORKER });
  await store.close();
  expect(readStatus(run).checkpoint.completed_tasks).toEqual(["first"]);
  expect(await swarm(run, "claim", ["py.1"])).toMatchObject([{ task_id: "second" }]);
});

/** A run of swarm-lib's own with one task that waits for something nobody has done. */
async function foreignAndBlocked(): Promise<string> {
  const run = join(newFolder(), "run");
  await swarm(run, "init", ["run"]);
  await swarm(run, "enqueue", ["blocked", ["elsewhere"]], ["free"]);
  return run;
}

test("a foreign task with open dependencies stays in pending/, one that is free is claimed", async () => {
  const run = await foreignAndBlocked();
  const store = await openRun(run);
  expect(await claimIds(store)).toEqual(["free"]);
  expect(await claimIds(store)).toEqual([]);
  expect(idsIn(run, "pending")).toEqual(["blocked"]);
  await store.close();
});

test("once completed_tasks lists the dependency, a fresh process claims the foreign task", async () => {
  const run = await foreignAndBlocked();
  const before = await openRun(run);
  expect(await claimIds(before)).toEqual(["free"]);
  await before.close();
  await swarm(run, "append_completed", ["elsewhere"]);
  const after = await openRun(run);
  expect(await claimIds(after)).toEqual(["blocked"]);
  await after.close();
});

test("once completed_tasks lists the dependency, a process that looked before claims it too", async () => {
  const run = await foreignAndBlocked();
  const store = await openRun(run);
  expect(await claimIds(store)).toEqual(["free"]);
  expect(await claimIds(store)).toEqual([]);
  const woken = store.waitForWork({ timeoutMs: LONG });
  await swarm(run, "append_completed", ["elsewhere"]);
  expect(await woken).toBe(true);
  expect(await claimIds(store)).toEqual(["blocked"]);
  await store.close();
});

test("a process that polls with claim alone sees the dependency done as well", async () => {
  const run = await foreignAndBlocked();
  const store = await openRun(run);
  expect(await claimIds(store)).toEqual(["free"]);
  expect(await claimIds(store)).toEqual([]);
  await swarm(run, "append_completed", ["elsewhere"]);
  expect(await claimIds(store)).toEqual(["blocked"]);
  await store.close();
});
