import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import { places, snapshot } from "../support/run-files.ts";
import { cli, ok, type Surroundings, viv } from "./support.ts";

/** What is wrong is refused with a sentence, and leaves nothing behind. */

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(async () => {
  folder = newFolder();
  run = join(folder, "sub/run");
  around = { cwd: folder, env: { VIV_RUN: run } };
  await ok(["enqueue", "--type", "job", "--id", "good"], around);
});

async function refused(args: string[], message: RegExp): Promise<void> {
  const before = snapshot(folder);
  const said = await cli(args, around);
  expect(said.stdout).toBe("");
  expect(said.stderr).toMatch(/^viv: [^\n]+\n$/);
  expect(said.stderr).toMatch(message);
  expect(said.status).toBe(2);
  expect(snapshot(folder)).toEqual(before);
}

const LONG = "a".repeat(129);
const BAD_NAMES: [string, RegExp][] = [
  ["../x", /"\.\.\/x" must not begin with a dot/],
  ["a/b", /"a\/b" may contain only/],
  [".hidden", /"\.hidden" must not begin with a dot/],
  [".", /must not begin with a dot/],
  ["", /"" is empty/],
  [LONG, /has 129 characters; at most 128/],
  ["a\nb", /"a\\nb" may contain only/],
  ["a\0b", /may contain only/],
  ["a b", /may contain only/],
  ["naïve", /may contain only/],
  ["a\\b", /may contain only/],
];

describe.each(BAD_NAMES)("the name %j", (name, message) => {
  it("is no task id", async () => {
    await refused(["enqueue", "--type", "job", `--id=${name}`], message);
    await refused(["enqueue", "--type", "job", `--parent=${name}`], message);
    await refused(["complete", "--worker", "w", `--id=${name}`], message);
    for (const verb of ["show", "why", "logs", "cancel", "retry"])
      await refused([verb, "--", name], message);
    if (name !== "") await refused(["enqueue", "--type", "job", `--depends-on=${name}`], message);
  });

  it("is no worker's name", async () => {
    await refused(["claim", `--worker=${name}`], message);
    await refused(["heartbeat", `--worker=${name}`], message);
    await refused(["complete", "good", `--worker=${name}`], message);
  });

  it("is no id in a stream either", async () => {
    const stdin = `${JSON.stringify({ type: "job", id: name })}\n`;
    const said = await cli(["enqueue", "--jsonl", "-"], { ...around, stdin });
    expect(said).toMatchObject({ status: 2, stdout: "" });
    expect(said.stderr).toMatch(/^viv: line 1: /);
    expect(said.stderr).toMatch(message);
    expect(readdirSync(join(run, "pending"))).toEqual(["good.json"]);
  });
});

it("128 characters, dashes and dots inside are fine", async () => {
  for (const id of ["a".repeat(128), "-", "--", "-x.y_z", "0"]) {
    await ok(["enqueue", "--type", "job", `--id=${id}`], around);
    expect(existsSync(join(run, `pending/${id}.json`))).toBe(true);
    await ok(["show", "--", id], around);
  }
});

describe("a type", () => {
  it.each(["", "a b", "a\nb", "\u001b[31m", ".x", LONG])("%j is refused", async (type) => {
    await refused(["enqueue", `--type=${type}`], /task type/);
  });

  it("may have the punctuation of paths and versions", async () => {
    await ok(["enqueue", "--type", "team/audit:v1.2@x+y", "--id", "t.1"], around);
  });
});

describe("a payload", () => {
  it.each([
    ["nope", /--payload is not valid JSON/],
    ["", /--payload is not valid JSON/],
    ["{'a':1}", /--payload is not valid JSON/],
    ['{"a":NaN}', /--payload is not valid JSON/],
    ["[1]", /--payload must be a JSON object/],
    ["null", /--payload must be a JSON object/],
    ['"text"', /--payload must be a JSON object/],
    ["7", /--payload must be a JSON object/],
    ['{"a":12345678901234567890}', /12345678901234567890, which would lose digits/],
  ])("%j is refused", async (payload, message) => {
    await refused(["enqueue", "--type", "job", "--payload", payload], message);
  });

  it("10,000 levels deep is refused, without a stack overflow", async () => {
    const deep = `{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    await refused(["enqueue", "--type", "job", "--payload", deep], /deeper than 500 levels/);
    const said = viv(["enqueue", "--run", run, "--type", "job", "--payload", deep]);
    expect(said).toMatchObject({ status: 2, stdout: "" });
    expect(said.stderr).toMatch(/deeper than 500 levels/);
  });

  it("with a number that is too large for a number is refused, not made null", async () => {
    await refused(["enqueue", "--type", "job", "--payload", '{"a":1e999}'], /1e999/);
  });

  it("with a fraction of many digits is fine", async () => {
    const payload = '{"a":0.30000000000000004}';
    await ok(["enqueue", "--type", "job", "--id", "t.1", "--payload", payload], around);
  });

  it("with __proto__ pollutes nothing", async () => {
    const payload = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}';
    await ok(["enqueue", "--type", "job", "--id", "t.1", "--payload", payload], around);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    const stored = readFileSync(join(run, "pending/t.1.json"), "utf8");
    expect(JSON.parse(stored).payload.a).toBe(1);
    await ok(["claim", "--worker", "w", "--max", "9"], around);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("with __proto__ is stored as it was given", async () => {
    const payload = '{"__proto__":{"polluted":1}}';
    await ok(["enqueue", "--type", "job", "--id", "t.1", "--payload", payload], around);
    expect(readFileSync(join(run, "pending/t.1.json"), "utf8")).toContain("__proto__");
  });

  it("with any text in it comes out as it went in", async () => {
    const payload = { text: "ünï 日本 🎉 \u001b[31m \0 \u2028 \ud800", "": [null, -0.5, 1e21] };
    const args = ["enqueue", "--type", "job", "--id", "t.1", "--payload", JSON.stringify(payload)];
    await ok(args, around);
    const { task } = JSON.parse(await ok(["show", "t.1", "--json"], around));
    expect(task.payload).toEqual(payload);
  });
});

describe("times and durations", () => {
  it.each([
    ["--not-before", "tomorrow"],
    ["--not-before", "2026-13-01T00:00:00Z"],
    ["--not-before", "2026-11-15"],
    ["--not-before", "2026-11-15T08:00:00"],
    ["--not-before", ""],
    ["--deadline", "soon"],
    ["--timeout", "5q"],
    ["--timeout", "0s"],
    ["--timeout", "-5m"],
    ["--done-when", "  "],
    ["--max-attempts", "1e9"],
  ])("%s %j is refused", async (flag, value) => {
    const name = flag.slice(2).replaceAll("-", "[-_]");
    await refused(
      ["enqueue", "--type", "job", `${flag}=${value}`],
      new RegExp(`${name}.* (is|must)`),
    );
  });
});

describe("metadata", () => {
  it.each(["[]", "nope", "null", "{"])("%j is refused", async (text) => {
    await refused(["status", "--metadata", text], /metadata/);
  });
});

it("nothing was written outside the run", async () => {
  for (const [name] of BAD_NAMES) {
    await cli(["enqueue", "--type", "job", `--id=${name}`, "--if-absent"], around);
    await cli(["claim", `--worker=${name}`], around);
  }
  expect(readdirSync(folder)).toEqual(["sub"]);
  expect(readdirSync(join(folder, "sub"))).toEqual(["run"]);
  expect(places(run)).toEqual(new Map([["good", [{ state: "pending" }]]]));
});
