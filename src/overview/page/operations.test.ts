import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type * as z from "zod/mini";
import { newFolder } from "../../../test/support/folders.ts";
import { portsHere } from "../../app/ports.ts";
import { openRun } from "../../main.ts";
import type { Call, Context, Port } from "../../operation/operation.ts";
import { storePort } from "../../queue/operation.ts";
import type { Claim, Store } from "../../queue/store.ts";
import { cards } from "./cards.ts";
import { fleet, fleetFactsPort } from "./fleet.ts";
import { graph, neighbours } from "./neighbours.ts";
import { timeline } from "./timeline.ts";

async function world({ parts = null }: { parts?: object | null } = {}) {
  const folder = newFolder();
  const store = await openRun(join(folder, "run"), { create: true, durability: "fast" });
  onTestFinished(() => store.close());
  const env = { PATH: process.env.PATH, HOME: folder, VIV_STATE: join(folder, "state") };
  const program = { node: process.execPath, viv: "viv", unitFiles: async () => ({}) as never };
  const provide = portsHere({ env, cwd: folder, notice: () => {}, program });
  const context = {
    now: Date.now,
    here: { cwd: folder, env },
    signal: new AbortController().signal,
    urgent: new AbortController().signal,
    use: async <T>(port: Port<T>) => {
      if (port.name === storePort.name) return store as T;
      const provided = await provide(port, store);
      const isFacts = parts !== null && port.name === fleetFactsPort.name;
      return isFacts ? { ...provided, parts: async () => parts } : provided;
    },
  } as unknown as Context;
  const ask = async <I extends z.ZodMiniObject, O extends z.ZodMiniType>(
    op: Call<I, O>,
    input: object = {},
  ): Promise<z.output<O>> => {
    const output = await op.run(context, op.input.parse(input) as z.output<I>);
    expect(op.output.safeParse(JSON.parse(JSON.stringify(output))).error).toBeUndefined();
    return output;
  };
  return { store, ask };
}

async function claimed(store: Store, worker: string): Promise<Claim> {
  return (await store.claim({ worker }))[0] as Claim;
}

/** a is done and proven, b failed, c waits for b, d is ready, e is at work. */
async function night(store: Store) {
  await store.enqueue({ id: "a", type: "fix", payload: { title: "Fix the <b>cache</b>" } });
  await store.complete(await claimed(store, "ada"), { proof: {} });
  await store.enqueue({ id: "b", type: "fix", max_attempts: 2 });
  await store.enqueue({ id: "c", type: "sum", depends_on: ["a", "b"], parent: "a" });
  await store.fail(await claimed(store, "bob"), { final: true, note: "exit 1: 3 tests failed" });
  await store.enqueue({ id: "e", type: "port" });
  const claim = await claimed(store, "ada");
  const { id: task, token } = claim;
  const tokens = { input: 1, output: 1, cache_read: 0, cache_write: 0 };
  const step = { tool: "Edit", target: "src/a.ts", usd: 0.25, source: "reported", tokens };
  await store.append({ event: "step", task, token, worker: "ada", ...step });
  await store.append({ event: "step", task, token, worker: "ada", text: "It is the cache key." });
  await store.enqueue({ id: "d", type: "docs", priority: "low" });
}

