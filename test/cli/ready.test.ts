import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cli, json, ok, Running } from "./support.ts";

/** `viv work` with workspaces that must be made ready: what users see, and what a kill leaves. */

let home: string;

const around = () => ({
  cwd: home,
  env: { PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state") },
});

function git(...args: string[]): string {
  const who = ["-c", "user.name=User", "-c", "user.email=user@example.org"];
  return execFileSync("git", [...who, ...args], { cwd: join(home, "app"), encoding: "utf8" });
}

beforeEach(async () => {
  home = newFolder();
  const app = join(home, "app");
  mkdirSync(app);
  writeFileSync(join(app, "package-lock.json"), "one\n");
  writeFileSync(join(app, ".gitignore"), "node_modules/\nmodels\n");
  git("init", "--quiet", "--initial-branch=main");
  git("add", "-A");
  git("commit", "--quiet", "-m", "first");
  mkdirSync(join(app, "models"));
  writeFileSync(join(app, "models/big"), "data\n");
  writeFileSync(join(app, ".env"), "SECRET=1\n");
  const script = '#!/bin/sh\ncat .env node_modules/lib 2>&1; echo work > "$VIV_TASK_ID.txt"\n';
  writeFileSync(join(home, "handle.sh"), script, { mode: 0o755 });
  const store = await openRun(join(home, "run"), { create: true, durability: "fast" });
  await store.close();
});

function config(route: string, more = ""): void {
  const head = 'run = "run"\n[handlers.default]\nhandler = "./handle.sh"\nbackoff = "10ms"\n';
  const where = 'workspace = "worktree"\nrepository = "app"\n';
  writeFileSync(join(home, "viv.toml"), `${head}${where}${route}\n${more}`);
}

async function enqueue(...ids: string[]): Promise<void> {
  const lines = ids.map((id) => JSON.stringify({ id, type: "t" })).join("\n");
  await ok(["enqueue", "--jsonl", "-", "--durability", "fast"], { ...around(), stdin: lines });
}

const drain = () => cli(["work", "--drain", "--durability", "fast"], around());
const setupOf = (id: string) => readFileSync(join(home, `run/artifacts/${id}.setup.log`), "utf8");

test("a set-up that fails costs no attempt, and the third in a row holds the route back", async () => {
  config(`setup = "echo first line; echo 'npm ERR! no registry' >&2; exit 7"`);
  await enqueue("a", "b", "c", "d");
  const { stdout, status } = await drain();
  expect(status).toBe(1);
  expect(stdout.match(/setup_failed after/g)).toHaveLength(3);
  expect(stdout).toContain(
    "0 done, 3 attempts ended otherwise\n4 tasks left behind:\n  the set-up",
  );
  expect(stdout).toMatch(
    /a setup_failed after .*: exit 7: npm ERR! no registry; see: viv logs a --setup/,
  );
  expect(stdout).toContain("the set-up of [handlers.default] failed 3 times in a row");
  expect(stdout).toContain("viv workspaces retry");
  const { counts } = await json<{ counts: Record<string, number> }>(["ls"], around());
  expect(counts).toMatchObject({ failed: 0, done: 0, claimed: 0 });
  const { history } = await json<{ history: { outcome: string }[] }>(["show", "a"], around());
  expect(history.every(({ outcome }) => outcome === "setup_failed")).toBe(true);
  expect(await ok(["logs", "a", "--setup"], around())).toBe("first line\nnpm ERR! no registry\n");

  const why = await json<{ reasons: { code: string; log?: string[] }[] }>(["why", "d"], around());
  expect(why.reasons[0]).toMatchObject({
    ...{ code: "setup_failed", command: "viv workspaces retry" },
    log: ["first line", "npm ERR! no registry"],
  });
  expect(await ok(["status"], around())).toContain("failed 3 times in a row");
  expect((await drain()).stdout).toContain("nothing was claimed");

  expect(await ok(["workspaces", "retry"], around())).toContain(
    "[handlers.default] is tried again",
  );
  expect(await ok(["workspaces", "retry"], around())).toContain("no set-up has failed");
  expect((await drain()).stdout).toContain("setup_failed after");

  config(`setup = "mkdir -p node_modules && echo lib > node_modules/lib"`);
  const fixed = await drain(); // another command: it is tried at once
  expect(fixed.stdout).toContain("4 done");
  expect(existsSync(join(home, "run/workspaces/.setup/failures/default.json"))).toBe(false);
});

test("a commit at the base opens a route that is held back", async () => {
  config(`setup = "grep -q two package-lock.json"`);
  await enqueue("a", "b", "c");
  await drain();
  expect((await drain()).stdout).toContain("nothing was claimed");
  writeFileSync(join(home, "app/package-lock.json"), "two\n");
  git("commit", "--quiet", "-am", "second");
  // First in turn, even if the rest of the others, whose branches are of before, is over.
  await ok(["enqueue", "--id", "d", "--type", "t", "--priority", "high"], around());
  expect((await drain()).stdout).toMatch(/d done/);
});

test("in a sandbox: the set-up runs inside, links are read-only, nothing brought is committed", async () => {
  config(
    `sandbox = "write-workspace"\ncopy = [".env"]\nlink = ["models"]
setup = "mkdir -p node_modules && cat models/big .env > node_modules/lib; touch models/x; true"`,
  );
  await enqueue("a", "b");
  const { stdout } = await drain();
  expect(stdout).toContain("2 done");
  expect(await ok(["logs", "a"], around())).toBe("SECRET=1\ndata\nSECRET=1\n");
  expect(setupOf("a")).toContain("Read-only file system");
  expect(setupOf("b")).toContain("what this set-up made before was copied: node_modules");
  expect(git("ls-tree", "--name-only", "viv/b@run").split("\n")).toEqual([
    ...[".gitignore", "b.txt", "package-lock.json", ""],
  ]);
  expect(existsSync(join(home, "app/models/x"))).toBe(false);
});

test("mistakes are told before anything is claimed", async () => {
  config('copy = [".env", "no.json"]');
  await enqueue("a");
  expect((await drain()).stderr).toContain("has no no.json; make it, or take it out of copy");
  config('copy = ["../x", "/etc/passwd", ".git/config"]\nsetup_key = ["a"]');
  const { stderr, status } = await drain();
  expect(status).not.toBe(0);
  expect(stderr).toContain('viv.toml:7: copy: "../x" must not leave the repository.');
  expect(stderr).toContain('"/etc/passwd" must be a path below the repository');
  expect(stderr).toContain('".git/config" must not lead into .git');
  expect(stderr).toContain("setup_key goes only with setup");
  const plain =
    'run = "run"\n[handlers.default]\nhandler = "./handle.sh"\nsetup = "x"\ncopy = ["y"]';
  writeFileSync(join(home, "viv.toml"), plain);
  const second = (await drain()).stderr;
  expect(second).toContain('setup goes only with workspace = "worktree" or "dir"');
  expect(second).toContain('copy goes only with workspace = "worktree"');
});

test("set-ups are removed also where there are none", async () => {
  config("");
  await enqueue("a");
  await drain();
  expect(await ok(["workspaces", "gc", "--setups"], around())).toContain("kept a");
});

test("a full limit holds claims back, and they go on when there is room", async () => {
  config("", '[limits]\nworkspaces = "10kB"');
  await enqueue("a");
  expect((await drain()).stdout).toContain("1 done");
  await enqueue("b");
  const first = await drain();
  expect(first.stdout).toContain("workspaces take up what [limits] workspaces allows (10 kB)");
  expect(first.stdout).toContain("1 task left behind:");
  expect(first.status).toBe(1);
  const why = await json<{ reasons: { code: string }[] }>(["why", "b"], around());
  expect(why.reasons[0]).toMatchObject({ code: "no_space", command: "viv workspaces gc" });
  expect(await ok(["status"], around())).toMatch(/workspaces take .* of 10 kB/);
  expect(await ok(["workspaces"], around())).toMatch(/of 10 kB$/m);

  const worker = new Running(["work", "--once", "--durability", "fast"], around());
  await worker.says("to free some: viv workspaces gc");
  await ok(["workspaces", "gc", "a"], around());
  expect((await worker.end()).stdout).toMatch(/b done/);
});

test("kill -9 in the middle of a set-up: it is done again, and no process of it is left", async () => {
  const begun = join(home, "begun");
  const go = join(home, "go");
  config(
    `setup = "mkdir -p node_modules; echo half > node_modules/lib; echo $$ >> ${begun}; while ! test -e ${go}; do sleep 0.05; done; echo whole > node_modules/lib"`,
  );
  await enqueue("a");
  const first = new Running(["work", "--durability", "fast"], around());
  await until("the set-up has begun", () => existsSync(begun));
  first.child.kill("SIGKILL");
  await first.end();
  const [pid = ""] = readFileSync(begun, "utf8").split("\n");
  await until("its shell is gone", () => !existsSync(`/proc/${pid}`));
  writeFileSync(go, "");
  const second = new Running(["work", "--once", "--durability", "fast"], around());
  expect((await second.end()).stdout).toMatch(/a done/);
  expect(readFileSync(begun, "utf8").split("\n")).toHaveLength(3);
  expect(await ok(["logs", "a"], around())).toBe("cat: .env: No such file or directory\nwhole\n");
  rmSync(go);
});
