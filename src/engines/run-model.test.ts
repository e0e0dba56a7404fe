import { expect, test } from "vitest";
import { request } from "../../test/engines/vendors/run.ts";
import type { Engine, Step } from "./engine.ts";
import { notRun, runModel } from "./run-model.ts";

const usage = { model: "m", input: 1, output: 1, cacheRead: 0, cacheWrite: 0, usd: 0 };

/** Each line of its output is a call of a tool. */
const engine: Engine = {
  name: "codex",
  binary: "codex",
  reportsDollars: "each step",
  command: () => ({ argv: ["codex"], stdin: "" }),
  reader: () => ({
    session: null,
    line: () => [{ kind: "tool", tool: "shell", usage }],
    end: () => ({ outcome: { kind: "done" }, text: "", session: null, usage: null, unknown: 0 }),
  }),
};

async function run(lines: number, turns: number) {
  const steps: Step[] = [];
  let stopped: string | null = null;
  const { finished } = notRun("");
  const { end, bill } = await runModel({
    engine,
    request: request(),
    afresh: () => request(),
    budget: {
      limits: { attempt: { turns }, task: {}, run: {}, day: {} },
      before: {},
      prices: new Map(),
      look: async () => ({ before: {} }),
    },
    execute: async (_argv, _stdin, { onStdout }) => {
      for (let i = 0; i < lines && stopped === null; i++) onStdout(Buffer.from(`${i}\n`));
      return stopped === null ? finished : { ...finished, cause: "stopped" };
    },
    stop: (why) => {
      stopped ??= why;
    },
    log: () => {},
    onStep: (step) => steps.push(step),
    onSession: () => {},
    now: () => 0,
  });
  return { end, bill, steps, stopped };
}

test("records the usage of many steps in sums; the bill has each", async () => {
  const { steps, bill, end } = await run(2_501, 10_000);
  expect(end).toMatchObject({ kind: "proceed" });
  expect(steps).toHaveLength(2_000 + 1 + 5);
  expect(steps[2_000]?.text).toBe(
    "more than 2000 steps: from here on only their usage is recorded",
  );
  expect(steps.at(-1)).toMatchObject({ kind: "notice", of: 100, usage: { input: 100 } });
  expect(bill.lines).toMatchObject([{ input: 2_501 }]);
});

test("a limit of turns also ends a run whose steps are no longer recorded", async () => {
  const { stopped, bill } = await run(10_000, 2_100);
  expect(stopped).toContain("2,101 of 2,100 turns");
  expect(bill.lines).toMatchObject([{ input: 2_101 }]);
});
