import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { request as plainRequest, SETTINGS } from "../../test/engines/vendors/run.ts";
import type { EngineRequest, EngineSettings } from "./engine.ts";
import { llmRequest } from "./llm/protocol.ts";
import { llmEngine } from "./own-programs.ts";

const engine = llmEngine({ programs: "/dist", sessions: "/sessions" });
const request = (settings: Partial<EngineSettings> = {}, more: Partial<EngineRequest> = {}) =>
  plainRequest({
    ...{ prompt: "p", cwd: "/work", model: "m", ...more },
    settings: { ...SETTINGS, ...settings },
  });
const sent = (...args: Parameters<typeof request>) =>
  llmRequest.parse(JSON.parse(engine.command(request(...args)).stdin));

describe("the command", () => {
  test("is our own program, with the request on stdin", () => {
    expect(engine.command(request()).argv).toEqual([process.execPath, "/dist/llm.cjs"]);
    expect(sent({ keyEnv: "K" }, { resume: "s", turns: 4, mode: "plan" })).toMatchObject({
      prompt: "p",
      cwd: "/work",
      model: "m",
      mode: "plan",
      turns: 4,
      resume: "s",
      keyEnv: "K",
      sessionDir: "/sessions",
    });
  });

  test("the protocol follows from the address, unless it is named", () => {
    expect(sent().api).toBe("anthropic");
    expect(sent({ url: "https://api.anthropic.com" }).api).toBe("anthropic");
    expect(sent({ url: "http://localhost:11434" }).api).toBe("openai");
    expect(sent({ url: "http://localhost:1", api: "anthropic" }).api).toBe("anthropic");
  });

  test("refuses impossible settings before anything runs", () => {
    const refused = expect.objectContaining({ code: "INVALID" });
    expect(() => sent({}, { model: null })).toThrow(refused);
    expect(() => sent({ url: "localhost:11434" })).toThrow(refused);
    expect(() => sent({ url: "ftp://x" })).toThrow(refused);
    expect(() => sent({ contextTokens: 10 })).toThrow(refused);
    expect(() => sent({ flags: ["--fast"] })).toThrow(refused);
    expect(() => sent({ permission: "yolo" })).toThrow(refused);
  });
});

describe("the reader", () => {
  const GONE = { exit: 1, signal: null, stderr: "a\nTypeError: x\n", wasEnded: false };
  const read = (lines: unknown[], exit = GONE) => {
    const reader = engine.reader(request());
    const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    const steps = texts.flatMap((text) => reader.line(text));
    return { steps, ...reader.end(exit) };
  };
  const used = { model: "m", input: 3, output: 2, cacheRead: 1, cacheWrite: 0, usd: null };

  test("steps and the result", () => {
    const outcome = { kind: "rate_limited", message: "slow", until: "2026-03-01T12:00:00Z" };
    const result = read([
      { type: "session", session: "s1" },
      { type: "step", kind: "tool", tool: "shell", target: "ls", usage: used },
      { type: "result", outcome, text: "t", session: "s1", usage: [used], steps: 1 },
    ]);
    expect(result).toEqual({
      steps: [{ kind: "tool", tool: "shell", target: "ls", usage: used }],
      outcome: { ...outcome, until: "2026-03-01T12:00:00.000Z" },
      text: "t",
      session: "s1",
      usage: [used],
      unknown: 0,
    });
  });

  test("a stream that is cut off has its result so far", () => {
    const result = read([
      { type: "session", session: "s1" },
      { type: "step", kind: "text", text: "Looking.", usage: used },
      { type: "step", kind: "notice", text: "again", usage: used },
      '{"type":"result","outco',
    ]);
    expect(result).toMatchObject({
      outcome: { kind: "cut_off", message: expect.stringContaining("TypeError: x") },
      text: "Looking.",
      session: "s1",
      usage: [{ ...used, input: 6, output: 4, cacheRead: 2 }],
      unknown: 1,
    });
    expect(read([]).usage).toBeNull();
  });

  test("unknown lines are counted, the first are shown, without terminal codes", () => {
    const result = read([
      "\u001b[31mred\u0007",
      { type: "later" },
      { type: "step", kind: "later" },
      ...Array.from({ length: 1_000 }, () => "garbage"),
      { type: "step", kind: "text", text: "a\u001b[2Jb\nc" },
    ]);
    expect(result.unknown).toBe(1_003);
    expect(result.steps.length).toBeLessThan(30);
    expect(result.steps[0]).toEqual({ kind: "notice", text: "red" });
    expect(result.steps.at(-1)).toEqual({ kind: "text", text: "ab c" });
  });

  test("unreadable usage is unknown, not zero", () => {
    for (const usage of [null, "x", [null], [{ ...used, input: -1 }], [{ ...used, output: "2" }]]) {
      const result = { type: "result", outcome: { kind: "done" }, text: "", usage };
      expect(read([result]).usage).toBeNull();
    }
  });

  test("never throws", () => {
    const kinds = fc.constantFrom("step", "session", "result", "other", 1, null);
    const event = fc.record(
      {
        type: kinds,
        kind: fc.anything(),
        text: fc.anything(),
        usage: fc.anything(),
        outcome: fc.oneof(
          fc.anything(),
          fc.record({ kind: fc.constantFrom("done", "quota", "x") }),
        ),
        session: fc.anything(),
      },
      { requiredKeys: ["type"] },
    );
    const line = fc.oneof(
      fc.string(),
      fc.json(),
      event.map((value) => {
        try {
          return JSON.stringify(value) ?? "";
        } catch {
          return "{";
        }
      }),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 10 }), (lines) => {
        const result = read(lines);
        expect(result.outcome.kind).toBeTypeOf("string");
        expect(result.text).toBeTypeOf("string");
      }),
    );
  });

  test("a line costs next to nothing", () => {
    const reader = engine.reader(request());
    const line = JSON.stringify({ type: "step", kind: "text", text: "x".repeat(300), usage: used });
    for (let i = 0; i < 200_000; i++) reader.line(line); // would time out at 300 µs each
    expect(reader.end(GONE).usage?.[0]?.input).toBe(600_000);
  });
});
