import { renameSync } from "node:fs";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { until } from "../support/deadline.ts";
import { FakeHost } from "../support/machine.ts";
import { ended, killed, Pit } from "./support.ts";

/** The same failure three times: a note for others, then the keeper; and a new round for it. */

/** Routes without a pause between tries. */
function quick(pit: Pit, handler: string): void {
  pit.write("viv.toml", `run = "."\n[handlers.default]\nhandler = "${handler}"\nbackoff = "1ms"\n`);
}

const work = (pit: Pit, ...flags: string[]) => pit.viv("work", "--poll-interval", "0.2", ...flags);

const FAILS =
  'echo "$VIV_TASK_ID $VIV_WORKER_ID" >> "$H/tried"; echo "cannot chew bones" >&2; exit 7';

test("the third time: a note names the failure, the tries, the snake and the logs; another takes it", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  quick(
    pit,
    pit.script("h.sh", `[ "$VIV_WORKER_ID" = strong ] && [ -e "$H/go" ] && exit 0\n${FAILS}`),
  );
  const weak = work(pit, "--worker-id", "weak");
  // Alive, but not hungry yet: it takes another type only until the test changes that.
  await pit.ok("heartbeat", "--worker", "strong");
  const note = `scraps/choke-${id}-weak.md`;
  await until("weak has choked", () => pit.has(note) && pit.has(`food/${id}.md`));
  const text = pit.read(note);
  const logs = pit.names("waste").filter((name) => name.startsWith("weak-"));
  expect(logs).toHaveLength(3);
  for (const log of logs) expect(text).toContain(`waste/${log}`);
  expect(text).toMatch(/failure:\*\* exit 7: cannot chew bones/);
  expect(text).toMatch(/by:\*\* weak/);
  for (const n of [1, 2, 3]) expect(text).toMatch(new RegExp(`^${n}\\. weak, .*failed`, "m"));
  expect(await pit.json("why", id)).toMatchObject({
    reasons: [{ code: "choked", text: expect.stringContaining("strong may still try") }, {}],
  });

  // Weak lives and looks, and leaves it alone: it takes what is tossed later instead.
  const later = await pit.toss("later");
  await until("weak has tried the later one", () => pit.lines("tried").includes(`${later} weak`));
  expect(pit.lines("tried").filter((line) => line === `${id} weak`)).toHaveLength(3);
  pit.script("go", "");
  const strong = work(pit, "--worker-id", "strong", "--max-tasks", "1");
  expect(await ended(strong)).toBe(0);
  expect(pit.has(`done/${id}.md`)).toBe(true);
  await killed(weak);
});

test("all have choked: it rests, the keeper gets one food; retry gives it a new round", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  quick(pit, pit.script("h.sh", FAILS));
  const stuck = () => pit.has(`resting/stuck/${id}.md`);
  // Both live from the beginning: one alone would be all there are.
  for (const name of ["a", "b"]) await pit.ok("heartbeat", "--worker", name);
  const snakes = ["a", "b"].map((name) => work(pit, "--worker-id", name));
  await until("stuck", stuck);
  await until("reported", () => pit.has(`food/keeper-${id}.md`));
  // Each had three tries at most, and a row may be shared: two chokes, with a note each.
  expect(pit.lines("tried")).toHaveLength(6);
  expect(pit.names("scraps")).toEqual([`choke-${id}-a.md`, `choke-${id}-b.md`]);
  const report = pit.read(`food/keeper-${id}.md`);
  expect(report).toContain("cannot chew bones");
  expect(report).toContain(id);
  expect(report).toMatch(/for:\*\* keeper/);

  await pit.ok("retry", id);
  await until("stuck again", () => pit.has(`food/keeper-${id}-2.md`) && stuck());
  expect(pit.lines("tried")).toHaveLength(12);
  await pit.sweep();
  // The report of the first round is finished: the food was given out anew.
  expect(pit.names("food")).toEqual([`keeper-${id}-2.md`]);
  expect(await pit.stateOf(`keeper-${id}`)).toBe("done");
  // No snake ate the keeper's food.
  expect(pit.lines("tried").some((line) => line.startsWith("keeper-"))).toBe(false);
  for (const snake of snakes) await killed(snake);
  expect(pit.names("scraps")).toHaveLength(4);
  const status = await pit.json<{ stuck: { food: string }[]; keeper: unknown[] }>("pit", "status");
  expect(status.stuck).toMatchObject([{ food: id, why: expect.stringContaining("cannot chew") }]);
  expect(status.keeper).toHaveLength(1);
});

