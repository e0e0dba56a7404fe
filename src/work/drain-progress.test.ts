import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { openRun } from "../app/open-run.ts";
import type { Store } from "../queue/store.ts";
import { DrainProgress } from "./drain-progress.ts";

let store: Store;

beforeEach(async () => {
  store = await openRun(join(newFolder(), "run"), { create: true, durability: "fast" });
});

const enqueue = async (type: string, count: number, start = 0) => {
  const specs = Array.from({ length: count }, (_, i) => ({ id: `${type}.${start + i}`, type }));
  await store.enqueueMany(specs, {});
};
async function end(type: string, isDone = true) {
  const [claim] = await store.claim({ worker: "w", types: [type] });
  if (claim === undefined) throw new Error(`no ${type}`);
  const ref = { id: claim.task.task_id, worker: "w", token: claim.token };
  const { to } = isDone ? await store.complete(ref) : await store.fail(ref, { final: true });
  return { id: ref.id, to };
}

const look = async (drain: DrainProgress) => {
  await drain.look(store);
  return drain.now();
};

describe("the progress of a drain", () => {
  it.each([3, 300])(
    "is of the types that it takes, and of tasks since it began: %i others",
    async (others) => {
      await enqueue("c", 5);
      await enqueue("q", others);
      await end("c");
      const drain = new DrainProgress(["c"]);
      expect(await look(drain)).toEqual({ done: 0, total: 4 });
      await end("c");
      await enqueue("q", 2, 1_000);
      await enqueue("c", 1, 1_000);
      expect(await look(drain)).toEqual({ done: 1, total: 5 });
      await end("q");
      expect(await look(drain)).toEqual({ done: 1, total: 5 });
    },
  );

  it("is of all tasks where it takes any", async () => {
    await enqueue("c", 2);
    await enqueue("q", 2);
    await end("c");
    const drain = new DrainProgress(null);
    expect(await look(drain)).toEqual({ done: 0, total: 3 });
    await store.claim({ worker: "w" });
    expect(await look(drain)).toEqual({ done: 0, total: 3 });
  });

  it("knows its own tasks that came and ended between two looks, and which failed", async () => {
    const drain = new DrainProgress(["c"]);
    await enqueue("c", 2);
    for (const isDone of [true, false]) {
      const { id, to } = await end("c", isDone);
      drain.ended(id, to);
    }
    expect(await look(drain)).toEqual({ done: 2, total: 2, note: "1 failed" });
    await enqueue("c", 1, 2);
    expect(await look(drain)).toMatchObject({ done: 2, total: 3 });
    const { id, to } = await end("c");
    drain.ended(id, to);
    expect(drain.now()).toMatchObject({ done: 3, total: 3 });
    await enqueue("c", 1, 3);
    const looking = drain.look(store);
    drain.ended("c.3", "done"); // its name may have been read before
    await looking;
    expect(drain.now()).toMatchObject({ done: 4, total: 4 });
    await store.retry("c.1");
    expect(await look(drain)).toMatchObject({ done: 2, total: 4 });
  });
});
