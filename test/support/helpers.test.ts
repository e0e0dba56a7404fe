import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pidOf } from "./processes.ts";

const root = join(import.meta.dirname, "../..");

// Files share a process, in which a helper is loaded once: in the second file it would do nothing.
test("no helper has hooks of its own", () => {
  const files = ["src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) =>
      join(root, folder, path),
    ),
  );
  const helpers = files.filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
  expect(helpers.length).toBeGreaterThan(100);
  const found = helpers.filter((path) =>
    /^(before|after)(Each|All)\(/m.test(readFileSync(path, "utf8")),
  );
  expect(found).toEqual([]);
});

test("what has no process has no pid to kill: 0 would be the group of the tests", () => {
  expect(pidOf({ pid: 7 })).toBe(7);
  for (const none of [undefined, null, {}, { pid: null }, { pid: 0 }, { pid: -1 }]) {
    expect(() => pidOf(none)).toThrow("no process");
  }
});
