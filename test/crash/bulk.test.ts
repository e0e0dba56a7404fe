import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed, seeded } from "../support/random.ts";
import { names, places } from "../support/run-files.ts";

const TASKS = 20_000;

test("kill -9 of a bulk enqueue: what was acknowledged is there, and a second run completes it", {
  timeout: 180_000,
}, async () => {
  const random = seeded(chooseSeed("bulk enqueue"));
  const run = join(newFolder(), "run");
  await (await openRun(run, { create: true })).close();

  let acknowledged = 0;
  for (const durability of ["safe", "fast", "fast"]) {
    const bulk = new Script("bulk.mjs", [run, TASKS, durability]);
    const enough = acknowledged + 1 + Math.floor((random() * TASKS) / 4);
    await bulk.says("enough is enqueued", (line) => (line.acknowledged as number) >= enough);
    bulk.signal("SIGKILL");
    await bulk.ended;
    acknowledged = Math.max(acknowledged, ...bulk.said.map((line) => line.acknowledged as number));
    const lies = places(run);
    for (let n = 0; n < acknowledged; n++) {
      expect(lies.get(`t.${n}`), `t.${n} of ${acknowledged}`).toHaveLength(1);
    }
    for (const state of ["pending", "waiting"]) {
      for (const name of names(join(run, state))) {
        const task = JSON.parse(readFileSync(join(run, state, name), "utf8"));
        expect(`${task.task_id}.json`).toBe(name);
      }
    }
  }
  console.log(`${acknowledged} acknowledged before the last kill`);

  const last = new Script("bulk.mjs", [run, TASKS, "fast"]);
  await last.success(120);
  expect(last.said.at(-1)).toEqual({ acknowledged: TASKS });
  // Late enough for every draft to be nobody's: their age is told by the real time.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const doctor = await openRun(run, { durability: "fast" });
  const { findings } = await doctor.doctor({ fix: true });
  const left = (await doctor.doctor()).findings;
  // A torn line stays where it is.
  expect(
    left.filter(({ code }) => code !== "torn_line"),
    JSON.stringify(findings),
  ).toEqual([]);
  const lies = places(run);
  expect(lies.size).toBe(TASKS);
  for (const [id, where] of lies) expect(where, id).toHaveLength(1);

  // All of them can be worked off: nothing is stuck behind a line that was cut short.
  const seen = new Set<string>();
  for (;;) {
    const claims = await doctor.claim({ worker: "w", max: 500 });
    if (claims.length === 0) break;
    for (const { task, token } of claims) {
      expect(seen.has(task.task_id)).toBe(false);
      seen.add(task.task_id);
      await doctor.complete({ id: task.task_id, worker: "w", token });
    }
  }
  expect(seen.size).toBe(TASKS);
  await doctor.close();
});
