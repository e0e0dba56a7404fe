import { describe, expect, test } from "vitest";
import { claudeEngine } from "../../../src/engines/vendors/claude.ts";
import { now, RESETS, request, run, SETTINGS, tools } from "./run.ts";

const engine = claudeEngine(now);
const play = (scenario: string, fields = {}, wasEnded = false) =>
  run(engine, scenario, fields, wasEnded);

describe("the command", () => {
  test("keeps the prompt off the command line", () => {
    const { argv, stdin } = engine.command(request({ prompt: "secret", model: "m", turns: 5 }));
    expect(stdin).toBe("secret");
    expect(argv.join(" ")).toBe(
      "claude -p --output-format stream-json --verbose --include-partial-messages --model m --max-turns 5 --permission-mode acceptEdits",
    );
  });

  test("takes binary, permission and flags from the settings, flags last", () => {
    const settings = {
      ...SETTINGS,
      binary: "/c",
      permission: "dontAsk",
      flags: ["--add-dir", "/x"],
    };
    const { argv } = engine.command(request({ settings, resume: "id" }));
    expect(argv[0]).toBe("/c");
    expect(argv.slice(-6)).toEqual(
      ["--resume", "id", "--permission-mode", "dontAsk", "--add-dir", "/x"].slice(-6),
    );
  });

  test("in plan mode has no tool that writes, whatever the settings allow", () => {
    const settings = { ...SETTINGS, permission: "bypassPermissions" };
    const { argv } = engine.command(request({ mode: "plan", settings }));
    expect(argv[argv.indexOf("--permission-mode") + 1]).toBe("plan");
    const has = argv[argv.indexOf("--tools") + 1]?.split(",") ?? [];
    expect(has).toContain("Read");
    for (const tool of ["Bash", "Edit", "Write", "NotebookEdit", "Task", "default"]) {
      expect(has).not.toContain(tool);
    }
  });
});

describe("a good run", () => {
  test("reports each call, thought and text, without control characters", async () => {
    const { steps, outcome, text, session, unknown } = await play("good");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("It is done.");
    expect(session).toBe("0c0ffee0-1111-4222-8333-444455556666");
    expect(unknown).toBe(0);
    expect(tools(steps)).toEqual([
      ["Read", "/w/src/a.ts"],
      ["Task", "count lines"],
      ["Bash", "wc -l src/*.ts"],
    ]);
    expect(steps.filter(({ kind }) => kind === "thought")).toMatchObject([
      { text: "What is there?" },
    ]);
    expect(steps.at(-1)).toEqual({ kind: "notice", text: "the seven_day limit is near" });
  });

  test("counts a message once, however many events it comes in", async () => {
    const { steps } = await play("good");
    const used = steps.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
    expect(used).toMatchObject([
      { model: "claude-sonnet-5", input: 3, output: 10, cacheRead: 100, cacheWrite: 20, usd: null },
      { model: "claude-sonnet-5", input: 3, output: 10, cacheRead: 100, cacheWrite: 20, usd: null },
      { model: "claude-haiku-4-5", input: 7, output: 8, cacheRead: 9, cacheWrite: 10, usd: null },
    ]);
  });

  test("has the subagents in its usage, and the dollars of the last event", async () => {
    const { usage } = await play("good");
    expect(usage).toEqual(
      [
        {
          model: "claude-sonnet-5",
          input: 6,
          output: 30,
          cacheRead: 200,
          cacheWrite: 40,
          usd: 0.04,
        },
        { model: "claude-haiku-4-5", input: 7, output: 8, cacheRead: 9, cacheWrite: 10, usd: 0.01 },
      ].map((one) => ({ ...one, usd: expect.closeTo(one.usd, 9) })),
    );
  });

  test("goes on with a session", async () => {
    const { session, argv } = await play("good", {
      resume: "11111111-2222-4333-8444-555555555555",
    });
    expect(session).toBe("11111111-2222-4333-8444-555555555555");
    expect(argv).toContain("--resume");
  });

  test("is not spoilt by attempts that failed on the way", async () => {
    const { outcome, steps } = await play("retries");
    expect(outcome).toEqual({ kind: "done" });
    expect(steps[0]).toEqual({ kind: "notice", text: "attempt 1 failed: 529 overloaded" });
  });
});

describe("a bad day", () => {
  test.each(["cut-off", "half"])("%s: reported as such, with its usage", async (scenario) => {
    const { outcome, usage, text, session } = await play(scenario);
    expect(outcome).toMatchObject({ kind: "cut_off" });
    expect(text).toBe("I look first.");
    expect(session).not.toBeNull();
    expect(usage).toMatchObject([
      { model: "claude-sonnet-5", input: 6, output: 20, usd: null },
      { model: "claude-haiku-4-5", input: 7, output: 8, usd: null },
    ]);
  });

  test("an unknown event is kept, and not fatal", async () => {
    const { outcome, unknown, steps } = await play("unknown");
    expect(outcome).toEqual({ kind: "done" });
    expect(unknown).toBe(1);
    expect(steps).toContainEqual({ kind: "notice", text: "unknown event dream" });
  });

  test.each(["rate-limit", "rate-limit-old"])("%s: has its reset time", async (scenario) => {
    const { outcome } = await play(scenario);
    expect(outcome).toMatchObject({ kind: "rate_limited", until: new Date(RESETS).toISOString() });
  });

  test("a limit of turns", async () => {
    expect((await play("turns")).outcome).toMatchObject({ kind: "turn_limit" });
  });

  test("colours and bytes that are no text", async () => {
    const { outcome, text, steps, unknown } = await play("ansi");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("Red.");
    expect(steps[0]).toEqual({ kind: "text", text: "In red." });
    expect(unknown).toBe(1);
  });

  test("a limit it waits for when it is ended is what ended it; one it may go over is not", () => {
    const limited = (more: object) => {
      const reader = engine.reader(request());
      const info = { status: "rejected", resetsAt: RESETS / 1000, ...more };
      reader.line(JSON.stringify({ type: "rate_limit_event", rate_limit_info: info }));
      return reader.end({ exit: null, signal: "SIGTERM", stderr: "", wasEnded: true }).outcome;
    };
    const until = new Date(RESETS).toISOString();
    expect(limited({})).toMatchObject({ kind: "rate_limited", until });
    expect(limited({ isUsingOverage: true, overageStatus: "allowed" })).toMatchObject({
      kind: "cut_off",
    });
    expect(limited({ isUsingOverage: true, overageStatus: "rejected" })).toMatchObject({ until });
  });
});
