import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, killed, Pit } from "./support.ts";

/** Snakes with a shell: their results are proven by a sweep, and what is not borne out is marked. */

/** Claimed with mv, its result written, its claim removed: as the README teaches. */
function eat(pit: Pit, id: string, snake = "hand"): void {
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/${snake}.${id}.md`));
  pit.result(id, `done by ${snake}\n`);
  rmSync(pit.path(`claimed/${snake}.${id}.md`));
}

const PROOF = 'echo run >> "$H/proofs"; test -e scraps/ok';

/** done-when that counts its runs, and says yes once scraps/ok is there. */
async function tossWithProof(pit: Pit, words = "x", proof = PROOF): Promise<string> {
  return pit.toss(words, "--done-when", pit.script("proof.sh", proof));
}

test("a result whose claim is gone: proven, and the food is back in done/", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  const text = pit.read(`food/${id}.md`);
  eat(pit, id);
  pit.write("scraps/ok", "");
  expect(await pit.sweep()).toMatchObject({ proven: [id], unproven: [] });
  expect(pit.names("done")).toEqual([`${id}.md`, `${id}.result.md`]);
  expect(pit.read(`done/${id}.md`)).toBe(text);
  expect(pit.read(`done/${id}.result.md`)).toBe("done by hand\n");
  expect(pit.lines("proofs")).toHaveLength(1);
  expect(await pit.sweep()).toMatchObject({ proven: [], unproven: [] });
  expect(await pit.findings()).toEqual([]);
  expect(pit.lines("proofs")).toHaveLength(1);
});

test("one that is not proven: marked, and the food comes back; the second try is", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  eat(pit, id);
  expect(await pit.sweep()).toMatchObject({
    proven: [],
    unproven: [
      { food: id, result: `done/${id}.unproven-1.md`, note: expect.stringContaining("exit 1") },
    ],
  });
  expect(pit.names("done")).toEqual([`${id}.unproven-1.md`]);
  await until("it is food again", async () => {
    await pit.ok("reap"); // its rest is over
    return pit.has(`food/${id}.md`);
  });
  expect(await pit.findings()).toEqual([]);
  eat(pit, id, "other");
  expect(await pit.sweep()).toMatchObject({ unproven: [{ result: `done/${id}.unproven-2.md` }] });
  await until("it is food again", async () => {
    await pit.ok("reap");
    return pit.has(`food/${id}.md`);
  });
  pit.write("scraps/ok", "");
  eat(pit, id, "other");
  expect(await pit.sweep()).toMatchObject({ proven: [id] });
  expect(pit.names("done")).toEqual([
    `${id}.md`,
    `${id}.result.md`,
    `${id}.unproven-1.md`,
    `${id}.unproven-2.md`,
  ]);
  expect(pit.read(`done/${id}.unproven-1.md`)).toBe("done by hand\n");
});

test("three times the same: results by hand choke like any other, and the keeper gets food", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  for (let n = 1; n <= 3; n++) {
    await until("it is food", async () => {
      await pit.ok("reap");
      return pit.has(`food/${id}.md`);
    });
    eat(pit, id);
    await pit.sweep();
  }
  expect(pit.names("done")).toHaveLength(3);
  await pit.sweep();
  // Alone, it leaves the food for a later snake.
  expect(pit.names("resting/stuck")).toEqual([]);
  expect(pit.names("food")).toEqual([`${id}.md`, `keeper-${id}.md`]);
  expect(pit.names("scraps").filter((name) => name.startsWith(`choke-${id}`))).toHaveLength(1);
});

test("a result beside a claim: left while both are young, then proven", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/hand.${id}.md`));
  pit.write("scraps/ok", "");
  pit.write(`done/${id}.result.md`, "nearly done\n", 5);
  expect(await pit.sweep()).toMatchObject({ proven: [] });
  expect(pit.names("claimed")).toEqual([`hand.${id}.md`]);
  pit.age(`done/${id}.result.md`, 60);
  expect(await pit.sweep()).toMatchObject({ proven: [id] });
  expect(pit.names("claimed")).toEqual([]);
});

