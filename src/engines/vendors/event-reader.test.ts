import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { request } from "../../../test/engines/vendors/run.ts";
import { brief, Fields, parseLine, targetOf, toolStep } from "./event-reader.ts";
import { opencodeEngine } from "./opencode.ts";
import { moreThan, UsageSum } from "./usage-sum.ts";

describe("a line", () => {
  test.each([
    ['{"type":"a"}', { type: "a" }],
    ['  {"type":"a"}\r', { type: "a" }],
    ['\ufeff{"type":"a"}', { type: "a" }],
    ['\u001b[2K\u001b[32m{"type":"a"}\u001b[0m', { type: "a" }],
    ['\u001b]0;a title\u0007{"type":"a"}', { type: "a" }],
    ['{"type":"\u001b[31ma"}', { type: "a" }],
    ["[1]", null],
    ['"text"', null],
    ["null", null],
    ['{"type":"a"', null],
    ["", null],
    [`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, expect.anything()],
  ])("%.40s", (line, expected) => {
    const event = parseLine(line);
    if (line.length < 1000)
      expect(event.isMissing ? null : { type: event.string("type") }).toEqual(expected);
  });

  test("is an object or nothing, and never an error", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (line) => {
        expect(parseLine(line)).toBeInstanceOf(Fields);
      }),
    );
  });

  test("does not reach inherited properties", () => {
    const event = parseLine('{"__proto__":{"type":"a"},"n":-1,"big":1e999}');
    expect(event.string("type")).toBeNull();
    expect(event.at("constructor").isMissing).toBe(true);
    expect(event.list("n")).toBeNull();
    expect(event.number("n")).toBeNull();
    expect(event.number("big")).toBeNull();
  });
});

describe("a step's text", () => {
  test("is one short line without controls", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        const short = brief(text);
        expect(short.length).toBeLessThanOrEqual(200);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
        expect(short).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
      }),
    );
  });

  test("is not cut within a character", () => {
    expect(brief("😀".repeat(300))).toMatch(/^(😀)+…$/u);
  });

  test("names the target of a tool", () => {
    expect(targetOf(new Fields({ description: "d", command: "c", file_path: "f" }))).toBe("f");
    expect(targetOf(new Fields({ other: 1 }))).toBeNull();
    expect(toolStep("T", null)).toEqual({ kind: "tool", tool: "T" });
  });
});

describe("unknown lines and events", () => {
  test("are all counted, and the first are shown", () => {
    const reader = opencodeEngine().reader(request());
    let shown = 0;
    for (let i = 0; i < 100_000; i++) shown += reader.line(`line ${i}`).length;
    expect(shown).toBe(21);
    const { unknown, outcome } = reader.end({ exit: 1, signal: null, stderr: "", wasEnded: false });
    expect(unknown).toBe(100_000);
    expect(outcome).toEqual({
      kind: "failed",
      message: "opencode: exited with 1: line 99998 line 99999",
    });
  });
});

describe("usage", () => {
  const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };

  test("is summed by model; dollars that were never reported stay null", () => {
    const sum = new UsageSum();
    expect(sum.get()).toBeNull();
    sum.add({ model: "a", ...tokens, usd: null });
    sum.add({ model: "a", ...tokens, usd: null });
    sum.add({ model: "b", ...tokens, usd: 0.5 });
    expect(sum.get()).toEqual([
      { model: "a", input: 2, output: 4, cacheRead: 6, cacheWrite: 8, usd: null },
      { model: "b", ...tokens, usd: 0.5 },
    ]);
  });

  test("stays small when each line names another model", () => {
    const sum = new UsageSum();
    for (let i = 0; i < 1000; i++) sum.add({ model: `m${i}`, ...tokens, usd: null });
    const all = sum.get() ?? [];
    expect(all.length).toBeLessThanOrEqual(51);
    expect(all.reduce((total, { input }) => total + input, 0)).toBe(1000);
  });

  test("never shrinks", () => {
    expect(moreThan(tokens, tokens)).toBeNull();
    expect(moreThan(tokens, { ...tokens, input: 0, output: 5 })).toEqual({
      input: 0,
      output: 3,
      cacheRead: 0,
      cacheWrite: 0,
    });
  });
});
