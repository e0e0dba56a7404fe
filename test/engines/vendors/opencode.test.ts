import { describe, expect, test } from "vitest";
import { opencodeEngine } from "../../../src/engines/vendors/opencode.ts";
import { NOW, now, request, run, SETTINGS, tools } from "./run.ts";

const engine = opencodeEngine(now);
const play = (scenario: string, fields = {}, wasEnded = false) =>
  run(engine, scenario, fields, wasEnded);

describe("the command", () => {
  test("starts no subagents under a budget: their usage is not reported", () => {
    const permission = (given: Parameters<typeof request>[0]) =>
      JSON.parse(engine.command(request(given)).env?.OPENCODE_PERMISSION ?? "null");
    expect(permission({})).toBeNull();
    expect(permission({ isBudgeted: true })).toEqual({ task: "deny" });
    const settings = { ...SETTINGS, permission: '{"bash":"ask","task":"allow"}' };
    expect(permission({ isBudgeted: true, settings })).toEqual({ bash: "ask", task: "deny" });
  });

  test("keeps the prompt off the command line", () => {
    const { argv, stdin, env } = engine.command(request({ prompt: "secret", model: "p/m" }));
    expect(stdin).toBe("secret");
    expect(argv.join(" ")).toBe(
      "opencode run --format json --print-logs --log-level WARN --model p/m",
    );
    expect(env).toBeUndefined();
  });

  test("takes binary, permission and flags from the settings, flags last", () => {
    const settings = {
      ...SETTINGS,
      binary: "/o",
      permission: "auto",
      flags: ["--variant", "high"],
    };
    const { argv } = engine.command(request({ settings, resume: "ses_1" }));
    expect(argv.join(" ")).toBe(
      "/o run --format json --print-logs --log-level WARN --session ses_1 --auto --variant high",
    );
    const json = { ...SETTINGS, permission: '{"bash":"deny"}' };
    expect(engine.command(request({ settings: json })).env).toEqual({
      OPENCODE_PERMISSION: '{"bash":"deny"}',
    });
    const odd = { ...SETTINGS, permission: "yolo" };
    expect(() => engine.command(request({ settings: odd }))).toThrow(/"auto"/);
  });

  test("in plan mode can neither edit nor run commands, whatever the settings allow", () => {
    const settings = { ...SETTINGS, permission: "auto" };
    const { argv, env } = engine.command(request({ mode: "plan", settings }));
    expect(argv.join(" ")).toBe(
      "opencode run --format json --print-logs --log-level WARN --agent plan",
    );
    expect(JSON.parse(env?.OPENCODE_PERMISSION ?? "")).toEqual({ edit: "deny", bash: "deny" });
  });
});

describe("a good run", () => {
  test("reports each call, thought and text", async () => {
    const { steps, outcome, text, session, unknown } = await play("good");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("It is done.");
    expect(session).toBe("ses_2f6a0c1d2e3f");
    expect(unknown).toBe(0);
    expect(tools(steps)).toEqual([
      ["read", "/w/src/a.ts"],
      ["task", "count lines"],
      ["bash", "npm test"],
    ]);
    expect(steps[0]).toEqual({ kind: "thought", text: "What is there?" });
  });

  test("has the tokens and the dollars of each step", async () => {
    const { usage, steps } = await play("good", { model: "p/m" });
    const step = { model: "p/m", input: 100, output: 25, cacheRead: 50, cacheWrite: 10 };
    expect(steps.flatMap((one) => one.usage ?? [])).toEqual([
      { ...step, usd: 0.01 },
      { ...step, usd: 0.02 },
    ]);
    expect(usage).toEqual([
      {
        model: "p/m",
        input: 200,
        output: 50,
        cacheRead: 100,
        cacheWrite: 20,
        usd: expect.closeTo(0.03, 9),
      },
    ]);
  });

  test("of a version that does not say that it is done", async () => {
    expect((await play("old")).outcome).toEqual({ kind: "done" });
  });

  test("goes on with a session", async () => {
    expect((await play("good", { resume: "ses_7" })).session).toBe("ses_7");
  });
});

describe("a bad day", () => {
  test.each(["cut-off", "half"])("%s: reported as such, with its usage", async (scenario) => {
    const { outcome, usage, text } = await play(scenario);
    expect(outcome).toMatchObject({ kind: "cut_off" });
    expect(text).toBe("I look first.");
    expect(usage).toMatchObject([{ input: 100, usd: 0.01 }]);
  });

  test("an unknown event is kept, and not fatal", async () => {
    const { outcome, unknown, steps } = await play("unknown");
    expect(outcome).toEqual({ kind: "done" });
    expect(unknown).toBe(1);
    expect(steps).toContainEqual({ kind: "notice", text: "unknown event dream" });
  });

  test("a rate limit has its reset time", async () => {
    const until = new Date(NOW + 120_000).toISOString();
    expect((await play("rate-limit")).outcome).toMatchObject({ kind: "rate_limited", until });
  });

  test("colours and bytes that are no text", async () => {
    const { outcome, text, steps, unknown } = await play("ansi");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("\u001b[31mRed.");
    expect(steps).toContainEqual({ kind: "text", text: "Red." });
    expect(unknown).toBe(1);
  });
});
