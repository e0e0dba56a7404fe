import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { dumps, JsonNumber, readJson, repr } from "./python.ts";

/** Runs an expression over a list of texts in Python; `text` is the text. */
function python(expression: string, texts: readonly string[]): string[] {
  const program = `import json, sys
print(json.dumps([${expression} for text in json.load(sys.stdin)]))`;
  const { stdout, stderr, status } = spawnSync("python3", ["-c", program], {
    input: JSON.stringify(texts),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const WRITTEN = [
  "1",
  "-0",
  "0",
  "1.0",
  "-0.0",
  "1e5",
  "1E-5",
  "0.0001",
  "0.00001234",
  "123456789012345678",
  "9007199254740993",
  "1e15",
  "1e16",
  "1.5e300",
  "1e400",
  "-1e400",
  "5e-324",
  "0.1",
  "1234567890123456.7",
  "[]",
  "{}",
  ' { "b" : [ 1 , [ ] , { } ] , "a" : null , "2" : true , "1" : false } ',
  '{"twice": 1, "other": 2, "twice": 3}',
  '"\\ud83d\\ude00 \\ud800 \\u007f \\u0000 \\/ \\" \\\\ é ☃ 😀"',
  '"ends in a backslash \\\\"',
  "NaN",
  "[Infinity, -Infinity]",
  '{"__proto__": {"x": 1}}',
];

test("prints parsed JSON as Python's json does, on one line and indented", () => {
  const any = fc.sample(fc.json({ maxDepth: 4 }), { numRuns: 300, seed: 7 });
  const doubles = fc.sample(fc.double({ noNaN: true }), { numRuns: 500, seed: 7 }).map(String);
  const texts = [...WRITTEN, ...any, ...doubles];
  const lines = texts.map((text) => dumps(readJson(text)));
  expect(lines).toEqual(python("json.dumps(json.loads(text))", texts));
  const indented = texts.map((text) => dumps(readJson(text), "indented"));
  expect(indented).toEqual(python("json.dumps(json.loads(text), indent=2)", texts));
});

test("refuses only invalid JSON", () => {
  const any = fc.sample(fc.json({ maxDepth: 3 }), { numRuns: 200, seed: 8 });
  const cut = any.map((text, i) => text.slice(0, i % (text.length + 1)));
  const bent = any.map((text, i) => text.replace(/[[\]{}:,"]/, '[]{}:,"'[i % 7] as string));
  const texts = [...any, ...cut, ...bent, "", "01", "1.", ".5", "+1", "[1,]", '{"a":1,}', "'a'"];
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  for (const text of [...texts, "1 2", "nul", '"a\nb"', '"\\x"', '"', "[", "-"]) {
    if (isJson(text)) expect(() => readJson(text), text).not.toThrow();
    else expect(() => readJson(text), text).toThrow(SyntaxError);
  }
});

test("prints plain values, with floats where Python has floats", () => {
  const { float } = JsonNumber;
  const values = { a: [1, 2n, float(-1), float(12.34), 0.5], b: new Map([["c", null]]) };
  expect(dumps(values)).toBe('{"a": [1, 2, -1.0, 12.34, 0.5], "b": {"c": null}}');
});

test("quotes as repr does", () => {
  const texts = [
    "",
    "x",
    "it's",
    'say "x"',
    `it's "x"`,
    "a\\b\n\r\t\u0000\u001b\u007f\u0085\u00a0é☃",
  ];
  expect(texts.map(repr)).toEqual(python("repr(text)", texts));
});
