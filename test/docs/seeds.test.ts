import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Row {
  item: string;
  proof: string;
}

function rowsOf(path: string): Row[] {
  const lines = read(path).match(/^\| (?!item|---).*\|$/gm) ?? [];
  return lines.map((line) => {
    const cells = line.slice(2, -2).split(" | ");
    return { item: cells[0] ?? "", proof: cells.at(-1) ?? "" };
  });
}

/** A cell has `path`: name; name. A name may be the beginning of one, with a remark in brackets. */
function namesIn(proof: string): { path: string; name: string }[] {
  const tests = proof.matchAll(/`((?:test|src)\/[^`]+\.ts)`(?:: ([^`]+?))?(?=[;,] `|$)/g);
  return [...tests].flatMap(([, path = "", names = ""]) =>
    names
      .split(";")
      .map((name) => ({ path, name: name.replace(/\(.*\)/, "").trim() }))
      .filter(({ name }) => name !== ""),
  );
}

describe("docs/spec/seeds/swarm-lib.md", () => {
  const rows = rowsOf("docs/spec/seeds/swarm-lib.md");

  it("names a test in every row", () => {
    expect(rows.length).toBeGreaterThan(90);
    for (const { item, proof } of rows) {
      if (proof !== "the same") expect(proof, item).toMatch(/`(?:test|src)\//);
    }
  });

  it("names tests that there are", () => {
    for (const { path, name } of rows.flatMap(({ proof }) => namesIn(proof))) {
      expect(read(path).includes(name), `${path}: ${name}`).toBe(true);
    }
  });
});

/** Their cells have `path` "name"; a name that ends with … is the beginning of one. */
describe.each([
  ["crew", 89],
  ["dog-pool", 60],
  ["snake-pit", 50],
])("docs/spec/seeds/%s.md", (seed, least) => {
  const rows = rowsOf(`docs/spec/seeds/${seed}.md`);

  it("names tests that there are", () => {
    expect(rows.length).toBeGreaterThanOrEqual(least);
    const tests = rows.flatMap(({ proof }) => [
      ...proof.matchAll(/`((?:test|src)\/[^`]+?\.ts)`((?:[ ,:]*"[^"]+")*)/g),
    ]);
    expect(tests.length).toBeGreaterThan(least / 2);
    for (const [, path = "", names = ""] of tests) {
      const source = read(path);
      for (const [, name = ""] of names.matchAll(/"([^"]+)"/g)) {
        expect(source.includes(name.replace(/ ?…$/, "")), `${path}: ${name}`).toBe(true);
      }
    }
  });
});
