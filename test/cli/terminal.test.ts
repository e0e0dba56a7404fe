import { appendFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../support/folders.ts";
import {
  cli,
  controlCodes,
  noTerminal,
  ok,
  type Surroundings,
  shell,
  stripColors,
  terminal,
  viv,
} from "./support.ts";

/** What people see: colour where there is a terminal, lines that fit it, nothing that commands it. */

if (noTerminal) console.log(`tests on a pseudo-terminal are skipped: ${noTerminal}`);

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(() => {
  folder = newFolder();
  run = join(folder, "run");
  around = { cwd: folder, env: { VIV_RUN: run } };
});

const say = (...args: string[]) => ok(args, around);
const COLOUR = "\u001b[";

describe("colour", () => {
  it.skipIf(noTerminal)("is there on a terminal, and nowhere else", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1");
    const env = { VIV_RUN: run };
    const seen = terminal(
      `echo "== plain"; viv ls
       echo "== no-color"; viv ls --no-color
       echo "== NO_COLOR"; NO_COLOR=1 viv ls
       echo "== empty"; NO_COLOR= viv ls
       echo "== dumb"; TERM=dumb viv ls
       echo "== piped"; viv ls | cat
       echo "== json"; viv ls --json
       echo "== error"; viv nope
       echo "== error without"; viv nope --no-color
       echo "== error in a file"; viv nope 2>${folder}/error; cat ${folder}/error`,
      100,
      { env },
    );
    const parts = Object.fromEntries(
      seen
        .split("== ")
        .slice(1)
        .map((part) => [part.slice(0, part.indexOf("\n")), part]),
    );
    for (const part of ["plain", "empty", "error"]) expect(parts[part], part).toContain(COLOUR);
    for (const part of [
      "no-color",
      "NO_COLOR",
      "dumb",
      "piped",
      "json",
      "error without",
      "error in a file",
    ])
      expect(parts[part], part).not.toContain(COLOUR);
    const body = (part = "") => part.replace(/\d+s$/gm, "").split("\n").slice(1);
    expect(body(stripColors(parts.plain ?? ""))).toEqual(body(parts["no-color"]));
  });

  it("is there in pipes with FORCE_COLOR or CLICOLOR_FORCE, unless NO_COLOR or --no-color", () => {
    const said = (args: string, env: Record<string, string>) => {
      const { stdout, stderr } = shell(`viv ${args}; viv nope ${args.slice(2)}`, { env });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control codes
      return [stdout, stderr].map((text) => /\u001b\[\d+m/.test(text));
    };
    for (const name of ["FORCE_COLOR", "CLICOLOR_FORCE"]) {
      const env = { [name]: "1" };
      expect(said("-h", env)).toEqual([true, true]);
      expect(said("-h --no-color", env)).toEqual([false, false]);
      expect(said("-h", { ...env, NO_COLOR: "1" })).toEqual([false, false]);
      expect(said("ls -h --json", env)).toEqual([true, false]);
    }
    expect(said("-h", { FORCE_COLOR: "0" })).toEqual([false, false]);
    const { stdout } = viv(["-h"], { env: { FORCE_COLOR: "1" } });
    expect(stripColors(stdout)).toBe(viv(["-h"]).stdout);
  });

  it("leaves what a task has written as it is, in a pipe with FORCE_COLOR", async () => {
    const here = newFolder();
    const env = { VIV_RUN: join(here, "run"), FORCE_COLOR: "1" };
    viv(["enqueue", "--type", "job", "--id", "t.1"], { env });
    const text = "a \u001b[2J \u202e b\r\n";
    writeFileSync(join(here, "run/artifacts/t.1.log"), text);
    expect(viv(["logs", "t.1"], { env })).toMatchObject({ status: 0, stdout: text });
  });

  it("is not there in pipes, whatever TERM says", () => {
    const { stdout, stderr } = shell("viv --help; viv nope", {
      env: { TERM: "xterm-256color", COLORTERM: "truecolor" },
    });
    expect(stdout + stderr).not.toContain(COLOUR);
  });
});

describe("width", () => {
  const LONG = `long.${"x".repeat(115)}`;

  async function fill(): Promise<void> {
    await say("enqueue", "--type", "job", "--id", `t.${LONG}`, "--priority", "high");
    await say("enqueue", "--type", `type.${"y".repeat(100)}`, "--id", "t.short");
    await say("claim", "--worker", `worker.${"w".repeat(100)}`);
  }

  function tooWide(text: string, width: number): string[] {
    return stripColors(text)
      .split("\n")
      .filter((line) => [...line].length > width);
  }

  it.skipIf(noTerminal)("of a real terminal is found out", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1", "--payload", '{"a":1}');
    await say("cancel", "t.1", "--note", "n".repeat(50));
    const note = "z".repeat(200);
    await say("status", "--summary", note);
    const narrow = terminal("viv status", 60, { env: { VIV_RUN: run } });
    const wide = terminal("viv status", 150, { env: { VIV_RUN: run } });
    const longest = (text: string) =>
      Math.max(
        ...stripColors(text)
          .split("\n")
          .map((line) => (line.includes("zz") ? line.length : 0)),
      );
    expect(longest(narrow)).toBe(60);
    expect(longest(wide)).toBe(150);
  });

  it.each([60, 80, 120])("%i: short ids fit", async (columns) => {
    for (let i = 0; i < 5; i++) await say("enqueue", "--type", "audit", "--priority", "high");
    await say("claim", "--worker", "me");
    for (const args of [["ls"], ["reap"], ["doctor"], ["why", "t.x"]]) {
      const { stdout } = await cli(args, { ...around, columns });
      expect(tooWide(stdout.replace(run, "RUN"), columns)).toEqual([]);
    }
  });

  it.each([60, 80, 100])(
    "%i: only a line of one name is wider, which can be pasted",
    async (columns) => {
      await fill();
      const { stdout } = await cli(["ls"], { ...around, columns });
      const wide = tooWide(stdout.replace(run, "RUN"), columns);
      for (const line of wide) expect(line).toMatch(/^ {4}(\d+s by )?\S+$/);
      expect(stdout).toContain(`t.${LONG}`);
      expect(stdout).not.toContain("…");
    },
  );

  it("in a pipe does not cut ids: a script reads them", async () => {
    await fill();
    expect(await say("ls")).toContain(`t.${LONG}`);
  });

  it.each([60, 80])("%i: the help fits", async (columns) => {
    for (const args of [["--help"], ["enqueue", "--help"], ["doctor", "--help"]]) {
      const { stdout } = await cli(args, { ...around, columns });
      expect(tooWide(stdout, columns)).toEqual([]);
    }
  });
});

