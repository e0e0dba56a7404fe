import { expect, test } from "vitest";
import { type ConfigTable, readToml } from "./config-table.ts";

async function problemsOf(text: string, read: (top: ConfigTable) => unknown): Promise<string[]> {
  try {
    await readToml(text, "f", read);
    return [];
  } catch (error) {
    return (error as Error).message.split("\n").map((line) => line.replace(/^f:/, ""));
  }
}

test("refuses the keys that no reader asked for", async () => {
  const read = (top: ConfigTable) => {
    top.text("name", "a name");
    top.has("size");
    top.refuseOthers((key) => (key === "old" ? "it is gone" : undefined));
  };
  expect(await problemsOf('name = "x"\nsize = 1\nsiez = 2\nold = 3\n[other]', read)).toEqual([
    '3: unknown key "siez"; did you mean "size"?',
    '4: unknown key "old"; it is gone.',
    '5: unknown table "other".',
  ]);
});

test("looking at a table's shape does not make its keys known", async () => {
  const read = (top: ConfigTable) => {
    expect(top.keys.map((key) => top.hasTable(key))).toEqual([true]);
    expect(top.isMisspelt("name")).toBe(true);
    top.refuseOthers();
  };
  expect(await problemsOf("[nmae]", read)).toEqual([
    '1: unknown table "nmae"; did you mean "name"?',
  ]);
});

test("two readers of one table share the keys they know", async () => {
  const read = (top: ConfigTable) => {
    top.table("a")?.flag("x");
    top.section("a").flag("y");
    top.table("a")?.refuseOthers();
  };
  expect(await problemsOf("[a]\nx = true\ny = false\nother = 1", read)).toEqual([
    '4: unknown key "other" in [a].',
  ]);
});

test("a missing section is empty, and one that is no table is noted once", async () => {
  const read = (top: ConfigTable) => {
    const section = top.section("a").section("b");
    expect([section.keys, section.whole("n"), section.title]).toEqual([[], undefined, "[a.b]"]);
  };
  expect(await problemsOf("", read)).toEqual([]);
  expect(await problemsOf("\na = 1", read)).toEqual(["2: a must be a table: [a]."]);
});
