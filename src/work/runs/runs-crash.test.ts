import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Faults } from "../../../test/support/faults.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { names, snapshot } from "../../../test/support/run-files.ts";
import { openRun } from "../../main.ts";
import { packRun, settle, unpackRun } from "./archive-run.ts";
import { finishRemoval, removeRun } from "./remove-run.ts";
import { placeOf, type RunPlace } from "./run-place.ts";

/** Archiving, restoring and removing, cut off at each of their changes to the file system. */

async function newRun(): Promise<RunPlace> {
  const folder = newFolder();
  const path = join(folder, "run");
  const store = await openRun(path, { create: true, durability: "fast" });
  for (const id of ["a", "b"]) await store.enqueue({ id, type: "t", payload: { id } });
  await store.close();
  const outside = join(folder, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "precious"), "keep me");
  symlinkSync(outside, join(path, "artifacts/link"));
  return placeOf(path);
}

const unchecked = async () => {};

/** Does `act`, dying at the change `at`; false when it came to its end. */
async function dies(at: number, act: () => Promise<void> | void): Promise<boolean> {
  const faults = new Faults("die", at);
  try {
    await act();
  } catch (error) {
    if (!faults.happened) throw error;
  } finally {
    faults.heal();
  }
  return faults.happened;
}

/** The text of each file of the run, wherever it lies now. */
const filesOf = (path: string) => snapshot(path);

function assertOutside({ parent }: RunPlace): void {
  expect(readFileSync(join(parent, "outside/precious"), "utf8")).toBe("keep me");
}

/** Nothing but the run, or its archive, and the folder beside it. */
function leftovers({ parent }: RunPlace): string[] {
  return names(parent).filter((name) => !["run", "run.tar.gz", "outside"].includes(name));
}

describe("killed at every step", () => {
  test("archive: the run or its archive is whole, and the next call ends it", async () => {
    for (let at = 1; ; at++) {
      const place = await newRun();
      const before = filesOf(place.path);
      const isDead = await dies(at, () => packRun(place));
      const isWhole = existsSync(place.path) || existsSync(place.archiving);
      if (!existsSync(place.tar)) expect(isWhole, `after ${at}`).toBe(true);
      if (existsSync(place.path)) expect(filesOf(place.path)).toEqual(before);
      const settled = await settle(place);
      if (settled !== "archived" && !existsSync(place.tar)) await packRun(place);
      assertOutside(place);
      expect(leftovers(place), `after ${at}`).toEqual([]);
      expect(existsSync(place.path)).toBe(false);
      await unpackRun(place, unchecked);
      expect(filesOf(place.path), `after ${at}`).toEqual(before);
      assertOutside(place);
      if (!isDead) return;
    }
  });

  test("restore: the run or its archive is whole", async () => {
    const place = await newRun();
    const before = filesOf(place.path);
    await packRun(place);
    for (let at = 1; ; at++) {
      const isDead = await dies(at, () => unpackRun(place, unchecked));
      if (existsSync(place.path)) expect(filesOf(place.path), `after ${at}`).toEqual(before);
      else expect(existsSync(place.tar), `after ${at}`).toBe(true);
      if (!existsSync(place.path)) await unpackRun(place, unchecked);
      expect(filesOf(place.path)).toEqual(before);
      if (!isDead) break;
      if (!existsSync(place.tar)) await packRun(place);
      else {
        // Both are there: the archive of what is there already goes first.
        const { unlinkSync } = await import("node:fs");
        unlinkSync(place.tar);
        await packRun(place);
      }
    }
    expect(leftovers(place)).toEqual([]);
  });

  test("remove: the run is whole, or the next call removes the rest", async () => {
    for (let at = 1; ; at++) {
      const place = await newRun();
      const before = filesOf(place.path);
      const isDead = await dies(at, () => removeRun(place));
      assertOutside(place);
      if (existsSync(place.path)) {
        expect(filesOf(place.path), `after ${at}`).toEqual(before);
        removeRun(place);
      } else finishRemoval(place);
      expect(names(place.parent), `after ${at}`).toEqual(["outside"]);
      assertOutside(place);
      if (!isDead) return;
    }
  });
});

test("an archive of something else is not taken for that of the rest", async () => {
  const place = await newRun();
  const { renameSync } = await import("node:fs");
  renameSync(place.path, place.archiving);
  const other = placeOf(join(newFolder(), "run"));
  await (await openRun(other.path, { create: true })).close();
  await packRun(other);
  renameSync(other.tar, place.tar);
  await expect(settle(place)).rejects.toMatchObject({ code: "RUN_INVALID" });
  expect(existsSync(join(place.archiving, "pending/a.json"))).toBe(true);
});
