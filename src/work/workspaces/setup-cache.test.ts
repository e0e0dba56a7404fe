import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { evict } from "./setup-cache.ts";

test("unreadable entries go; nothing through a link, and nothing that is no entry", async () => {
  const [root, outside] = [newFolder(), newFolder()];
  mkdirSync(join(outside, "photos"));
  mkdirSync(join(outside, "torn/files"), { recursive: true });
  symlinkSync(outside, join(root, ".setup"));
  await evict(root, 0);
  expect(readdirSync(outside).sort()).toEqual(["photos", "torn"]);

  const setup = join(newFolder(), ".setup");
  mkdirSync(join(setup, "torn/files"), { recursive: true });
  writeFileSync(join(setup, "torn/about.json"), "{");
  mkdirSync(join(setup, "mine/photos"), { recursive: true });
  await evict(join(setup, ".."), 0);
  expect(existsSync(join(setup, "torn"))).toBe(false);
  expect(existsSync(join(setup, "mine/photos"))).toBe(true);
});
