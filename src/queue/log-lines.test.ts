import fc from "fast-check";
import { expect, it } from "vitest";
import { LogLines } from "./log-lines.ts";

it("ends a line at a line end, also of a program that redraws its line", () => {
  const lines = new LogLines();
  expect(lines.push("a\r\nb\rc\n\nd\r")).toEqual(["a", "b", "c", ""]);
  expect(lines.push("\ne")).toEqual(["d"]);
  expect(lines.flush()).toEqual(["e"]);
  expect(lines.flush()).toEqual([]);
});

it("shows text without a line end when nothing came for a while", () => {
  const lines = new LogLines();
  lines.push("password: ");
  expect([lines.quiet(3), lines.quiet(3), lines.quiet(3), lines.quiet(3)]).toEqual([
    [],
    [],
    ["password: "],
    [],
  ]);
});

it("loses nothing and keeps little, however the text is cut", () => {
  const text = fc.array(fc.constantFrom("\n", "x".repeat(5_000), "😀".repeat(3_000), "ab"));
  fc.assert(
    fc.property(text, (parts) => {
      const lines = new LogLines();
      const got = parts.flatMap((part) => lines.push(part)).concat(lines.flush());
      expect(got.join("")).toBe(parts.join("").replaceAll("\n", ""));
      expect(Math.max(0, ...got.map((line) => line.length))).toBeLessThanOrEqual(8 * 1024);
      expect(got.every((line) => Buffer.from(line).toString() === line)).toBe(true);
    }),
  );
});
