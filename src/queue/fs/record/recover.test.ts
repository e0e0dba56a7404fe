import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder, onDisk } from "../../../../test/support/folders.ts";
import { FakeHost } from "../../../../test/support/machine.ts";
import { names } from "../../../../test/support/run-files.ts";
import { openRun } from "../../../main.ts";
import type { Store } from "../../store.ts";

/** Recovery of .viv/ after a power cut. */

const LOSSES: Record<string, (path: string) => void> = {
  empty: (path) => truncateSync(path, 0),
  "full of NULs": (path) => writeFileSync(path, Buffer.alloc(4096)),
  gone: (path) => rmSync(path),
};

async function scene(folder = newFolder()) {
  const path = join(folder, "run");
  const host = new FakeHost();
  const open = () => openRun(path, { create: true, durability: "fast", machine: host.process() });
  const store = await open();
  await store.enqueue({ id: "flaky", type: "t", max_attempts: 2 });
  await fail(store, "flaky");
  await store.enqueue({ id: "retried", type: "t" });
  await fail(store, "retried");
  await store.retry("retried", { by: "me" });
  await store.enqueue({ id: "a", type: "t" });
  await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
  await store.close();
  return { path, host, open };
}

async function fail(store: Store, id: string): Promise<void> {
  const [claim] = await store.claim({ worker: "w" });
  expect(claim?.task.task_id).toBe(id);
  await store.fail({ id, worker: "w", token: claim?.token ?? "" }, { backoffMs: 60_000 });
}

function lose(path: string, how: (path: string) => void): void {
  for (const folder of ["lanes", "cursors", "dependents", "attempts", "workers"]) {
    for (const name of readdirSync(join(path, ".viv", folder))) {
      if (!name.startsWith(".")) how(join(path, ".viv", folder, name));
    }
  }
}

test.each(Object.entries(LOSSES))("after a reboot, with all of it %s", async (_, how) => {
  const { path, host, open } = await scene();
  lose(path, how);
  host.reboot();
  const store = await open();
  expect((await store.doctor()).findings).toEqual([]);
  // It rests for its whole time, and its attempts still count.
  const claims = await store.claim({ worker: "w", max: 9 });
  const attempts = new Map(claims.map(({ task, attempt }) => [task.task_id, attempt]));
  expect(Object.fromEntries(attempts)).toEqual({ retried: 2, a: 1 });
  expect((await store.show("retried"))?.history).toMatchObject([
    { outcome: "failed" },
    { retried: true, by: "me" },
  ]);
  for (const { task, token } of claims) {
    await store.complete({ id: task.task_id, worker: "w", token });
  }
  expect((await store.claim({ worker: "w" }))[0]?.task.task_id).toBe("b");
  host.advance(120_000);
  const [last] = await store.claim({ worker: "w" });
  expect(last).toMatchObject({ attempt: 2, task: { task_id: "flaky" } });
  await store.fail({ id: "flaky", worker: "w" });
  expect((await store.show("flaky"))?.state).toBe("failed");
  await store.close();
});

/** ext4 gives a folder the number of the one that was removed right before. */
test("without a reboot: a folder that was removed and made again", async () => {
  const { path, open } = await scene(onDisk());
  rmSync(join(path, ".viv/attempts"), { recursive: true });
  mkdirSync(join(path, ".viv/attempts"));
  const store = await open();
  expect(names(join(path, ".viv/attempts"))).toEqual(["flaky.jsonl", "retried.jsonl"]);
  await store.close();
});

test("without a reboot: an idle worker wakes tasks without notes", async () => {
  const { path, open } = await scene();
  lose(path, LOSSES.empty as (path: string) => void);
  rmSync(join(path, ".viv/woken"), { force: true });
  const store = await open();
  const done: string[] = [];
  for (let n = 0; n < 3; n++) {
    const [claim] = await store.claim({ worker: "w" });
    const id = claim?.task.task_id ?? "none";
    await store.complete({ id, worker: "w" });
    done.push(id);
  }
  expect(done.sort()).toEqual(["a", "b", "retried"]);
  await store.close();
});

test("viv reap wakes a task without notes, as `why` advises", async () => {
  const { path, open } = await scene();
  const store = await open();
  for (const name of names(join(path, ".viv/dependents")))
    rmSync(join(path, ".viv/dependents", name));
  const claims = await store.claim({ worker: "w", max: 9 });
  for (const { task } of claims) await store.complete({ id: task.task_id, worker: "w" });
  expect((await store.show("b"))?.state).toBe("waiting");
  expect(await store.sweep({ thorough: true })).toMatchObject({ promoted: 1 });
  await store.close();
});

test("a boot that is known costs nothing: nothing is written at open", async () => {
  const { path, open } = await scene();
  const before = names(join(path, ".viv"));
  const store = await open();
  await store.close();
  expect(names(join(path, ".viv"))).toEqual(before);
});

test("another container of the same boot knows it, too", async () => {
  const { path, host } = await scene();
  const before = names(join(path, ".viv"));
  const self = { ...host.process().self(), host: "c0ffee" };
  const machine = { ...host.process(), self: () => self };
  const store = await openRun(path, { durability: "fast", machine });
  await store.close();
  expect(names(join(path, ".viv"))).toEqual(before);
});
