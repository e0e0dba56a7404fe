import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openRun } from "../../src/main.ts";
import { onDisk } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed, seeded } from "../support/random.ts";
import { names, places } from "../support/run-files.ts";

const TASKS = 8_000;

test("kill -9 of a bulk enqueue: what was acknowledged is there, and a second run completes it", {
  timeout: 180_000,
}, async () => {
  const random = seeded(chooseSeed("bulk enqueue"));
  const run = join(onDisk(), "run");
  await (await openRun(run, { create: true })).close();

  let acknowledged = 0;
  for (const durability of ["safe", "fast"]) {
    const bulk = new Script("bulk.mjs", [run, TASKS, durability]);
    const enough = acknowledged + 1 + Math.floor((random() * TASKS) / 3);
    await bulk.says("enough is enqueued", (line) => (line.acknowledged as number) >= enough);
    bulk.signal("SIGKILL");
    await bulk.ended;
    acknowledged = Math.max(acknowledged, ...bulk.said.map((line) => line.acknowledged as number));
    const lies = places(run);
    const ids = Array.from({ length: acknowledged }, (_, n) => `t.${n}`);
    expect(ids.filter((id) => lies.get(id)?.length !== 1)).toEqual([]);
  }
  for (const state of ["pending", "waiting"]) {
    const broken = names(join(run, state)).filter((name) => {
      const task = JSON.parse(readFileSync(join(run, state, name), "utf8"));
      return `${task.task_id}.json` !== name;
    });
    expect(broken).toEqual([]);
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
  expect([...lies].filter(([, where]) => where.length !== 1)).toEqual([]);

  // All can be claimed, each once: nothing is stuck behind a line that was cut short.
  const { pending } = await doctor.counts();
  const claimed: string[] = [];
  for (;;) {
    const claims = await doctor.claim({ worker: "w", max: 500 });
    if (claims.length === 0) break;
    claimed.push(...claims.map(({ task }) => task.task_id));
  }
  expect(claimed).toHaveLength(pending);
  expect(new Set(claimed).size).toBe(pending);
  await doctor.close();
});