test("moved from stuck/ to food/ by hand: a new round", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  quick(pit, pit.script("h.sh", FAILS));
  for (const name of ["a", "b"]) await pit.ok("heartbeat", "--worker", name);
  const snakes = ["a", "b"].map((name) => work(pit, "--worker-id", name));
  const stuck = () => pit.has(`resting/stuck/${id}.md`);
  await until("stuck", () => stuck() && pit.has(`food/keeper-${id}.md`));
  renameSync(pit.path(`resting/stuck/${id}.md`), pit.path(`food/${id}.md`));
  await until("stuck again", () => stuck() && pit.has(`food/keeper-${id}-2.md`));
  expect(pit.lines("tried")).toHaveLength(12);
  for (const snake of snakes) await killed(snake);
});

test("the same when its snake had left it to others before", async () => {
  const pit = await Pit.make();
  const host = new FakeHost();
  const open = () => openRun(pit.dir, { machine: host.process(), durability: "fast" });
  const stores: Record<string, Store> = { w: await open(), other: await open() };
  const store = stores.w as Store;
  await store.heartbeat("other");
  await store.enqueue({ id: "food-0001-x", type: "food", payload: { task: "x" } });
  const choke = async (worker: string) => {
    for (let n = 0; n < 3; n++) {
      const [claim] = (await stores[worker]?.claim({ worker })) ?? [];
      if (!claim) throw new Error("nothing to claim");
      const ref = { id: "food-0001-x", worker, token: claim.token };
      await stores[worker]?.fail(ref, { fingerprint: "f", note: "no", backoffMs: 0 });
      host.advance(100);
    }
  };
  await choke("w");
  expect(await store.claim({ worker: "w" })).toEqual([]);
  await choke("other");
  expect(pit.names("resting/stuck")).toEqual(["food-0001-x.md"]);
  renameSync(pit.path("resting/stuck/food-0001-x.md"), pit.path("food/food-0001-x.md"));
  host.advance(6_000);
  expect(await store.claim({ worker: "w" })).toMatchObject([{ attempt: 7 }]);
});

test("a plain worker leaves keeper and planner food alone; a worker of that type gets it", async () => {
  const pit = await Pit.make();
  const handler = pit.script("h.sh", 'echo "$VIV_TASK_ID" >> "$H/ate"');
  const keeper = await pit.toss("for the keeper", "--for", "keeper");
  const big = await pit.toss("for the planner", "--too-big");
  pit.food("food-0009-huge", "- task: huge\n- size: too big\n");
  pit.food("food-0010-k", "- task: k\n- for: Keeper\n");
  const plain = await pit.toss("plain");
  expect(await ended(pit.work(handler, "--drain"))).toBe(0);
  expect(pit.lines("ate")).toEqual([plain]);
  expect(await ended(pit.work(handler, "--drain", "--types", "keeper"))).toBe(0);
  expect(pit.lines("ate").slice(1).sort()).toEqual([keeper, "food-0010-k"].sort());
  expect(await ended(pit.work(handler, "--drain", "--types", "planner"))).toBe(0);
  expect(pit.lines("ate").slice(3).sort()).toEqual([big, "food-0009-huge"].sort());
});

test("kill -9 anywhere on the way to stuck: the keeper gets one food", async () => {
  const pit = await Pit.make();
  quick(pit, pit.script("h.sh", FAILS));
  const ids: string[] = [];
  for (let n = 0; n < 2; n++) ids.push(await pit.toss(`chew ${n}`));
  for (let round = 0; round < 4; round++) {
    const worker = work(pit, "--worker-id", `w${round % 2}`);
    const tried = pit.lines("tried").length;
    const isOver = () => pit.names("resting/stuck").length === ids.length;
    await until("a few tries", () => pit.lines("tried").length > tried + 1 || isOver());
    await killed(worker);
  }
  // Two, of which each chokes: alone, one would leave it to a later snake.
  const last = ["w8", "w9"].map((name) => work(pit, "--worker-id", name));
  await until("all are stuck", () => pit.names("resting/stuck").length === ids.length);
  await until("all are reported", () => pit.names("food").length >= ids.length);
  for (const one of last) await killed(one);
  await pit.sweep();
  expect(pit.names("food")).toEqual(ids.map((id) => `keeper-${id}.md`));
  expect(await pit.findings()).toEqual([]);
});
