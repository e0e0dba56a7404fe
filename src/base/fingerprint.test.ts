import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { fingerprint } from "./fingerprint.ts";
import { lastLines } from "./text.ts";

const failed = (tail: string, exit: number | null = 1) =>
  fingerprint({ outcome: "failed", exit, signal: null, tail });

describe("the same failure", () => {
  test.each([
    ["Error: port 8080 is in use", "Error: port 9191 is in use"],
    [
      "2026-01-01T10:00:00.123Z fatal: no space",
      "2026-11-15 23:59:59 fatal: no space".replace(" 2", "T2"),
    ],
    ["at 0x7ffe12ab34cd in main", "at 0x55aa0b1c2d3e in main"],
    ["cannot open /tmp/viv-a8Fk2/out", "cannot open /tmp/viv-zzQp9/out"],
    [
      "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301 gone",
      "id 00000000-0000-4000-8000-000000000000 gone",
    ],
    ["commit 1a2b3c4d5e failed", "commit 99aa88bb77 failed"],
    ["\u001b[31mred error\u001b[0m", "red error"],
    ["took 3.25 s, 17 of 20", "took 11.5 s, 4 of 5"],
  ])("%j is %j", (a, b) => {
    expect(failed(a)).toBe(failed(b));
  });

  test("what was said long before the end does not matter", () => {
    const end = ["one", "two", "three", "four", "five"].join("\n");
    expect(failed(`at first\n${end}`)).toBe(failed(`something else\n\n${end}\n\n`));
  });
});

describe("not the same", () => {
  test("another exit, another signal, another outcome, another text", () => {
    expect(failed("x", 1)).not.toBe(failed("x", 2));
    const base = { outcome: "failed", exit: null, signal: "SIGSEGV", tail: "x" };
    expect(fingerprint(base)).not.toBe(fingerprint({ ...base, signal: "SIGABRT" }));
    expect(fingerprint(base)).not.toBe(fingerprint({ ...base, outcome: "timed_out" }));
    expect(failed("no such file: a")).not.toBe(failed("no such file: b"));
    expect(failed("feed the cat")).not.toBe(failed("deed the cat"));
  });
});

test("whatever was printed, it is one short readable line", () => {
  holds(
    fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (tail) => {
      const print = failed(tail);
      expect(print.length).toBeLessThanOrEqual(300);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none
      expect(print).not.toMatch(/[\u0000-\u001f\u007f]/);
      expect(print.startsWith("failed: exit 1")).toBe(true);
    }),
  );
});

test("the last lines are those that say something", () => {
  expect(lastLines("a\r\n\n  b \n\u001b[2K\n", 2)).toEqual(["a", "b"]);
  expect(lastLines("", 3)).toEqual([]);
  expect(lastLines("\ta \tb\t\tc\n", 1)).toEqual(["a  b c"]);
});
