import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { assertNoMounts } from "./run-place.ts";

it("what is mounted inside of a run is neither packed nor removed", () => {
  const home = realpathSync(newFolder());
  const run = join(home, "run");
  mkdirSync(run);
  const table = join(home, "mountinfo");
  const mounted = (...places: string[]) =>
    writeFileSync(table, places.map((at) => `36 35 98:0 / ${at} rw - ext4 /dev/sda rw\n`).join(""));
  mounted("/", home, run, `${run}-other/x`);
  assertNoMounts(run, table);
  mounted("/", `${run}/workspaces/a\\040b`);
  const refused = `${run}/workspaces/a b: mounted inside of ${run}; unmount it first, nothing was removed.`;
  expect(() => assertNoMounts(run, table)).toThrow(refused);
  assertNoMounts(run, join(home, "none")); // another system
});
