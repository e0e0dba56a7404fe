import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { openRun } from "../../../main.ts";

/** The doctor lists done/ more than once. */
test.each([0, 1, 2, 3])(
  "a task that a worker carries over during the check is not missing (%i)",
  async (at) => {
    const path = join(newFolder(), "run");
    const worker = await openRun(path, { create: true, durability: "fast" });
    await worker.enqueue({ id: "a", type: "t" });
    const [claim] = await worker.claim({ worker: "w" });
    await worker.complete({ id: "a", worker: "w", token: claim?.token ?? "" });
    const copy = `${path}-later`;
    fs.cpSync(path, copy, { recursive: true });
    const later = await openRun(copy);
    await later.flushStatus();
    await later.close();
    const doctor = await openRun(path);
    const { readdirSync } = fs;
    let count = 0;
    fs.readdirSync = ((folder: string, ...more: []) => {
      const names = readdirSync(folder, ...more);
      // After the look at done/, status.json is brought up to date: in one step, as it is in turn.
      if (String(folder) === join(path, "done") && count++ === at) {
        for (const name of ["status.json", ".viv/projection.json"]) {
          fs.copyFileSync(join(copy, name), join(path, name));
        }
      }
      return names;
    }) as typeof readdirSync;
    syncBuiltinESMExports();
    try {
      expect((await doctor.doctor()).findings).toEqual([]);
    } finally {
      fs.readdirSync = readdirSync;
      syncBuiltinESMExports();
    }
    expect(count).toBeGreaterThan(1);
    await doctor.close();
    await worker.close();
  },
);
