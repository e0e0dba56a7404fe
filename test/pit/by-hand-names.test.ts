import { renameSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, killed, Pit } from "./support.ts";

/** A name that a person or an agent with a shell uses is not taken, and its food stays its own. */

const F = "food-0001-x";

function mv(pit: Pit, id: string, snake: string): string {
  const claim = `claimed/${snake}.${id}.md`;
  renameSync(pit.path(`food/${id}.md`), pit.path(claim));
  return claim;
}

/** Food as old as if it had been written an hour ago: `mv` keeps that time. */
function oldFood(pit: Pit, id = F): void {
  pit.food(id);
  pit.age(`food/${id}.md`, 3_600);
}

test("viv work does not take the name, nor the food, of a snake that claimed by mv", async () => {
  const pit = await Pit.make();
  oldFood(pit);
  const claim = mv(pit, F, "snake-2");
  const handler = pit.script("h.sh", 'echo "$VIV_TASK_ID" >> "$H/ate"');
  const { status, stderr } = await pit.cli([
    ...["work", "--handler", handler, "--worker-id", "snake-2", "--drain"],
  ]);
  expect(stderr).toMatch(/name snake-2 is in use by hand: it claimed food-0001-x without viv/);
  expect(status).not.toBe(0);
  expect(pit.has(claim)).toBe(true);
  expect(pit.lines("ate")).toEqual([]);
});

test("viv up lets that snake wait, and starts it once the food is eaten", async () => {
  const pit = await Pit.make();
  oldFood(pit);
  const claim = mv(pit, F, "snake-2");
  const handler = pit.script("h.sh", 'echo "$VIV_TASK_ID $VIV_WORKER_ID" >> "$H/ate"');
  pit.write(
    "../agents.toml",
    `[service]\npit = "./pit"\n[agents.snake-1]\nhandler = "${handler}"\n[agents.snake-2]\nhandler = "${handler}"\n`,
  );
  const up = pit.viv("up", "-c", `${pit.home}/agents.toml`);
  const file = () => (pit.has(".viv/up/snake-2.json") ? pit.read(".viv/up/snake-2.json") : "");
  await until("snake-2 waits", () => file().includes("in use by hand"));
  pit.food("food-0002-y");
  await until("snake-1 ate the other food", () => pit.lines("ate").includes("food-0002-y snake-1"));
  await until("the claim by mv was noticed", () => pit.has(`.viv/ids/${F}.md`));
  expect(pit.has(claim)).toBe(true);
  pit.result(F);
  rmSync(pit.path(claim));
  await until("snake-2 starts", () => /"state": "idle"/.test(file()));
  await until("the result by hand counts", () => pit.has(`done/${F}.md`));
  up.kill("SIGTERM");
  expect(await ended(up)).toBe(0);
  expect(pit.lines("ate")).toEqual(["food-0002-y snake-1"]);
});

test("a claim by mv under the name of a worker that was killed keeps its own age", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("runs");
  const handler = pit.script("h.sh", 'echo run >> "$H/ran"; while [ ! -e "$H/go" ]; do :; done');
  const worker = pit.work(handler, "--worker-id", "snake-2");
  await until("it runs", () => pit.lines("ran").length === 1);
  await killed(worker);
  oldFood(pit, "food-0002-y");
  const claim = mv(pit, "food-0002-y", "snake-2");
  const { stdout } = await pit.cli(["doctor", "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: { path: string; code: string }[] };
  expect(findings).toContainEqual(
    expect.objectContaining({ code: "claim_without_worker", path: `claimed/snake-2.${id}.md` }),
  );
  expect(findings.map(({ path }) => path)).not.toContain(claim);
  await pit.ok("reap");
  expect(pit.names("claimed")).toEqual(["snake-2.food-0002-y.md"]);
  expect(pit.has(`food/${id}.md`)).toBe(true);
  await pit.sweep("--stale-after", "0s");
  expect(pit.names("claimed")).toEqual([]);
});

test("an old heartbeat of a name does not make a fresh claim by mv old", async () => {
  const pit = await Pit.make();
  await pit.ok("heartbeat", "--worker", "me");
  pit.age(".viv/heartbeats/me", 3_600);
  oldFood(pit);
  const claim = mv(pit, F, "me");
  await pit.ok("reap");
  expect(pit.has(claim)).toBe(true);
  const { digesting } = await pit.json<{ digesting: unknown[] }>("pit", "status");
  expect(digesting).toMatchObject([{ food: F, snake: "me", alive: true }]);
});

test("a result beside a claim by mv counts, though a worker of that name is alive", async () => {
  const pit = await Pit.make();
  const worker = pit.work(pit.script("h.sh", ":"), "--worker-id", "snake-2", "--types", "other");
  await until("it is there", () => pit.has(".viv/workers/snake-2.json"));
  oldFood(pit);
  mv(pit, F, "snake-2");
  pit.result(F);
  await until("it is done", async () => {
    await pit.sweep();
    return pit.has(`done/${F}.md`);
  });
  worker.kill("SIGTERM");
  await ended(worker);
});
