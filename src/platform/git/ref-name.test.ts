import { spawnSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isBranchName, isRefPath } from "./ref-name.ts";

const parts = fc.constantFrom(
  ...["a", "main", "/", ".", "..", ".lock", "@", "@{", "{", "~", "^", ":", "?", "*", "[", "]"],
  ...["\\", " ", "\t", "\u007f", "-", "ä", "%", "HEAD"],
);

it("judges as git does", () => {
  const names = fc.sample(
    fc.array(parts, { minLength: 1, maxLength: 4 }).map((list) => list.join("")),
    { numRuns: 150, seed: 11 },
  );
  for (const name of [...names, "", "a b", "feature/x", "a.lock/b", "@"]) {
    const { status } = spawnSync("git", ["check-ref-format", `refs/heads/${name}`]);
    expect(isRefPath(name), JSON.stringify(name)).toBe(status === 0);
  }
});

it("takes no option and no HEAD for a branch", () => {
  expect(["main", "a/b", "-f", "HEAD"].map(isBranchName)).toEqual([true, true, false, false]);
});