test("a result while one of our workers digests the food stays what the worker makes of it", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("x");
  const handler = pit.script(
    "handler.sh",
    `echo mine > "done/$VIV_TASK_ID.result.md"; touch -d '1 hour ago' "done/$VIV_TASK_ID.result.md"
     echo begun >> "$H/begun"; while [ ! -e "$H/go" ]; do :; done`,
  );
  const worker = pit.work(handler, "--max-tasks", "1");
  await until("it has begun", () => pit.lines("begun").length === 1);
  expect(await pit.sweep()).toMatchObject({ proven: [], unproven: [] });
  pit.script("go", "");
  expect(await ended(worker)).toBe(0);
  expect(pit.names("done")).toEqual([`${id}.md`, `${id}.result.md`]);
  expect(pit.read(`done/${id}.result.md`)).toBe("mine\n");
});

test("a handler that ends its food by hand, as the README teaches", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  const handler = pit.script(
    "handler.sh",
    'touch scraps/ok; echo mine > "done/$VIV_TASK_ID.result.md"; rm "$VIV_FOOD"; echo over >> "$H/over"',
  );
  pit.work(handler, "--worker-id", "w");
  await until("proven by the worker's own rounds", () => pit.has(`done/${id}.md`));
  expect(pit.lines("over")).toHaveLength(1);
  expect(pit.read(`done/${id}.result.md`)).toBe("mine\n");
  expect(pit.lines("proofs")).toHaveLength(1);
});

test.each(["with a result", "without one"])("food moved to done/ by hand %s", async (how) => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  const bad = await tossWithProof(pit, "bad", 'echo run >> "$H/proofs"; test -e scraps/ok');
  pit.script("proof.sh", 'echo run >> "$H/proofs"; test -e "scraps/$VIV_TASK_ID"');
  pit.write(`scraps/${id}`, "");
  for (const one of [id, bad]) {
    renameSync(pit.path(`food/${one}.md`), pit.path(`claimed/hand.${one}.md`));
    if (how === "with a result") pit.result(one, "mine\n");
    renameSync(pit.path(`claimed/hand.${one}.md`), pit.path(`done/${one}.md`));
  }
  const seen = { proven: [] as string[], unproven: [] as string[] };
  await until("both were looked at", async () => {
    const { proven, unproven } = await pit.sweep();
    seen.proven.push(...proven);
    for (const { food, note } of unproven) {
      seen.unproven.push(food);
      expect(note).toContain("exit 1");
    }
    return seen.proven.length + seen.unproven.length >= 2;
  });
  expect(seen).toEqual({ proven: [id], unproven: [bad] });
  expect(pit.has(`done/${bad}.md`)).toBe(false);
  expect(pit.has(`done/${bad}.unproven-1.md`)).toBe(how === "with a result");
  expect(pit.has(`done/${id}.result.md`)).toBe(true);
  expect(["pending", "waiting"]).toContain(await pit.stateOf(bad));
  expect(pit.lines("proofs")).toHaveLength(2);
  await until("nothing is found", async () => {
    await pit.sweep(); // its rest may be over by now
    return (await pit.findings()).length === 0;
  });
});

test("a result for stuck food waits for a retry, and is then proven", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(pit);
  const handler = pit.script("fail.sh", "exit 1");
  await pit.ok("claim", "--worker", "s");
  await pit.ok("fail", id, "--worker", "s", "--final", "--note", "no");
  expect(pit.names("resting/stuck")).toEqual([`${id}.md`]);
  pit.result(id);
  pit.write("scraps/ok", "");
  expect(await pit.sweep()).toMatchObject({ proven: [] });
  expect(pit.names("resting/stuck")).toEqual([`${id}.md`]);
  const { results } = await pit.json<{ results: { food: string; note: string }[] }>(
    "pit",
    "status",
  );
  expect(results).toMatchObject([{ food: id, note: expect.stringContaining("viv retry") }]);
  await pit.ok("retry", id);
  expect(await pit.sweep()).toMatchObject({ proven: [id] });
  expect(handler).toBeTruthy();
});

