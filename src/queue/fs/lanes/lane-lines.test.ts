import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { type LaneLine, LaneLines } from "./lane-lines.ts";

function linesIn(text: string, types: string[] | undefined, offset = 0): LaneLine[] {
  const path = join(newFolder(), "lane.log");
  writeFileSync(path, text, "latin1");
  const fd = openSync(path, "r");
  const lines = new LaneLines(types);
  lines.offset = offset;
  const found: LaneLine[] = [];
  try {
    do {
      for (let one = lines.next(); one !== null; one = lines.next()) found.push(one);
    } while (lines.read(fd));
    return found;
  } finally {
    closeSync(fd);
  }
}

/** Lines as lanes have them: some long, so that they lie across the pieces that are read. */
const laneText = fc
  .array(
    fc.record({
      id: fc.nat(99_999),
      type: fc.constantFrom("rare", "common", "other", "rar", "are"),
      body: fc.oneof(fc.constant(0), fc.nat(2_000), fc.nat(60_000)),
    }),
    { maxLength: 60 },
  )
  .map((entries) =>
    entries.map(({ id, type, body }) => `t${id}\t${type}\t1\t\t${"x".repeat(body)}`),
  );

test("gives every line of the wanted types, with its place, in the order of the file", () => {
  const types = fc.option(fc.subarray(["rare", "common", "absent"]), { nil: undefined });
  fc.assert(
    fc.property(laneText, types, fc.boolean(), (lines, wanted, isTorn) => {
      const text = `# name\n${lines.map((line) => `${line}\n`).join("")}${isTorn ? "t7\trare" : ""}`;
      const found = linesIn(text, wanted);
      for (const { line, start } of found) expect(text.startsWith(`${line}\n`, start)).toBe(true);
      const typeOf = (line: string) => line.split("\t")[1] ?? "";
      const isWanted = (line: string) => wanted === undefined || wanted.includes(typeOf(line));
      expect(found.map(({ line }) => line).filter(isWanted)).toEqual(
        ["# name", ...lines].filter(isWanted),
      );
      // A line of another type does not even become text.
      if (wanted !== undefined) expect(found.every(({ line }) => isWanted(line))).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test.each([[undefined], [["rare"]]])(
  "passes over a line that is too long for a lane (%s)",
  (types) => {
    const text = `t1\trare\t1\t\t\n${"\0".repeat(700_000)}\nt2\trare\t1\t\t\n`;
    const ids = linesIn(text, types).map(({ line }) => line.split("\t")[0]);
    expect(ids).toEqual(expect.arrayContaining(["t1", "t2"]));
  },
);

test("begins at an offset", () => {
  const text = "t1\trare\t1\t\t\nt2\trare\t1\t\t\n";
  const [first, second] = linesIn(text, ["rare"]);
  expect(linesIn(text, ["rare"], second?.start)).toEqual([second]);
  expect(first?.start).toBe(0);
});
