import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { holds } from "../../test/support/property.ts";
import { asciiJson, assertDepth, canonicalJson, MAX_JSON_DEPTH, parseExactly } from "./json.ts";

/** JSON of every kind: odd keys, half characters and all that JSON.parse can return. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(
    "\ud800",
    "\udfff a",
    "\u007f",
    "\u2028\u2029",
    "\u0000",
    "__proto__",
    "é\u{1F40D}",
  ),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    text,
    fc.array(tie("value"), { maxLength: 4 }),
    // JSON.parse makes __proto__ an own key; an object literal would not.
    fc
      .array(fc.tuple(text, tie("value")), { maxLength: 4 })
      .map((pairs) =>
        JSON.parse(
          `{${pairs.map(([key, v]) => `${JSON.stringify(key)}:${JSON.stringify(v)}`).join(",")}}`,
        ),
      ),
  ),
})).value;

describe("canonicalJson", () => {
  test("what comes back is what went in, whatever it is", () => {
    holds(
      fc.property(json, (value) => {
        const written = canonicalJson(value);
        const read = JSON.parse(written) as unknown;
        // Compared as text with sorted keys: toEqual is blind to an own key __proto__.
        expect(canonicalJson(read)).toBe(written);
        expect(sortedText(read)).toBe(sortedText(JSON.parse(JSON.stringify(value))));
      }),
      { numRuns: 500 },
    );
  });

  test("it is ASCII, and each line is a line", () => {
    holds(
      fc.property(json, (value) => {
        expect(canonicalJson(value)).toMatch(/^[\n\x20-\x7e]*$/);
        expect(asciiJson(value)).toMatch(/^[\x20-\x7e]*$/);
        expect(sortedText(JSON.parse(asciiJson(value)))).toBe(
          sortedText(JSON.parse(asciiJson(value))),
        );
      }),
    );
  });

  test("the order of the keys does not depend on the order they came in", () => {
    holds(
      fc.property(fc.dictionary(text, fc.integer()), (value) => {
        const backwards = Object.fromEntries(Object.entries(value).reverse());
        expect(canonicalJson(backwards)).toBe(canonicalJson(value));
      }),
    );
  });

  test("a key __proto__ is a key", () => {
    const value = JSON.parse('{"b":1,"__proto__":{"x":[{"__proto__":null}]}}') as unknown;
    expect(canonicalJson(value)).toBe(
      '{\n  "__proto__": {\n    "x": [\n      {\n        "__proto__": null\n      }\n    ]\n  },\n  "b": 1\n}',
    );
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test("Python writes the same bytes", () => {
    const values = fc.sample(
      fc.letrec((tie) => ({
        value: fc.oneof(
          { maxDepth: 4 },
          fc.constantFrom(null, true, false),
          fc.integer(),
          text,
          fc.array(tie("value"), { maxLength: 4 }),
          fc.dictionary(text, tie("value"), { maxKeys: 4 }),
        ),
      })).value,
      { numRuns: 200, seed: 7 },
    );
    // Keys are sorted by character, not by half character.
    values.push({ "\u{1F40D}": 1, "\uff5e": 2, a: 3 });
    const python = execFileSync(
      "python3",
      [
        "-c",
        "import json,sys\nfor v in json.load(sys.stdin): print(json.dumps(json.dumps(v, indent=2, sort_keys=True)))",
      ],
      { input: JSON.stringify(values), encoding: "utf8" },
    );
    const theirs = python.trim().split("\n");
    for (const [n, value] of values.entries()) {
      expect(canonicalJson(value)).toBe(JSON.parse(theirs[n] ?? ""));
    }
  });
});

describe("parseExactly", () => {
  test("takes strings of any length", () => {
    const written = canonicalJson({
      n: 1,
      slashes: "\\".repeat(1_000_000),
      text: "a".repeat(15_000_000),
    });
    expect(canonicalJson(parseExactly(written)) === written).toBe(true);
  });

  test("numbers come back as they were written", () => {
    const number = fc.oneof(
      fc.stringMatching(/^-?(0|[1-9]\d{0,25})(\.\d{1,25})?([eE][+-]?\d{1,3})?$/),
      fc.constantFrom("1.0", "-0", "12345678901234567890", "1e400", "1E5", "0.10"),
    );
    holds(
      fc.property(fc.array(number, { minLength: 1 }), text, (numbers, key) => {
        const written = `{${JSON.stringify(`k${key}`)}:[${numbers.join(",")}]}`;
        const out = canonicalJson(parseExactly(written)).replace(/\s/g, "");
        expect(out.slice(out.lastIndexOf("["))).toBe(`[${numbers.join(",")}]}`);
      }),
    );
  });

  test("everything else is parsed as ever", () => {
    holds(
      fc.property(json, (value) => {
        const written = canonicalJson(value);
        expect(canonicalJson(parseExactly(written))).toBe(written);
      }),
    );
  });

  test("text that looks like its own mark stays text", () => {
    const value = { a: "\u0000number:1", b: 1.5, "\u0000number:2": "1.0" };
    const written = `{"big":12345678901234567890,${JSON.stringify(value).slice(1)}`;
    expect(JSON.parse(canonicalJson(parseExactly(written)))).toMatchObject(value);
  });
});

describe("assertDepth", () => {
  test("brackets in strings do not count", () => {
    const inside = JSON.stringify("[".repeat(2000) + '\\"{'.repeat(500));
    expect(() => assertDepth(inside)).not.toThrow();
    expect(() => assertDepth(`{"a":${inside}}`)).not.toThrow();
  });

  test("the limit is the limit", () => {
    const nest = (n: number) => "[".repeat(n) + "]".repeat(n);
    expect(() => assertDepth(nest(MAX_JSON_DEPTH))).not.toThrow();
    expect(() => assertDepth(nest(MAX_JSON_DEPTH + 1))).toThrow(/nested deeper/);
    expect(() => assertDepth(nest(1_000_000))).toThrow(/nested deeper/);
  });
});

function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([k, v]) => `${JSON.stringify(k)}:${sortedText(v)}`).join(",")}}`;
}
