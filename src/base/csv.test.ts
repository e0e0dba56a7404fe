import * as fc from "fast-check";
import { expect, it } from "vitest";
import { csvCell } from "./csv.ts";

it.each([
  ["=cmd()", `"'=cmd()"`],
  ["+1", `"'+1"`],
  ["-1", `"'-1"`],
  ["@sum", `"'@sum"`],
  ["\tx", `"'\tx"`],
  ["\rx", `"'\rx"`],
  ["a\rb", '"a\rb"'],
  ['a "b", c', '"a ""b"", c"'],
  ["a = b", "a = b"],
  [-1.5, "-1.5"],
  [null, ""],
])("%j", (value, cell) => {
  expect(csvCell(value)).toBe(cell);
});

it("gives every text back, and none that begins like a formula", () => {
  void fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."=+-@\t\r\n\"', a") }), (text) => {
      const cell = csvCell(text);
      const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
      expect([text, `'${text}`]).toContain(read);
      expect(read).not.toMatch(/^[=+\-@\t\r]/);
      if (!cell.startsWith('"')) expect(cell).not.toMatch(/[",\r\n]/);
    }),
  );
});
