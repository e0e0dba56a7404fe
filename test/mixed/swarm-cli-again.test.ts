import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { countedCompletions, ledgerLines } from "../support/run-files.ts";
import { idsIn, readStatus, swarm, swarmCli } from "./company.ts";
import { claim, cli, complete, enqueue, refused, run, SILENT, useNewRun } from "./swarm-cli.ts";

/** An id that is enqueued more than once, as swarm-lib's scripts do it. */

beforeEach(useNewRun);

const text = (path: string) => readFileSync(join(run, path), "utf8");
const payload = (value: unknown) => ["--payload", JSON.stringify(value)];

async function doctor(fix = false) {
  const store = await openRun(run);
  const { findings } = await store.doctor({ fix });
  await store.close();
  return findings;
}

describe("a task that has not ended", () => {
  test("is left as it is, whatever state it is in and whoever asks", async () => {
    const asked = ["--depends-on", "a", "--tier-hint", "haiku", ...payload({ n: 1, m: 2 })];
    const again = ["--created-by", "w.2", "--tier-hint", "haiku", "--depends-on", "a"];
    const equal = ["--payload", '{ "m": 2, "n": 1 }'];
    await enqueue("t.1", "--created-by", "w.1", ...asked);
    const before = text("pending/t.1.json");
    expect(await enqueue("t.1", ...again, ...equal)).toEqual(SILENT);
    expect(text("pending/t.1.json")).toBe(before);

    await enqueue("a");
    await claim();
    await complete("a", "--success");
    expect(JSON.parse((await claim("w.1")).stdout).task_id).toBe("t.1");
    expect(await enqueue("t.1", ...again, ...equal)).toEqual(SILENT);
    expect(idsIn(run, "pending")).toEqual([]);
    expect(text("claimed/w.1/t.1.json")).toBe(before);
  });

  test("is left as it is in waiting/ and in review/", async () => {
    const store = await openRun(run, { create: true, durability: "fast" });
    await store.enqueue({ id: "r", type: "greet", review: true });
    await store.claim({ worker: "w.1" });
    await store.complete({ id: "r", worker: "w.1" });
    await store.enqueue({ id: "w", type: "greet", not_before: "+1h" });
    await store.close();
    for (const id of ["r", "w"]) expect(await enqueue(id)).toEqual(SILENT);
    expect(idsIn(run, "pending")).toEqual([]);
    expect([idsIn(run, "review"), idsIn(run, "waiting")]).toEqual([["r"], ["w"]]);
  });

  test.each([
    ["payload", payload({ other: true })],
    ["depends_on", ["--depends-on", "x"]],
    ["tier_hint", ["--tier-hint", "opus"]],
    ["task_type", ["--task-type", "other"]],
  ])("another %s is refused, and the task stays", async (key, other) => {
    await swarm(run, "enqueue", ["t.1", [], {}, "greet"]);
    const before = text("pending/t.1.json");
    const taken = (where: string) =>
      `error: task t.1 is there already (${where}) with another ${key}; choose another id\n`;
    expect(await enqueue("t.1", ...other)).toEqual(refused(1, taken("pending")));
    expect(text("pending/t.1.json")).toBe(before);
    await swarm(run, "claim", ["py.1"]);
    expect(await enqueue("t.1", ...other)).toEqual(refused(1, taken("claimed by py.1")));
    expect(idsIn(run, "pending")).toEqual([]);
  });
});

