import { describe, expect, test } from "vitest";
import { geminiEngine } from "../../../src/engines/vendors/gemini.ts";
import { NOW, now, request, run, SETTINGS, tools } from "./run.ts";

const engine = geminiEngine(now);
const play = (scenario: string, fields = {}, wasEnded = false) =>
  run(engine, scenario, fields, wasEnded);

describe("the command", () => {
  test("keeps the prompt off the command line", () => {
    const { argv, stdin, env } = engine.command(request({ prompt: "secret", model: "m" }));
    expect(stdin).toBe("secret");
    expect(argv.join(" ")).toBe(
      "gemini --output-format stream-json --model m --approval-mode yolo",
    );
    expect(env).toEqual({ GEMINI_CLI_TRUST_WORKSPACE: "true" });
  });

  test("takes binary, permission and flags from the settings, flags last", () => {
    const settings = { ...SETTINGS, binary: "/g", permission: "auto_edit", flags: ["--sandbox"] };
    const { argv } = engine.command(request({ settings, resume: "id" }));
    expect(argv.join(" ")).toBe(
      "/g --output-format stream-json --resume id --approval-mode auto_edit --sandbox",
    );
  });

  test("in plan mode needs a policy, because it leaves that mode by itself", () => {
    expect(() => engine.command(request({ mode: "plan" }))).toThrow(/exit_plan_mode/);
    const settings = { ...SETTINGS, permission: "yolo", flags: ["--policy", "/p.toml"] };
    const { argv, env } = engine.command(request({ mode: "plan", settings }));
    expect(argv.join(" ")).toBe(
      "gemini --output-format stream-json --approval-mode plan --policy /p.toml",
    );
    expect(env).toBeUndefined();
  });
});

describe("a good run", () => {
  test("reports each call, and its text as one", async () => {
    const { steps, outcome, text, session, unknown } = await play("good");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("It is done.");
    expect(session).toBe("f20edd97-8178-43ab-8c21-f4c533cb9c11");
    expect(unknown).toBe(0);
    expect(tools(steps)).toEqual([
      ["read_file", "/w/src/a.ts"],
      ["run_shell_command", "npm test"],
      ["delegate_to_agent", "Count."],
    ]);
    expect(steps[0]).toEqual({ kind: "text", text: "I look first." });
  });

  test("has each model's tokens, thoughts with the output", async () => {
    const { usage, steps } = await play("good");
    expect(usage).toEqual([
      { model: "gemini-3-pro", input: 8300, output: 282, cacheRead: 418, cacheWrite: 0, usd: null },
      { model: "gemini-3-flash", input: 700, output: 88, cacheRead: 0, cacheWrite: 0, usd: null },
    ]);
    expect(steps.flatMap((step) => step.usage ?? [])).toEqual(usage);
  });

  test("of a version without tokens by model", async () => {
    const { usage } = await play("old-stats", { model: "gemini-3-pro" });
    expect(usage).toEqual([
      { model: "gemini-3-pro", input: 9000, output: 370, cacheRead: 418, cacheWrite: 0, usd: null },
    ]);
  });

  test("goes on with a session", async () => {
    expect((await play("good", { resume: "abc" })).session).toBe("abc");
  });
});

describe("a bad day", () => {
  test("cut off: reported as such, with its last text", async () => {
    const { outcome, usage, text } = await play("cut-off");
    expect(outcome).toMatchObject({ kind: "cut_off" });
    expect(text).toBe("Half");
    expect(usage).toBeNull();
    expect((await play("half")).outcome).toMatchObject({ kind: "cut_off" });
  });

  test("an unknown event is kept, and a warning is not fatal", async () => {
    const { outcome, unknown, steps } = await play("unknown");
    expect(outcome).toEqual({ kind: "done" });
    expect(unknown).toBe(1);
    expect(steps).toContainEqual({ kind: "notice", text: "unknown event dream" });
    expect(steps).toContainEqual({ kind: "notice", text: "Loop detected, stopping execution" });
  });

  test.each([
    ["rate-limit", 34_500],
    ["rate-limit-day", (10 * 3600 + 23 * 60 + 5) * 1000],
  ])("%s: has its reset time", async (scenario, wait) => {
    const { outcome } = await play(scenario);
    const until = new Date(NOW + wait).toISOString();
    expect(outcome).toMatchObject({ kind: "rate_limited", until });
  });

  test.each([
    ["input", "refused"],
    ["turns", "turn_limit"],
    ["turns-status", "turn_limit"],
    ["auth-status", "unauthorized"],
  ])("%s", async (scenario, kind) => {
    expect((await play(scenario, { resume: "gone" })).outcome).toMatchObject({ kind });
  });

  test("colours and bytes that are no text", async () => {
    const { outcome, steps, unknown } = await play("ansi");
    expect(outcome).toEqual({ kind: "done" });
    expect(steps).toContainEqual({ kind: "text", text: "Red." });
    expect(unknown).toBe(1);
  });
});
