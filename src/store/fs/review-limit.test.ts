import fs, { utimesSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { openRun } from "../../main.ts";

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
