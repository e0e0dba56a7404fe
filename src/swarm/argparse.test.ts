import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseArguments, progOf, UsageError, usageOf } from "./argparse.ts";
import { COMMANDS } from "./cli.ts";

const REFERENCE = fileURLToPath(new URL("../../test/mixed/argparse_ref.py", import.meta.url));

interface Answer {
  /** Null when it was parsed; otherwise the exit status. */
  code: number | null;
  stderr: string;
  values: Record<string, string> | null;
}

function python(cases: readonly string[][]): { version: number[]; answers: Answer[] } {
  const { stdout, stderr, status } = spawnSync("python3", [REFERENCE], {
    input: JSON.stringify({ commands: COMMANDS, cases }),
    encoding: "utf8",
    env: { ...process.env, COLUMNS: "80" },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

function ours(args: readonly string[]): Answer {
  try {
    const parsed = parseArguments(args, COMMANDS);
    if (parsed.kind === "help") return { code: 0, stderr: "", values: null };
    const values: Record<string, string> = { cmd: parsed.command.name };
    for (const { flag, kind } of parsed.command.options) {
      if (!parsed.values.has(flag)) continue;
      const whole = kind === "whole" ? `${parsed.values.whole(flag)}` : "True";
      values[flag.slice(2).replaceAll("-", "_")] = parsed.values.maybe(flag) ?? whole;
    }
    return { code: null, stderr: "", values };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { command, message } = error;
    const stderr = `${usageOf(command, 80)}${progOf(command)}: error: ${message}\n`;
    return { code: 2, stderr, values: null };
  }
}

/** Python changed wording and line breaks after 3.11, but not the accepted lines. */
function compare(cases: readonly string[][]): void {
  const { version, answers } = python(cases);
  const hasOurWording = version[0] === 3 && version[1] === 11;
  for (const [i, args] of cases.entries()) {
    const expected = answers[i] as Answer;
    const actual = ours(args);
    if (hasOurWording) expect({ args, ...actual }).toEqual({ args, ...expected });
    else expect({ args, values: actual.values }).toEqual({ args, values: expected.values });
  }
}

const RUN = ["--run-dir", "/r"];

test("accepts and refuses the same lines as argparse, with its messages", () => {
  compare([
    [],
    ["-h"],
    ["--help"],
    ["--he"],
    ["--help=x"],
    ["-hh"],
    ["-hx"],
    ["nope"],
    ["it's"],
    ['say "it\'s"'],
    ["tab\there\u0007\\"],
    ["--nope"],
    ["--nope", "ls"],
    ...COMMANDS.map(({ name }) => [name]),
    ...COMMANDS.map(({ name }) => [name, "-h"]),
    ["ls"],
    ["ls", "extra"],
    ["ls", "--unknown", "extra", "--json"],
    ["--first", "ls", "--second"],
    ["ls", "--", "--json"],
    ["ls", "--js", "--no", "--ro", "/x"],
    ["ls", "--json=1"],
    ["ls", "--json="],
    ["ls", "--r", "x"],
    ["ls", "--root"],
    ["ls", "--root", "--json"],
    ["ls", "--root", "-5"],
    ["ls", "--root", "-.5"],
    ["ls", "--root", "-x"],
    ["ls", "--root", "-x y"],
    ["ls", "--root", "-"],
    ["ls", "--root", ""],
    ["ls", "--root="],
    ["ls", "--root=-x"],
    ["ls", "--root", "a", "--root", "b"],
    ["enqueue", ...RUN, "--task", "x"],
    ["enqueue", ...RUN, "--task=x"],
    ["enqueue", ...RUN, "--task-i", "x", "--task-t", "y"],
    ["enqueue", ...RUN, "--task-id", "x", "--task-type", "y", "--payload", '{"a": -1}'],
    ["enqueue", ...RUN, "--task-id", "x", "--task-type", "y", "--payload", "-1"],
    ["claim", "--run", "/r", "--worker", "w", "--task-type", "a,b"],
    ["complete", ...RUN, "--worker-id", "w", "--task-id", "t"],
    ["complete", ...RUN, "--worker-id", "w", "--task-id", "t", "--success", "--success"],
    ["complete", ...RUN, "--worker-id", "w", "--task-id", "t", "--success", "--failure"],
    ["complete", ...RUN, "--worker-id", "w", "--task-id", "t", "--failure", "--success"],
    ["complete", "--success"],
    ["complete", "--success=yes"],
    ["reap", ...RUN, "--stale-after", "x"],
    ["reap", ...RUN, "--stale-after", "1.5"],
    ["reap", ...RUN, "--stale-after", "-5"],
    ["reap", ...RUN, "--stale-after", " 1_000 "],
    ["reap", ...RUN, "--stale-after", "+7"],
    ["reap", ...RUN, "--stale-after", "99999999999999999999"],
    ["reap", "--stale-after", "x", "--help"],
    ["reap", "--help", "--stale-after", "x"],
    ["status-write", ...RUN, "--s", "sum", "--next-s", "step", "--next-t", "t"],
    ["status-write", ...RUN, "--next", "step"],
  ]);
});

test("agrees with argparse on any mixture of flags and values", () => {
  const flags = COMMANDS.flatMap(({ options }) => options.map(({ flag }) => flag));
  const flag = fc
    .tuple(fc.constantFrom(...flags), fc.integer({ min: 3, max: 20 }), fc.boolean())
    .map(([name, length, whole]) => (whole ? name : name.slice(0, length)));
  const value = fc.constantFrom("x", "", "-", "-1", "-x", "a b", "-a b", "12", "a,b", "{}", "=");
  const token = fc.oneof(
    { weight: 4, arbitrary: flag },
    { weight: 3, arbitrary: value },
    { weight: 2, arbitrary: fc.tuple(flag, value).map(([f, v]) => `${f}=${v}`) },
    { weight: 1, arbitrary: fc.constantFrom("-h", "--help", "--nope", "extra") },
  );
  const line = fc
    .tuple(fc.constantFrom(...COMMANDS.map(({ name }) => name)), fc.array(token, { maxLength: 10 }))
    .map(([name, rest]) => [name, ...rest]);
  compare(fc.sample(line, { numRuns: 2000, seed: 20261115 }));
});
