import * as fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { holds } from "../../test/support/property.ts";
import { lineOf, placesOf } from "./toml-lines.ts";

function line(text: string, ...path: string[]): number {
  parse(text); // only what the parser takes is looked at
  return lineOf(placesOf(text), path);
}

describe("the line of a key", () => {
  it.each<[string, string, string[], number]>([
    ["at the top", "\na = 1", ["a"], 2],
    ["in a table", "[t]\n\na = 1", ["t", "a"], 3],
    ["in a quoted table", '[t."a b"]\nc = 1', ["t", "a b", "c"], 2],
    ["in a table with blanks around", "\n [ t . 'a.b' ] # c\n c = 1", ["t", "a.b", "c"], 3],
    ["in a list of tables", "[[t]]\n\na = 1\n[[t]]\na = 2", ["t", "0", "a"], 3],
    ["in its next one", "[[t]]\n\na = 1\n[[t]]\na = 2", ["t", "1", "a"], 5],
    ["below one of them", "[[t]]\n[[t]]\n[t.u]\na = 2", ["t", "1", "u", "a"], 4],
    ["with dots", "\nt.a.b = 1", ["t", "a", "b"], 2],
    ["with dots in a table", "[t]\na . b = 1", ["t", "a", "b"], 2],
    ["in an inline table", "\nt = { a = 1, b = { c = 2 } }", ["t", "b", "c"], 2],
    ["in an inline table of many lines", "t = {\n  a = 1,\n  b = 2 }", ["t", "b"], 3],
    ["behind an empty inline table", "t = {}\nb = 1", ["b"], 2],
    ["behind an inline table with a comma at its end", "t = { a = 1, }\nb = 1", ["b"], 2],
    ["behind an inline table", "t = { a = '}' }\nb = 1", ["b"], 2],
    ["quoted with escapes", '\n"a\\"\\u0062\\U00000063\\x64\\n\\\\" = 1', ['a"bcd\n\\'], 2],
    ["quoted literally", "\n'a\\n' = 1", ["a\\n"], 2],
    ["that is empty", '\n"" = 1', [""], 2],
    ["behind a comment", "# a = 1\na = 1 # b = 2\nb = 1", ["b"], 3],
    ["behind a string with #", 'a = "#"\nb = 1', ["b"], 2],
    ["behind an escaped quote", 'a = "\\""\nb = 1', ["b"], 2],
    ["behind a literal backslash", "a = '\\'\nb = 1", ["b"], 2],
    ["behind a long string", 'a = """\nb = 1\n[c]\n"""\nb = 1', ["b"], 5],
    ["behind a long string with quotes at its end", 'a = """x"""""\nb = 1', ["b"], 2],
    ["behind a long string with escaped quotes", 'a = """\\"""\n"""\nb = 1', ["b"], 3],
    ["behind a long literal string", "a = '''\nb = 1\n\\'''\nb = 1", ["b"], 4],
    ["behind empty strings", 'a = ""\nb = \'\'\nc = """"""\nd = 1', ["d"], 4],
    ["behind a list", "a = [ # ]\n  [1, 2], ']',\n]\nb = 1", ["b"], 4],
    ["of a list's item", "a = [\n  1,\n\n  2, # x\n]", ["a", "1"], 4],
    ["behind a date with a blank", "a = 1979-05-27 07:32:00\nb = 1", ["b"], 2],
    ["of what follows such a date in a list", "a = [ 1979-05-27 07:32:00,\n1 ]", ["a", "1"], 2],
    ["with other line ends", "a = 1\r\n[t]\r\nb = 2\r\n", ["t", "b"], 3],
    ["behind a byte order mark", "\ufeffa = 1\nb = 1", ["b"], 2],
    ["called __proto__", "\n[__proto__]\nconstructor = 1", ["__proto__", "constructor"], 3],
  ])("%s", (_, text, path, expected) => {
    expect(line(text, ...path)).toBe(expected);
  });

  it("that is not there is that of the table around it, or the first", () => {
    const text = "a = 1\n\n[t.u]\nb = 1\n[t]\nc = 1";
    expect(line(text, "t", "u", "x", "y")).toBe(3);
    expect(line(text, "t", "x")).toBe(5);
    expect(line(text, "x")).toBe(1);
    expect(line(text)).toBe(1);
  });

  it("of a table that is only implied is that of the first mention", () => {
    expect(line("\n[t.u]\na = 1\n[t.v]", "t")).toBe(2);
    expect(line("\nt.u = 1\nt.v = 1", "t")).toBe(2);
  });
});

describe("in any document", () => {
  const word = fc.oneof(fc.stringMatching(/^[\w-]{1,5}$/), fc.string({ maxLength: 5 }));
  const value = fc.constantFrom(
    "1",
    "true",
    "-inf",
    "1979-05-27 07:32:00Z",
    '"[x] # \\" = {"',
    "'\\'",
    '"""\n[x]\ny = 1 # \\"""\n"""""',
    "'''\n[x]\n''\n'''",
    '[ 1, # ]\n\n [ "]", { z = 2 } ],\n]',
    "{ p = { q = '}' }, r.s = [ ] } # t = 1",
  );
  const statement = fc.record({
    isTable: fc.boolean(),
    words: fc.array(word, { minLength: 1, maxLength: 3 }),
    value,
    before: fc.constantFrom("", "\n", "# [c]\n", "  ", "\r\n"),
  });

  /** Written so that each key is there once: its number makes the first word of it its own. */
  it("every key is found", () => {
    holds(
      fc.property(fc.array(statement, { maxLength: 12 }), (statements) => {
        let text = "";
        let table: string[] = [];
        const expected: [path: string[], line: number][] = [];
        statements.forEach(({ isTable, words, value: written, before }, i) => {
          const keys = [`${i}${words[0]}`, ...words.slice(1)];
          const key = keys.map((k) => (/^[\w-]+$/.test(k) ? k : JSON.stringify(k))).join(" . ");
          text += before;
          if (isTable) table = keys;
          expected.push([isTable ? keys : [...table, ...keys], text.split("\n").length]);
          text += isTable ? `[${key}]\n` : `${key} = ${written}\n`;
        });
        parse(text);
        const places = placesOf(text);
        for (const [path, at] of expected) expect(lineOf(places, path)).toBe(at);
      }),
      { numRuns: 500 },
    );
  });

  it("and the scan of what is none comes to an end", () => {
    const piece = fc.constantFrom(..."[]{}=.,#\"'\\\n ab".split(""), '"""', "'''");
    const noise = fc.array(piece).map((pieces) => pieces.join(""));
    holds(
      fc.property(noise, (text) => {
        expect(placesOf(text).line).toBe(1);
      }),
      { numRuns: 1000 },
    );
  });
});
