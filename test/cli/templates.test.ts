import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, test } from "vitest";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { noTerminal, SCRIPT, terminal, VIV, viv } from "./support.ts";

/** `viv init --template` in a real repository, and the commands that it prints, as pasted. */

let folder: string;
let bin: string;
let env: Record<string, string>;
beforeEach(() => {
  const base = newFolder();
  folder = join(base, "repo");
  bin = join(base, "bin");
  mkdirSync(folder);
  mkdirSync(bin);
  program("viv", `exec '${process.execPath}' '${VIV}' "$@"`);
  const who = Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((role) => [
      [`GIT_${role}_NAME`, "ida"],
      [`GIT_${role}_EMAIL`, "ida@example.org"],
    ]),
  );
  // Only these programs: an agent of the developer's machine must not be found.
  const PATH = [bin, process.execPath.replace(/\/node$/, ""), "/usr/bin", "/bin"].join(":");
  env = { PATH, HOME: base, VIV_STATE: join(base, "state"), ...who };
});

const program = (name: string, text: string) => {
  writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(bin, name), 0o755);
};
const git = (...args: string[]) =>
  execFileSync("git", ["-C", folder, ...args], {
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
const repository = () => {
  git("init", "-q", "-b", "main");
  writeFileSync(join(folder, "package.json"), '{"scripts":{"test":"test -s NOTES.md"}}');
  git("add", "-A");
  git("commit", "-q", "-m", "first");
};
const init = (...args: string[]) => viv(["init", "--template", ...args], { cwd: folder, env });
const paste = (printed: string) => {
  const next = [...printed.matchAll(/^ {2}(.*)$/gm)].map(([, line]) => line).join("\n");
  // Whatever fails, nothing is left running.
  const end = next.includes("--detach") ? "trap 'viv down --now >/dev/null 2>&1 || :' EXIT\n" : "";
  return spawnSync("bash", ["-euc", end + next], {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: 60_000,
  });
};
const read = (path: string) => readFileSync(join(folder, path), "utf8");

test.each<[string, RegExp]>([
  ["fleet", /^landed {2}t\.1/m],
  ["chain", /notes\.check {2}done/],
  ["pit", /0 food · 1 done/],
  ["newsroom", /PUBLISHED/],
  ["triage", /Class: bug/],
])("%s: the first task is done with the commands as printed", (template, end) => {
  repository();
  const { status, stdout, stderr } = init(template, "--yes");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const said = paste(stdout);
  expect(said.stdout + said.stderr).toMatch(end);
  expect(said.status).toBe(0);
  // Runs and state are hidden from git; what is left is what was written.
  const left = git("status", "--short", "-uall").trim().split("\n");
  const files = stdout.split("\n")[0]?.replace("made ", "").split(" ") ?? [];
  expect(left.map((line) => line.slice(3)).sort()).toEqual(files.sort());
  if (!existsSync(join(folder, "viv.toml"))) return;
  const [first] = read("viv.toml").split("\n");
  expect(first).toMatch(/^#:schema file:\/\/\/.*\/viv\.schema\.json$/);
  expect(existsSync(new URL(first?.replace("#:schema ", "") ?? ""))).toBe(true);
  expect(viv(["config", "check"], { cwd: folder, env }).stdout).toMatch(/^valid \S+$/m);
});

describe("what it finds", () => {
  it("a newsroom's members find viv, also where it is only a function of the shell", () => {
    repository();
    unlinkSync(join(bin, "viv"));
    const { stdout } = init("newsroom", "--yes");
    const said = paste(`  viv() { "${process.execPath}" "${VIV}" "$@"; }\n${stdout}`);
    expect(said.stdout + said.stderr).toMatch(/PUBLISHED/);
    // And a member that does not find it does not say that there is no work.
    const alone = spawnSync(join(folder, "viv/member.sh"), ["EDIT"], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    expect(alone.status).toBe(127);
    expect(alone.stdout).toBe("");
  });

  it("uses the agent that is installed and logged in, and the repository's tests", () => {
    repository();
    // As the vendor's program: its stream, and a command in the place of its thoughts.
    program(
      "claude",
      `[ "$1" = --version ] && { echo 9.9.9; exit; }
cat >"${bin}/asked"; echo "for trying things out" >NOTES.md
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"s","total_cost_usd":0.01}'`,
    );
    program("codex", "exit 1");
    mkdirSync(join(env.HOME ?? "", ".claude"));
    writeFileSync(join(env.HOME ?? "", ".claude/.credentials.json"), "{}");
    const { stdout } = init("fleet", "--yes");
    expect(read("viv.toml")).toMatch(/^engine = "claude" .*installed too: codex$/m);
    expect(read("viv.toml")).toMatch(/^done_when = "npm test" .*found in package\.json$/m);
    const said = paste(stdout);
    expect(said.stdout + said.stderr).toMatch(/^landed {2}t\.1/m);
    expect(readFileSync(join(bin, "asked"), "utf8")).toContain("one paragraph");
  });

  it("takes --engine and --done-when for it", () => {
    repository();
    init("chain", "--yes", "--engine", "gemini", "--done-when", "make check");
    expect(read("viv.toml").match(/^engine = "gemini"/gm)).toHaveLength(3);
    expect(read("viv.toml")).toContain('done_when = "make check"');
  });

  it("keeps the set-up of the repository with a proof of one's own", () => {
    repository();
    writeFileSync(join(folder, "package-lock.json"), "{}");
    init("fleet", "--yes", "--done-when", "npm run check");
    expect(read("viv.toml")).toMatch(/^setup = "npm ci"/m);
    expect(read("viv.toml")).toMatch(/^done_when = "npm run check" +# the proof$/m);
  });

  it("a chain outside of git takes the proof that is given", () => {
    init("chain", "--yes", "--done-when", "make check");
    expect(read("viv.toml")).toContain('done_when = "make check"');
  });

  it("keeps bytecode out of the branches where git does not ignore it", () => {
    repository();
    writeFileSync(join(folder, "app.py"), "");
    git("add", "app.py");
    git("commit", "-q", "-m", "python");
    const { stdout } = init(
      "fleet",
      "--yes",
      "--done-when",
      "test -s NOTES.md && python3 -c 'import app'",
    );
    expect(paste(stdout)).toMatchObject({ status: 0 });
    expect(git("ls-tree", "-r", "--name-only", "viv/fleet").trim().split("\n")).toEqual([
      ...["NOTES.md", "app.py", "package.json"],
    ]);
  });

  it("names the schema by its path where the package is installed", () => {
    repository();
    mkdirSync(join(folder, "node_modules/vivarium/dist"), { recursive: true });
    writeFileSync(join(folder, "node_modules/vivarium/dist/viv.schema.json"), "{}");
    init("triage", "--yes");
    expect(read("viv.toml")).toMatch(
      /^#:schema \.\/node_modules\/vivarium\/dist\/viv\.schema\.json\n/,
    );
  });
});

it("prints commands that zsh can read, too, where a comment behind one is arguments", () => {
  repository();
  const { stdout } = viv(["init", "--yes"], { cwd: folder, env });
  expect(stdout).toContain("\n  viv up\n");
  expect(stdout).not.toMatch(/\S +# /);
});

describe("what it refuses", () => {
  it("a fleet without a repository, without commits, or below its top", () => {
    expect(init("fleet", "--yes")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("git init && git add -A"),
    });
    git("init", "-q");
    expect(init("fleet", "--yes").stderr).toContain("has no commits");
    // Not a run without workers, which would do nothing: as with commits, a fleet is meant.
    expect(viv(["init"], { cwd: folder, env })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("has no commits"),
    });
    const settings = read(".git/config");
    writeFileSync(join(folder, ".git/config"), "[broken");
    expect(init("fleet", "--yes").stderr).toContain("git does not work in");
    writeFileSync(join(folder, ".git/config"), settings);
    repository();
    mkdirSync(join(folder, "sub"));
    const below = viv(["init", "--template", "fleet", "--yes"], { cwd: join(folder, "sub"), env });
    expect(below.stderr).toContain("--show-toplevel");
    expect(readdirSync(folder).sort()).toEqual([".git", "package.json", "sub"]);
  });

  it("to replace a file of the user, and writes nothing then", () => {
    repository();
    writeFileSync(join(folder, "viv.toml"), "mine = [");
    const { status, stderr } = init("fleet", "--yes");
    expect({ status, stderr }).toEqual({
      status: 4,
      stderr: expect.stringContaining("viv.toml is there already"),
    });
    expect(readdirSync(folder).sort()).toEqual([".git", "package.json", "viv.toml"]);
    expect(read("viv.toml")).toBe("mine = [");
  });

  it("an unknown template, a folder, and flags without a template", () => {
    expect(init("flet").stderr).toMatch(/--template .*fleet/);
    expect(init("pit", "dir").stderr).toContain("cd DIR");
    const alone = viv(["init", "--engine", "claude"], { cwd: folder, env });
    expect(alone).toMatchObject({ status: 2, stderr: expect.stringContaining("--template") });
    expect(readdirSync(folder)).toEqual([]);
  });
});

it("twice is once", () => {
  repository();
  init("triage", "--yes");
  expect(init("triage", "--yes")).toMatchObject({ status: 0 });
});

it("is finished by the next call, wherever it was killed", () => {
  repository();
  init("fleet", "--yes");
  const paths = ["viv.toml", "viv/task.md", "viv/handle.sh", "viv/tasks.jsonl"];
  const whole = paths.map(read);
  const killer = join(bin, "killer.cjs");
  writeFileSync(
    killer,
    `const fs = require("node:fs"); const { linkSync } = fs; let n = Number(process.env.KILL_AT);
fs.linkSync = (...args) => { if (--n === 0) process.kill(process.pid, "SIGKILL"); return linkSync(...args); };`,
  );
  let kills = 0;
  for (let at = 1; at <= paths.length + 1; at++) {
    git("clean", "-qfdx");
    const killed = spawnSync(process.execPath, [VIV, "init", "--template", "fleet", "--yes"], {
      cwd: folder,
      env: { ...env, NODE_OPTIONS: `--require ${killer}`, KILL_AT: String(at) },
    });
    if (killed.signal === "SIGKILL") kills++;
    // With other answers: the plan that was begun counts.
    const again = init("fleet", "--yes", ...(at > 1 ? ["--engine", "codex"] : []));
    expect(again).toMatchObject({ status: 0 });
    expect(paths.map(read)).toEqual(whole);
    expect(readdirSync(folder).sort()).toEqual([".git", "package.json", "viv", "viv.toml"]);
  }
  expect(kills).toBe(paths.length + 1);
});

describe.skipIf(noTerminal)("on a terminal", () => {
  it("asks nothing where no answer would help", () => {
    const said = terminal("viv init --template fleet", 80, { cwd: folder, env, input: "\n\n" });
    expect(said).toContain("is no git repository");
    expect(said).not.toContain("Agent (");
    repository();
    writeFileSync(join(folder, "viv.toml"), "# mine\n");
    const kept = terminal("viv init --template fleet", 80, { cwd: folder, env, input: "\n\n" });
    expect(kept).toContain("viv.toml is there already");
    expect(kept).not.toContain("Agent (");
  });

  it("asks for the agent and the proof, with defaults", () => {
    repository();
    const said = terminal("viv init --template fleet", 80, {
      cwd: folder,
      env,
      input: "clade\nscript\nmake check\n",
    });
    expect(said).toMatch(/Agent \(none is installed\) \[script\]: /);
    expect(said).toContain("one of claude, codex, gemini, opencode, script, please");
    expect(said).toContain("Command that proves the work (found in package.json) [npm test]:");
    expect(read("viv.toml")).toContain('done_when = "make check"');
  });

  it("says when the agent that was chosen is not installed", () => {
    repository();
    const said = terminal("viv init --template fleet", 80, {
      cwd: folder,
      env,
      input: "codex\n\n",
    });
    expect(said).toContain("codex is not found in PATH; install it before viv up");
    expect(read("viv.toml")).toContain('engine = "codex"');
  });

  it("says so also when it is asked nothing", () => {
    repository();
    const { stdout } = viv(["init", "--engine", "codex", "--yes"], { cwd: folder, env });
    expect(stdout).toContain("codex is not found in PATH; install it before viv up");
    expect(stdout).toContain("viv enqueue --jsonl viv/tasks.jsonl");
  });

  it("leaves nothing behind after Ctrl-C", async () => {
    repository();
    const child = spawn(SCRIPT as string, ["-qec", "viv init --template fleet", "/dev/null"], {
      cwd: folder,
      env: { ...env, SHELL: "/bin/bash", TERM: "xterm" },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await until("it asks", () => said.includes("Agent ("));
    child.stdin.write("\u0003");
    const [status] = await within("it ends", once(child, "close"));
    expect(status).toBe(130);
    expect(said).toContain("nothing was written");
    expect(readdirSync(folder).sort()).toEqual([".git", "package.json"]);
  });
});