test("without done-when a result counts; for a person it goes to review", async () => {
  const pit = await Pit.make();
  const plain = await pit.toss("plain");
  pit.food("food-0002-words", "- task: x\n- done-when: Everybody in the team is happy with it.\n");
  await pit.sweep();
  for (const id of [plain, "food-0002-words"]) eat(pit, id);
  const { proven, eaten, review } = await pit.sweep();
  expect({ proven, eaten, review }).toEqual({
    proven: [],
    eaten: [plain],
    review: ["food-0002-words"],
  });
  expect(pit.names("resting/review")).toEqual(["food-0002-words.md"]);
  expect(await pit.findings()).toEqual([]);
  expect(await pit.sweep()).toMatchObject({ proven: [], unproven: [] });
  await pit.ok("approve", "food-0002-words");
  expect(pit.read("done/food-0002-words.result.md")).toBe("done by hand\n");
});

test("food that only snakes have seen is known once one of ours has looked", async () => {
  const pit = await Pit.make();
  pit.food("food-0003-x", `- task: x\n- done-when: \`test -e scraps/ok\`\n`);
  renameSync(pit.path("food/food-0003-x.md"), pit.path("claimed/hand.food-0003-x.md"));
  await pit.sweep();
  pit.result("food-0003-x");
  rmSync(pit.path("claimed/hand.food-0003-x.md"));
  pit.write("scraps/ok", "");
  expect(await pit.sweep()).toMatchObject({ proven: ["food-0003-x"] });
  expect(pit.read("done/food-0003-x.md")).toContain("task: x");
});

test("several sweeps and workers at once: each result is proven once", async () => {
  const pit = await Pit.make();
  const proof = pit.script("proof.sh", 'echo "$VIV_TASK_ID" >> "$H/proofs"');
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) ids.push(await pit.toss(`n${n}`, "--done-when", proof));
  for (const id of ids) eat(pit, id);
  const sweeps = [1, 2, 3].map(() => pit.viv("pit", "sweep"));
  const worker = pit.work(pit.script("h.sh", ":"));
  for (const one of sweeps) expect(await ended(one)).toBe(0);
  await until("all are done", () => ids.every((id) => pit.has(`done/${id}.md`)));
  worker.kill("SIGTERM");
  await ended(worker);
  expect(pit.lines("proofs").sort()).toEqual(ids);
  const done = pit.ledger().filter(({ event, outcome }) => event === "ended" && outcome === "done");
  expect(done.map(({ task }) => task).sort()).toEqual(ids);
  expect(await pit.findings()).toEqual([]);
});

test("kill -9 of a sweeper in the middle of a proof: the next one proves it", async () => {
  const pit = await Pit.make();
  const id = await tossWithProof(
    pit,
    "x",
    'echo "$$" >> "$H/proofs"; while [ ! -e "$H/go" ]; do :; done',
  );
  eat(pit, id);
  const first = pit.viv("pit", "sweep");
  await until("the proof runs", () => pit.lines("proofs").length === 1);
  await killed(first);
  expect(pit.names("claimed")).toHaveLength(1);
  expect(pit.has(`done/${id}.result.md`)).toBe(true);
  pit.script("go", "");
  await until("proven", async () => (await pit.sweep()).proven.includes(id));
  expect(pit.names("done")).toEqual([`${id}.md`, `${id}.result.md`]);
  expect(pit.read(`done/${id}.result.md`)).toBe("done by hand\n");
  expect(pit.names("claimed")).toEqual([]);
  expect(await pit.findings()).toEqual([]);
});

test("a folder, a link or rubbish in the place of a result, and a result without words", async () => {
  const pit = await Pit.make();
  const [folder, link, empty] = [await pit.toss("a"), await pit.toss("b"), await pit.toss("c")];
  mkdirSync(pit.path(`done/${folder}.result.md`));
  symlinkSync("/etc/passwd", pit.path(`done/${link}.result.md`));
  eat(pit, empty);
  pit.write(`done/${empty}.result.md`, "", 60);
  pit.write("done/.result.md", "x", 60);
  pit.write("done/photo.png", "x", 60);
  expect(await pit.sweep()).toMatchObject({ eaten: [empty] });
  const handler = pit.script("h.sh", 'echo words > "$VIV_RESULT"');
  expect(await ended(pit.work(handler, "--max-tasks", "2"))).toBe(0);
  for (const id of [folder, link]) expect(await pit.stateOf(id)).toBe("done");
  await pit.cli(["doctor", "--fix"]);
  expect(await pit.findings()).toEqual([]);
});