describe("cards", () => {
  it("has windows of columns, counts, and the one fact of each card", async () => {
    const { store, ask } = await world();
    await night(store);
    const output = await ask(cards);
    expect(output.counts).toEqual({
      waiting: 1,
      ready: 1,
      working: 1,
      review: 0,
      done: 1,
      failed: 1,
    });
    expect(output.types).toContainEqual({ type: "fix", count: 2 });
    expect(output.workers[0]).toEqual({ worker: "ada", count: 1 });
    const all = new Map(output.windows.flatMap((one) => one.cards).map((one) => [one.id, one]));
    expect(all.get("a")).toMatchObject({ proof: "passed", worker: "ada", fact: null, attempt: 1 });
    expect(all.get("a")?.title).toBe("Fix the <b>cache</b>");
    expect(all.get("b")).toMatchObject({ fact: "exit 1: 3 tests failed", max_attempts: 2 });
    expect(all.get("c")).toMatchObject({ fact: "waits for b, which failed", state: "waiting" });
    expect(all.get("d")).toMatchObject({ fact: "ada will take it", priority: "low" });
    expect(all.get("e")).toMatchObject({ fact: "Edit src/a.ts", usd: 0.25, worker: "ada" });
  });

  it("tell a cancelled dependency, and one that is not there, before those that go on", async () => {
    const { store, ask } = await world();
    await store.enqueue({ id: "stopped", type: "fix" });
    await store.cancel("stopped");
    await store.enqueue({ id: "d", type: "fix" });
    await store.enqueue({ id: "a", type: "sum", depends_on: ["d", "nowhere"] });
    await store.enqueue({ id: "b", type: "sum", depends_on: ["d", "stopped"] });
    const [waiting] = (await ask(cards)).windows;
    expect(waiting?.cards.map(({ fact }) => fact)).toEqual([
      "waits for nowhere, which is not there, and 1 more",
      "waits for stopped, which was cancelled, and 1 more",
    ]);
  });

  it("takes windows as a list or as one text, and refuses others", async () => {
    const { store, ask } = await world();
    for (const id of ["t.1", "t.2", "t.3"]) await store.enqueue({ id, type: "fix" });
    const idsIn = async (windows: unknown) =>
      (await ask(cards, { windows })).windows.map((one) => one.cards.map(({ id }) => id));
    expect(await idsIn("ready:1:1,done:0:5")).toEqual([["t.2"], []]);
    expect(await idsIn(["ready:2:9", "ready:0:1"])).toEqual([["t.3"], ["t.1"]]);
    expect(await idsIn("ready:9:9")).toEqual([[]]);
    for (const bad of ["nowhere:0:1", "ready:-1:2", "ready:0:1:2", "ready:1e3:1"]) {
      await expect(ask(cards, { windows: bad })).rejects.toMatchObject({ code: "USAGE" });
    }
  });

  it.each([
    ["type:fix", ["a", "b"]],
    ["type:fix,sum -id:b", ["a", "c"]],
    ["CACHE", ["a"]],
    ["worker:ADA", ["a", "e"]],
    ["is:proven", ["a"]],
    ["is:unproven", []],
    ["priority:low", ["d"]],
    ["-is:proven type:fix", ["b"]],
    ["is:nothing", []],
    ["(", []],
  ])("filters by %s", async (filter, ids) => {
    const { store, ask } = await world();
    await night(store);
    const { windows, counts, all } = await ask(cards, { filter });
    expect(windows.flatMap((one) => one.cards.map(({ id }) => id)).sort()).toEqual(ids);
    expect(Object.values(counts).reduce((a, b) => a + b)).toBe(ids.length);
    expect(Object.values(all).reduce((a, b) => a + b)).toBe(5);
  });
});

it("names the neighbours of a task, and the graph around it", async () => {
  const { store, ask } = await world();
  await night(store);
  const near = await ask(neighbours, { id: "c" });
  expect(near.needs.map(({ id, column }) => [id, column])).toEqual([
    ["a", "done"],
    ["b", "failed"],
  ]);
  expect(near.parent?.id).toBe("a");
  expect((await ask(neighbours, { id: "a" })).needed_by.map(({ id }) => id)).toEqual(["c"]);
  await expect(ask(neighbours, { id: "z" })).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  const whole = await ask(graph);
  expect(whole.nodes.map(({ id }) => id).sort()).toEqual(["a", "b", "c"]);
  expect(whole.edges).toEqual([
    ["a", "c"],
    ["b", "c"],
  ]);
  const two = await ask(graph, { around: "a", limit: 2 });
  expect(two).toMatchObject({ nodes: [{ id: "a" }, { id: "c" }], edges: [["a", "c"]], more: 1 });
  expect((await ask(graph, { around: "d" })).nodes.map(({ id }) => id)).toEqual(["d"]);
  expect((await ask(graph, { filter: "-id:b" })).edges).toEqual([["a", "c"]]);
});