describe("what others wrote cannot command the terminal", () => {
  const EVIL = "\u001b]0;title\u0007\u001b[2J\u009b31m\u0008\r\u007f";

  /** A foreign writer's files are not checked by our enqueue. */
  function foreign(id: string, task: object, state = "pending"): void {
    const whole = { task_id: id, task_type: "job", payload: {}, depends_on: [], ...task };
    writeFileSync(join(run, `${state}/${id}.json`), JSON.stringify(whole));
  }

  async function seen(...args: string[]): Promise<string> {
    const { stdout, stderr } = await cli(args, { ...around, columns: 100 });
    return stdout + stderr;
  }

  beforeEach(async () => {
    await say("init", "run");
  });

  it("in payloads", async () => {
    foreign("t.1", { payload: { [EVIL]: EVIL } });
    expect(controlCodes(await seen("show", "t.1"))).toEqual([]);
    const claimed = await seen("claim", "--worker", "w1");
    expect(claimed).toContain("t.1");
    expect(controlCodes(claimed)).toEqual([]);
  });

  it("in types", async () => {
    foreign("t.1", { task_type: EVIL });
    expect(await seen("ls")).toContain("t.1");
    expect(controlCodes(await seen("ls"))).toEqual([]);
    expect(controlCodes(await seen("show", "t.1"))).toEqual([]);
    expect(controlCodes(await seen("claim", "--worker", "w1"))).toEqual([]);
  });

  it("in unknown keys", async () => {
    foreign("t.1", { mine: EVIL, created_by: EVIL, done_when: EVIL });
    const text = await seen("show", "t.1");
    expect(text).toContain("mine");
    expect(controlCodes(text)).toEqual([]);
  });

  it("in the names of unknown keys", async () => {
    foreign("t.1", { [`mine${EVIL}`]: 1 });
    expect(controlCodes(await seen("show", "t.1"))).toEqual([]);
  });

  it("in notes", async () => {
    foreign("t.1", { max_attempts: 3 });
    await say("claim", "--worker", "w1");
    await say("fail", "t.1", "--worker", "w1", "--note", EVIL);
    await say("cancel", "t.1", "--note", EVIL, "--by", EVIL);
    await say("retry", "t.1", "--note", EVIL, "--by", EVIL);
    const text = await seen("show", "t.1");
    expect(text).toContain("tried again by ");
    expect(controlCodes(text)).toEqual([]);
    expect(controlCodes(await seen("why", "t.1"))).toEqual([]);
  });

  it("in notes of several lines, which are no other records", async () => {
    foreign("t.1", { max_attempts: 3 });
    await say("claim", "--worker", "w1");
    await say("fail", "t.1", "--worker", "w1", "--note", "one\n2026-01-01 two\n");
    await say("cancel", "t.1", "--note", "three\nfour");
    const text = await seen("show", "t.1");
    expect(text.match(/one\n {6}2026-01-01 two/g)).toHaveLength(2);
    expect(text).toContain("three\n      four");
    expect(text).not.toMatch(/^(2026|four)/m);
  });

  it("in the checkpoint", async () => {
    await say("status", "--summary", EVIL, "--next-step", EVIL, "--risk", EVIL);
    expect(controlCodes(await seen("status"))).toEqual([]);
  });

  it("in the run's id", async () => {
    const path = join(run, "status.json");
    const checkpoint = { completed_tasks: [], summary: "" };
    writeFileSync(path, JSON.stringify({ run_id: `evil${EVIL}`, checkpoint, metadata: {} }));
    expect(await seen("ls")).toContain("evil");
    expect(controlCodes(await seen("ls"))).toEqual([]);
    expect(controlCodes(await seen("status"))).toEqual([]);
  });

  it("in file names that doctor finds", async () => {
    const path = join(run, `pending/${EVIL.replace("/", "")}.json`);
    writeFileSync(path, "{}");
    utimesSync(path, 0, 0); // a young one may still be being written
    const text = await seen("doctor");
    expect(text).toContain("foreign_file");
    expect(controlCodes(text)).toEqual([]);
  });

  it("in logs; in a pipe a log stays as it is", async () => {
    foreign("t.1", {});
    appendFileSync(join(run, "artifacts/t.1.log"), `before${EVIL}after\n`);
    const text = await seen("logs", "t.1");
    expect(text).toContain("after");
    expect(controlCodes(text)).toEqual([]);
    expect(await say("logs", "t.1")).toBe(`before${EVIL}after\n`);
  });

  it.skipIf(noTerminal)("on a real one", async () => {
    foreign("t.1", { task_type: EVIL, payload: { a: EVIL } });
    appendFileSync(join(run, "artifacts/t.1.log"), `${EVIL}\n`);
    const text = terminal("viv ls; viv show t.1; viv logs t.1", 80, { env: { VIV_RUN: run } });
    expect(text).toContain("␛]0;title\\x07␛[2J");
    expect(controlCodes(text)).toEqual([]);
  });

  it("with --json everything comes as it is", async () => {
    foreign("t.1", { payload: { a: EVIL } });
    const { task } = JSON.parse(await say("show", "t.1", "--json"));
    expect(task.payload.a).toBe(EVIL);
  });
});
