import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { openRun } from "../../main.ts";

test.each(["pit", "run"] as const)(
  "one folder opened as both kinds at once, the %s first, becomes one of them",
  async (first) => {
    const path = join(newFolder(), "run");
    const kinds = first === "pit" ? (["pit", "run"] as const) : (["run", "pit"] as const);
    const results = await Promise.allSettled(
      kinds.map((layout) => openRun(path, { create: true, durability: "fast", layout })),
    );
    const opened = results.flatMap((result) =>
      result.status === "fulfilled" ? [result.value] : [],
    );
    for (const store of opened) await store.close();
    expect(opened).toHaveLength(1);
    expect(results.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "RUN_INVALID" },
    });
    const names = readdirSync(path);
    expect(names.includes("food")).not.toBe(names.includes("pending"));
  },
);

test("says what a folder is instead, also to a command that makes nothing", async () => {
  const path = join(newFolder(), "run");
  await (await openRun(path, { create: true, durability: "fast" })).close();
  await expect(openRun(path, { layout: "pit" })).rejects.toThrow("is a run, not a pit");
  await expect(openRun(path, { layout: "pit", create: true })).rejects.toThrow("is a run already");
});
