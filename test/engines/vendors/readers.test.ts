import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Engine } from "../../../src/engines/engine.ts";
import { execEngine } from "../../../src/engines/exec.ts";
import { claudeEngine } from "../../../src/engines/vendors/claude.ts";
import { codexEngine } from "../../../src/engines/vendors/codex.ts";
import { geminiEngine } from "../../../src/engines/vendors/gemini.ts";
import { opencodeEngine } from "../../../src/engines/vendors/opencode.ts";
import { now, request } from "./run.ts";

const engines: Engine[] = [
  claudeEngine(now),
  codexEngine(now),
  geminiEngine(now),
  opencodeEngine(now),
  execEngine,
];

/** Words the vendors use, so that what is made of them goes deep into a reader. */
const WORDS = [
  ..."type subtype message content usage model id result error errors item part state tokens cache".split(
    " ",
  ),
  ..."stats models modelUsage rate_limit_info status resetsAt text thinking name input data".split(
    " ",
  ),
  ..."input_tokens output_tokens cached total_tokens cost costUSD total_cost_usd changes".split(
    " ",
  ),
  ..."messageID sessionID session_id thread_id statusCode responseHeaders retry-after".split(" "),
];
const VALUES = [
  ..."assistant system result user rate_limit_event init api_retry success text tool_use".split(
    " ",
  ),
  ..."thread.started turn.completed turn.failed item.started item.completed agent_message".split(
    " ",
  ),
  ..."command_execution file_change mcp_tool_call message step_start step_finish done rejected".split(
    " ",
  ),
];
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, -1, 0, 1e308, 1794750000, "", "429", ...VALUES),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...WORDS, "__proto__"), tie("value"), { maxKeys: 6 }),
  ),
}));
const event = fc
  .tuple(
    fc.constantFrom(...VALUES),
    fc.dictionary(fc.constantFrom(...WORDS), value, { maxKeys: 8 }),
  )
  .map(([type, fields]) => JSON.stringify({ ...fields, type }));
const line = fc.oneof({ weight: 4, arbitrary: event }, fc.string({ unit: "binary" }), fc.json());
const exit = fc.record({
  exit: fc.oneof(fc.constant(null), fc.constantFrom(0, 1, 41, 42, 53, 64, 255)),
  signal: fc.constantFrom(null, "SIGKILL"),
  stderr: fc.string({ unit: "binary" }),
  wasEnded: fc.boolean(),
});

describe.each(engines.map((engine) => [engine.name, engine] as const))("%s", (_, engine) => {
  test("its reader never throws, and its results are sound", () => {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 12 }),
        exit,
        fc.boolean(),
        (lines, ended, resumed) => {
          const five = { input: 5, output: 5, cacheRead: 5, cacheWrite: 5 };
          const resumeUsed = { total: [{ model: "m", ...five, usd: 1 }], since: [] };
          const reader = engine.reader(request(resumed ? { resume: "x", resumeUsed } : {}));
          for (const text of lines) {
            const read = [...reader.line(text), ...(reader.logLine?.(text, resumed) ?? [])];
            for (const step of read) {
              expect(step.target?.length ?? 0).toBeLessThanOrEqual(200);
              expect(step.text?.length ?? 0).toBeLessThanOrEqual(200);
              for (const said of [step.tool, step.target, step.text]) {
                // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
                expect(said ?? "").not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
              }
              if (step.usage !== undefined) soundUsage([step.usage]);
            }
          }
          const { outcome, text, usage, unknown } = reader.end(ended);
          expect(typeof outcome.kind).toBe("string");
          if (outcome.kind !== "done") expect(outcome.message).not.toBe("");
          expect(typeof text).toBe("string");
          expect(unknown).toBeLessThanOrEqual(lines.length);
          soundUsage(usage ?? []);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("puts nothing behind a flag that could be one", () => {
    if (engine === execEngine) return;
    for (const bad of ["--yolo", "", "a\nb"]) {
      expect(() => engine.command(request({ model: bad }))).toThrow(/cannot be the model/);
      expect(() => engine.command(request({ resume: bad }))).toThrow(/cannot be the session/);
    }
    const reader = engine.reader(request());
    const ids = { session_id: "--yolo", thread_id: "--yolo", sessionID: "--yolo" };
    for (const type of ["system", "thread.started", "init", "text"]) {
      reader.line(JSON.stringify({ type, ...ids }));
    }
    expect(reader.end({ exit: 0, signal: null, stderr: "", wasEnded: false }).session).toBeNull();
  });

  test("its reader's memory does not grow with the stream", () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const reader = engine.reader(request());
    const feed = (from: number, to: number) => {
      for (let i = from; i < to; i++) for (const text of manyLines(i)) reader.line(text);
      gc();
      return process.memoryUsage().heapUsed;
    };
    feed(0, 5_000);
    const before = feed(5_000, 10_000);
    const after = feed(10_000, 40_000);
    if (engine !== execEngine) {
      for (let i = 0; i < 20; i++) reader.line(`${i}${"no-event".repeat(125_000)}`);
      for (let i = 0; i < 20; i++)
        for (const text of manyLines(i, "y".repeat(500_000))) reader.line(text);
      expect(feed(40_000, 40_001) - after).toBeLessThan(3_000_000);
    }
    expect(after - before).toBeLessThan(engine === execEngine ? 12_000_000 : 2_000_000);
  });
});

function soundUsage(usage: readonly object[]): void {
  for (const { model, usd, ...tokens } of usage as { model: string; usd: number | null }[]) {
    expect(typeof model).toBe("string");
    for (const count of [usd ?? 0, ...Object.values(tokens)])
      expect(count).toBeGreaterThanOrEqual(0);
  }
}

/** One line of each vendor that a reader might be tempted to remember. */
function manyLines(i: number, tail = ""): string[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  return [
    { type: "assistant", message: { id: `m${i}${tail}`, model: `m${tail}`, content: [], usage } },
    {
      type: "item.started",
      item: { id: `i${i}-${"x".repeat(100)}${tail}`, type: "command_execution", command: "x" },
    },
    { type: "text", sessionID: `s${i}`, part: { messageID: `m${i}`, text: "t" } },
    { type: "message", role: "assistant", content: "t" },
    { type: `unknown${i}${tail}` },
  ].map((one) => JSON.stringify(one));
}
