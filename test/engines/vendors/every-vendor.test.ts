import { describe, expect, test } from "vitest";
import { claudeEngine } from "../../../src/engines/vendors/claude.ts";
import { codexEngine } from "../../../src/engines/vendors/codex.ts";
import { geminiEngine } from "../../../src/engines/vendors/gemini.ts";
import { opencodeEngine } from "../../../src/engines/vendors/opencode.ts";
import { now, run, SETTINGS } from "./run.ts";

/** The same failures of each vendor's program, with its own words. */
describe.each([
  {
    engine: claudeEngine(now),
    unknown: 18,
    // Its last words name a rate limit, which is not the cause.
    crash: "exited with 7: TypeError",
    login: /login/,
    credit: /credit/,
    flags: [],
  },
  {
    engine: codexEngine(now),
    unknown: 21,
    crash: "exited with 101: thread 'main' panicked",
    login: /codex login/,
    credit: /credit/,
    flags: [],
  },
  {
    engine: geminiEngine(now),
    unknown: 20,
    crash: "exited with 134: FATAL ERROR",
    login: /log in/,
    credit: /billing/,
    flags: ["--policy", "/p.toml"],
  },
  {
    engine: opencodeEngine(now),
    unknown: 20,
    crash: "exited with 139: panic",
    login: /auth login/,
    credit: /credit/,
    flags: [],
  },
])("$engine.name", ({ engine, unknown, crash, login, credit, flags }) => {
  const play = (scenario: string, fields = {}, wasEnded = false) =>
    run(engine, scenario, fields, wasEnded);

  test("the program understands the command in every mode, and refuses an unknown flag", async () => {
    for (const mode of ["plan", "edit"] as const) {
      const fields = { mode, model: "m", turns: 3, resume: "id", settings: { ...SETTINGS, flags } };
      expect((await play("good", fields)).exit.exit).toBe(0);
    }
    const odd = await play("good", { settings: { ...SETTINGS, flags: ["--frobnicate"] } });
    expect(odd.exit.exit).toBe(64);
    expect(odd.outcome).toMatchObject({ kind: "refused" });
  });

  test("counts garbage, and continues", async () => {
    const { outcome, text, ...ran } = await play("garbage");
    expect([outcome.kind, text, ran.unknown]).toEqual(["done", "It is done.", unknown]);
  });

  test("reads a huge line into a short step", async () => {
    const { steps, text, outcome } = await play("huge");
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toHaveLength(1_000_000);
    for (const step of steps) expect(JSON.stringify(step).length).toBeLessThan(500);
  });

  test("a crash is a failure with its last words", async () => {
    const { outcome } = await play("crash");
    expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining(crash) });
  });

  test("names a signal, unless it was ours", async () => {
    const message = `${engine.name}: was ended by SIGKILL`;
    expect((await play("killed")).outcome).toEqual({ kind: "failed", message });
    expect((await play("killed", {}, true)).outcome).toMatchObject({ kind: "cut_off" });
  });

  test("names the next step after a refused login, and without credit", async () => {
    const todo = (pattern: RegExp) => expect.stringMatching(pattern);
    expect((await play("auth")).outcome).toMatchObject({ kind: "unauthorized", todo: todo(login) });
    expect((await play("quota")).outcome).toMatchObject({ kind: "quota", todo: todo(credit) });
  });

  test("an unknown model is refused, a missing session is lost", async () => {
    const fields = { resume: "gone", model: "gpt-99" };
    expect((await play("model", fields)).outcome).toMatchObject({ kind: "refused" });
    expect((await play("session-lost", fields)).outcome).toMatchObject({ kind: "session_lost" });
  });
});
