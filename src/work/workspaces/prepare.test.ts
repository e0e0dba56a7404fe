import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { guard, release } from "../../platform/files/beneath.ts";
import type { Finished } from "../../platform/processes/handlers.ts";
import type { Needs } from "../config-needs.ts";
import { whyNotReady } from "./check-needs.ts";
import { commitWorkspace } from "./commit.ts";
import { listWorkspaces } from "./inspect.ts";
import { openWorkspace } from "./open.ts";
import { type PrepareRequest, prepareWorkspace } from "./prepare.ts";
import { readReady } from "./ready-state.ts";
import { removeWorkspace } from "./remove.ts";
import { keptSetups } from "./setup-cache.ts";

/** Real git and real commands; a set-up counts its runs in `ran` beside the repository. */

beforeEach(() => {
  vi.stubEnv("GIT_CONFIG_GLOBAL", "/dev/null");
  vi.stubEnv("GIT_CONFIG_NOSYSTEM", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
});

const USER = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };

function git(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=User", "-c", "user.email=user@example.org"];
  const env = { PATH: process.env.PATH, HOME: "/", ...USER };
  return execFileSync("git", [...who, ...args], { cwd, env, encoding: "utf8" }).trim();
}

function write(path: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

function newWorld() {
  const folder = newFolder();
  const repository = join(folder, "app");
  write(join(repository, "package-lock.json"), "one\n");
  write(join(repository, "src/a.ts"), "a\n");
  write(join(repository, ".gitignore"), "node_modules/\n*.pem\n");
  git(repository, "init", "--quiet", "--initial-branch=main");
  git(repository, "add", "-A");
  git(repository, "commit", "--quiet", "-m", "first");
  const root = join(folder, "run/workspaces");
  const ran = join(folder, "ran");
  const said: string[] = [];
  const install = `echo x >> '${ran}'; mkdir -p node_modules/lib; cat package-lock.json > node_modules/lib/index`;

  async function open(id: string) {
    return (await openWorkspace({ kind: "worktree", root, run: "run", id, repository })) as {
      path: string;
      base: string;
    };
  }
  async function prepare(id: string, needs: Needs, more: Partial<PrepareRequest> = {}) {
    const { path, base } = await open(id);
    const prepared = await prepareWorkspace({
      ...{ path, root, needs, repository, base, cacheBytes: 1e9 },
      scope: { env: [], sandbox: [] },
      run: async (command) => runIn(path, command),
      say: (line) => void said.push(line),
      ...more,
    });
    return { path, prepared };
  }
  const runs = () => (existsSync(ran) ? readFileSync(ran, "utf8").length / 2 : 0);
  const patch = join(folder, "run/artifacts/t.patch");
  return { folder, repository, root, said, install, open, prepare, runs, patch };
}

function runIn(cwd: string, command: string): Finished {
  const { status, stderr } = spawnSync("sh", ["-c", command], { cwd, encoding: "utf8" });
  const rest = { signal: null, durationMs: 1, dropped: 0, survivors: [] };
  return { cause: "exit", exit: status, tail: stderr, ...rest };
}

const filesIn = (path: string, commit = "HEAD") =>
  git(path, "ls-tree", "-r", "--name-only", commit).split("\n");

describe("set-up", () => {
  test("runs once for a workspace, and later ones get a copy that is their own", async () => {
    const { prepare, install: setup, runs } = newWorld();
    const first = await prepare("t.1", { setup });
    expect(first.prepared).toMatchObject({ kind: "ready", how: "set up" });
    expect((await prepare("t.1", { setup })).prepared).toMatchObject({ how: "before" });
    const second = await prepare("t.2", { setup });
    expect(second.prepared).toMatchObject({ how: "kept" });
    expect(runs()).toBe(1);
    const copied = join(second.path, "node_modules/lib/index");
    appendFileSync(copied, "changed\n");
    const third = await prepare("t.3", { setup });
    for (const { path } of [first, third]) {
      expect(readFileSync(join(path, "node_modules/lib/index"), "utf8")).toBe("one\n");
    }
  });

  test.each<[string, (file: string) => void]>([
    ["truncated", (file) => truncateSync(file)],
    ["gone", (file) => rmSync(file)],
  ])("runs again where a kept file is %s, as after a power cut", async (_, damage) => {
    const { prepare, install: setup, root, runs } = newWorld();
    await prepare("t.1", { setup });
    const [key = ""] = readdirSync(join(root, ".setup")).filter((name) => !name.startsWith("."));
    damage(join(root, ".setup", key, "files/node_modules/lib/index"));
    const second = await prepare("t.2", { setup });
    expect(second.prepared).toMatchObject({ kind: "ready", how: "set up" });
    expect(readFileSync(join(second.path, "node_modules/lib/index"), "utf8")).toBe("one\n");
    // What it made takes the place of the damaged one.
    expect((await prepare("t.3", { setup })).prepared).toMatchObject({ how: "kept" });
    expect(runs()).toBe(2);
  });

  test("runs again after another lockfile or another command", async () => {
    const { prepare, install: setup, runs } = newWorld();
    const { path } = await prepare("t.1", { setup });
    writeFileSync(join(path, "package-lock.json"), "two\n");
    expect((await prepare("t.1", { setup })).prepared).toMatchObject({ how: "set up" });
    expect(readFileSync(join(path, "node_modules/lib/index"), "utf8")).toBe("two\n");
    await prepare("t.2", { setup: `${setup}; true` });
    const scope = { env: ["NODE_ENV=production"], sandbox: [] };
    await prepare("t.3", { setup }, { scope });
    await prepare("t.4", { setup, setupKey: ["src/*.ts"] });
    expect(runs()).toBe(5);
  });

  test("nothing is kept of a workspace in which a task has worked", async () => {
    const { prepare, open, install: setup, runs, root } = newWorld();
    const { path } = await open("t.1");
    write(join(path, "node_modules/lib/bad"), "of a task\n");
    await prepare("t.1", { setup });
    const other = await open("t.2");
    writeFileSync(join(other.path, "src/a.ts"), "changed\n");
    await prepare("t.2", { setup });
    const third = await open("t.3");
    write(join(third.path, "b.ts"), "b\n");
    await commitWorkspace(third.path, "of a task");
    await prepare("t.3", { setup });
    expect(keptSetups(root)).toEqual([]);
    expect((await prepare("t.4", { setup })).prepared).toMatchObject({ how: "set up" });
    expect(runs()).toBe(4);
    expect(keptSetups(root)).toHaveLength(1);
  });

  test("nothing is kept that names its own workspace, has no lockfile, or is too large", async () => {
    const { prepare, install, said, root } = newWorld();
    await prepare("t.1", { setup: `${install}; echo "#!$PWD/bin" > node_modules/script` });
    expect(said.at(-1)).toContain("node_modules/script names the path of this workspace");
    await prepare("t.2", { setup: `${install}; ln -s "$PWD/src" node_modules/link` });
    expect(said.at(-1)).toContain("node_modules/link names the path");
    await prepare("t.3", { setup: install, setupKey: ["no-such-file"] });
    expect(said.at(-1)).toContain("there is no lockfile");
    await prepare("t.4", { setup: install }, { cacheBytes: 10 });
    expect(said.at(-1)).toContain("larger than setup_cache");
    expect(keptSetups(root)).toEqual([]);
    expect(readdirSync(join(root, ".setup")).filter((name) => /^\.(new|to)~/.test(name))).toEqual(
      [],
    );
  });

  test("the least recently used goes when all together are too large", async () => {
    const { prepare, install, root } = newWorld();
    await prepare("t.1", { setup: install });
    const [{ bytes = 0 } = {}] = keptSetups(root);
    await prepare("t.2", { setup: `${install}; : 2` });
    for (const { key } of keptSetups(root))
      utimesSync(join(root, ".setup", key, "about.json"), 1, 1);
    await prepare("t.3", { setup: install }); // used again
    await prepare("t.4", { setup: `${install}; : 3` }, { cacheBytes: 2.5 * bytes });
    const left = keptSetups(root).map(({ command }) => command.slice(install.length));
    expect(left.sort()).toEqual(["", "; : 3"]);
  });

  test("one that was cut short is done again, and its changes are not the task's", async () => {
    const { prepare, install: setup, runs } = newWorld();
    const cut = "echo half > package-lock.json; echo stray > stray; exit 1";
    const key = { setupKey: ["src/a.ts"] };
    const failed = await prepare("t.1", { setup: cut, ...key });
    expect(failed.prepared).toMatchObject({ kind: "ended", finished: { exit: 1 } });
    const again = await prepare("t.1", { setup, ...key });
    expect(again.prepared).toMatchObject({ kind: "failed" });
    rmSync(join(again.path, "stray"));
    const { path, prepared } = await prepare("t.1", { setup, ...key });
    expect(prepared).toMatchObject({ how: "set up" });
    expect(readFileSync(join(path, "package-lock.json"), "utf8")).toBe("one\n");
    expect(runs()).toBe(2);
    expect(await commitWorkspace(path, "nothing")).toBeNull();
  });

  test("restores tracked files that it changed, but not those that the task changed", async () => {
    const { prepare, open, said } = newWorld();
    const { path } = await open("t.1");
    writeFileSync(join(path, "src/a.ts"), "the task's\n");
    const setup = "echo new > package-lock.json; echo b >> src/a.ts; rm .gitignore";
    expect((await prepare("t.1", { setup })).prepared).toMatchObject({ kind: "ready" });
    expect(readFileSync(join(path, "package-lock.json"), "utf8")).toBe("one\n");
    expect(readFileSync(join(path, ".gitignore"), "utf8")).toContain("node_modules");
    expect(readFileSync(join(path, "src/a.ts"), "utf8")).toBe("the task's\nb\n");
    expect(said[0]).toContain(".gitignore, package-lock.json");
  });

  test("fails when it makes files that git would commit", async () => {
    const { prepare } = newWorld();
    const { prepared } = await prepare("t.1", { setup: "mkdir out && echo x > out/y" });
    expect(prepared).toMatchObject({ kind: "failed" });
    expect(JSON.stringify(prepared)).toContain("it made out/, which git does not ignore");
  });

  test("two workspaces at once: one runs it, the other copies", async () => {
    const { prepare, install: setup, runs } = newWorld();
    const all = await Promise.all(["t.1", "t.2", "t.3"].map((id) => prepare(id, { setup })));
    const how = all.map(({ prepared }) => prepared.kind === "ready" && prepared.how);
    expect(how.sort()).toEqual(["kept", "kept", "set up"]);
    expect(runs()).toBe(1);
  });

  test("a plain folder has its set-up once", async () => {
    const { root, runs, install: setup } = newWorld();
    const { path } = await openWorkspace({ kind: "dir", run: "run", root, id: "d.1" });
    const request: PrepareRequest = {
      ...{ path, root, needs: { setup }, repository: null, base: null, cacheBytes: 0 },
      scope: { env: [], sandbox: [] },
      run: async (command) => runIn(path, `${command}; true`),
      say: () => {},
    };
    expect(await prepareWorkspace(request)).toMatchObject({ how: "set up" });
    expect(await prepareWorkspace(request)).toMatchObject({ how: "before" });
    expect(runs()).toBe(1);
  });
});

describe("copy and link", () => {
  test("bring what git does not have, with its mode, and nothing of it is ever committed", async () => {
    const { prepare, repository, root, patch } = newWorld();
    write(join(repository, ".env"), "SECRET=1\n", 0o640);
    write(join(repository, "config/local.json"), "{}\n");
    write(join(repository, "models/big"), "data\n");
    const needs = { copy: [".env", "config"], link: ["models"] };
    const { path, prepared } = await prepare("t.1", needs);
    expect(statSync(join(path, ".env")).mode & 0o777).toBe(0o640);
    expect(readlinkSync(join(path, "models"))).toBe(join(repository, "models"));
    expect(prepared).toMatchObject({ kind: "ready", reads: [join(repository, "models")] });
    write(join(path, "config/mine.json"), "{}\n");

    expect((await listWorkspaces(root))[0]).toMatchObject({ dirty: true });
    const env = prepared.kind === "ready" ? prepared.env : {};
    const status = execFileSync("git", ["status", "--porcelain", "-uall"], {
      ...{ cwd: path, encoding: "utf8", env: { ...process.env, ...USER, ...env } },
    });
    expect(status).toBe("?? config/mine.json\n");
    git(path, "add", "--force", ".env", "models"); // as a task might
    await commitWorkspace(path, "work");
    expect(filesIn(path)).toEqual([
      ...[".gitignore", "config/mine.json", "package-lock.json", "src/a.ts"],
    ]);
    expect(git(repository, "status", "--porcelain", "-uall")).toContain("?? .env");
    expect((await listWorkspaces(root))[0]).toMatchObject({ dirty: false });

    writeFileSync(join(path, "src/a.ts"), "unsaved\n");
    const removed = await removeWorkspace(root, "t.1", patch);
    expect(removed).toMatchObject({ removed: true });
    expect(readFileSync(removed.archived ?? "", "utf8")).not.toContain("SECRET");
    expect(readFileSync(join(repository, "models/big"), "utf8")).toBe("data\n");
  });

  test("a task that has committed a copied file does not end as done", async () => {
    const { prepare, repository } = newWorld();
    write(join(repository, ".env"), "SECRET=1\n");
    const { path } = await prepare("t.1", { copy: [".env"] });
    git(path, "add", "--force", ".env");
    git(path, "commit", "--quiet", "-m", "oops");
    await expect(commitWorkspace(path, "work")).rejects.toThrow("has .env, which was copied");
  });

  test("nor one that has taken it out again in a later commit: both would land", async () => {
    const { prepare, repository } = newWorld();
    write(join(repository, ".env"), "SECRET=1\n");
    const { path } = await prepare("t.1", { copy: [".env"] });
    const first = git(path, "rev-parse", "HEAD");
    git(path, "switch", "--quiet", "--create", "side");
    git(path, "add", "--force", ".env");
    git(path, "commit", "--quiet", "-m", "oops");
    git(path, "rm", "--quiet", "--cached", ".env");
    git(path, "commit", "--quiet", "-m", "undone");
    git(path, "switch", "--quiet", "viv/t.1@run");
    git(path, "merge", "--quiet", "--no-ff", "side");
    await expect(commitWorkspace(path, "work")).rejects.toThrow(/has \.env in commit \w+, which/);
    git(path, "reset", "--quiet", "--hard", first);
    expect(await commitWorkspace(path, "work")).toBeNull();
  });

  test("a copy follows its source, and leaves the task's own files alone", async () => {
    const { prepare, open, repository } = newWorld();
    write(join(repository, ".env"), "A=1\n");
    write(join(repository, "key.pem"), "theirs\n");
    const { path } = await open("t.1");
    write(join(path, "key.pem"), "its own\n");
    await prepare("t.1", { copy: [".env", "*.pem"] });
    expect(readFileSync(join(path, "key.pem"), "utf8")).toBe("its own\n");
    writeFileSync(join(path, ".env"), "A=2\n");
    await prepare("t.1", { copy: [".env"] });
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("A=2\n");
    writeFileSync(join(repository, ".env"), "A=three\n");
    await prepare("t.1", { copy: [".env"] });
    expect(readFileSync(join(path, ".env"), "utf8")).toBe("A=three\n");
  });

  test("what git tracks is not overwritten", async () => {
    const { prepare, repository } = newWorld();
    writeFileSync(join(repository, "src/a.ts"), "being edited\n");
    write(join(repository, "src/local"), "local\n");
    const { path } = await prepare("t.1", { copy: ["src"] });
    expect(readFileSync(join(path, "src/a.ts"), "utf8")).toBe("a\n");
    expect(readFileSync(join(path, "src/local"), "utf8")).toBe("local\n");
  });

  test("nothing leaves the repository, on neither side", async () => {
    const { prepare, repository, folder, open } = newWorld();
    write(join(folder, "outside/secret"), "secret\n");
    symlinkSync("../outside", join(repository, "out"));
    symlinkSync("../outside/secret", join(repository, "one"));
    for (const needs of [{ copy: ["out"] }, { copy: ["one"] }, { link: ["out"] }]) {
      await expect(prepare("t.1", needs)).rejects.toThrow("outside of the repository's files");
    }
    await expect(prepare("t.1", { copy: ["gone"] })).rejects.toThrow("has no gone; make it");
    write(join(repository, "src/b"), "b\n");
    const { path } = await open("t.2");
    rmSync(join(path, "src"), { recursive: true });
    symlinkSync(join(folder, "outside"), join(path, "src"));
    guard(join(folder, "run"), "strict"); // as a worker does
    onTestFinished(() => release(join(folder, "run"), "strict"));
    await expect(prepare("t.2", { copy: ["src/b"] })).rejects.toThrow("is a symbolic link");
    expect(readdirSync(join(folder, "outside"))).toEqual(["secret"]);
  });

  test("are checked before anything is claimed", async () => {
    const { repository } = newWorld();
    const why = (needs: Needs) => whyNotReady(needs, repository, undefined);
    expect(await why({ copy: [".env"] })).toContain(`${repository} has no .env; make it`);
    expect(await why({ copy: ["src/a.ts"] })).toContain("src/a.ts is tracked by git");
    expect(await why({ link: ["src"] })).toContain("src is tracked by git");
    expect(await why({ setup: "x", setupKey: ["yarn.lok"] })).toContain("has no yarn.lok");
    expect(await why({ setup: "x", setupKey: ["package-lock.json", "src/*.ts"] })).toBeNull();
    write(join(repository, ".env"), "");
    expect(await why({ copy: [".env"], setup: "x" })).toBeNull();
  });

  test("a file that has landed in the repository meanwhile is git's again", async () => {
    const { prepare, repository } = newWorld();
    write(join(repository, "generated"), "1\n");
    const { path } = await prepare("t.1", { copy: ["generated"] });
    git(repository, "add", "generated");
    git(repository, "commit", "--quiet", "-m", "lands");
    const base = git(repository, "rev-parse", "HEAD");
    rmSync(join(path, "generated"));
    git(path, "merge", "--quiet", "main");
    await prepare("t.1", { copy: ["generated"] }, { base });
    const admin = git(path, "rev-parse", "--absolute-git-dir");
    expect(readReady(admin).brought).toEqual({});
    writeFileSync(join(path, "generated"), "2\n");
    await commitWorkspace(path, "work");
    expect(git(path, "show", "HEAD:generated")).toBe("2");
  });
});
