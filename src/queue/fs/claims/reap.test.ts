import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { FakeHost } from "../../../../test/support/machine.ts";
import { names, places } from "../../../../test/support/run-files.ts";
import { openRun } from "../../../main.ts";

test("a copy of a claim, in the folder of another worker, is not given out again", async () => {
  const run = join(newFolder(), "run");
  const host = new FakeHost();
  const store = await openRun(run, {
    create: true,
    durability: "fast",
    machine: host.process(),
  });
  await store.enqueue({ id: "a", type: "t" });
  const [claim] = await store.claim({ worker: "w" });
  if (!claim) throw new Error("there was one");
  mkdirSync(join(run, "claimed/other"));
  copyFileSync(join(run, "claimed/w/a.json"), join(run, "claimed/other/a.json"));
  await store.complete({ id: "a", worker: "w", token: claim.token });
  host.advance(3_600_000);
  const { reaped } = await store.reap();
  expect(reaped).toEqual([]);
  expect(places(run).get("a")).toEqual([{ state: "done" }]);
  expect(names(join(run, "quarantine"))).toEqual(["a.json", "a.json.reason"]);
});

test("an end that is recorded while the tree is ended counts, also of a worker in this process", async () => {
  const run = join(newFolder(), "run");
  const host = new FakeHost();
  const worker = await openRun(run, { create: true, machine: host.process() });
  await worker.enqueue({ id: "a", type: "t" });
  await worker.register("w");
  const [claim] = await worker.claim({ worker: "w" });
  const ref = { id: "a", worker: "w", token: claim?.token ?? "" };
  await worker.noteProcess(ref, host.tree());
  host.advance(3_600_000);
  let completing: Promise<unknown> | undefined;
  const leftovers = {
    end: async () => {
      completing = worker.complete(ref, { inBackground: true });
      return [];
    },
  };
  const reaper = await openRun(run, { machine: { ...host.process(), leftovers } });
  const { reaped } = await reaper.reap();
  expect(reaped).toMatchObject([{ id: "a", to: "done", reason: "finished" }]);
  expect(await completing).toMatchObject({ to: "done" });
  expect(places(run).get("a")).toEqual([{ state: "done" }]);
  await reaper.close();
  await worker.close();
});
