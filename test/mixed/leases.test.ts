import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { idsIn, swarm, swarmCli } from "./company.ts";

test("our one-shot claim starts a lease: its process is gone, but it is not reaped yet", async () => {
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  await store.enqueue({ id: "t.1", type: "work" });
  expect(await store.claim({ worker: "shell" })).toHaveLength(1);
  await store.close();

  const reaper = await openRun(run);
  expect(await reaper.reap()).toMatchObject({ reaped: [], live: ["shell"] });
  await reaper.close();
  expect(await swarm(run, "reap", [300])).toEqual([[]]);
  const { stdout } = await swarmCli(["reap", "--run-dir", run]);
  expect(JSON.parse(stdout)).toMatchObject({ reaped_count: 0, skipped_live: ["shell"] });
  expect(idsIn(run, "claimed/shell")).toEqual(["t.1"]);
});

test("swarm-cli claim writes no heartbeat, so swarm-cli reap takes it back at once", async () => {
  const run = join(newFolder(), "run");
  await swarm(run, "enqueue", ["t.1"]);
  const { stdout } = await swarmCli(["claim", "--run-dir", run, "--worker-id", "shell"]);
  expect(JSON.parse(stdout)).toMatchObject({ task_id: "t.1" });
  expect(existsSync(join(run, "claimed/shell/.heartbeat"))).toBe(false);

  // Our own reaper gives even a silent worker its time.
  const store = await openRun(run);
  expect(await store.reap()).toMatchObject({ reaped: [], live: ["shell"] });
  await store.close();

  const reaped = await swarmCli(["reap", "--run-dir", run]);
  expect(JSON.parse(reaped.stdout)).toMatchObject({
    reaped_count: 1,
    reaped: [{ worker_id: "shell", task_id: "t.1", age_seconds: -1 }],
  });
  expect(idsIn(run, "pending")).toEqual(["t.1"]);
  expect(await swarm(run, "claim", ["py.1"])).toMatchObject([{ task_id: "t.1" }]);
});

test("swarm-cli heartbeat keeps a claim from swarm-lib's reaper, and theirs from ours", async () => {
  const run = join(newFolder(), "run");
  await swarm(run, "enqueue", ["t.1"], ["t.2"]);
  await swarm(run, "claim", ["py.1"]);
  await swarm(run, "heartbeat", ["py.1"]);
  await swarmCli(["claim", "--run-dir", run, "--worker-id", "shell"]);
  await swarmCli(["heartbeat", "--run-dir", run, "--worker-id", "shell", "--note", "t.2"]);
  expect(await swarm(run, "reap", [300])).toEqual([[]]);
  const { stdout } = await swarmCli(["reap", "--run-dir", run]);
  expect(JSON.parse(stdout)).toMatchObject({ reaped: [], skipped_live: ["py.1", "shell"] });
});

test("a claim that was reaped cannot be completed by the worker that lost it", async () => {
  const run = join(newFolder(), "run");
  await swarm(run, "enqueue", ["t.1"]);
  await swarmCli(["claim", "--run-dir", run, "--worker-id", "shell"]);
  await swarm(run, "reap", [300]);
  const path = join(run, "claimed/shell/t.1.json");
  const args = ["complete", "--run-dir", run, "--worker-id", "shell", "--task-id", "t.1"];
  expect(await swarmCli([...args, "--success"])).toEqual({
    code: 1,
    stdout: "",
    stderr: `error: no claimed task at ${path}\n`,
  });
  expect(idsIn(run, "done")).toEqual([]);
});
