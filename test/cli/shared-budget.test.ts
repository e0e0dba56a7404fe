import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { json, Running } from "./support.ts";

/** Many workers, each a process of its own, and one budget. */

let home: string;

beforeEach(async () => {
  home = newFolder();
  writeFileSync(join(home, "prompt.md"), "Do it.\n");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const around = () => ({
  cwd: home,
  env: { PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state") },
});

/** A model's step takes longer than we need to hear of it. */
const STEP = '{ usage = { input = 10, usd = 0.1 }, delay = "700ms" },';

async function spend(workers: number, budget: string, more: { steps: number; tasks: number }) {
  const store = await openRun(join(home, "run"), { create: true, durability: "fast" });
  const tasks = Array.from({ length: more.tasks }, (_, i) => ({ id: `t${i}`, type: "t" }));
  await store.enqueueMany(tasks);
  await store.close();
  writeFileSync(join(home, "play.toml"), `[[case]]\nstep = [${STEP.repeat(more.steps)}]\n`);
  writeFileSync(
    join(home, "viv.toml"),
    `run = "run"\n[handlers.t]\nengine = "script"\nscenario = "play.toml"\nprompt = "prompt.md"\n[budget]\n${budget}\n`,
  );
  const running = Array.from(
    { length: workers },
    (_, i) => new Running(["work", "--worker-id", `w${i}`, "--drain"], around()),
  );
  // The budget of a day comes back at midnight: a worker that waits for it is done.
  await Promise.all(running.map((one) => one.says("is used up")));
  for (const one of running) one.child.kill("SIGTERM");
  await Promise.all(running.map((one) => one.end()));
  const { total } = await json<{ total: { usd: number; proven: number } }>(["costs"], around());
  return total;
}

describe("a budget that many share", () => {
  test.each([
    [10, "run = { usd = 1 }", 1],
    [20, "day = { usd = 2 }", 2],
  ])("%i workers, %s, steps of ten cents", async (workers, budget, usd) => {
    const total = await spend(workers, budget, { steps: 5, tasks: 40 });
    expect(total.usd).toBeLessThanOrEqual(usd + 1e-9);
    expect(total.usd).toBeGreaterThan(usd - 0.1 - 1e-9);
  });
});
