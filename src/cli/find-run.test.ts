import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { isVivError } from "../model/errors.ts";
import { findRun } from "./find-run.ts";
import type { Io } from "./io.ts";

let root: string;
beforeEach(() => {
  root = newFolder();
});

const at = (path: string) => join(root, path);

function file(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}

function folders(...paths: string[]): void {
  for (const path of paths) mkdirSync(at(path), { recursive: true });
}

function runIn(path: string): void {
  folders(`${path}/pending`, `${path}/claimed`, `${path}/done`);
}

function find(options: { flag?: string; env?: Record<string, string>; cwd?: string } = {}) {
  const io = { env: { ...options.env }, cwd: at(options.cwd ?? ".") };
  return findRun(options.flag, io as unknown as Io);
}

async function refusal(options: Parameters<typeof find>[0] = {}): Promise<string> {
  try {
    return JSON.stringify(await find(options));
  } catch (error) {
    if (isVivError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
}

describe("which run", () => {
  it("--run comes first, then VIV_RUN, then what is near", async () => {
    file("viv.toml", 'run = "near"\n');
    const env = { VIV_RUN: "from-env" };
    expect((await find({ flag: "from-flag", env })).path).toBe(at("from-flag"));
    expect((await find({ env })).path).toBe(at("from-env"));
    expect((await find({})).path).toBe(at("near"));
    expect((await find({ env: { VIV_RUN: "" } })).path).toBe(at("near"));
  });

  it("an absolute path stays as it is, a relative one is from here", async () => {
    folders("sub");
    expect((await find({ flag: "/x/y", cwd: "sub" })).path).toBe("/x/y");
    expect((await find({ flag: "../y", cwd: "sub" })).path).toBe(at("y"));
    expect((await find({ env: { VIV_RUN: "z" }, cwd: "sub" })).path).toBe(at("sub/z"));
  });

  it("~ is the home folder in --run and VIV_RUN", async () => {
    const home = { HOME: "/home/pia" };
    expect((await find({ flag: "~/audit", env: home })).path).toBe("/home/pia/audit");
    expect((await find({ flag: "~", env: home })).path).toBe("/home/pia");
    expect((await find({ env: { ...home, VIV_RUN: "~/audit" } })).path).toBe("/home/pia/audit");
    expect((await find({ flag: "~pia/audit", env: home })).path).toBe(at("~pia/audit"));
  });

  it("~ is the home folder in viv.toml and .viv-run as well", async () => {
    file("a/viv.toml", 'run = "~/audit"');
    file("b/.viv-run", "~/audit\n");
    const env = { HOME: "/home/pia" };
    expect((await find({ cwd: "a", env })).path).toBe("/home/pia/audit");
    expect((await find({ cwd: "b", env })).path).toBe("/home/pia/audit");
  });

  it("is looked for upwards, and the nearest counts", async () => {
    file(".viv-run", "far\n");
    file("a/viv.toml", 'run = "near"');
    folders("a/b/c", "d/e");
    expect((await find({ cwd: "a/b/c" })).path).toBe(at("a/near"));
    expect((await find({ cwd: "d/e" })).path).toBe(at("far"));
  });

  it("is the folder itself when it is a run, also from deep inside", async () => {
    runIn("run");
    folders("run/claimed/w1");
    file(".viv-run", "other\n");
    expect((await find({ cwd: "run" })).path).toBe(at("run"));
    expect((await find({ cwd: "run/claimed/w1" })).path).toBe(at("run"));
    folders("not/pending", "not/claimed");
    expect((await find({ cwd: "not" })).path).toBe(at("other"));
  });

  it("in one folder viv.toml comes before .viv-run", async () => {
    file("viv.toml", 'run = "toml"');
    file(".viv-run", "pointer\n");
    expect((await find()).path).toBe(at("toml"));
  });

  it("a viv.toml without run does not hide the .viv-run beside it", async () => {
    file("viv.toml", 'on_dependency_failed = "fail"');
    file(".viv-run", "pointer\n");
    expect(await find()).toEqual({ path: at("pointer"), onDependencyFailed: "fail" });
  });

  it("an empty --run is a mistake, not the current folder", async () => {
    expect(await refusal({ flag: "" })).toBe("USAGE: --run is empty; give it a directory.");
  });

  it("when nothing says, the error says how to", async () => {
    expect(await refusal()).toBe(
      "USAGE: which run? Pass --run DIR, set VIV_RUN, or make one here with: viv init DIR",
    );
  });
});

describe("viv.toml", () => {
  it("has a policy for failed dependencies, also for a run from elsewhere", async () => {
    file("viv.toml", 'run = "x"\non_dependency_failed = "fail"\n');
    expect(await find()).toEqual({ path: at("x"), onDependencyFailed: "fail" });
    expect(await find({ flag: "y" })).toEqual({ path: at("y"), onDependencyFailed: "fail" });
  });

  it("that is not TOML is refused with file, line and column", async () => {
    file("viv.toml", '# fine\nrun = "x\n');
    expect(await refusal()).toMatch(new RegExp(`^INVALID: ${at("viv.toml")}:2:\\d+: \\S`));
    expect(await refusal()).not.toContain("\n");
  });

  it.each([
    ["run = 5", "run must be the path of a directory."],
    ['run = ""', "run must be the path of a directory."],
    ['run = "x"\non_dependency_failed = "no"', 'on_dependency_failed must be "wait" or "fail".'],
  ])("%j is refused", async (text, message) => {
    file("viv.toml", text);
    expect(await refusal()).toBe(`INVALID: ${at("viv.toml")}: ${message}`);
  });
});

describe(".viv-run", () => {
  it("holds one line", async () => {
    file(".viv-run", "  the run \r\n");
    expect((await find()).path).toBe(at("the run"));
    for (const text of ["", "\n\n", "a\nb\n", "a\0b"]) {
      file(".viv-run", text);
      expect(await refusal()).toBe(
        `INVALID: ${at(".viv-run")} must hold one line: the path of the run.`,
      );
    }
  });
});

describe("what is not a file", () => {
  it("as viv.toml or .viv-run is an error with a sentence, not a bug report", async () => {
    folders("a/viv.toml", "b/.viv-run");
    expect(await refusal({ cwd: "a" })).toMatch(/^INVALID: /);
    expect(await refusal({ cwd: "b" })).toMatch(/^INVALID: /);
  });
});
