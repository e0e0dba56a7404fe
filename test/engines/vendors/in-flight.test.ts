import { describe, expect, test } from "vitest";
import type { Engine, EngineRequest } from "../../../src/engines/engine.ts";
import { claudeEngine } from "../../../src/engines/vendors/claude.ts";
import { codexEngine } from "../../../src/engines/vendors/codex.ts";
import { geminiEngine } from "../../../src/engines/vendors/gemini.ts";
import { sumOf } from "../../../src/engines/vendors/usage-sum.ts";
import { request, SETTINGS } from "./run.ts";

/** The usage of a run is known while it runs. The lines are those of the real programs, shortened. */

const KILLED = { exit: null, signal: "SIGKILL", stderr: "", wasEnded: true };
const EXITED = { exit: 0, signal: null, stderr: "", wasEnded: false };

/** Feeds a reader; returns what its steps used so far. */
function feed(engine: Engine, fields: Partial<EngineRequest> = {}) {
  const reader = engine.reader(request(fields));
  const used: number[] = [];
  return {
    reader,
    used,
    line(event: object): void {
      for (const { usage } of reader.line(JSON.stringify(event)))
        if (usage) used.push(usage.output);
    },
    log(event: object, isPast = false): void {
      const steps = reader.logLine?.(JSON.stringify(event), isPast) ?? [];
      for (const { usage } of steps) if (usage) used.push(usage.output);
    },
  };
}

describe("claude", () => {
  const engine = claudeEngine();
  const session_id = "c728d18a-0d5b-40d3-a133-304704036086";
  const model = "claude-haiku-5-5";
  const usage = (output_tokens: number) => ({
    ...{ input_tokens: 1000, cache_read_input_tokens: 200, cache_creation_input_tokens: 30 },
    output_tokens,
  });
  const partial = (event: object) => ({
    ...{ type: "stream_event", event, session_id, parent_tool_use_id: null },
  });
  const start = (id: string) =>
    partial({ type: "message_start", message: { id, model, content: [], usage: usage(1) } });
  const piece = partial({ type: "content_block_delta", index: 0, delta: { text: "x" } });
  const said = (id: string, parent_tool_use_id: string | null = null) => ({
    ...{ type: "assistant", session_id, parent_tool_use_id },
    message: { id, model, content: [{ type: "text", text: "x" }], usage: usage(1) },
  });
  const delta = (output_tokens: number) =>
    partial({ type: "message_delta", delta: {}, usage: { output_tokens } });
  const init = (claude_code_version: string) => ({
    ...{ type: "system", subtype: "init", session_id, model, claude_code_version },
  });
  const totals = (answers: number, usd: number) => ({
    [model]: {
      ...{ inputTokens: 1000 * answers, outputTokens: 50 * answers },
      ...{ cacheReadInputTokens: 200 * answers, cacheCreationInputTokens: 30 * answers },
      costUSD: usd,
    },
  });
  const result = (all: object, run?: object) => ({
    ...{ type: "result", subtype: "success", is_error: false, result: "done", session_id },
    ...{ modelUsage: all, ...(run ? { model_usage_since_last_result: run } : {}) },
  });

  test("counts the output of an answer when the answer ends, once", () => {
    const { line, used, reader } = feed(engine);
    for (const event of [init("2.1.325"), start("m1"), piece, said("m1"), piece, delta(20_000)]) {
      line(event);
    }
    expect(used).toEqual([1, 19_999]);
    for (const event of [start("m2"), said("m2"), delta(50)]) line(event);
    expect(reader.end(KILLED).usage).toMatchObject([{ model, input: 2000, output: 20_050 }]);
  });

  test("passes over the pieces of an answer without reading them", () => {
    const noise = engine.noise ?? "no noise";
    expect(JSON.stringify(piece).startsWith(noise)).toBe(true);
    for (const event of [start("m"), delta(1)]) {
      expect(JSON.stringify(event).startsWith(noise)).toBe(false);
    }
  });

  test("counts its subagents by their transcripts: the stream has only their beginnings", () => {
    const { line, log, used } = feed(engine);
    line(init("2.1.325"));
    line(said("sub1", "toolu_1"));
    log({ ...said("sub1"), message: { ...said("sub1").message, usage: usage(777) } });
    log({ ...said("deep"), message: { ...said("deep").message, usage: usage(777) } });
    log({ ...said("old"), message: { ...said("old").message, usage: usage(5) } }, true);
    expect(used).toEqual([1, 776, 777]);
  });

  test.each([
    ["2.1.276, which reports the run's total", "2.1.276", totals(2, 0.2), undefined],
    ["2.1.277, which reports the session's", "2.1.277", totals(5, 0.5), undefined],
    ["2.1.325, which reports both", "2.1.325", totals(5, 0.5), totals(2, 0.2)],
  ])("counts a resumed session once with %s", (_, version, all, run) => {
    const before = { model, input: 3000, output: 150, cacheRead: 600, cacheWrite: 90, usd: 0.3 };
    const resumeUsed = { total: [before], since: [] };
    const { line, reader } = feed(engine, { resume: session_id, resumeUsed });
    for (const event of [init(version), start("m1"), delta(50), start("m2"), delta(50)])
      line(event);
    line(result(all, run));
    const { usage: counted, sessionTotal } = reader.end(EXITED);
    expect(counted).toMatchObject([{ model, input: 2000, output: 100, cacheRead: 400 }]);
    expect(counted?.[0]?.usd).toBeCloseTo(0.2, 9);
    expect(sessionTotal?.[0]?.input).toBe(version === "2.1.276" ? undefined : 5000);
  });

  test("gets what is left of the budget, and ends by it with a message", () => {
    const { argv } = engine.command(request({ budgetUsd: 0.30000000000000004 }));
    expect(argv[argv.indexOf("--max-budget-usd") + 1]).toBe("0.3");
    expect(engine.command(request()).argv).not.toContain("--max-budget-usd");
    const { line, reader } = feed(engine);
    line({ ...result({}), subtype: "error_max_budget_usd", is_error: true });
    expect(reader.end({ ...EXITED, exit: 1 }).outcome).toMatchObject({ kind: "failed" });
  });
});

