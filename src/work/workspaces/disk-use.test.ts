import { linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { holds } from "../../../test/support/property.ts";
import { formatSize, parseSize } from "../../base/size.ts";
import { whyNoSpace } from "../held-back.ts";
import { bytesIn, DiskUse, noteBytes } from "./disk-use.ts";

test("a file with two names is counted once, and a link not followed", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, "a/b"), { recursive: true });
  writeFileSync(join(folder, "a/b/file"), "x".repeat(100_000));
  const before = await bytesIn(join(folder, "a"));
  expect(before).toBeGreaterThanOrEqual(statSync(join(folder, "a/b/file")).blocks * 512);
  linkSync(join(folder, "a/b/file"), join(folder, "a/again"));
  symlinkSync("/usr", join(folder, "a/link"));
  expect((await bytesIn(join(folder, "a"))) - before).toBeLessThan(50_000);
  expect(await bytesIn(join(folder, "gone"))).toBe(0);
});

test("property: the sum is that of the last size of each, in any reader", () => {
  const notes = fc.array(fc.tuple(fc.constantFrom("a", "b b", ".setup/k"), fc.nat(1000)), {
    maxLength: 30,
  });
  const folder = newFolder();
  let n = 0;
  holds(
    fc.property(notes, fc.nat(29), (all, at) => {
      const root = join(folder, String(n++));
      mkdirSync(root);
      const early = new DiskUse(root);
      const sizes = new Map<string, number>();
      all.forEach(([name, bytes], i) => {
        noteBytes(root, name, bytes);
        sizes.set(name, bytes);
        if (i === at) early.total();
      });
      const sum = [...sizes.values()].reduce((one, other) => one + other, 0);
      expect(early.total()).toBe(sum);
      expect(new DiskUse(root).total()).toBe(sum);
    }),
  );
});

test("workspaces that were removed by hand do not count where it matters", () => {
  const root = newFolder();
  for (const id of ["a", "b"]) {
    mkdirSync(join(root, id));
    noteBytes(root, id, 500);
  }
  const use = new DiskUse(root);
  expect(use.total()).toBe(1000);
  rmSync(join(root, "a"), { recursive: true });
  expect(use.exact()).toBe(500);
  rmSync(join(root, ".bytes"));
  expect(use.total()).toBe(0);
});

test("claims are held back at the limit, and before the disk is full", () => {
  const disk = { used: 0, free: 50e9, size: 100e9 };
  expect(whyNoSpace(disk, {})).toBeNull();
  expect(whyNoSpace({ ...disk, used: 20e9 }, { workspaceBytes: 20e9 })?.detail).toBe(
    "workspaces take up what [limits] workspaces allows (20 GB): 20 GB",
  );
  expect(whyNoSpace({ ...disk, free: 0.9e9 }, {})?.detail).toContain("less than 1 GB left");
  expect(whyNoSpace({ ...disk, free: 0.9e9, size: 10e9 }, {})).toBeNull();
  expect(whyNoSpace({ ...disk, free: 40e9 }, { freeBytes: 45e9 })?.text).toContain("free_disk");
  expect(whyNoSpace({ used: 0, free: null, size: null }, { freeBytes: 1 })).toBeNull();
});

test("sizes for people", () => {
  expect([0, 999, 1000, 45_056, 123_456, 1.25e9, 2.5e12].map(formatSize)).toEqual([
    ...["0 B", "999 B", "1 kB", "45.1 kB", "123 kB", "1.3 GB", "2.5 TB"],
  ]);
  expect(["2TB", "1 TiB"].map((text) => parseSize(text))).toEqual([2e12, 2 ** 40]);
});