describe("a task that has ended", () => {
  test("a daily job with a fixed id runs each day, and every day can be read", async () => {
    await cli("status-init", "--run-id", "r");
    for (const day of [1, 2, 3]) {
      expect(await enqueue("t.daily", ...payload({ day }))).toEqual(SILENT);
      // Listed when it is done, and not while it is to be done again.
      expect(readStatus(run).checkpoint.completed_tasks).toEqual([]);
      const task = JSON.parse((await claim(`w.${day}`)).stdout);
      expect(task).toMatchObject({ task_id: "t.daily", payload: { day } });
      writeFileSync(join(run, "artifacts/t.daily.md"), `day ${day}`);
      expect(await complete("t.daily", "--success", `w.${day}`)).toEqual(SILENT);
      expect(readStatus(run).checkpoint.completed_tasks).toEqual(["t.daily"]);
    }
    expect(idsIn(run, "done")).toEqual(["t.daily"]);
    for (const day of [1, 2]) {
      const round = `artifacts/t.daily.rounds/${day}`;
      expect(text(`${round}/t.daily.md`)).toBe(`day ${day}`);
      expect(JSON.parse(text(`${round}/done.json`)).payload).toEqual({ day });
    }
    expect(text("artifacts/t.daily.md")).toBe("day 3");
    const ends = ledgerLines(run).lines.filter(({ event }) => event === "ended");
    expect(ends.map(({ worker, attempt }) => [worker, attempt])).toEqual([
      ["w.1", 1],
      ["w.2", 2],
      ["w.3", 3],
    ]);
    expect(countedCompletions(run).get("t.daily")).toBe(3);
    expect(await doctor()).toEqual([]);
  });

  test("a failed id enqueued again is tried again", async () => {
    await enqueue("t.1");
    await claim();
    await complete("t.1", "--failure");
    expect(await enqueue("t.1")).toEqual(SILENT);
    expect(idsIn(run, "failed")).toEqual([]);
    expect(existsSync(join(run, "artifacts/t.1.rounds/1/failed.json"))).toBe(true);
    await claim();
    expect(await complete("t.1", "--success")).toEqual(SILENT);
    expect(idsIn(run, "done")).toEqual(["t.1"]);
    expect(await doctor()).toEqual([]);
  });

  test("its dependents wait for the new round", async () => {
    await cli("status-init", "--run-id", "r");
    await enqueue("research");
    await claim();
    await complete("research", "--success");
    await enqueue("research", ...payload({ day: 2 }));
    await enqueue("draft", "--depends-on", "research");
    expect(JSON.parse((await claim()).stdout).task_id).toBe("research");
    expect(await claim()).toEqual(SILENT);
    expect(await swarm(run, "claim", ["py.1"])).toEqual([null]);
    await complete("research", "--success");
    expect(JSON.parse((await claim()).stdout).task_id).toBe("draft");
  });

  test("what Python has completed is enqueued again as well", async () => {
    await swarm(run, "init", ["r"]);
    await swarm(run, "enqueue", ["t.1"]);
    await swarm(run, "claim", ["py.1"]);
    await swarm(run, "complete", ["py.1", "t.1"]);
    expect(await enqueue("t.1")).toEqual(SILENT);
    expect(idsIn(run, "done")).toEqual([]);
    expect(await swarm(run, "claim", ["py.1"])).toMatchObject([{ task_id: "t.1" }]);
    await swarm(run, "complete", ["py.1", "t.1"]);
    expect(idsIn(run, "done")).toEqual(["t.1"]);
  });

  describe("Python enqueues it again, beside what has ended", () => {
    beforeEach(async () => {
      await swarm(run, "init", ["r"]);
      await enqueue("t.1");
      await claim();
      writeFileSync(join(run, "artifacts/t.1.md"), "day 1");
    });
    const again = () => swarm(run, "enqueue", ["t.1", [], { day: 2 }, "greet"]);
    const round = "artifacts/t.1.rounds/1";

    test.each(["success", "failure"] as const)("after a %s: our claim keeps both", async (end) => {
      await complete("t.1", `--${end}`);
      await again();
      expect(JSON.parse((await claim("w.2")).stdout).payload).toEqual({ day: 2 });
      const state = end === "success" ? "done" : "failed";
      expect(idsIn(run, state)).toEqual([]);
      expect(JSON.parse(text(`${round}/${state}.json`)).payload).toEqual({});
      expect(text(`${round}/t.1.md`)).toBe("day 1");
      expect(await complete("t.1", "--success", "w.2")).toEqual(SILENT);
      const ends = ledgerLines(run).lines.filter(({ event }) => event === "ended");
      expect(ends.map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(await doctor()).toEqual([]);
    });

    test.each([
      ["file", "artifacts/t.1.rounds"],
      ["folder", "failed/t.1.json"],
    ])("a %s in the way keeps nobody from the task", async (kind, path) => {
      await complete("t.1", "--success");
      if (kind === "file") writeFileSync(join(run, path), "");
      else renameSync(join(run, "done/t.1.json"), join(run, "artifacts/away"));
      if (kind === "folder") mkdirSync(join(run, path));
      await again();
      expect(JSON.parse((await claim("w.2")).stdout).payload).toEqual({ day: 2 });
    });

    test.each(["pending", "claimed"])("doctor --fix keeps both while it is %s", async (state) => {
      await complete("t.1", "--success");
      await again();
      if (state === "claimed") await swarm(run, "claim", ["py.1"]);
      expect((await doctor()).map(({ code }) => code)).toContain("two_states");
      await doctor(true);
      expect(await doctor()).toEqual([]);
      expect(idsIn(run, "quarantine")).toEqual([]);
      expect(existsSync(join(run, round, "done.json"))).toBe(true);
      if (state === "pending") await swarm(run, "claim", ["py.1"]);
      await swarm(run, "complete", ["py.1", "t.1"]);
      expect(JSON.parse(text("done/t.1.json")).payload).toEqual({ day: 2 });
      expect(await doctor()).toEqual([]);
    });
  });

  test("an engine's session, which has the old task, is not resumed", async () => {
    await enqueue("t.1");
    await claim();
    await complete("t.1", "--success");
    writeFileSync(join(run, "artifacts/t.1.session.json"), "{}");
    await enqueue("t.1", ...payload({ day: 2 }));
    expect(existsSync(join(run, "artifacts/t.1.session.json"))).toBe(false);
    expect(text("artifacts/t.1.rounds/1/t.1.session.json")).toBe("{}");
  });

  test("artifacts that are no files are not copied", async () => {
    await enqueue("t.1");
    await claim();
    await complete("t.1", "--success");
    mkdirSync(join(run, "artifacts/t.1.md"));
    writeFileSync(join(run, "artifacts/t.1.log"), Buffer.from([0xff, 0, 0xfe]));
    expect(await enqueue("t.1")).toEqual(SILENT);
    const round = join(run, "artifacts/t.1.rounds/1");
    expect(existsSync(join(round, "t.1.md"))).toBe(false);
    expect([...readFileSync(join(round, "t.1.log"))]).toEqual([0xff, 0, 0xfe]);
  });
});

describe("a task whose file a person has removed", () => {
  test.each([
    ["deleted from done/", "success", () => rmSync(join(run, "done/t.1.json"))],
    ["deleted from failed/", "failure", () => rmSync(join(run, "failed/t.1.json"))],
    [
      "in quarantine/",
      "success",
      () => renameSync(join(run, "done/t.1.json"), join(run, "quarantine/t.1.json")),
    ],
  ] as const)("%s: its id is enqueued again", async (_, end, remove) => {
    await cli("status-init", "--run-id", "r");
    await enqueue("t.1");
    await claim();
    await complete("t.1", `--${end}`);
    remove();
    expect(await enqueue("t.1", ...payload({ day: 2 }))).toEqual(SILENT);
    expect(readStatus(run).checkpoint.completed_tasks).toEqual([]);
    expect(await doctor()).toEqual([]);
    expect(JSON.parse((await claim()).stdout).payload).toEqual({ day: 2 });
    expect(await complete("t.1", "--success")).toEqual(SILENT);
    const ends = ledgerLines(run).lines.filter(({ event }) => event === "ended");
    expect(ends.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await doctor()).toEqual([]);
  });
});

test("what is no folder in the place of the rounds is named, and nothing changes", async () => {
  await enqueue("t.1");
  await claim();
  await complete("t.1", "--success");
  writeFileSync(join(run, "artifacts/t.1.rounds"), "");
  const said = "error: artifacts/t.1.rounds is not a folder; move it away: ";
  expect((await enqueue("t.1")).stderr).toContain(said);
  expect([idsIn(run, "done"), idsIn(run, "pending")]).toEqual([["t.1"], []]);
  expect(await doctor()).toEqual([]);
});

test("many processes ask for one ended id: one round, and only equal requests succeed", async () => {
  await enqueue("t.1");
  await claim();
  await complete("t.1", "--success");
  const again = ["--run-dir", run, "--task-id", "t.1", "--task-type", "greet"];
  const asked = await Promise.all(
    [1, 1, 1, 2, 2, 2].map(async (n) => ({
      n,
      said: await swarmCli(["enqueue", ...again, ...payload({ n })]),
    })),
  );
  const { n } = JSON.parse(text("pending/t.1.json")).payload as { n: number };
  for (const one of asked) expect(one.said.code, one.said.stderr).toBe(one.n === n ? 0 : 1);
  expect(existsSync(join(run, "artifacts/t.1.rounds/2"))).toBe(false);
  expect(await doctor()).toEqual([]);
});
