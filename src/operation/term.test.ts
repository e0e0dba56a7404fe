import fc from "fast-check";
import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import type { Io } from "./io.ts";
import { asWritten, clip, plain, prose, screened, type Term, table, termFor } from "./term.ts";

const esc = "\u001b";

function around(env: Record<string, string>, isTTY: boolean, columns?: number): Term {
  const stream = { write: () => true, isTTY, columns };
  // biome-ignore lint/suspicious/noExplicitAny: only these two are looked at
  return termFor({ env, stdout: stream } as any, stream);
}

describe("colour", () => {
  it("is only for terminals", () => {
    expect(asWritten(around({}, true).color.red("x"))).toBe(`${esc}[31mx${esc}[39m`);
    expect(around({}, false).color.red("x")).toBe("x");
  });

  it("is off with NO_COLOR, unless that is empty, and on a dumb terminal", () => {
    expect(around({ NO_COLOR: "1" }, true).color.red("x")).toBe("x");
    expect(around({ NO_COLOR: "" }, true).color.red("x")).not.toBe("x");
    expect(around({ TERM: "dumb" }, true).color.red("x")).toBe("x");
  });

  it.each([
    [{ FORCE_COLOR: "1" }, true, true],
    [{ FORCE_COLOR: "3" }, true, true],
    [{ FORCE_COLOR: "true", TERM: "dumb" }, true, true],
    [{ FORCE_COLOR: "" }, true, false],
    [{ FORCE_COLOR: "0" }, false, false],
    [{ FORCE_COLOR: "false" }, false, false],
    [{ FORCE_COLOR: "0", CLICOLOR_FORCE: "1" }, false, false],
    [{ CLICOLOR_FORCE: "1" }, true, true],
    [{ CLICOLOR_FORCE: "0" }, false, false],
    [{ CLICOLOR: "0" }, false, false],
    [{ CLICOLOR: "1" }, true, false],
    [{ CLICOLOR: "0", FORCE_COLOR: "1" }, true, true],
    [{ NO_COLOR: "1", FORCE_COLOR: "1", CLICOLOR_FORCE: "1" }, false, false],
    [{ NO_COLOR: "", FORCE_COLOR: "1" }, true, true],
  ])("%j: on a terminal %s, in a pipe %s", (env, onTerminal, inPipe) => {
    const isColoured = (isTTY: boolean) =>
      around(env as Record<string, string>, isTTY).color.red("x") !== "x";
    expect([isColoured(true), isColoured(false)]).toEqual([onTerminal, inPipe]);
  });
});

