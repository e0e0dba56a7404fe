import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../test/support/deadline.ts";
import { MergeWorld } from "../../test/support/merge-world.ts";
import { mergeBeside } from "./beside.ts";
import { planMerge } from "./plan.ts";
import { sendBack } from "./send-back.ts";

const list = (...lines: string[]) => ({ "list.txt": `begin\n${lines.join("\n")}\nend\n` });

/** Tasks that each put a line of their own at one place. */
async function crowded(...ids: string[]): Promise<MergeWorld> {
  const world = await MergeWorld.begin({ "list.txt": "begin\nend\n" });
  for (const id of ids) await world.done(id, list(id));
  return world;
}

const states = (world: MergeWorld, ...ids: string[]) => ids.map((id) => world.landing(id)?.state);

test("tasks that all change one place land, each after one rework at most", async () => {
  const ids = ["t.1", "t.2", "t.3", "t.4", "t.5"];
  const world = await crowded(...ids);
  let attempts = ids.length;
  for (;;) {
    await world.merge({}, { sendBack });
    const pending: string[] = [];
    for await (const { id } of world.store.list({ states: ["pending"] })) pending.push(id);
    if (pending.length === 0) break;
    expect(pending, "reworks of one place take turns").toHaveLength(1);
    const [id = ""] = pending;
    const lines = world.file("viv/night", "list.txt").split("\n").slice(1, -1);
    await world.work(id, list(...lines, id));
    attempts++;
  }
  expect(states(world, ...ids)).toEqual(ids.map(() => "landed"));
  expect(ids.map((id) => world.landing(id)?.reworks)).toEqual([0, 1, 1, 1, 1]);
  expect(attempts).toBe(9);
  expect(world.file("viv/night", "list.txt")).toBe(`begin\n${ids.join("\n")}\nend`);
  expect(readdirSync(join(world.run, "merge/.reworked"))).toEqual([]);
});

test("work in other files lands meanwhile", async () => {
  const world = await crowded("a", "b", "c");
  await world.done("d", { "d.txt": "d\n" });
  await world.merge({}, { sendBack });
  expect(states(world, "a", "b", "c", "d")).toEqual(["landed", "reworked", "queued", "landed"]);
  expect(world.landing("c")?.reason).toBe("waits for the rework of b, which changes list.txt too");
});

test("one that is done again keeps it until the queue has it: another worker's pass may come first", async () => {
  const world = await crowded("a", "b", "c");
  await world.merge({}, { sendBack });
  await world.work("b", list("a", "b"));
  await world.merge({}, { sendBack, ids: ["c"] });
  expect(states(world, "b", "c")).toEqual(["reworked", "queued"]);
  const plan = await planMerge(await world.context(), null);
  expect(plan.map(({ candidate, state }) => `${candidate.id} ${state}`)).toEqual([
    "b queued",
    "c conflict",
  ]);
  await world.merge({}, { sendBack });
  expect(states(world, "b", "c")).toEqual(["landed", "reworked"]);
});

test("one that a person names does not wait", async () => {
  const world = await crowded("a", "b", "c");
  await world.merge({}, { sendBack });
  await world.merge({}, { sendBack, ids: ["c"], goAhead: new Set(["c"]) });
  expect(states(world, "b", "c")).toEqual(["reworked", "reworked"]);
});

test("a rework whose task was cancelled holds up no other", async () => {
  const world = await crowded("a", "b", "c");
  await world.merge({}, { sendBack });
  await world.store.cancel("b", { by: "t" });
  await world.merge({}, { sendBack });
  expect(states(world, "b", "c")).toEqual(["reworked", "reworked"]);
});

test("a rework whose task cannot be read any more holds up no other", async () => {
  const world = await crowded("a", "b", "c");
  await world.merge({}, { sendBack });
  mkdirSync(join(world.run, "quarantine"), { recursive: true });
  renameSync(join(world.run, "pending/b.json"), join(world.run, "quarantine/b.json"));
  await world.merge({}, { sendBack });
  expect(states(world, "b", "c")).toEqual(["reworked", "reworked"]);
});

test("beside a worker, the others go on when it has failed", async () => {
  const world = await crowded("a", "b", "c");
  const { host, settings, onEvent: _, ...context } = await world.context();
  const auto = { ...settings, auto: true };
  const queue = mergeBeside(world.store, host, context, () => auto, { sendBack });
  await until("c waits", () => world.landing("c")?.reason?.startsWith("waits for") === true);
  await world.store.cancel("b", { by: "t" });
  await until("c has its turn", () => world.landing("c")?.state === "reworked");
  await queue.stop();
});

test("a link in the place of the marks, a folder or an unreadable landing: none is harmed or held up", async () => {
  const world = await crowded("a", "b", "c");
  const outside = join(world.home, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "kept"), "");
  mkdirSync(join(world.run, "merge"), { recursive: true });
  const marks = join(world.run, "merge/.reworked");
  symlinkSync(outside, marks);
  await world.merge({}, { sendBack, ids: ["a"] });
  expect(readdirSync(outside)).toEqual(["kept"]);
  rmSync(marks);
  mkdirSync(join(marks, "folder"), { recursive: true });
  writeFileSync(join(marks, "torn"), "");
  writeFileSync(join(world.run, "merge/torn.json"), "{");
  await world.done("d", { "d.txt": "d\n" });
  await world.merge({}, { sendBack, ids: ["d"] });
  expect(states(world, "a", "d")).toEqual(["landed", "landed"]);
  expect(existsSync(join(marks, "folder"))).toBe(true);
});

test("another target or repository is not concerned; a mark without its landing is removed", async () => {
  const world = await crowded("a", "b", "c");
  world.git("branch", "other");
  await world.merge({ into: "other" }, { sendBack, ids: ["a", "b"] });
  expect(states(world, "a", "b")).toEqual(["landed", "reworked"]);
  await world.merge({}, { sendBack });
  expect(states(world, "c")).toEqual(["landed"]);
  await world.work("b", { "list.txt": world.file("other", "list.txt") });
  expect(existsSync(join(world.run, "merge/.reworked/b"))).toBe(true);
  await world.merge({ into: "other" }, { sendBack, ids: ["b"] });
  expect(existsSync(join(world.run, "merge/.reworked/b"))).toBe(false);
});