describe("codex", () => {
  const engine = codexEngine();
  const tokens = (answers: number) => ({
    ...{ input_tokens: 1200 * answers, cached_input_tokens: 200 * answers },
    ...{ cache_write_input_tokens: 0, output_tokens: 60 * answers },
  });
  const record = (answers: number) => ({
    ...{ timestamp: "2026-11-16T01:32:27.956Z", ordinal: 10, type: "token_usage_record" },
    payload: { usage: tokens(1), thread_token_usage: tokens(answers) },
  });
  const count = (answers: number) => ({
    ...{ timestamp: "2026-11-16T01:32:28.180Z", ordinal: 13, type: "event_msg" },
    payload: {
      type: "token_count",
      info: { total_token_usage: tokens(answers), last_token_usage: tokens(1) },
    },
  });
  const completed = (answers: number) => ({ type: "turn.completed", usage: tokens(answers) });

  test("counts each answer once, by its session file", () => {
    const { log, line, used, reader } = feed(engine, { model: "m" });
    for (const event of [record(1), count(1), record(2), count(2)]) log(event);
    line(completed(2));
    expect(used).toEqual([60, 60]);
    expect(reader.end(EXITED).usage).toMatchObject([{ input: 2000, output: 120, cacheRead: 400 }]);
  });

  test("is accounted when it is killed", () => {
    const { log, reader } = feed(engine, { model: "m" });
    log(record(1));
    expect(reader.end(KILLED).usage).toMatchObject([{ model: "m", input: 1000, output: 60 }]);
  });

  test("of an older version counts each answer by the thread's counters", () => {
    const { log, used } = feed(engine);
    log(count(3), true);
    log(count(4));
    log(count(5));
    expect(used).toEqual([60, 60]);
  });

  test("goes on after a run that was killed while a tool ran: its counters have lost an answer", () => {
    const counted = {
      model: "m",
      input: 1000,
      output: 60,
      cacheRead: 200,
      cacheWrite: 0,
      usd: null,
    };
    const resumeUsed = { total: [], since: [counted] };
    const { log, line, reader } = feed(engine, { resume: "t", resumeUsed });
    log(record(1), true);
    for (const event of [record(2), count(1), record(3), count(2)]) log(event);
    line(completed(2));
    expect(reader.end(EXITED).usage).toMatchObject([{ input: 2000, output: 120 }]);
  });

  test("names the model that it uses", () => {
    const { log, reader } = feed(engine);
    log({ timestamp: "2026", ordinal: 5, type: "turn_context", payload: { model: "gpt-6-sol" } });
    log(record(1));
    expect(reader.end(KILLED).usage).toMatchObject([{ model: "gpt-6-sol" }]);
  });

  test("keeps its sessions where CODEX_HOME or HOME say, unless it keeps none", () => {
    const at = (env: Record<string, string>, flags: string[] = []) =>
      engine.logs?.({ session: "t.1", env, settings: { ...SETTINGS, flags } });
    expect(at({ HOME: "/h" })?.root).toBe("/h/.codex/sessions");
    expect(at({ HOME: "/h", CODEX_HOME: "/c" })?.root).toBe("/c/sessions");
    expect(at({ HOME: "/h" })?.path.at(-1)).toEqual(/-t\.1\.jsonl$/);
    expect(at({ HOME: "/h" }, ["--ephemeral"])).toBeNull();
  });
});

describe("gemini", () => {
  const engine = geminiEngine();
  const model = "gemini-3.1-pro-preview";
  const message = (id: string) => ({
    ...{ id, type: "gemini", content: "", model },
    tokens: { input: 1200, output: 50, cached: 200, thoughts: 10, tool: 0, total: 1260 },
  });
  const result = (answers: number) => ({
    type: "result",
    status: "success",
    stats: {
      models: {
        [model]: {
          ...{ total_tokens: 1260 * answers, input_tokens: 1200 * answers },
          ...{ output_tokens: 50 * answers, cached: 200 * answers },
        },
      },
    },
  });

  test("counts each answer once, however often its session file does", () => {
    const { log, line, used, reader } = feed(engine);
    log(message("old"), true);
    for (const id of ["a", "a", "b", "old"]) log(message(id));
    expect(used).toEqual([60, 60]);
    line(result(3)); // one of them it did beside its work
    expect(used).toEqual([60, 60, 60]);
    expect(sumOf(reader.end(EXITED).usage ?? [])).toMatchObject({ input: 3000, output: 180 });
  });

  test("counts an answer once that its session file has only after the result", () => {
    const { log, line, used } = feed(engine);
    log(message("a"));
    line(result(3)); // b, and one beside its work
    line(result(3));
    for (const id of ["a", "b", "c", "d"]) log(message(id));
    expect(used).toEqual([60, 120, 60]); // d is more than the result had
  });

  test("is accounted when it is killed, and when it reports less than it wrote", () => {
    const killed = feed(engine);
    for (const id of ["a", "b"]) killed.log(message(id));
    expect(killed.reader.end(KILLED).usage).toMatchObject([{ model, input: 2000, output: 120 }]);
    killed.line(result(1));
    expect(sumOf(killed.reader.end(EXITED).usage ?? [])).toMatchObject({
      input: 2000,
      output: 120,
    });
  });
});
