import { renameSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/deadline.ts";
import { ended, Pit } from "./support.ts";

/** Chokes that a snake notes in scraps/, as the README teaches. */

function choke(pit: Pit, id: string, snake: string): void {
  renameSync(pit.path(`food/${id}.md`), pit.path(`claimed/${snake}.${id}.md`));
  pit.write(
    `scraps/choke-${id}-${snake}.md`,
    `# ${snake} choked on ${id}\n\n- **failure:** no teeth for bones\n`,
  );
  renameSync(pit.path(`claimed/${snake}.${id}.md`), pit.path(`food/${id}.md`));
}

test("why, show, status and the keeper know it, and another snake takes the food", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  choke(pit, id, "snake-2");
  await pit.sweep();
  expect(await pit.json("why", id)).toMatchObject({
    reasons: [{ code: "choked", text: expect.stringContaining("no teeth for bones") }, {}],
  });
  const { history } = await pit.json<{ history: { worker: string; note: string }[] }>("show", id);
  expect(history).toMatchObject([{ worker: "snake-2", note: "no teeth for bones" }]);
  const status = await pit.json("pit", "status");
  expect(status).toMatchObject({
    stuck: [{ food: id, state: "pending", why: expect.stringContaining("snake-2") }],
    keeper: [{ food: `keeper-${id}`, task: expect.stringContaining("snake-2 choked on it") }],
  });
  await pit.sweep();
  expect(await pit.json("show", id)).toMatchObject({ history: [{}] });
  // Not for the snake that choked.
  const eat = pit.script("h.sh", 'echo "$VIV_TASK_ID $VIV_WORKER_ID" >> "$H/ate"');
  expect(await ended(pit.work(eat, "--worker-id", "snake-2", "--drain"))).toBe(0);
  expect(pit.lines("ate")).toEqual([]);
  expect(pit.has(`food/${id}.md`)).toBe(true);
  expect(await ended(pit.work(eat, "--worker-id", "snake-3", "--drain"))).toBe(0);
  expect(pit.lines("ate")).toEqual([`${id} snake-3`]);
  // The keeper's note goes with its problem.
  await pit.sweep();
  expect(pit.names("food")).toEqual([]);
  expect(await pit.stateOf(`keeper-${id}`)).toBe("done");
  expect(await pit.findings()).toEqual([]);
});

test("a note of before the last retry is about an earlier round", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  pit.write(`scraps/choke-${id}-snake-2.md`, "bones\n", 60);
  await pit.ok("cancel", id);
  await pit.ok("retry", id);
  await pit.sweep();
  const eat = pit.script("h.sh", 'echo "$VIV_TASK_ID $VIV_WORKER_ID" >> "$H/ate"');
  expect(await ended(pit.work(eat, "--worker-id", "snake-2", "--drain"))).toBe(0);
  expect(pit.lines("ate")).toEqual([`${id} snake-2`]);
});

test("a snake that chokes alone leaves the food in food/, for a later one", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  pit.write("../viv.toml", '[routes.food]\nbackoff = "1ms"\n');
  const fail = pit.script("fail.sh", 'echo try >> "$H/tried"; echo bones >&2; exit 7');
  const watching = pit.viv("watch", "--until-idle");
  const alone = pit.work(fail, "--worker-id", "snake-1", "--drain");
  expect(await ended(alone)).toBe(0);
  expect(await ended(watching)).toBe(0);
  expect(pit.lines("tried")).toHaveLength(3);
  expect(pit.names("food")).toContain(`${id}.md`);
  expect(pit.names("resting/stuck")).toEqual([]);
  await pit.sweep();
  expect(pit.names("food")).toEqual([`${id}.md`, `keeper-${id}.md`]);
  expect(await ended(pit.viv("watch", "--until-idle"))).toBe(0);
  const later = pit.work(pit.script("h.sh", ":"), "--worker-id", "snake-2");
  await until("the later snake has eaten it", () => pit.has(`done/${id}.md`));
  later.kill("SIGTERM");
  await ended(later);
}, 60_000);

test("several sweeps at once enter one note once", async () => {
  const pit = await Pit.make();
  const id = await pit.toss("chew");
  choke(pit, id, "snake-2");
  const sweeps = [1, 2, 3].map(() => pit.viv("pit", "sweep"));
  for (const one of sweeps) expect(await ended(one)).toBe(0);
  expect(await pit.json("show", id)).toMatchObject({ history: [{ worker: "snake-2" }] });
  expect(pit.names("food")).toEqual([`${id}.md`, `keeper-${id}.md`]);
});
