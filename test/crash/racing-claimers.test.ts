import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { Reaper } from "../../src/queue/reaper.ts";
import { onDisk } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed, seeded } from "../support/random.ts";
import { countedCompletions, ledgerLines, names, places } from "../support/run-files.ts";

const TASKS = 2_500;
const WORKERS = 8;

test("8 claimers, 2,500 tasks, kill -9 at random: none lost, none done twice", {
  timeout: 180_000,
}, async () => {
  const random = seeded(chooseSeed("racing claimers"));
  const run = join(onDisk(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  const ids = Array.from({ length: TASKS }, (_, n) => `t.${n}`);
  await store.enqueueMany(
    ids.map((id, n) => ({
      id,
      type: "work",
      ...(n % 10 === 0 ? { priority: "high" as const } : {}),
      // One in ten waits for one that may be anywhere when the kill comes.
      ...(n % 10 === 9 ? { depends_on: [`t.${n - 5}`] } : {}),
    })),
  );

  const workers = Array.from({ length: WORKERS }, (_, n) => `w.${n}`);
  const start = (worker: string) => {
    const diesAfter = random() < 0.5 ? 1 + Math.floor(random() * 400) : 0;
    return new Script("claimer.mjs", [run, worker, Math.floor(random() * 2 ** 31), diesAfter]);
  };
  const claimers = workers.map(start);
  const all = [...claimers];
  await Promise.all(claimers.map((c) => c.says("the claimer is up", (line) => "ready" in line)));

  const errors: unknown[] = [];
  let reaped = 0;
  const reaper = new Reaper(store, {
    everyMs: 50,
    onReaped: (report) => {
      reaped += report.reaped.length;
    },
    onError: (error) => errors.push(error),
  });
  reaper.start();

  let deaths = 0;
  const allDone = () => names(join(run, "done")).length >= TASKS;
  while (!allDone()) {
    await pause(random() * 200);
    for (const [n, claimer] of claimers.entries()) {
      if (n === Math.floor(random() * WORKERS)) claimer.signal("SIGKILL");
      if (!claimer.isOver) continue;
      deaths++;
      // Sometimes under the dead one's name before, sometimes after the reaper has seen it.
      if (random() < 0.5) await reaper.runOnce();
      const next = start(workers[n] as string);
      claimers[n] = next;
      all.push(next);
    }
  }
  await reaper.stop();
  for (const claimer of claimers) claimer.child.stdin?.end();
  for (const claimer of claimers) {
    const { code, signal } = await claimer.ended;
    expect(signal === "SIGKILL" || code === 0, claimer.stderr).toBe(true);
  }
  await store.reap();
  await store.sweep();

  console.log(`${deaths} deaths, ${reaped} claims taken back`);
  expect(errors).toEqual([]);
  expect(deaths).toBeGreaterThan(5);
  expect(ledgerLines(run).torn).toEqual([]);
  const lies = places(run);
  expect([...lies.keys()].sort()).toEqual([...ids].sort());
  const elsewhere = [...lies].filter(([, [one, two]]) => one?.state !== "done" || two);
  expect(elsewhere).toEqual([]);

  const counted = countedCompletions(run);
  const uncounted = ids.filter((id) => !counted.has(id));
  expect(ledgerLines(run).lines.filter((line) => uncounted.includes(line.task ?? ""))).toEqual([]);
  expect(uncounted).toEqual([]);
  expect([...counted].filter(([, times]) => times !== 1)).toEqual([]);
  // Whoever was told "it counted" was told so by the only one.
  for (const { stderr } of all) expect(stderr).toBe("");
  const told = all.flatMap((c) => c.said.filter((l) => "done" in l).map((l) => l.done as string));
  expect(new Set(told).size).toBe(told.length);

  await store.close();
  const doctor = await openRun(run);
  // A kill in the middle of replacing a derived file leaves its draft behind, and nothing else.
  const { findings } = await doctor.doctor({ fix: true });
  expect(findings.filter(({ code }) => code !== "stale_temporary")).toEqual([]);
  expect((await doctor.doctor()).findings).toEqual([]);
  await doctor.close();
});