describe("width", () => {
  it("is that of the terminal", () => {
    expect(around({}, true, 60).width).toBe(60);
    expect(around({}, true).width).toBe(80);
    expect(around({}, false).width).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("plain", () => {
  it("shows control characters instead of obeying them", () => {
    expect(plain(`a${esc}[2Jb`)).toBe("a␛[2Jb");
    expect(plain("a\rb\u0007c\u009bd\u007f\u0000")).toBe("a\\x0db\\x07c\\u009bd\\u007f\\x00");
    expect(plain("\u202egnp.exe \u2066x\u200f\ufeff")).toBe(
      "\\u202egnp.exe \\u2066x\\u200f\\ufeff",
    );
    expect(plain("a\u{e0041}")).toBe("a\\udb40\\udc41");
    expect(plain("tab\tand\nline")).toBe("tab\tand\nline");
    expect(plain("ünï©ödé 日本 🎉")).toBe("ünï©ödé 日本 🎉");
  });

  it("leaves none in any text", () => {
    const wild = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(wild, (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        expect(plain(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      }),
    );
  });
});

describe("clip", () => {
  it("makes one line of at most that width", () => {
    expect(clip("short", 10)).toBe("short");
    expect(clip("one\n  two", 20)).toBe("one ⏎ two");
    expect(clip("abcdefghij", 5)).toBe("abcd…");
    expect(clip("abc", 0).length).toBeLessThanOrEqual(1);
  });

  it("counts two columns for a wide character, none for an accent of its own", () => {
    expect(clip("日本語の長いメモ", 16)).toBe("日本語の長いメモ");
    expect(clip("日本語の長いメモ", 8)).toBe("日本語…");
    expect(clip("日本語の長いメモ", 7)).toBe("日本語…");
    expect(clip("🎉🎉🎉", 4)).toBe("🎉…");
    expect(clip("u\u0308ber", 4)).toBe("u\u0308ber");
  });
});

describe("table", () => {
  const term = (width: number): Term => ({
    color: createColors(false),
    width,
    isTerminal: true,
  });

  it("pads columns to their widest cell, colours not counted", () => {
    const rows = [
      ["a", around({}, true).color.red("red"), "x"],
      ["long", "b", "y"],
    ];
    const shown = `a     ${esc}[31mred${esc}[39m  x\nlong  b    y`;
    expect(asWritten(table(rows, term(80)))).toBe(shown);
  });

  it("cuts prose", () => {
    const [line = ""] = table([["key", prose("v".repeat(200))]], term(40)).split("\n");
    expect(line).toHaveLength(40);
    expect(line.endsWith("…")).toBe(true);
  });

  it("leaves no blanks at the end of a line", () => {
    expect(table([["a", ""]], term(80))).toBe("a");
  });

  it("has no line of blanks, in whichever colour", () => {
    const { dim } = around({}, true).color;
    const rows = [
      [dim("model"), dim("")],
      ["haiku", "above 100,000 in: $0.5"],
    ];
    expect(table(rows, term(20)).split("\n")).toHaveLength(3);
  });

  it("pads wide characters by their columns", () => {
    const rows = [
      ["日本", "x"],
      ["abcd", "y"],
    ];
    expect(table(rows, term(80))).toBe("日本  x\nabcd  y");
  });

  it("cuts no other cell: what does not fit goes to a further line, at the same places", () => {
    const rows = [
      ["type", "dollars", "in", "out"],
      ["audit-the-code", "$1,234.56", "12.5k", prose("a long story of many words")],
      ["fix", "$0.10", "", ""],
    ];
    expect(table(rows, term(31)).split("\n")).toEqual([
      "type            dollars",
      "    in     out",
      "audit-the-code  $1,234.56",
      "    12.5k  a long story of man…",
      "fix             $0.10",
    ]);
  });

  it("is as wide as the terminal, or as its widest name", () => {
    const word = fc.stringMatching(/^[a-z0-9.]{1,50}$/);
    const cell = fc.oneof(
      word,
      fc.array(word, { maxLength: 9 }).map((some) => prose(some.join(" "))),
    );
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 9 }), { minLength: 1 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 30, max: 120 }), (some, width) => {
        const lines = table(some, term(width)).split("\n");
        for (const name of some.flat().filter((one) => typeof one === "string")) {
          expect(lines.some((line) => line.split(/\s+/).includes(name))).toBe(true);
        }
        const widest = Math.max(
          ...some.flat().map((one) => (typeof one === "string" ? one.length : 20)),
        );
        for (const line of lines)
          expect(line.length).toBeLessThanOrEqual(Math.max(width, widest + 4));
      }),
    );
  });

  it("keeps every row on one line", () => {
    expect(table([["evil", "a\nfake  row", "3s"]], term(80)).split("\n")).toHaveLength(1);
  });
});

describe("what is written", () => {
  const written = (isTTY: boolean, argv: string[], write: (io: Io) => void): string => {
    let text = "";
    const stream = { isTTY, write: (more: string) => (text += more) };
    write(screened({ argv, env: {}, stdout: stream, stderr: stream } as unknown as Io));
    return text;
  };
  const evil = `${esc}]0;pwned\u0007${esc}[2J\u009b1A\u202egnp\r`;

  it("reaches a terminal only if it is ours, even where a caller forgot to clean it", () => {
    const text = written(true, [], (io) => {
      io.stdout.write(`${termFor(io, io.stdout).color.red(evil)} ${evil}\n`);
      io.stderr.write(`\ufdd0[2J\ufdd1 ${evil}`);
    });
    expect(text.startsWith(`${esc}[31m␛]0;pwned`)).toBe(true);
    const rest = text.replaceAll(`${esc}[31m`, "").replaceAll(`${esc}[39m`, "");
    expect(rest).toMatch(/^[^\p{Cc}\p{Cf}]*\n[^\p{Cc}\p{Cf}]*$/u);
  });

  it("is the same in a pipe, but for marks in JSON, which stays the same value", () => {
    expect(written(false, [], (io) => io.stdout.write(evil))).toBe(evil);
    const json = (isTTY: boolean) =>
      written(isTTY, ["ls", "--json"], (io) => io.stdout.write(JSON.stringify({ evil })));
    expect(JSON.parse(json(false))).toEqual({ evil });
    expect(JSON.parse(json(true))).toEqual({ evil });
    expect(json(false)).not.toMatch(/[\u0080-\uffff]/);
  });
});
