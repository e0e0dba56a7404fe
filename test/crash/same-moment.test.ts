import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun, type Store } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { onDisk } from "../support/folders.ts";
import { Script } from "../support/processes.ts";

/** Two processes that do the same to the same tasks: each task moves once, and none is lost. */
const COUNT = 400;

const PREPARE: Record<string, { to: string; prepare: (store: Store) => Promise<void> }> = {
  reap: {
    to: "pending",
    prepare: async (store) => {
      await store.claim({ worker: "w", max: COUNT });
    },
  },
  retry: {
    to: "pending",
    prepare: async (store) => {
      for (let n = 0; n < COUNT; n++) await store.cancel(`t.${n}`);
    },
  },
  approve: {
    to: "done",
    prepare: async (store) => {
      for (const { task } of await store.claim({ worker: "w", max: COUNT })) {
        await store.complete({ id: task.task_id, worker: "w" });
      }
    },
  },
  cancel: { to: "failed", prepare: async () => {} },
};

test.each(Object.keys(PREPARE))("two processes %s the same tasks", async (what) => {
  const { to, prepare } = PREPARE[what] as (typeof PREPARE)[string];
  const run = join(onDisk(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  const review = what === "approve";
  await store.enqueueMany(
    Array.from({ length: COUNT }, (_, n) => ({ id: `t.${n}`, type: "t", review })),
  );
  await prepare(store);
  const both = [1, 2].map(() => new Script("decider.mjs", [run, what, COUNT]));
  await until("both are ready", () => both.every((script) => script.said.length > 0));
  for (const script of both) script.child.stdin?.write("go\n");
  for (const script of both) {
    expect(await script.ended, script.stderr).toEqual({ code: 0, signal: null });
  }
  expect(readdirSync(join(run, "quarantine"))).toEqual([]);
  expect(await store.counts()).toMatchObject({ [to]: COUNT, quarantined: 0 });
  expect((await store.doctor()).findings).toEqual([]);
  await store.close();
});
