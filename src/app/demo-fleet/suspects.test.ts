import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { type Moment, Moments } from "./moments.ts";
import { lookAtVerdicts } from "./suspects.ts";
import type { World } from "./world.ts";

it("leads from an execution to its receipt", () => {
  const folder = newFolder();
  const completed = join(folder, "state/warden/completed");
  mkdirSync(completed, { recursive: true });
  const receipt = (target: string, verdict: string) =>
    writeFileSync(
      join(completed, `${target}.json`),
      JSON.stringify({ verdict, warrant: { id: `w-${target}`, target } }),
    );
  receipt("deaf", "executed");
  receipt("keen", "pardoned");
  mkdirSync(join(folder, "run/ledger"), { recursive: true });
  const told: Moment[] = [];
  const moments = new Moments(join(folder, "run"), (moment) => told.push(moment));
  lookAtVerdicts({ folder } as World, moments);
  moments.close();
  expect(told.sort((a, b) => (a.key < b.key ? -1 : 1))).toMatchObject([
    { key: "executed", link: "warden/w-deaf", command: "viv epitaph w-deaf" },
    { key: "pardoned", link: "warden", command: "viv epitaph w-keen" },
  ]);
});
