import { mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { ended, killed, Pit } from "./support.ts";

/** Food that snakes tossed, ate and removed before a process of ours saw it: it counts all the same. */

/** A pit as the seed makes it: five folders, and no viv. */
function bare(): Pit {
  const pit = new Pit();
  for (const folder of ["food", "claimed", "done", "scraps", "waste"]) {
    mkdirSync(pit.path(folder), { recursive: true });
  }
  return pit;
}

function eat(pit: Pit, id: string, text?: string): void {
  pit.food(id, text);
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/snake-2.${id}.md`));
  pit.result(id, `I ate ${id}.\n`);
  unlinkSync(pit.path(`claimed/snake-2.${id}.md`));
}

test("a pit that viv has never seen shows what was eaten in it, without writing", async () => {
  const pit = bare();
  eat(pit, "food-0001-a");
  eat(pit, "food-0002-b");
  pit.food("food-0003-c");
  const said = await pit.ok("pit", "status", pit.dir);
  expect(said).toContain("1 food · 2 done (2 without a proof)");
  expect(await pit.json("pit", "status")).toMatchObject({
    counts: { pending: 1, done: 2 },
    done_without_proof: 2,
  });
  const { tasks } = await pit.json<{ tasks: { id: string; state: string }[] }>("ls");
  expect(tasks.filter(({ state }) => state === "done").map(({ id }) => id)).toEqual(
    expect.arrayContaining(["food-0001-a", "food-0002-b"]),
  );
  expect(await pit.stateOf("food-0001-a")).toBe("done");
  expect(await pit.json("why", "food-0001-a")).toMatchObject({
    reasons: [{ code: "done", text: expect.stringContaining("not proven") }],
  });
  expect(pit.names("done")).toEqual(["food-0001-a.result.md", "food-0002-b.result.md"]);
});

test("a sweep enters it into the books once; food after it may begin", async () => {
  const pit = bare();
  eat(pit, "food-0001-a");
  pit.food("food-0002-b", "- task: b\n- after: food-0001-a\n");
  const { eaten, proven, results } = await pit.sweep();
  expect({ eaten, proven }).toEqual({ eaten: ["food-0001-a"], proven: [] });
  expect(results).toEqual([{ id: "food-0001-a", food: "food-0001-a", snake: null, how: "eaten" }]);
  expect(pit.read("done/food-0001-a.md")).toContain("not known");
  expect(pit.read("done/food-0001-a.result.md")).toBe("I ate food-0001-a.\n");
  expect(await pit.sweep()).toMatchObject({ eaten: [], proven: [], unproven: [] });
  expect(await pit.json("pit", "status")).toMatchObject({ counts: { done: 1 }, results: [] });
  expect(await ended(pit.work(pit.script("h.sh", ":"), "--drain"))).toBe(0);
  expect(await pit.stateOf("food-0002-b")).toBe("done");
  expect(await pit.toss("next")).toBe("food-0003-next");
  expect(await pit.findings()).toEqual([]);
  const lines = pit.ledger().filter(({ task, to }) => task === "food-0001-a" && to === "done");
  expect(lines).toHaveLength(1);
});

test("doctor reports it, and its repair is the same entry", async () => {
  const pit = await Pit.make();
  eat(pit, "food-0001-a");
  expect(await pit.findings()).toEqual([
    expect.stringContaining("orphan_result done/food-0001-a.result.md"),
  ]);
  await pit.cli(["doctor", "--fix"]);
  expect(await pit.findings()).toEqual([]);
  expect(await pit.json("pit", "status")).toMatchObject({ counts: { done: 1 } });
});

test("a done-when is run where the food is known; its snake is named", async () => {
  const pit = await Pit.make();
  const text = "- task: x\n- done-when: `test -e scraps/ok`\n";
  pit.food("food-0001-a", text);
  pit.food("food-0002-b", text);
  await pit.sweep();
  for (const id of ["food-0001-a", "food-0002-b"]) {
    renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/snake-2.${id}.md`));
  }
  await pit.sweep(); // sees the claims
  for (const id of ["food-0001-a", "food-0002-b"]) {
    pit.result(id);
    rmSync(pit.path(`claimed/snake-2.${id}.md`));
  }
  expect(await pit.json("pit", "status")).toMatchObject({ counts: { done: 2 } });
  pit.write("scraps/ok", "");
  const { results } = await pit.sweep();
  expect(results).toEqual([
    { id: "food-0001-a", food: "food-0001-a", snake: "snake-2", how: "proven" },
    { id: "food-0002-b", food: "food-0002-b", snake: "snake-2", how: "proven" },
  ]);
  const ends = pit.ledger().filter(({ event }) => event === "ended");
  expect(ends.map(({ worker }) => worker)).toEqual(["snake-2", "snake-2"]);
  expect(await pit.json("pit", "status")).toMatchObject({ done_without_proof: 0 });
});

test("several sweeps at once, one of them killed: each result is entered once", async () => {
  const pit = bare();
  const ids = Array.from({ length: 1000 }, (_, n) => `food-${1000 + n}-x`);
  for (const id of ids) pit.result(id);
  const sweeps = [1, 2, 3].map(() => pit.viv("pit", "sweep"));
  await killed(sweeps[0] as never);
  for (const one of sweeps.slice(1)) expect(await ended(one)).toBe(0);
  await pit.sweep();
  expect(await pit.json("pit", "status")).toMatchObject({ counts: { done: 1000 }, results: [] });
  expect(await pit.findings()).toEqual([]);
});
