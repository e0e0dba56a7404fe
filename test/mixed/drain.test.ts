import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { onDisk } from "../support/folders.ts";
import { idsIn, readStatus, startSwarmWorker, startVivWorker, swarm, until } from "./company.ts";

const TASKS = 400;

/** Names in another order than the work, so that no scan meets the tasks in the right one. */
const idOf = (n: number) => `t.${String((n * 37) % TASKS).padStart(3, "0")}`;
const dependenciesOf = (n: number) => [n - 7, n - 13].filter((m) => m >= 0).map(idOf);

test("swarm-lib's workers and ours drain one run together, each task exactly once", async () => {
  const folder = onDisk();
  const run = join(folder, "run");
  const log = join(folder, "log");
  const go = join(folder, "go");

  const store = await openRun(run, { create: true, durability: "fast" });
  const numbers = Array.from({ length: TASKS }, (_, n) => n);
  const foreign = numbers.filter((n) => n % 2 === 0);
  await swarm(run, "enqueue", ...foreign.map((n) => [idOf(n), dependenciesOf(n)]));
  for (const n of numbers.filter((n) => n % 2 === 1)) {
    await store.enqueue({ id: idOf(n), type: "work", depends_on: dependenciesOf(n) });
  }
  expect(idsIn(run, "waiting")).not.toEqual([]);

  const workers = ["viv.1", "viv.2", "swarm.1", "swarm.2"];
  const started = workers.map((worker) => {
    const order = { run, worker, log, until: TASKS, ready: join(folder, worker), go };
    return worker.startsWith("viv") ? startVivWorker(order) : startSwarmWorker(order);
  });
  const all = Promise.all(started.map(({ ended }) => ended));
  const ready = () => workers.every((worker) => existsSync(join(folder, worker)));
  await Promise.race([all, until("all four workers are up", ready)]);
  writeFileSync(go, "");
  await all;

  const ids = numbers.map(idOf).sort();
  for (const state of ["waiting", "pending", "failed", "review", "quarantine"]) {
    expect(idsIn(run, state), state).toEqual([]);
  }
  for (const worker of workers) expect(idsIn(run, `claimed/${worker}`), worker).toEqual([]);
  expect(idsIn(run, "done")).toEqual(ids);

  const lines = readFileSync(log, "utf8").trim().split("\n");
  const taken = lines.map((line) => line.split(" ")[1] as string);
  expect([...taken].sort()).toEqual(ids);
  expect(new Set(lines.map((line) => line.split(" ")[0]))).toEqual(new Set(workers));
  for (const n of numbers) {
    for (const dependency of dependenciesOf(n)) {
      expect(taken.indexOf(dependency), `${dependency} before ${idOf(n)}`).toBeLessThan(
        taken.indexOf(idOf(n)),
      );
    }
  }

  const status = readStatus(run);
  expect(status).toMatchObject({ schema_version: "0.1", run_id: "run" });
  expect([...status.checkpoint.completed_tasks].sort()).toEqual(ids);
  // Tasks that swarm-lib published are not in our index of ids until doctor puts them there.
  const { findings } = await store.doctor({ fix: true });
  expect(findings.filter(({ code }) => code !== "missing_index")).toEqual([]);
  expect((await store.doctor()).findings).toEqual([]);
  await store.close();
});
