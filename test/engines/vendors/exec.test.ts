import { describe, expect, test } from "vitest";
import { execEngine } from "../../../src/engines/exec.ts";
import { request, run, SETTINGS } from "./run.ts";

const sh = (script: string) => ({ ...SETTINGS, binary: "/bin/sh", flags: ["-c", script] });

describe("any command", () => {
  test("gets the prompt on stdin, and its stdout is the answer", async () => {
    const { text, outcome, usage, session, steps } = await run(execEngine, "", {
      prompt: "one\ntwo",
      settings: sh("cat; echo; echo to stderr >&2"),
    });
    expect(outcome).toEqual({ kind: "done" });
    expect(text).toBe("one\ntwo");
    expect(steps).toEqual([
      { kind: "text", text: "one" },
      { kind: "text", text: "two" },
    ]);
    expect({ usage, session }).toEqual({ usage: null, session: null });
  });

  test("gets the model in its environment", async () => {
    const { text } = await run(execEngine, "", { model: "m", settings: sh('echo "$VIV_MODEL"') });
    expect(text).toBe("m");
  });

  test("that fails has its exit and its last lines", async () => {
    const failing = await run(execEngine, "", { settings: sh("echo why >&2; exit 3") });
    expect(failing.outcome).toEqual({ kind: "failed", message: "it exited with 3: why" });
    const killed = { settings: sh("kill -KILL $$") };
    const ended = { kind: "failed", message: "it was ended by SIGKILL" };
    expect((await run(execEngine, "", killed)).outcome).toEqual(ended);
    expect((await run(execEngine, "", killed, true)).outcome).toMatchObject({ kind: "cut_off" });
  });

  test("that never stops printing costs no more steps and no more memory", () => {
    const reader = execEngine.reader(request());
    let steps = 0;
    const line = "x".repeat(100);
    for (let i = 0; i < 100_000; i++) steps += reader.line(line).length;
    expect(steps).toBe(500);
    const { text } = reader.end({ exit: 0, signal: null, stderr: "", wasEnded: false });
    expect(text.length).toBe(4_000_000);
  });

  test("must be named, and cannot be kept from writing", () => {
    expect(() => execEngine.command(request())).toThrow(/binary/);
    expect(() => execEngine.command(request({ mode: "plan", settings: sh("cat") }))).toThrow(
      /plan/,
    );
  });
});
