import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { isVivError } from "../base/errors.ts";
import type { Io } from "../operation/io.ts";
import { limitsSection, routesSection } from "../work/config-route.ts";
import { findRun } from "./find-run.ts";

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

  it("with --run the settings are those of the viv.toml that names the run", async () => {
    folders("a/run", "b/run", "c/run");
    file("a/viv.toml", 'run = "run"\n[limits]\nreview = 1\n');
    file("b/viv.toml", 'run = "run"\n[limits]\nreview = 2\n');
    file("c/viv.toml", "[nonsense]\n");
    const limit = async (flag: string, cwd: string) =>
      (await find({ flag: at(flag), cwd })).config?.section(limitsSection).review;
    expect(await limit("a/run", "b")).toBe(1);
    expect(await limit("a/run", ".")).toBe(1);
    expect(await limit("c/run", "b")).toBe(2); // named by none
    symlinkSync(at("a/run"), at("link"));
    expect(await limit("link", "b")).toBe(1);
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
    expect(await find()).toMatchObject({ path: at("pointer"), onDependencyFailed: "fail" });
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
    expect(await find()).toMatchObject({ path: at("x"), onDependencyFailed: "fail" });
    expect(await find({ flag: "y" })).toMatchObject({ path: at("y"), onDependencyFailed: "fail" });
  });

  it("comes along with the run, also with one from elsewhere", async () => {
    file("a/viv.toml", 'run = "x"\n[handlers.b]\nhandler = "./b"\n');
    folders("a/c");
    for (const flag of [undefined, "/y"]) {
      const { config } = await find({ flag, cwd: "a/c" });
      expect(config?.file).toBe(at("a/viv.toml"));
      expect(config?.folder).toBe(at("a"));
      expect(config?.section(routesSection).get("b")?.handler).toEqual(["./b"]);
    }
    expect(await find({ flag: "/y" })).toEqual({ path: "/y", from: "--run" });
    file("a/viv.toml", "limits.review = 2\n");
    expect((await find({ flag: "/y", cwd: "a" })).config?.section(limitsSection)).toEqual({
      review: 2,
    });
  });

  it("in a run is read, and means that run unless it says another", async () => {
    runIn("run");
    file("run/.viv-run", "pointer\n");
    file("run/viv.toml", 'on_dependency_failed = "fail"\n');
    folders("run/claimed/w1");
    for (const cwd of ["run", "run/claimed/w1"]) {
      const found = await find({ cwd });
      expect(found).toMatchObject({ path: at("run"), onDependencyFailed: "fail" });
      expect(found.config?.folder).toBe(at("run"));
    }
    file("run/viv.toml", 'run = "../other"\n');
    expect((await find({ cwd: "run" })).path).toBe(at("other"));
  });

  it("above a run does not count in it", async () => {
    runIn("run");
    file("viv.toml", 'on_dependency_failed = "fail"\n');
    expect(await find({ cwd: "run" })).toEqual({ path: at("run"), from: at("run") });
  });

  it("with a mistake is refused, also where the run is said", async () => {
    file("viv.toml", 'run = "x"\n\n[handlers.a]\nhandlr = "./a"\nreview = 1\n');
    for (const options of [{}, { flag: "y" }, { env: { VIV_RUN: "y" } }]) {
      expect(await refusal(options)).toBe(
        `INVALID: ${at("viv.toml")}:4: unknown key "handlr" in [handlers.a]; did you mean "handler"?\n` +
          `${at("viv.toml")}:5: review must be true or false.`,
      );
    }
  });

  it("that is not TOML is refused with file, line and column", async () => {
    file("viv.toml", '# fine\nrun = "x\n');
    expect(await refusal()).toMatch(new RegExp(`^INVALID: ${at("viv.toml")}:2:\\d+: \\S`));
    expect(await refusal()).not.toContain("\n");
  });

  it.each([
    ["run = 5", "1: run must be the path of a directory."],
    ['run = ""', "1: run must be the path of a directory."],
    ['run = "x"\non_dependency_failed = "no"', '2: on_dependency_failed must be "wait" or "fail".'],
    ['rnu = "x"', '1: unknown key "rnu"; did you mean "run"?'],
  ])("%j is refused", async (text, message) => {
    file("viv.toml", text);
    expect(await refusal()).toBe(`INVALID: ${at("viv.toml")}:${message}`);
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
