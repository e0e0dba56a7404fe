import { renameSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, killed, Pit } from "./support.ts";

/** Food that was eaten by hand is not eaten again, whatever happens before its proof. */

const ID = "food-0001-a";

/** Claimed by hand, with a result, the claim removed. `isSeen`: a sweep saw the claim. */
async function eat(pit: Pit, { isSeen = true, id = ID } = {}): Promise<void> {
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/boa.${id}.md`));
  if (isSeen) await pit.sweep();
  pit.result(id);
  rmSync(pit.path(`claimed/boa.${id}.md`));
}

test("a prover that is killed: the food is proven by another, not eaten again", async () => {
  const pit = await Pit.make();
  pit.food(ID, "- task: a\n- done-when: `test -e scraps/go || sleep 60`\n");
  await pit.sweep();
  await eat(pit);
  const prover = pit.viv("pit", "sweep");
  await until("it proves", () => pit.names("claimed").some((name) => name.startsWith("sweep-")));
  expect(await pit.json("pit", "status")).toMatchObject({ results: [{ food: ID, snake: "boa" }] });
  await killed(prover);
  pit.write("scraps/go", "");
  const handler = pit.script("h.sh", 'echo "$VIV_TASK_ID" >> "$H/eaten"');
  // Under the name of the snake too: its claim must not be in the way.
  expect(await ended(pit.work(handler, "--drain", "--worker", "boa"))).toBe(0);
  expect(pit.lines("eaten")).toEqual([]);
  expect(pit.names("done")).toEqual([`${ID}.md`, `${ID}.result.md`]);
  const { history } = await pit.json<{ history: unknown[] }>("show", ID);
  expect(history).toMatchObject([{ worker: "boa", outcome: "done" }]);
  expect(await pit.findings()).toEqual([]);
}, 60_000);

test("the claim of a prover that died and is forgotten: the work is still its snake's", async () => {
  const pit = await Pit.make();
  pit.food(ID, "- task: a\n- done-when: `true`\n");
  renameSync(pit.path(`food/${ID}.md`), pit.path(`claimed/boa.${ID}.md`));
  await pit.sweep();
  pit.result(ID);
  renameSync(pit.path(`claimed/boa.${ID}.md`), pit.path(`claimed/sweep-1.${ID}.md`));
  expect((await pit.sweep()).results).toMatchObject([{ food: ID, snake: "boa", how: "proven" }]);
  const { history } = await pit.json<{ history: unknown[] }>("show", ID);
  expect(history).toMatchObject([{ worker: "boa", outcome: "done" }]);
}, 60_000);

test("food in food/ with a result by hand is proven, and no worker takes it", async () => {
  const pit = await Pit.make();
  pit.food(ID, "- task: a\n- done-when: `true`\n");
  await pit.sweep();
  pit.write(`done/${ID}.result.md`, "I did it.\n");
  expect(await pit.ok("claim", "--worker", "w", "--json")).toBe("");
  // Without it, the food is food again.
  rmSync(pit.path(`done/${ID}.result.md`));
  expect(await pit.json("claim", "--worker", "w")).toMatchObject({ id: ID });
});

test("a snake that was not seen is not taken for the worker that had the food before", async () => {
  const pit = await Pit.make();
  pit.food(ID, "- task: a\n- done-when: `false`\n");
  const worker = pit.work(pit.script("h.sh", "sleep 60"), "--worker", "w1");
  await until("w1 has it", () => pit.names("claimed").length === 1);
  await pit.sweep();
  await killed(worker);
  await pit.sweep();
  expect(pit.names("food")).toEqual([`${ID}.md`]);
  await eat(pit, { isSeen: false });
  expect((await pit.sweep()).results).toMatchObject([{ food: ID, snake: null, how: "unproven" }]);
  const { history } = await pit.json<{ history: { worker: string }[] }>("show", ID);
  expect(history.map((one) => one.worker)).toEqual(["w1", "?"]);
}, 60_000);
