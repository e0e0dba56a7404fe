import { describe, expect, test } from "vitest";
import { codexEngine } from "../../../src/engines/vendors/codex.ts";
import { now, RESETS, request, run, SETTINGS, tools } from "./run.ts";

const engine = codexEngine(now);
const play = (scenario: string, fields = {}, wasEnded = false) =>
  run(engine, scenario, fields, wasEnded);

describe("the command", () => {
  test("keeps the prompt off the command line", () => {
    const { argv, stdin, env } = engine.command(request({ prompt: "secret", model: "m" }));
    expect(stdin).toBe("secret");
    // The only source for the length of a wait.
    expect(env?.RUST_LOG).toContain("codex_core::responses_retry=warn");
    expect(argv.join(" ")).toBe(
      "codex exec --json --model m --sandbox workspace-write --skip-git-repo-check -",
    );
  });

  test("starts no subagents under a budget: their usage is not reported", () => {
    const { argv } = engine.command(request({ isBudgeted: true }));
    expect(argv).toContain("features.multi_agent=false");
    expect(engine.command(request({})).argv).not.toContain("features.multi_agent=false");
  });

  test("names the session after all flags, which `resume` would not know", () => {
    const settings = {
      ...SETTINGS,
      binary: "/c",
      permission: "danger-full-access",
      flags: ["-c", "a=1"],
    };
    const { argv } = engine.command(request({ settings, resume: "id" }));
    expect(argv.join(" ")).toBe(
      "/c exec --json --sandbox danger-full-access --skip-git-repo-check -c a=1 resume id -",
    );
  });

  test("inside of our sandbox makes none of its own, and cannot keep plan mode", () => {
    const sandboxOf = (permission: string | null) => {
      const settings = { ...SETTINGS, permission };
      const { argv } = engine.command(request({ isConfined: true, settings }));
      return argv[argv.indexOf("--sandbox") + 1];
    };
    for (const permission of [null, "workspace-write"]) {
      expect(sandboxOf(permission)).toBe("danger-full-access");
    }
    expect(() => sandboxOf("read-only")).toThrow("cannot be kept from writing");
    const plan = request({ isConfined: true, mode: "plan" });
    expect(() => engine.command(plan)).toThrow("cannot be kept from writing");
  });

  test("in plan mode is read-only, whatever the settings allow", () => {
    const settings = { ...SETTINGS, permission: "danger-full-access" };
    const { argv } = engine.command(request({ mode: "plan", settings }));
    expect(argv[argv.indexOf("--sandbox") + 1]).toBe("read-only");
  });
});

describe("a good run", () => {
  test("reports each call once", async () => {
    const { steps, outcome, text, session, unknown } = await play("good");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("It is done.");
    expect(session).toBe("019e9154-c304-70f0-adde-36efb1be1701");
    expect(unknown).toBe(0);
    expect(tools(steps)).toEqual([
      ["shell", "npm test"],
      ["edit", "src/a.ts src/b.ts"],
      ["spawn_agent", "Count the lines."],
      ["docs.lookup", "rename"],
      ["web_search", "atomic rename"],
    ]);
    expect(steps[0]).toEqual({ kind: "thought", text: "**Looking around**" });
  });

  test("takes the cached tokens out of the input", async () => {
    const { usage, steps } = await play("good", { model: "gpt-6" });
    const used = {
      model: "gpt-6",
      input: 200,
      output: 40,
      cacheRead: 300,
      cacheWrite: 0,
      usd: null,
    };
    expect(usage).toEqual([used]);
    expect(steps.at(-1)).toMatchObject({ usage: used });
  });

  test("of a resumed thread counts only what is new in it", async () => {
    const counted = { model: "m", input: 0, output: 400, cacheRead: 500, cacheWrite: 0, usd: null };
    const rest = { ...counted, output: 600 };
    const resumeUsed = { total: [counted], since: [rest] };
    const { usage, session } = await play("good", { resume: "thread-7", resumeUsed });
    expect(session).toBe("thread-7");
    expect(usage).toMatchObject([{ input: 200, output: 40, cacheRead: 300 }]);
  });

  test("of a resumed thread with an unknown past counts all rather than too little", async () => {
    const { usage } = await play("good", { resume: "thread-7" });
    expect(usage).toMatchObject([{ output: 1040, cacheRead: 1300 }]);
  });

  test("is not spoilt by attempts that failed on the way", async () => {
    const { outcome, steps } = await play("retries");
    expect(outcome).toEqual({ kind: "done" });
    expect(steps[0]).toMatchObject({ kind: "notice", text: expect.stringContaining("1/5") });
  });
});

describe("a bad day", () => {
  test.each(["cut-off", "half"])(
    "%s: says so, and that nothing is known of its usage",
    async (scenario) => {
      const { outcome, usage, text } = await play(scenario);
      expect(outcome).toMatchObject({ kind: "cut_off" });
      expect(text).toBe("Half way.");
      expect(usage).toBeNull();
    },
  );

  test("unknown events and items are kept, and not fatal", async () => {
    const { outcome, unknown, steps } = await play("unknown");
    expect(outcome).toEqual({ kind: "done" });
    expect(unknown).toBe(2);
    expect(steps).toContainEqual({ kind: "notice", text: "unknown event item.dream.delta" });
    expect(steps).toContainEqual({ kind: "notice", text: "unknown event item.completed hologram" });
  });

  test("a rate limit has its reset time, or null", async () => {
    expect((await play("rate-limit")).outcome).toMatchObject({
      kind: "rate_limited",
      until: new Date(RESETS).toISOString(),
    });
    expect((await play("rate-limit-status")).outcome).toMatchObject({
      kind: "rate_limited",
      until: null,
    });
  });

  test("a refused model is named as the API names it", async () => {
    expect((await play("model", { model: "gpt-99" })).outcome).toEqual({
      kind: "refused",
      message:
        "codex: The 'gpt-99' model is not supported when using Codex with a ChatGPT account.",
    });
  });

  test("colours and bytes that are no text", async () => {
    const { outcome, steps, unknown, usage } = await play("ansi");
    expect(outcome).toEqual({ kind: "done" });
    expect(steps).toContainEqual({ kind: "text", text: "Red." });
    expect(unknown).toBe(1);
    expect(usage).toMatchObject([{ input: 1, output: 2 }]);
  });
});
