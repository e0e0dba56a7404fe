import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptEngine } from "../../src/engines/own-programs.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { run, SETTINGS } from "./vendors/run.ts";

const engine = scriptEngine({ programs: DIST, sessions: null });

function play(lines: string[], mode: "plan" | "edit" = "edit") {
  const cwd = newFolder();
  const scenario = join(cwd, "scenario.toml");
  writeFileSync(scenario, ["[[case]]", ...lines].join("\n"));
  const settings = { ...SETTINGS, binary: process.execPath, scenario };
  return run(engine, "", { cwd, mode, settings }).then((ran) => ({ ...ran, cwd }));
}

test("commands run in the workspace; a failed one is reported, and the play continues", async () => {
  const { outcome, text, steps, usage, cwd } = await play([
    "step = [",
    '  { run = "cat; echo out; echo err >&2; exit 3", usage = { input = 2, usd = 0.5 } },',
    '  { run = "kill -9 $$" },',
    '  { write = "a/note", text = "x" }, { write = "../out", text = "x" },',
    "]",
    'end = { text_from = "cat a/note; echo; pwd" }',
  ]);
  expect(outcome).toEqual({ kind: "done" });
  expect(text).toBe(`x\n${cwd}`);
  expect(steps.map(({ text: said, target }) => said ?? target)).toEqual([
    "cat; echo out; echo err >&2; exit 3",
    "out err [exit 3]",
    undefined,
    "kill -9 $$",
    "[exit SIGKILL]",
    "a/note",
    "../out",
    "../out is outside of the workspace",
  ]);
  expect(usage).toMatchObject([{ model: "script", input: 2, usd: 0.5 }]);
  expect(readFileSync(join(cwd, "a/note"), "utf8")).toBe("x");
});

test("plan mode runs no command", async () => {
  const { steps } = await play(['step = [{ run = "touch x" }]'], "plan");
  expect(steps).toEqual([{ kind: "notice", text: "plan mode: touch x was not done" }]);
});

test("ends without a result: a crash and a kill", async () => {
  const { outcome, exit } = await play(['end = { outcome = "crash" }']);
  expect([outcome.kind, exit.exit]).toEqual(["cut_off", 1]);
  expect((await play(['end = { outcome = "silence" }'])).exit.signal).toBe("SIGKILL");
});