it("has a lane for each worker, and the ends of attempts per time", async () => {
  const { store, ask } = await world();
  await night(store);
  const before = Date.now() - 60_000;
  const { since, lanes, buckets, kills, closed } = await ask(timeline, { since: "1h" });
  expect(Date.parse(since)).toBeGreaterThan(before); // the run began later than an hour ago
  expect(lanes.map(({ name, kind }) => [name, kind])).toEqual([
    ["ada", "worker"],
    ["bob", "worker"],
  ]);
  const shown = lanes.flatMap(({ spans }) => spans.map((one) => [one.task, one.outcome]));
  expect(shown).toEqual([
    ["a", "proven"],
    ["e", null],
    ["b", "failed"],
  ]);
  const sum = (key: "proven" | "failed") => buckets.reduce((all, one) => all + one[key], 0);
  expect([sum("proven"), sum("failed")]).toEqual([1, 1]);
  expect([kills, closed]).toEqual([[], []]);
});

it("a failed attempt whose task goes on was tried again; the last of a failed task was not", async () => {
  const { store, ask } = await world();
  for (const id of ["a", "b"]) {
    await store.enqueue({ id, type: "fix", max_attempts: 2 });
    await store.fail(await claimed(store, "ada"), { note: "exit 1", backoffMs: 0 });
    await store.sweep();
    const end = await claimed(store, "bob");
    if (id === "a") await store.complete(end);
    else await store.fail(end, { note: "exit 1" });
  }
  const { lanes, buckets } = await ask(timeline, { since: "1h" });
  const shown = lanes.flatMap(({ name, spans }) =>
    spans.map(({ task, outcome, again }) => [name, task, outcome, again]),
  );
  expect(shown).toEqual([
    ["ada", "a", "failed", true],
    ["ada", "b", "failed", true],
    ["bob", "a", "done", false],
    ["bob", "b", "failed", false],
  ]);
  expect(buckets.reduce((all, { failed }) => all + failed, 0)).toBe(1);
});

it("says what each worker does, and what is absent", async () => {
  const { store, ask } = await world();
  await night(store);
  const { workers, crew, parts, schedules, gate } = await ask(fleet);
  const [ada, bob] = workers;
  expect(ada).toMatchObject({ name: "ada", done: 1, recent: ["done"], usd_today: 0.25 });
  expect(ada?.doing).toMatchObject({ task: "e", step: "Edit src/a.ts", more: 0 });
  expect(ada?.doing?.thought).toBe("It is the cache key.");
  expect(bob).toMatchObject({ doing: null, recent: ["failed"] });
  expect([crew, parts, schedules]).toEqual([null, null, null]);
  expect(gate).toMatchObject({ machine: { holders: [] } });
});

it("says what a worker holds back: as it has told viv up, else by its note", async () => {
  const closed = "account main is closed until 08:15";
  const part = { kind: "worker", state: "paused", note: closed };
  const { store, ask } = await world({
    parts: {
      parts: [
        { ...part, name: "ada" },
        { ...part, name: "bob", state: "idle", note: "the disk was full" },
        { ...part, name: "cyd", kind: "agents" },
      ],
    },
  });
  const held = async () =>
    Object.fromEntries((await ask(fleet)).workers.map((one) => [one.name, one.held]));
  for (const name of ["ada", "bob", "cyd"]) await store.heartbeat(name, { note: "" });
  expect(await held()).toEqual({ ada: closed, bob: null, cyd: null });
  const bad = "the last good viv.toml counts: viv.toml:3: there is no key x";
  await store.heartbeat("bob", { note: bad });
  expect((await held()).bob).toBeNull();
  const hold = "[handlers.fix] is held back: there is no file fix.sh";
  await store.heartbeat("bob", { note: `${bad}; also ${hold} · at hand: b` });
  expect((await held()).bob).toBe(hold);
});

it("an idle worker's note has no tasks any more, before its next heartbeat says so", async () => {
  const { store, ask } = await world();
  await night(store);
  const noteAfter = async (note: string) => {
    await store.heartbeat("bob", { note });
    return (await ask(fleet)).workers.find(({ name }) => name === "bob")?.note;
  };
  expect(await noteAfter("b")).toBe("");
  expect(await noteAfter("a b")).toBe("");
  const held = "[handlers.fix] is held back: there is no file fix.sh";
  expect(await noteAfter(`${held} · at hand: b`)).toBe(held);
  expect(await noteAfter("b waits for a key")).toBe("b waits for a key");
});
