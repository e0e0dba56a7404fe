import fs, { utimesSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { openRun } from "../../../main.ts";

test("review/ is listed when it has changed, and not for every claim", async () => {
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  for (const id of ["a", "b", "c", "d", "e"]) await store.enqueue({ id, type: "t", review: true });
  const [claim] = await store.claim({ worker: "w" });
  if (!claim) throw new Error("nothing was claimed");
  await store.complete({ id: "a", worker: "w", token: claim.token });
  utimesSync(join(run, "review"), 1_000, 1_000); // it has been at rest for long
  const listing = vi.spyOn(fs, "readdirSync");
  const looks = () => listing.mock.calls.filter(([path]) => String(path).endsWith("/review"));
  syncBuiltinESMExports();
  try {
    for (let n = 0; n < 3; n++) {
      expect(await store.claim({ worker: "w", reviewLimit: 2 })).toHaveLength(1);
    }
    expect(looks()).toHaveLength(1);
    await store.complete({ id: "b", worker: "w" });
    expect(await store.claim({ worker: "w", reviewLimit: 2 })).toEqual([]);
    expect(looks()).toHaveLength(2);
  } finally {
    listing.mockRestore();
    syncBuiltinESMExports();
    await store.close();
  }
});

test("a change within the same tick of the folder's clock is seen", async () => {
  const run = join(newFolder(), "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  for (const id of ["a", "b", "c"]) await store.enqueue({ id, type: "t", review: true });
  await store.claim({ worker: "w", max: 2 });
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  try {
    const now = Date.now() / 1000;
    for (const [id, found] of [
      ["a", 1],
      ["b", 0],
    ] as const) {
      await store.complete({ id, worker: "w" });
      utimesSync(join(run, "review"), now, now);
      const claims = await store.claim({ worker: "w", reviewLimit: 2 });
      expect(claims).toHaveLength(found);
      for (const { task } of claims) await store.release({ id: task.task_id, worker: "w" });
    }
  } finally {
    vi.useRealTimers();
    await store.close();
  }
});
