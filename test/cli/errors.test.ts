import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ERROR_CODES, EXIT_STATUS, VivError } from "../../src/base/errors.ts";
import { within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import {
  cli,
  controlCodes,
  ok,
  Running,
  type Said,
  type Surroundings,
  shell,
  viv,
} from "./support.ts";

/** A command that fails says so in one sentence on stderr, with a documented exit status. */

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(() => {
  folder = newFolder();
  run = join(folder, "run");
  around = { cwd: folder, env: { VIV_RUN: run } };
});

const attempt = (...args: string[]) => cli(args, around);
const say = (...args: string[]) => ok(args, around);

/** Checks the form of a refusal and returns its sentence. */
function sentence(said: Said, status: number): string {
  expect(said).toMatchObject({ status, stdout: "" });
  expect(said.stderr).toMatch(/^viv: [^\n]+\n$/);
  return said.stderr.slice("viv: ".length, -1);
}

/** The same with --json: the object on stderr, and no word besides. */
async function object(args: string[], status: number): Promise<Record<string, unknown>> {
  const said = await attempt(...args, "--json");
  expect(said).toMatchObject({ status, stdout: "" });
  const lines = said.stderr.split("\n");
  expect(lines).toHaveLength(2);
  const { error, ...rest } = JSON.parse(said.stderr);
  expect(rest).toEqual({});
  expect(error.message).toBeTypeOf("string");
  return error;
}

describe("exit status", () => {
  it("of every error code is the documented one, and --json has the code", async () => {
    for (const code of ERROR_CODES) {
      const open = () => Promise.reject(new VivError(code, "so it is.", { fact: 1 }));
      const people = await cli(["ls"], { ...around, open });
      expect(sentence(people, EXIT_STATUS[code])).toBe("so it is.");
      const programs = await cli(["ls", "--json"], { ...around, open });
      expect(programs).toEqual({
        status: EXIT_STATUS[code],
        stdout: "",
        stderr: `${JSON.stringify({ error: { code, message: "so it is.", fact: 1 } })}\n`,
      });
    }
  });

  it("is 70 for a bug, with where it happened", async () => {
    const open = () => Promise.reject(new TypeError("cannot read properties of null"));
    const said = await cli(["ls"], { ...around, open });
    expect(said).toMatchObject({ status: 70, stdout: "" });
    expect(said.stderr).toMatch(/^viv: this is a bug in viv, please report it:\nTypeError: cannot/);
    expect(said.stderr).toContain("errors.test.ts");
  });

  it("70 with --json is a JSON object too", async () => {
    const open = () => Promise.reject(new TypeError("cannot read properties of null"));
    const said = await cli(["ls", "--json"], { ...around, open });
    expect(JSON.parse(said.stderr)).toHaveProperty("error.message");
  });

  it("is what a script sees", () => {
    // One shell, so that this costs a few processes and not a dozen tests.
    const { stdout } = shell(
      `viv enqueue --type job --id t.1 >/dev/null; echo $?
       viv nope 2>/dev/null; echo $?
       viv show t.9 2>/dev/null; echo $?
       viv ls --run ./nope 2>/dev/null; echo $?
       viv enqueue --type job --id t.1 2>/dev/null; echo $?
       viv ls --run /dev/null 2>/dev/null; echo $?
       viv 2>/dev/null >/dev/null; echo $?`,
      { cwd: folder, env: { VIV_RUN: run } },
    );
    expect(stdout.trim().split("\n").map(Number)).toEqual([0, 2, 3, 3, 4, 5, 2]);
  });
});

describe("usage", () => {
  it("is one JSON object with --json", async () => {
    expect(await object(["enqueue", "--type", "x", "--priority", "lwo"], 2)).toEqual({
      code: "USAGE",
      message: '--priority "lwo" is not known; did you mean low?',
    });
  });

  it("no command at all shows the help, and is not a success", async () => {
    const said = await attempt();
    expect(said).toMatchObject({ status: 2, stderr: "" });
    expect(said.stdout).toContain("viv COMMAND");
  });

  it("nothing says which run", async () => {
    around = { cwd: folder };
    expect(sentence(await attempt("ls"), 2)).toMatch(/^which run\?/);
    expect(await object(["ls"], 2)).toMatchObject({ code: "USAGE" });
  });
});

describe("help", () => {
  it.each(["help", "--help", "-h"])("viv %s is a success", async (word) => {
    expect(await attempt(word)).toMatchObject({ status: 0, stderr: "" });
  });

  it.each([
    ..."enqueue cancel retry approve reject claim complete fail release heartbeat ls show".split(
      " ",
    ),
    ..."why status watch logs init reap doctor".split(" "),
  ])("viv %s --help, -h and viv help %s are the same", async (name) => {
    const text = await say(name, "--help");
    expect(text).toMatch(new RegExp(`^viv ${name}: `));
    expect(await say(name, "-h")).toBe(text);
    expect(await say("help", name)).toBe(text);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("viv demo --help is a success", () => {
    expect(viv(["demo", "--help"])).toMatchObject({ status: 0, stderr: "" });
  });

  it("viv completion --help is a success", async () => {
    expect(await attempt("completion", "--help")).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("what is not there", () => {
  it("a task", async () => {
    await say("init", "run");
    expect(await object(["show", "t.9"], 3)).toMatchObject({ code: "TASK_NOT_FOUND", id: "t.9" });
  });

  it("a run, which no command but enqueue and init makes", async () => {
    expect(await object(["ls"], 3)).toMatchObject({ code: "RUN_NOT_FOUND", path: run });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("a run in a folder that is something else", async () => {
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "empty"));
    around.env = { VIV_RUN: join(folder, "empty") };
    expect(sentence(await attempt("ls"), 3)).toContain("is not a run");
    around.env = { VIV_RUN: join(folder, "file") };
    expect(sentence(await attempt("ls"), 5)).toContain("is a file, not a run directory");
    expect(sentence(await attempt("enqueue", "--type", "x"), 5)).toContain("is a file");
    expect(await object(["ls"], 5)).toMatchObject({ code: "RUN_INVALID" });
    expect(readdirSync(join(folder, "empty"))).toEqual([]);
  });
});

it("a run where no folder can be made is refused, not tried for ever", async () => {
  const trying = new Running(["enqueue", "--run", "/proc/viv/run", "--type", "x"]);
  expect(await within("enqueue ends", trying.end(), 3)).toMatchObject({ status: 5 });
});

describe("conflicts", () => {
  it("an id that is taken, with the state it is in", async () => {
    await say("enqueue", "--type", "x", "--id", "t.1");
    expect(sentence(await attempt("enqueue", "--type", "x", "--id", "t.1"), 4)).toBe(
      "task t.1 is there already: pending; choose another id, or pass --if-absent.",
    );
    await say("claim", "--worker", "w1");
    expect(await object(["enqueue", "--type", "x", "--id", "t.1"], 4)).toMatchObject({
      code: "TASK_EXISTS",
      state: "claimed",
    });
    await say("complete", "t.1", "--worker", "w1");
    expect(sentence(await attempt("enqueue", "--type", "x", "--id", "t.1"), 4)).toContain("done");
  });

  it("a cycle of dependencies, printed", async () => {
    await say("enqueue", "--type", "x", "--id", "a", "--depends-on", "b");
    await say("enqueue", "--type", "x", "--id", "b", "--depends-on", "c");
    const cycle = ["enqueue", "--type", "x", "--id", "c", "--depends-on", "a"];
    expect(sentence(await attempt(...cycle), 4)).toContain("c → a → b → c");
    expect(await object(cycle, 4)).toMatchObject({ code: "DEPENDENCY_CYCLE" });
    const self = ["enqueue", "--type", "x", "--id", "d", "--depends-on", "d"];
    expect(sentence(await attempt(...self), 4)).toContain("d depends on itself");
  });

  it("a state in which it cannot be done, with what can", async () => {
    await say("enqueue", "--type", "x", "--id", "t.1");
    expect(sentence(await attempt("retry", "t.1"), 4)).toBe(
      "cannot retry t.1: it is pending; a worker will take it.",
    );
    expect(await object(["approve", "t.1"], 4)).toMatchObject({
      code: "WRONG_STATE",
      state: "pending",
    });
    await say("cancel", "t.1");
    expect(sentence(await attempt("cancel", "t.1"), 4)).toContain("viv retry t.1");
  });

  it("a claim that was lost", async () => {
    await say("enqueue", "--type", "x", "--id", "t.1");
    const first = JSON.parse(await say("claim", "--worker", "w1", "--json"));
    await say("release", "t.1", "--worker", "w1");
    await say("claim", "--worker", "w1");
    for (const verb of ["complete", "fail", "release"]) {
      const args = [verb, "t.1", "--worker", "w1", "--token", first.token];
      expect(sentence(await attempt(...args), 4)).toContain("w1 no longer holds t.1");
      expect(await object(args, 4)).toMatchObject({ code: "CLAIM_LOST" });
      expect(sentence(await attempt(verb, "t.1", "--worker", "w2"), 4)).toContain("w2");
    }
    expect(await say("complete", "t.1", "--worker", "w1")).toBe("t.1: claimed → done\n");
  });

  it("in the middle of several tasks: what was done is said", async () => {
    await say("enqueue", "--type", "x", "--id", "t.1");
    const said = await attempt("cancel", "t.1", "t.9");
    expect(said.status).toBe(3);
    expect(said.stdout + said.stderr).toContain("t.1");
  });
});

describe("the sentence", () => {
  it("is red on a terminal, and cannot command it", async () => {
    const evil = "\u001b[2J\u0007";
    const said = await cli([evil], { ...around, columns: 80 });
    expect(said.stderr.startsWith("\u001b[31mviv:\u001b[39m there is no command")).toBe(true);
    expect(controlCodes(said.stderr)).toEqual([]);
    expect(controlCodes((await attempt("ls", `--${evil}`)).stderr)).toEqual([]);
    around.env = { VIV_RUN: join(folder, evil) };
    expect(controlCodes((await attempt("ls")).stderr)).toEqual([]);
  });
});

it("in a folder that was removed, says so", () => {
  const said = shell(`mkdir gone && cd gone && rmdir ../gone && viv ls --run ${run}`, {
    cwd: folder,
  });
  const sentence = "viv: the folder that you are in was removed; go to another one: cd ~\n";
  expect(said).toEqual({ status: 3, stdout: "", stderr: sentence });
});
