import { appendFileSync, closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { type LaneLine, LaneLines } from "./lane-lines.ts";
import { typeOfLine } from "./lanes.ts";

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

/** What a lane may hold after power cuts, editors and other programs: any bytes at all. */
const anyLine = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("rare", "", "a%20b", "%C3%A9", "common", "\\xe9") },
  { weight: 1, arbitrary: fc.constant(null) },
);
const anyLane = fc.array(
  fc.record({
    type: anyLine,
    size: fc.oneof(
      fc.nat(300),
      fc.integer({ min: 32_700, max: 32_800 }),
      fc.integer({ min: 65_400, max: 65_600 }),
      fc.integer({ min: 262_000, max: 262_200 }),
      fc.constant(330_000),
    ),
    fill: fc.constantFrom("x", "\0", "\t", "\xe2", "\trare\t", "\t\t"),
    end: fc.constantFrom("\n", "\n", "\n", "\r\n", ""),
  }),
  { maxLength: 25 },
);

/** The whole lines, found the simple way. */
function splitLines(text: string): LaneLine[] {
  const lines: LaneLine[] = [];
  for (let start = 0, end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
    lines.push({ line: text.slice(start, end), start });
    start = end + 1;
  }
  return lines;
}

test("misses no wanted line among any bytes, while the lane grows", () => {
  const types = fc.option(fc.subarray(["rare", "", "a%20b", "%C3%A9"], { minLength: 1 }), {
    nil: undefined,
  });
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });
  fc.assert(
    fc.property(anyLane, types, cuts, (entries, wanted, growth) => {
      const text = entries
        .map(({ type, size, fill, end }, n) => {
          const head = type === null ? "" : `t${n}\t${type}\t1\t\t`;
          return `${head}${fill.repeat(Math.ceil(size / fill.length)).slice(0, size)}${end}`;
        })
        .join("");
      const isWanted = ({ line }: LaneLine) =>
        wanted === undefined || wanted.includes(typeOfLine(line) ?? "none");
      const ours = splitLines(text).filter((one) => one.line.length <= 64 * 1024 && isWanted(one));
      const found = grownLines(text, wanted, growth);
      const key = ({ line, start }: LaneLine) => `${start} ${line}`;
      const seen = new Set(found.map(key));
      expect(ours.filter((one) => !seen.has(key(one)))).toEqual([]);
      const starts = found.map(({ start }) => start);
      expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
      for (const { line, start } of found) expect(text.startsWith(`${line}\n`, start)).toBe(true);
    }),
    { numRuns: 80 },
  );
});

/** Reads to the end each time the file has grown. */
function grownLines(text: string, types: string[] | undefined, growth: number[]): LaneLine[] {
  const path = join(newFolder(), "lane.log");
  writeFileSync(path, "");
  const fd = openSync(path, "r");
  const lines = new LaneLines(types);
  const found: LaneLine[] = [];
  const ends = [...growth.map((part) => Math.floor(part * text.length)), text.length];
  let written = 0;
  try {
    for (const end of ends.sort((a, b) => a - b)) {
      appendFileSync(path, text.slice(written, end), "latin1");
      written = end;
      do {
        for (let one = lines.next(); one !== null; one = lines.next()) found.push(one);
      } while (lines.read(fd));
    }
    return found;
  } finally {
    closeSync(fd);
  }
}
