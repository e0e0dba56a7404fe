import { rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { onDisk } from "../support/folders.ts";
import { Script } from "../support/processes.ts";
import { chooseSeed, seeded } from "../support/random.ts";
import { countedCompletions, ledgerLines, names, places } from "../support/run-files.ts";

/** `.viv/` is removed, or its lanes emptied as by a power cut, while workers and writers are at it. */

const TASKS = 600;
const PARTS = "attempts cursors dependents due ids lanes processes tmp workers".split(" ");

async function claimers(run: string, many: number, seed: number): Promise<Script[]> {
  const all = Array.from(
    { length: many },
    (_, n) => new Script("claimer.mjs", [run, `w.${n}`, seed + n, 0]),
  );
  await Promise.all(all.map((one) => one.says("the claimer is up", (line) => "ready" in line)));
  return all;
}

/** As `rm -rf` would: what comes back meanwhile stays. */
function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
  }
}

async function untilDone(run: string, many: number): Promise<void> {
  const until = Date.now() + 90_000;
  while (names(join(run, "done")).length < many) {
    if (Date.now() > until) throw new Error(JSON.stringify([...places(run)].slice(-20)));
    await pause(50);
  }
}

async function end(all: readonly Script[]): Promise<void> {
  for (const one of all) one.child.stdin?.end();
  for (const one of all) await one.success();
}

function expectOnce(run: string, ids: readonly string[]): void {
  const counted = countedCompletions(run);
  expect(ids.filter((id) => counted.get(id) !== 1)).toEqual([]);
  const { lines } = ledgerLines(run);
  const claims = lines.filter((line) => line.event === "claimed").map((line) => line.task);
  expect(claims).toHaveLength(ids.length);
  expect(lines.filter((line) => line.outcome && line.outcome !== "done")).toEqual([]);
}

test("removed again and again, in parts and whole: nothing is lost, failed or run twice", {
  timeout: 180_000,
}, async () => {
  const seed = chooseSeed("lost .viv");
  const random = seeded(seed);
  const run = join(onDisk(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  const all = await claimers(run, 3, seed % 1000);
  const ids: string[] = [];
  for (let n = 0; n < TASKS; n++) {
    const depends_on = n % 5 === 4 ? { depends_on: [`t.${n - 1}`, `t.${n - 3}`] } : {};
    ids.push((await store.enqueue({ id: `t.${n}`, type: "work", ...depends_on })).id);
    if (n % 20 === 19) {
      const part = PARTS[Math.floor(random() * PARTS.length * 2)] ?? "";
      remove(join(run, ".viv", part));
      await pause(random() * 60);
    }
  }
  await untilDone(run, TASKS);
  await end(all);
  await store.close();
  expectOnce(run, ids);
  const later = await openRun(run, { durability: "fast" });
  // Where a writer made a new file between two of rm's steps, rm leaves the folder: nobody notices that
  // links in ids/ are gone from it. Ids are looked for in the states, too, so only doctor misses them.
  const { findings } = await later.doctor({ fix: true });
  expect(findings.filter(({ path }) => path !== ".viv/ids")).toEqual([]);
  expect((await later.doctor()).findings).toEqual([]);
  await later.close();
});

test("lanes that a power cut left empty: busy claimers share them, and write little", {
  timeout: 180_000,
}, async () => {
  const run = join(onDisk(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  const ids = Array.from({ length: 1_500 }, (_, n) => `t.${n}`);
  await store.enqueueMany(ids.map((id) => ({ id, type: "work" })));
  await store.close();
  for (const lane of names(join(run, ".viv/lanes"))) truncateSync(join(run, ".viv/lanes", lane), 0);
  const all = await claimers(run, 4, 1);
  await untilDone(run, ids.length);
  // And once more while they run.
  const again = await openRun(run, { durability: "fast" });
  for (const lane of names(join(run, ".viv/lanes"))) truncateSync(join(run, ".viv/lanes", lane), 0);
  const more = ids.map((id) => `again.${id}`);
  await again.enqueueMany(more.map((id) => ({ id, type: "work" })));
  await untilDone(run, ids.length + more.length);
  await end(all);
  await again.close();
  expectOnce(run, [...ids, ...more]);
  const sizes = [...names(join(run, ".viv/lanes")), ...names(join(run, ".viv/cursors"))];
  const bytes = sizes.map((name) => {
    const folder = name.endsWith(".log") ? "lanes" : "cursors";
    return statSync(join(run, ".viv", folder, name)).size;
  });
  expect(Math.max(...bytes)).toBeLessThan(4 * 300 * 3_000);
});
