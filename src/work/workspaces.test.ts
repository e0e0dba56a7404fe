import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { holds } from "../../test/support/property.ts";
import { isVivError } from "../base/errors.ts";
import { commitWorkspace } from "./workspaces/commit.ts";
import { listWorkspaces } from "./workspaces/inspect.ts";
import { openWorkspace } from "./workspaces/open.ts";
import { branchOf, taskOfBranch } from "./workspaces/record.ts";
import { removeWorkspace } from "./workspaces/remove.ts";

/** git as a user runs it, with a name and no settings. */
const USER = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "User",
  GIT_AUTHOR_EMAIL: "user@example.org",
  GIT_COMMITTER_NAME: "User",
  GIT_COMMITTER_EMAIL: "user@example.org",
};

beforeEach(() => {
  vi.stubEnv("GIT_CONFIG_GLOBAL", "/dev/null");
  vi.stubEnv("GIT_CONFIG_NOSYSTEM", "1");
  // As in a hook of git: these must have no effect.
  vi.stubEnv("GIT_DIR", "/no/such/repository");
  vi.stubEnv("GIT_WORK_TREE", "/no/such/folder");
  vi.stubEnv("GIT_INDEX_FILE", "/no/such/index");
  onTestFinished(() => void vi.unstubAllEnvs());
});

function userGit(cwd: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: "/", ...USER };
  return execFileSync("git", args, { cwd, env, encoding: "utf8", stdio: "pipe" }).trim();
}

/** Puts a script in the place of git, for us; it finds the real one in $git. */
function useGit(folder: string, script: string): void {
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  write(join(folder, "bin/git"), `#!/bin/sh\ngit='${real}'\n${script}\n`, 0o755);
  vi.stubEnv("PATH", `${join(folder, "bin")}:${process.env.PATH}`);
}

function write(path: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

interface World {
  folder: string;
  repository: string;
  root: string;
  patch: string;
  /** What a worktree of task `id` is asked for with. */
  ask: (id?: string) => Parameters<typeof openWorkspace>[0];
}

function newWorld(): World {
  const folder = newFolder();
  const repository = join(folder, "a repository");
  mkdirSync(repository);
  userGit(repository, "init", "--quiet", "--initial-branch=main");
  write(join(repository, "README"), "hello\n");
  write(join(repository, "folder/old"), "old\n");
  write(join(repository, ".gitignore"), "ignored\n");
  userGit(repository, "add", "-A");
  userGit(repository, "commit", "--quiet", "-m", "first");
  const root = join(folder, "run/workspaces");
  return {
    folder,
    repository,
    root,
    patch: join(folder, "run/artifacts/t1.patch"),
    ask: (id = "t1") => ({ kind: "worktree", root, run: "run", id, repository }),
  };
}

async function open(request: Parameters<typeof openWorkspace>[0]) {
  return (await openWorkspace(request)) as { path: string; branch: string; base: string };
}

async function messageOf(promise: Promise<unknown>, code = "INVALID"): Promise<string> {
  const error = await promise.then(
    () => new Error("it did not fail"),
    (caught: unknown) => caught as Error,
  );
  expect(isVivError(error), error.message).toBe(true);
  expect(error).toMatchObject({ code });
  return error.message;
}

/** Everything in a folder but git's own: names, kinds, the executable bit and content. */
function snapshot(folder: string, prefix = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder).filter((each) => each !== ".git")) {
    const path = join(folder, name);
    const stats = lstatSync(path);
    if (stats.isDirectory()) Object.assign(found, snapshot(path, `${prefix}${name}/`));
    else if (stats.isSymbolicLink()) found[prefix + name] = `link ${readlinkSync(path)}`;
    else {
      const kind = stats.mode & 0o100 ? "program" : "file";
      found[prefix + name] = `${kind} ${readFileSync(path, "base64")}`;
    }
  }
  return found;
}

describe("branch names", () => {
  const id = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,40}$/);
  const nasty = fc
    .array(fc.constantFrom(".", "..", ".lock", "lock", "a", "-", "_", "%2E"), { minLength: 1 })
    .map((parts) => parts.join(""));

  test("no two tasks share one, and it can be taken apart", () => {
    const name = fc.oneof(id, nasty, fc.string({ unit: "grapheme", minLength: 1 }));
    holds(
      fc.property(name, name, fc.integer({ min: 1, max: 12 }), (task, run, number) => {
        const branch = branchOf(task, run, number);
        expect(taskOfBranch(branch)).toBe(task);
        const own = branch.slice(branch.indexOf("@") + 1);
        expect(decodeURIComponent(own)).toBe(number === 1 ? run : `${run}-${number}`);
      }),
    );
    expect(taskOfBranch("viv/a%2Elock"), "of an older run").toBe("a.lock");
    expect(taskOfBranch("main")).toBeNull();
  });

  test("git takes every one of them", () => {
    const ids = ["a", "-a", "a.", "a..", "a...b", "a.lock", "a.lock.lock", "a.lock.", "x.locked"];
    const more = fc.sample(fc.oneof(id, nasty), { numRuns: 40, seed: 7 });
    const repository = newFolder();
    userGit(repository, "init", "--quiet");
    for (const each of [...ids, ...more, "@{1}", "a b", "ä"]) {
      userGit(repository, "check-ref-format", `refs/heads/${branchOf(each, each, 2)}`);
    }
    expect(branchOf("t.1", "night")).toBe("viv/t.1@night");
    expect(branchOf("a.lock", "night", 2)).toBe("viv/a%2Elock@night-2");
  });
});

describe("a plain folder", () => {
  test("is made empty, for its owner only, and found again as it was left", async () => {
    const root = join(newFolder(), "run/workspaces");
    const { path } = await open({ kind: "dir", run: "run", root, id: "t1" });
    expect(path).toBe(join(root, "t1"));
    expect(readdirSync(path)).toEqual([]);
    expect([statSync(path).mode & 0o777, statSync(root).mode & 0o777]).toEqual([0o700, 0o700]);
    writeFileSync(join(path, "x"), "");
    expect(await openWorkspace({ kind: "dir", run: "run", root, id: "t1" })).toEqual({ path });
    expect(readdirSync(path)).toEqual(["x"]);
    expect(await commitWorkspace(path, "m")).toBeNull();
  });

  test("a link or a file in its place is refused", async () => {
    const root = newFolder();
    symlinkSync("/etc", join(root, "t1"));
    writeFileSync(join(root, "t2"), "");
    const ask = (id: string) => openWorkspace({ kind: "dir", run: "run", root, id });
    expect(await messageOf(ask("t1"))).toMatch(/t1 is a symbolic link; remove it/);
    expect(await messageOf(ask("t2"))).toMatch(/t2 is no folder; remove it/);
    expect(await messageOf(ask("../t3"))).toMatch(/cannot be the name of a workspace/);
    const link = join(newFolder(), "link");
    symlinkSync(root, link);
    expect(
      await messageOf(openWorkspace({ kind: "dir", run: "run", root: link, id: "t4" })),
    ).toMatch(/link/);
  });

  test("the record of one task is not in the way of another's workspace", async () => {
    const root = newFolder();
    await open({ kind: "dir", run: "run", root, id: "a" });
    await open({ kind: "dir", run: "run", root, id: "a.json" });
    expect((await listWorkspaces(root)).map(({ id }) => id)).toEqual(["a", "a.json"]);
  });
});

describe("a worktree", () => {
  test("is on a branch of its own, made from base", async () => {
    const { repository, root, ask } = newWorld();
    const first = userGit(repository, "rev-parse", "HEAD");
    write(join(repository, "README"), "changed\n");
    userGit(repository, "commit", "--quiet", "-am", "second");
    const { path, branch, base } = await open({ ...ask("t.1"), base: "main~1" });
    expect([path, branch, base]).toEqual([join(root, "t.1"), "viv/t.1@run", first]);
    expect(readFileSync(join(path, "README"), "utf8")).toBe("hello\n");
    expect(userGit(path, "branch", "--show-current")).toBe("viv/t.1@run");
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(join(root, ".t.1.json"), "utf8"))).toEqual({
      kind: "worktree",
      repository,
      branch,
      base,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const other = await open(ask("a..lock"));
    expect(userGit(other.path, "branch", "--show-current")).toBe("viv/a%2E%2Elock@run");
    expect(readFileSync(join(other.path, "README"), "utf8")).toBe("changed\n");
  });

  test("is found again as it was left, even if base has moved on", async () => {
    const { repository, ask } = newWorld();
    const opened = await open(ask());
    write(join(opened.path, "new"), "x");
    userGit(opened.path, "commit", "--quiet", "--allow-empty", "-m", "by the handler");
    userGit(repository, "commit", "--quiet", "--allow-empty", "-m", "main moves");
    expect(await openWorkspace(ask())).toEqual(opened);
    expect(existsSync(join(opened.path, "new"))).toBe(true);
    expect(userGit(opened.path, "log", "-1", "--format=%s")).toBe("by the handler");
    userGit(repository, "merge", "--quiet", "--no-edit", "viv/t1@run");
    expect(await openWorkspace(ask())).toEqual(opened);
  });

  test("is made again on its branch when its folder was deleted", async () => {
    const { ask } = newWorld();
    const opened = await open(ask());
    userGit(opened.path, "commit", "--quiet", "--allow-empty", "-m", "kept");
    rmSync(opened.path, { recursive: true });
    expect(await openWorkspace(ask())).toEqual(opened);
    expect(userGit(opened.path, "log", "-1", "--format=%s")).toBe("kept");
    expect(userGit(opened.path, "status", "--porcelain")).toBe("");
  });

  test("forgets no other worktree on the way, not even one that is not there now", async () => {
    const { repository, folder, ask } = newWorld();
    const users = join(folder, "users");
    userGit(repository, "worktree", "add", "--quiet", "--detach", users);
    renameSync(users, `${users}.unmounted`);
    const { path } = await open(ask());
    rmSync(path, { recursive: true });
    await open(ask());
    renameSync(`${users}.unmounted`, users);
    expect(userGit(users, "status", "--porcelain")).toBe("");
  });

  test("is made on its branch when that and the record are left", async () => {
    const { repository, ask } = newWorld();
    const opened = await open(ask());
    userGit(opened.path, "commit", "--quiet", "--allow-empty", "-m", "kept");
    userGit(repository, "worktree", "remove", opened.path);
    expect(await openWorkspace(ask())).toEqual(opened);
    expect(userGit(opened.path, "log", "-1", "--format=%s")).toBe("kept");
  });

  test("of an older run goes on with its branch without the run's name", async () => {
    const { repository, root, ask } = newWorld();
    const { path, base } = await open(ask());
    userGit(path, "branch", "--move", "viv/t1");
    const record = join(root, ".t1.json");
    writeFileSync(record, readFileSync(record, "utf8").replace("viv/t1@run", "viv/t1"));
    expect(await openWorkspace(ask())).toEqual({ path, branch: "viv/t1", base });
    rmSync(path, { recursive: true });
    expect(await openWorkspace(ask())).toEqual({ path, branch: "viv/t1", base });
    write(join(path, "new"), "x");
    expect(await commitWorkspace(path, "m")).toBe(userGit(repository, "rev-parse", "viv/t1"));
  });

  describe("never works on a branch that is another's", () => {
    /** The same task of another run of that name, for the same repository. */
    function elsewhere({ folder, ask }: World) {
      return { ...ask(), root: join(folder, "other/run/workspaces") };
    }

    test("whether that is in use, left over, or made by a person", async () => {
      const world = newWorld();
      const { repository, root, ask } = world;
      userGit(repository, "branch", "viv/t1@run");
      const one = await open(ask());
      const two = await open(elsewhere(world));
      expect([one.branch, two.branch]).toEqual(["viv/t1@run-2", "viv/t1@run-3"]);
      write(join(one.path, "one"), "1");
      await commitWorkspace(one.path, "m");
      const tip = userGit(repository, "rev-parse", one.branch);
      userGit(repository, "worktree", "remove", one.path);
      rmSync(join(root, ".t1.json"));
      const again = await open(ask());
      expect([again.branch, again.base]).toEqual(["viv/t1@run-4", two.base]);
      expect(userGit(repository, "rev-parse", one.branch)).toBe(tip);
      expect([await open(ask()), await open(elsewhere(world))]).toEqual([again, two]);
    });

    test("when both are made at the same moment", async () => {
      const world = newWorld();
      const both = await Promise.all([open(world.ask()), open(elsewhere(world))]);
      expect(both.map(({ branch }) => branch).sort()).toEqual(["viv/t1@run", "viv/t1@run-2"]);
      for (const { path, branch } of both) {
        expect(userGit(path, "branch", "--show-current")).toBe(branch);
      }
    });

    test("when another makes it just before", async () => {
      const { folder, repository, ask } = newWorld();
      const first = `"$git" branch viv/t1@run main 2>/dev/null`;
      useGit(folder, `case "$*" in *--create-reflog*) ${first};; esac; exec "$git" "$@"`);
      expect((await open(ask())).branch).toBe("viv/t1@run-2");
      expect(userGit(repository, "reflog", "viv/t1@run", "--format=%gs")).not.toContain("viv:");
    });

    test("when another has made it after a kill", async () => {
      const world = newWorld();
      const { repository, root, ask, patch } = world;
      const record = join(root, ".t1.json");
      const read = () => JSON.parse(readFileSync(record, "utf8"));
      const { path } = await open(ask());
      const killed = () => {
        const { branch, ...rest } = read();
        userGit(repository, "worktree", "remove", "--force", path);
        userGit(repository, "branch", "-D", branch);
        const making = "0a1b-2c3d";
        writeFileSync(record, JSON.stringify({ ...rest, branch: "viv/t1@run", making }));
        return making;
      };
      const making = killed();
      expect((await open(ask())).branch, "it is free still").toBe("viv/t1@run");
      expect(read().making).toBeUndefined();

      killed();
      const made = ["update-ref", "--create-reflog", "-m", `viv: ${making}`];
      userGit(repository, ...made, "refs/heads/viv/t1@run", "main");
      expect((await open(ask())).branch, "it was made").toBe("viv/t1@run");
      expect(read().making).toBeUndefined();

      killed();
      const other = await open(elsewhere(world));
      expect(other.branch).toBe("viv/t1@run");
      userGit(repository, "worktree", "remove", other.path);
      expect(await removeWorkspace(root, "t1", patch)).toMatchObject({ removed: true });
      expect(userGit(repository, "rev-parse", other.branch), "kept").toBe(other.base);
      expect((await open(ask())).branch).toBe("viv/t1@run-2");
      killed();
      expect((await open(ask())).branch).toBe("viv/t1@run-2");
      expect(await open(elsewhere(world))).toEqual(other);
    });
  });

  test("is made from base again when folder and branch are gone", async () => {
    const { repository, ask } = newWorld();
    const opened = await open(ask());
    userGit(repository, "worktree", "remove", opened.path);
    userGit(repository, "branch", "-D", "viv/t1@run");
    userGit(repository, "commit", "--quiet", "--allow-empty", "-m", "main moves");
    const again = await open(ask());
    expect(again.base).toBe(userGit(repository, "rev-parse", "main"));
  });

  test("is made anew when the git that made it was killed half-way", async () => {
    const { repository, ask } = newWorld();
    const { path } = await open(ask());
    rmSync(join(path, "README"));
    writeFileSync(join(repository, ".git/worktrees/t1/locked"), "initializing\n");
    await open(ask());
    expect(userGit(path, "status", "--porcelain")).toBe("");
    expect(existsSync(join(repository, ".git/worktrees/t1/locked"))).toBe(false);
  });

  test("gets its .git file back when an attempt has spoilt it", async () => {
    const { ask } = newWorld();
    const { path } = await open(ask());
    const pointer = readFileSync(join(path, ".git"), "utf8");
    rmSync(join(path, ".git"));
    await open(ask());
    expect(readFileSync(join(path, ".git"), "utf8")).toBe(pointer);
    writeFileSync(join(path, ".git"), "gitdir: /elsewhere\n");
    await open(ask());
    expect(readFileSync(join(path, ".git"), "utf8")).toBe(pointer);
    rmSync(join(path, ".git"));
    userGit(path, "init", "--quiet");
    expect(await messageOf(openWorkspace(ask()))).toMatch(
      /repository of its own now; move .*\.git/,
    );
  });

  test("of a bare repository, and of a repository that is a worktree itself", async () => {
    const { repository, folder, ask } = newWorld();
    const bare = join(folder, "bare");
    userGit(folder, "clone", "--quiet", "--bare", repository, bare);
    const { path } = await open({ ...ask(), repository: bare });
    write(join(path, "new"), "x");
    expect(await commitWorkspace(path, "m")).toBe(userGit(bare, "rev-parse", "viv/t1@run"));
    const linked = join(folder, "linked");
    userGit(repository, "worktree", "add", "--quiet", "--detach", linked);
    const second = await open({ ...ask("t2"), repository: linked });
    expect(userGit(repository, "rev-parse", "viv/t2@run")).toBe(second.base);
  });

  test("many at the same time, of one repository", async () => {
    const { repository, root, patch, ask } = newWorld();
    const ids = Array.from({ length: 12 }, (_, i) => `t${i}`);
    const opened = await Promise.all(ids.map((id) => open(ask(id))));
    for (const { path } of opened) expect(userGit(path, "status", "--porcelain")).toBe("");
    const removed = await Promise.all(ids.map((id) => removeWorkspace(root, id, patch)));
    expect(removed).toEqual(ids.map((id) => ({ id, removed: true })));
    expect(userGit(repository, "branch", "--format=%(refname:short)")).toBe("main");
    expect(readdirSync(root)).toEqual([".trash"]);
  });
});

test("a repository whose path has line feeds is one like any other", async () => {
  const { repository, folder, root, patch, ask } = newWorld();
  const odd = join(folder, "a\nb\n/c\n");
  mkdirSync(dirname(odd));
  renameSync(repository, odd);
  const { path, branch = "" } = await openWorkspace({ ...ask(), repository: odd });
  write(join(path, "new"), "new\n");
  await commitWorkspace(path, "new");
  expect(userGit(odd, "log", "--format=%s", branch)).toBe("new\nfirst");
  const inside = messageOf(openWorkspace({ ...ask("b"), repository: join(odd, "folder") }));
  expect(await inside).toMatch(/only a folder inside a repository/);
  await removeWorkspace(root, "t1", patch);
  expect(existsSync(path)).toBe(false);
});

describe("a worktree that cannot be made", () => {
  test("the repository is missing, none, only a folder of one, or empty", async () => {
    const { repository, folder, ask } = newWorld();
    const ask2 = (where: string) => messageOf(openWorkspace({ ...ask(), repository: where }));
    expect(await ask2(join(folder, "gone"))).toMatch(/gone does not exist; set repository to/);
    expect(await ask2(folder)).toMatch(/cannot be used as a repository \(not a git repository/);
    expect(await ask2(join(repository, "folder"))).toMatch(/only a folder inside a repository/);
    const empty = join(folder, "empty");
    mkdirSync(empty);
    userGit(empty, "init", "--quiet");
    expect(await ask2(empty)).toMatch(/empty has no commits; make the first one/);
    const { repository: _, ...without } = ask();
    expect(await messageOf(openWorkspace(without))).toMatch(/needs a repository/);
  });

  test("the base is none", async () => {
    const { repository, ask } = newWorld();
    const because = (base: string) => messageOf(openWorkspace({ ...ask(), base }));
    expect(await because("nope")).toMatch(/has no commit called nope; set base to/);
    expect(await because("--since=2020")).toMatch(/has no commit called --since=2020/);
    expect(await because("HEAD:README")).toMatch(/has no commit called HEAD:README/);
    userGit(repository, "symbolic-ref", "HEAD", "refs/heads/unborn");
    expect(await messageOf(openWorkspace(ask()))).toMatch(/HEAD of .* is no commit; set base/);
    expect(userGit(repository, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/main");
  });

  test("the branch cannot be made", async () => {
    const { repository, ask } = newWorld();
    userGit(repository, "branch", "viv");
    expect(await messageOf(openWorkspace(ask()))).toMatch(/has a branch called viv.*branch -m viv/);
  });

  test("there is something else", async () => {
    const { root, folder, repository, ask } = newWorld();
    write(join(root, "t1/file"), "x");
    expect(await messageOf(openWorkspace(ask()))).toMatch(/no worktree of .*worktree repair/);
    await open({ kind: "dir", run: "run", root, id: "t2" });
    const was = /was made with workspace = "dir"; set that again/;
    expect(await messageOf(openWorkspace(ask("t2")))).toMatch(was);
    await open(ask("t3"));
    const clone = join(folder, "clone");
    userGit(folder, "clone", "--quiet", repository, clone);
    const moved = openWorkspace({ ...ask("t3"), repository: clone });
    expect(await messageOf(moved)).toMatch(/was made from .*a repository, not from .*clone/);
  });
});

describe("committing", () => {
  test("everything but what is ignored, on the branch", async () => {
    const { repository, ask } = newWorld();
    const { path, base } = await open(ask());
    expect(await commitWorkspace(path, "nothing")).toBeNull();
    write(join(path, "README"), "changed\n");
    write(join(path, "new folder/ä\nb"), "x", 0o755);
    write(join(path, "ignored"), "x");
    rmSync(join(path, "folder"), { recursive: true });
    symlinkSync("../elsewhere", join(path, "folder"));
    const commit = await commitWorkspace(path, "implement: t1");
    expect(commit).toBe(userGit(repository, "rev-parse", "viv/t1@run"));
    const format = "--format=%P|%an <%ae>|%cn <%ce>|%B";
    expect(userGit(path, "log", "-1", format)).toBe(
      `${base}|Vivarium <vivarium@localhost>|Vivarium <vivarium@localhost>|implement: t1`,
    );
    const entries = userGit(path, "ls-tree", "-r", "-z", "HEAD").split("\0");
    expect(entries.map((entry) => entry.replace(/ .*\t/, " "))).toEqual([
      "100644 .gitignore",
      "100644 README",
      "120000 folder",
      "100755 new folder/ä\nb",
      "",
    ]);
    expect(userGit(path, "status", "--porcelain")).toBe("");
    expect(await commitWorkspace(path, "again")).toBeNull();
    expect(userGit(repository, "status", "--porcelain")).toBe("");
  });

  test("by the author that git knows, or by Vivarium", async () => {
    const { repository, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "");
    await commitWorkspace(path, "m");
    const format = "--format=%an <%ae> %cn <%ce>";
    expect(userGit(path, "log", "-1", format)).toBe(
      "Vivarium <vivarium@localhost> Vivarium <vivarium@localhost>",
    );
    userGit(repository, "config", "user.name", "Configured");
    userGit(repository, "config", "user.email", "c@example.org");
    write(join(path, "b"), "");
    await commitWorkspace(path, "m");
    expect(userGit(path, "log", "-1", format)).toBe(
      "Configured <c@example.org> Configured <c@example.org>",
    );
  });

  test("also what the handler has staged or committed itself", async () => {
    const { ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "");
    userGit(path, "add", "a");
    userGit(path, "commit", "--quiet", "-m", "by the handler");
    expect(await commitWorkspace(path, "m")).toBeNull();
    write(join(path, "b"), "");
    userGit(path, "add", "b");
    expect(await commitWorkspace(path, "m")).not.toBeNull();
    expect(userGit(path, "log", "--format=%s")).toBe("m\nby the handler\nfirst");
  });

  test("not in the middle of something, nor on another branch", async () => {
    const { repository, ask } = newWorld();
    const { path } = await open(ask());
    const because = () => messageOf(commitWorkspace(path, "m"));
    write(join(path, "README"), "ours\n");
    await commitWorkspace(path, "ours");
    write(join(repository, "README"), "theirs\n");
    userGit(repository, "commit", "--quiet", "-am", "theirs");
    expect(() => userGit(path, "merge", "main")).toThrow();
    expect(await because()).toMatch(/a merge is unfinished in .*; finish it, or run: git -C/);
    userGit(path, "merge", "--abort");
    expect(() => userGit(path, "rebase", "main")).toThrow();
    expect(await because()).toMatch(/a rebase is unfinished/);
    userGit(path, "rebase", "--abort");
    userGit(path, "switch", "--quiet", "--detach");
    expect(await because()).toMatch(
      /on a detached HEAD instead of its branch viv\/t1@run; bring it/,
    );
    userGit(path, "switch", "--quiet", "-c", "mine");
    expect(await because()).toMatch(/on mine instead of its branch viv\/t1@run/);
  });

  test("not while another git holds the index, or has left its lock", async () => {
    const { repository, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "");
    const lock = join(repository, ".git/worktrees/t1/index.lock");
    writeFileSync(lock, "");
    const message = await messageOf(commitWorkspace(path, "m"), "LOCKED");
    expect(message).toContain(`finds ${lock} in its way; if no git is running`);
    rmSync(lock);
    expect(await commitWorkspace(path, "m")).not.toBeNull();
  });

  test("a lock that an attempt left stops neither its commit nor the next attempt", async () => {
    const { repository, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "");
    const locks = [".git/worktrees/t1/index.lock", ".git/refs/heads/viv/t1.lock"];
    for (const lock of locks) {
      write(join(path, "a"), lock);
      writeFileSync(join(repository, lock), "");
      expect(await commitWorkspace(path, "m", { isOver: true })).not.toBeNull();
    }
    writeFileSync(join(repository, ".git/worktrees/t1/index.lock"), "");
    await open(ask());
    userGit(path, "add", ".");
    write(join(path, "a"), "not ours");
    writeFileSync(join(repository, ".git/packed-refs.lock"), "");
    writeFileSync(join(repository, ".git/worktrees/t1/index.lock"), "");
    expect(await commitWorkspace(path, "m", { isOver: true })).not.toBeNull();
    expect(existsSync(join(repository, ".git/packed-refs.lock"))).toBe(true);
  });

  test("though a git gc has just cleared away what was to be committed", async () => {
    const { repository, folder, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "new");
    // As `git gc --prune=now`, which looked for what is in use a moment before.
    useGit(
      folder,
      `case "$*" in *commit-tree*) if mkdir '${folder}/once' 2>/dev/null; then
         for object in $("$git" hash-object '${path}/a') $(echo "$*" | sed 's/.*commit-tree //; s/ .*//'); do
           find '${repository}/.git/objects' -type f -name "$(echo $object | cut -c3-)" -delete
         done
       fi;; esac
       exec "$git" "$@"`,
    );
    const commit = await commitWorkspace(path, "m");
    expect(userGit(path, "show", `${commit}:a`)).toBe("new");
  });

  test("after another git has let go of the index", async () => {
    const { repository, folder, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "");
    const lock = join(repository, ".git/worktrees/t1/index.lock");
    writeFileSync(lock, "");
    // Lets go when the first git has met the lock.
    useGit(folder, `"$git" "$@" && exit; status=$?; rm -f '${lock}'; exit $status`);
    expect(await commitWorkspace(path, "m")).not.toBeNull();
  });

  test("not without a record, a folder, or with a name that git does not take", async () => {
    const { root, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "git~1"), "");
    expect(await messageOf(commitWorkspace(path, "m"))).toMatch(/no file that is called "git~1"/);
    rmSync(path, { recursive: true });
    expect(await messageOf(commitWorkspace(path, "m"))).toMatch(/no worktree .* any more/);
    expect(await messageOf(commitWorkspace(join(root, "t2"), "m"))).toMatch(/not a workspace/);
  });
});

describe("what a task plants in its workspace is never run", () => {
  /** Settings that make git run a program, and the file that this program leaves. */
  function trap(folder: string, gitDir: string): string {
    const marker = join(folder, "it was run");
    const program = join(folder, "program");
    write(program, `#!/bin/sh\necho "$0" "$@" >> '${marker}'\ncat\nexit 0\n`, 0o755);
    const config = `[core]\nfsmonitor = ${program}\nhooksPath = ${folder}/hooks\n[filter "evil"]\nclean = ${program}\n[diff "evil"]\ntextconv = ${program}\ncommand = ${program}\n`;
    appendFileSync(join(gitDir, "config"), config);
    const hooks = ["pre-commit", "post-commit", "reference-transaction", "post-index-change"];
    for (const name of hooks) write(join(folder, "hooks", name), readFileSync(program), 0o755);
    return marker;
  }

  const ATTRIBUTES = "* filter=evil diff=evil\n";

  async function useAll({ root, patch, ask }: World, path: string): Promise<void> {
    write(join(path, "README"), "changed\n");
    write(join(path, "new"), "x");
    await listWorkspaces(root);
    await commitWorkspace(path, "m");
    write(join(path, "README"), "changed again\n");
    await openWorkspace(ask());
    await commitWorkspace(path, "m");
    write(join(path, "README"), "and again\n");
    await listWorkspaces(root);
    await removeWorkspace(root, "t1", patch);
  }

  test("a repository in the place of its own", async () => {
    const world = newWorld();
    const { path } = await open(world.ask());
    const evil = join(path, "evil");
    userGit(path, "init", "--quiet", "--bare", evil);
    const marker = trap(world.folder, evil);
    writeFileSync(join(path, ".git"), `gitdir: ${evil}\n`);
    write(join(path, ".gitattributes"), ATTRIBUTES);
    userGit(path, "--work-tree=.", "add", "README");
    expect(existsSync(marker)).toBe(true); // so it would be run
    rmSync(marker);
    await useAll(world, path);
    expect(existsSync(marker)).toBe(false);
    expect(userGit(world.repository, "show", "viv/t1@run:README")).toBe("changed again");
  });

  test("a repository within it", async () => {
    const world = newWorld();
    const { path } = await open(world.ask());
    const inner = join(path, "inner");
    mkdirSync(inner);
    userGit(inner, "init", "--quiet");
    write(join(inner, "file"), "x");
    userGit(inner, "add", "file");
    userGit(inner, "commit", "--quiet", "-m", "inner");
    userGit(path, "add", "inner"); // as git add does: a submodule from now on
    userGit(path, "commit", "--quiet", "-m", "submodule");
    write(join(inner, ".gitattributes"), ATTRIBUTES);
    write(join(inner, "file"), "y");
    const marker = trap(world.folder, join(inner, ".git"));
    userGit(path, "add", "-A");
    expect(existsSync(marker)).toBe(true); // so it would be run
    rmSync(marker);
    await useAll(world, path);
    expect(existsSync(marker)).toBe(false);
    expect(existsSync(path)).toBe(true); // what is in there could not be saved
    expect(userGit(world.repository, "show", "viv/t1@run:README")).toBe("changed again");
  });

  test("hooks of the repository", async () => {
    const world = newWorld();
    const { path } = await open(world.ask());
    const marker = join(world.folder, "it was run");
    const names = ["pre-commit", "commit-msg", "post-commit", "reference-transaction"];
    for (const name of [...names, "post-checkout", "post-index-change"]) {
      const hook = join(world.repository, ".git/hooks", name);
      write(hook, `#!/bin/sh\ntouch '${marker}'\n`, 0o755);
    }
    userGit(path, "commit", "--quiet", "--allow-empty", "-m", "by the handler");
    expect(existsSync(marker)).toBe(true);
    rmSync(marker);
    await useAll(world, path);
    await open(world.ask("t2"));
    expect(existsSync(marker)).toBe(false);
  });
});

describe("the list", () => {
  const facts = async (root: string) =>
    (await listWorkspaces(root)).map(({ id, kind, dirty, ahead, merged, missing }) => {
      const flags = { dirty, merged, missing };
      const set = Object.entries(flags).filter(([, value]) => value);
      return [id, kind, ...set.map(([name]) => name), ...(ahead > 0 ? [ahead] : [])].join(" ");
    });

  test("shows what is not saved elsewhere", async () => {
    const { repository, root, ask } = newWorld();
    expect(await listWorkspaces(root)).toEqual([]);
    await open(ask("clean"));
    write(join((await open(ask("dirty"))).path, "new"), "x");
    const { path } = await open(ask("ahead"));
    for (const name of ["a", "b"]) {
      write(join(path, name), "x");
      await commitWorkspace(path, name);
    }
    const merged = await open(ask("merged"));
    write(join(merged.path, "c"), "x");
    await commitWorkspace(merged.path, "c");
    userGit(repository, "merge", "--quiet", "viv/merged@run");
    const staged = await open(ask("staged"));
    write(join(staged.path, "new"), "x");
    userGit(staged.path, "add", "new");
    const nested = await open(ask("nested"));
    userGit(nested.path, "init", "--quiet", "inner");
    rmSync((await open(ask("gone"))).path, { recursive: true });
    await open({ kind: "dir", run: "run", root, id: "d1" });
    write(join((await open({ kind: "dir", run: "run", root, id: "d2" })).path, "x"), "12345");
    write(join((await open(ask("ignored"))).path, "ignored"), "x");
    mkdirSync(join(root, "stray/x"), { recursive: true });
    expect(await facts(root)).toEqual([
      "ahead worktree 2",
      "clean worktree",
      "d1 dir",
      "d2 dir dirty",
      "dirty worktree dirty",
      "gone worktree missing",
      "ignored worktree",
      "merged worktree merged",
      "nested worktree dirty",
      "staged worktree dirty",
      "stray dir dirty",
    ]);
    const all = await listWorkspaces(root);
    const commits = Object.fromEntries(all.map((one) => [one.id, one.commits]));
    expect(commits).toMatchObject({ ahead: 2, clean: 0, merged: 1, dirty: 0, d1: 0 });
    expect(all.find(({ id }) => id === "d2")?.bytes).toBeGreaterThan(0);
    expect(all.find(({ id }) => id === "ahead")).toMatchObject({
      path,
      branch: "viv/ahead@run",
      repository,
    });
  });

  test("shows those too that cannot be looked into", async () => {
    const { repository, root, ask } = newWorld();
    await open(ask("t1"));
    await open(ask("t2"));
    await open(ask("t3"));
    writeFileSync(join(root, ".t1.json"), "{");
    writeFileSync(join(repository, ".git/worktrees/t2/index"), "no index");
    expect(await facts(root)).toEqual(["t1 dir dirty", "t2 worktree dirty", "t3 worktree"]);
    renameSync(repository, `${repository}.away`);
    expect((await facts(root)).at(-1)).toBe("t3 worktree dirty");
    for (const id of ["t1", "t2", "t3"]) {
      const { removed, reason } = await removeWorkspace(root, id, join(root, "x.patch"));
      expect([removed, reason]).toEqual([false, expect.stringMatching(/./)]);
      expect(existsSync(join(root, id, "README"))).toBe(true);
    }
  });

  test("a commit counts as saved on any other branch, also a remote one", async () => {
    const { repository, folder, root, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "x");
    await commitWorkspace(path, "a");
    expect(await facts(root)).toEqual(["t1 worktree 1"]);
    const remote = join(folder, "remote");
    userGit(folder, "init", "--quiet", "--bare", remote);
    userGit(repository, "remote", "add", "origin", remote);
    userGit(path, "push", "--quiet", "origin", "viv/t1@run");
    expect(await facts(root), "a push of the task's own branch merges nothing").toEqual([
      "t1 worktree 1",
    ]);
    userGit(path, "push", "--quiet", "origin", "viv/t1@run:main");
    expect(await facts(root)).toEqual(["t1 worktree merged"]);
  });
});

describe("removing", () => {
  test("what is clean and merged goes, with its branch", async () => {
    const { repository, root, patch, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "a"), "x");
    await commitWorkspace(path, "a");
    userGit(repository, "merge", "--quiet", "viv/t1@run");
    write(join(path, "ignored"), "x");
    expect(await removeWorkspace(root, "t1", patch)).toEqual({ id: "t1", removed: true });
    expect(existsSync(patch)).toBe(false);
    expect(readdirSync(root)).toEqual([".trash"]);
    expect(readdirSync(join(root, ".trash"))).toEqual([]);
    expect(userGit(repository, "branch", "--format=%(refname:short)")).toBe("main");
    expect(userGit(repository, "worktree", "list", "--porcelain").split("\n\n")).toHaveLength(1);
    expect(await removeWorkspace(root, "t1", patch)).toEqual({
      id: "t1",
      removed: false,
      reason: "there is no such workspace",
    });
  });

  test("not what got work after a look, unless it was asked for by name", async () => {
    const { root, patch, ask } = newWorld();
    const { path } = await open(ask());
    const how = { isOnlySpent: true };
    write(join(path, "a"), "x");
    const changed = { removed: false, reason: "it has changed just now" };
    expect(await removeWorkspace(root, "t1", patch, undefined, how)).toMatchObject(changed);
    const commit = await commitWorkspace(path, "a");
    expect(await removeWorkspace(root, "t1", patch, undefined, how)).toMatchObject(changed);
    expect(existsSync(patch)).toBe(false);
    expect(await removeWorkspace(root, "t1", patch, commit ?? "", how)).toMatchObject({
      removed: true,
    });
    const dir = await open({ kind: "dir", run: "run", root, id: "t2" });
    write(join(dir.path, "a"), "x");
    expect(await removeWorkspace(root, "t2", patch, undefined, how)).toMatchObject(changed);
  });

  test("a patch gives everything back that was changed since base", async () => {
    const { repository, folder, root, patch, ask } = newWorld();
    write(join(repository, "program"), "#!/bin/sh\n", 0o755);
    write(join(repository, "plain"), "plain\n");
    write(join(repository, "binary"), Buffer.from([0, 1, 2, 255, 254]));
    write(join(repository, "becomes a folder"), "x\n");
    write(join(repository, "becomes a file/x"), "x\n");
    write(join(repository, "crlf"), "a\r\nb\r\n");
    symlinkSync("README", join(repository, "link"));
    userGit(repository, "add", "-A");
    userGit(repository, "commit", "--quiet", "-m", "more");
    const { path, base } = await open(ask());
    write(join(path, "committed"), "x");
    await commitWorkspace(path, "one of them is committed");
    write(join(path, "staged"), "x");
    userGit(path, "add", "staged");
    chmodSync(join(path, "program"), 0o644);
    chmodSync(join(path, "plain"), 0o755);
    write(join(path, "binary"), Buffer.from([0, 1, 3, 255, 253, 10]));
    write(join(path, "new binary"), Buffer.from(Array.from({ length: 3000 }, (_, i) => i % 256)));
    write(join(path, "empty"), "");
    write(join(path, "no newline at the end"), "x");
    write(join(path, "trailing space \t\n and a newline"), "x \t\n");
    write(join(path, 'quote " \\ back'), "x\n");
    write(join(path, "ünïcödé/deep/file"), "x\n");
    write(join(path, "crlf"), "a\r\nc\r\n");
    rmSync(join(path, "folder/old"));
    rmSync(join(path, "becomes a folder"));
    write(join(path, "becomes a folder/x"), "y\n");
    rmSync(join(path, "becomes a file"), { recursive: true });
    write(join(path, "becomes a file"), "y\n");
    rmSync(join(path, "link"));
    symlinkSync("/etc/passwd", join(path, "link"));
    symlinkSync("no such target", join(path, "new link"));
    userGit(repository, "config", "apply.whitespace", "error-all");
    const before = snapshot(path);
    const head = userGit(repository, "rev-parse", "viv/t1@run");
    expect(await removeWorkspace(root, "t1", patch)).toEqual({
      id: "t1",
      removed: true,
      archived: patch,
      branch_kept: "viv/t1@run",
    });
    expect(existsSync(path)).toBe(false);
    expect(statSync(patch).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(patch))).toEqual(["t1.patch"]);
    expect(userGit(repository, "rev-parse", "viv/t1@run")).toBe(head);
    const clone = join(folder, "clone");
    userGit(folder, "clone", "--quiet", repository, clone);
    userGit(clone, "checkout", "--quiet", "--detach", base);
    userGit(clone, "apply", patch);
    expect(snapshot(clone)).toEqual(before);
  });

  test("a patch holds changes too that the times of files do not show", async () => {
    const { repository, root, patch, ask } = newWorld();
    userGit(repository, "config", "core.trustctime", "false");
    const { path } = await open(ask());
    const file = join(path, "README");
    utimesSync(file, 1_000_000, 1_000_000);
    userGit(path, "update-index", "--refresh");
    writeFileSync(file, "HELLO\n");
    utimesSync(file, 1_000_000, 1_000_000);
    expect(userGit(path, "status", "--porcelain")).toBe("");
    write(join(path, "new"), "x");
    await removeWorkspace(root, "t1", patch);
    expect(readFileSync(patch, "utf8")).toContain("-hello\n+HELLO\n");
  });

  test("not when the patch does not give the same files back", async () => {
    const { folder, root, patch, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "new"), "x\n");
    useGit(folder, 'case "$*" in *diff-tree*) "$git" "$@" | sed s/+x/+y/;; *) "$git" "$@";; esac');
    const { removed, reason } = await removeWorkspace(root, "t1", patch);
    expect([removed, reason]).toEqual([false, expect.stringMatching(/same files back/)]);
    expect(existsSync(join(path, "new"))).toBe(true);
    expect(readdirSync(dirname(patch))).toEqual([]);
  });

  test("without touching the user's index on the way", async () => {
    const { repository, root, patch, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "new"), "x");
    const index = join(repository, ".git/worktrees/t1/index");
    const before = readFileSync(index);
    write(dirname(patch), "in the way"); // so that the patch cannot be written
    const { removed, reason } = await removeWorkspace(root, "t1", patch);
    expect([removed, reason]).toEqual([false, expect.stringMatching(/could not be saved/)]);
    expect(readFileSync(index).equals(before)).toBe(true);
    expect(readFileSync(join(path, "new"), "utf8")).toBe("x");
    expect(userGit(path, "status", "--porcelain")).toBe("?? new");
    expect(readdirSync(root).sort()).toEqual([".t1.json", "t1"]);
  });

  test("commits that are nowhere else: a patch, and the branch stays", async () => {
    const { root, patch, ask } = newWorld();
    const { path } = await open(ask());
    write(join(path, "new"), "x\n");
    await commitWorkspace(path, "m");
    const kept = { id: "t1", removed: true, archived: patch, branch_kept: "viv/t1@run" };
    expect(await removeWorkspace(root, "t1", patch)).toEqual(kept);
    expect(readFileSync(patch, "utf8")).toContain("+x\n");
  });

  test("commits that differ in nothing from base: no patch, but the branch stays", async () => {
    const { root, patch, ask } = newWorld();
    const { path } = await open(ask());
    userGit(path, "commit", "--quiet", "--allow-empty", "-m", "empty");
    const kept = { id: "t1", removed: true, branch_kept: "viv/t1@run" };
    expect(await removeWorkspace(root, "t1", patch)).toEqual(kept);
    expect(existsSync(patch)).toBe(false);
  });

  test("an archive that is there already is not overwritten", async () => {
    const { root, patch, ask } = newWorld();
    write(patch, "from before");
    write(join((await open(ask())).path, "new"), "x");
    const { archived } = await removeWorkspace(root, "t1", patch);
    expect(archived).toBe(patch.replace(".patch", ".2.patch"));
    expect(readFileSync(patch, "utf8")).toBe("from before");
    symlinkSync("/etc/passwd", patch.replace(".patch", ".3.patch"));
    write(join((await open(ask())).path, "new"), "x");
    expect((await removeWorkspace(root, "t1", patch)).archived).toMatch(/t1\.4\.patch$/);
  });

  test("a branch that is checked out elsewhere, or is the last to hold a commit, stays", async () => {
    const { repository, root, patch, ask } = newWorld();
    await open(ask("t1"));
    userGit(repository, "switch", "--quiet", "--ignore-other-worktrees", "viv/t1@run");
    const kept = { id: "t1", removed: true, branch_kept: "viv/t1@run" };
    expect(await removeWorkspace(root, "t1", patch)).toEqual(kept);
    userGit(repository, "switch", "--quiet", "main");

    const { path } = await open(ask("t2"));
    write(join(path, "a"), "x");
    await commitWorkspace(path, "a");
    await open({ ...ask("t3"), base: "viv/t2@run" }); // the same commit on two branches
    expect(await removeWorkspace(root, "t2", patch)).toMatchObject({ branch_kept: "viv/t2@run" });
    expect(await removeWorkspace(root, "t3", patch)).toMatchObject({ branch_kept: "viv/t3@run" });
  });

  test("not what neither a patch nor a branch would hold", async () => {
    const { repository, root, patch, ask } = newWorld();
    const because = async () => (await removeWorkspace(root, "t1", patch)).reason;
    const { path } = await open(ask());
    userGit(path, "clone", "--quiet", repository, join(path, "inner"));
    expect(await because()).toMatch(/a repository of its own in .*inner\/; move it away/);
    rmSync(join(path, "inner"), { recursive: true });
    userGit(path, "switch", "--quiet", "--detach");
    userGit(path, "commit", "--quiet", "--allow-empty", "-m", "loose");
    expect(await because()).toMatch(/1 commit on no branch; keep with: git -C/);
    userGit(path, "switch", "--quiet", "viv/t1@run");
    userGit(repository, "worktree", "lock", path);
    expect(await because()).toMatch(/is locked/);
    userGit(repository, "worktree", "unlock", path);
    expect(existsSync(path)).toBe(true);
    expect(await removeWorkspace(root, "t1", patch)).toEqual({ id: "t1", removed: true });
  });

  test("one whose folder is gone is forgotten, and its commits are not", async () => {
    const { repository, root, patch, ask } = newWorld();
    const { path } = await open(ask("t1"));
    rmSync(path, { recursive: true });
    expect(await removeWorkspace(root, "t1", patch)).toEqual({ id: "t1", removed: true });
    const second = await open(ask("t2"));
    write(join(second.path, "a"), "x");
    await commitWorkspace(second.path, "a");
    rmSync(second.path, { recursive: true });
    const kept = { id: "t2", removed: true, branch_kept: "viv/t2@run" };
    expect(await removeWorkspace(root, "t2", patch)).toEqual(kept);
    expect(userGit(repository, "worktree", "list", "--porcelain").split("\n\n")).toHaveLength(1);
    expect(await listWorkspaces(root)).toEqual([]);
  });

  test("links are removed, and what they lead to stays", async () => {
    const { folder, root, patch, ask } = newWorld();
    const outside = join(folder, "outside");
    write(join(outside, "file"), "x");
    const { path } = await open(ask());
    symlinkSync(outside, join(path, "ignored"));
    expect(await removeWorkspace(root, "t1", patch)).toEqual({ id: "t1", removed: true });
    const plain = await open({ kind: "dir", run: "run", root, id: "t2" });
    symlinkSync(outside, join(plain.path, "link"));
    expect(await removeWorkspace(root, "t2", patch)).toMatchObject({ removed: true });
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("x");
    symlinkSync(outside, join(root, "t3"));
    const { removed, reason } = await removeWorkspace(root, "t3", patch);
    expect([removed, reason]).toEqual([false, expect.stringMatching(/no folder/)]);
    expect(readdirSync(outside)).toEqual(["file"]);
  });
});

describe("removing a plain folder", () => {
  async function newDir() {
    const folder = newFolder();
    const root = join(folder, "workspaces");
    const { path } = await open({ kind: "dir", run: "run", root, id: "t1" });
    return { folder, root, path, patch: join(folder, "artifacts/t1.patch") };
  }

  test("that is empty", async () => {
    const { root, patch } = await newDir();
    expect(await removeWorkspace(root, "t1", patch)).toEqual({ id: "t1", removed: true });
    expect(existsSync(patch)).toBe(false);
  });

  test("a patch makes every file again, byte by byte", async () => {
    const { folder, root, path, patch } = await newDir();
    write(
      join(path, ".gitattributes"),
      "* text eol=crlf ident filter=x working-tree-encoding=UTF-16\n",
    );
    write(join(path, ".gitignore"), "*\n");
    write(join(path, "text"), "a\nb\r\n$Id$\n");
    write(join(path, "binary"), Buffer.from([0, 255, 13, 10, 10]));
    write(join(path, "deep/program"), "#!/bin/sh\n", 0o755);
    write(join(path, "empty"), "");
    write(join(path, "new\nline and space"), "x");
    symlinkSync("/etc/passwd", join(path, "link"));
    const before = snapshot(path);
    const archived = { id: "t1", removed: true, archived: patch };
    expect(await removeWorkspace(root, "t1", patch)).toEqual(archived);
    const again = join(folder, "again");
    mkdirSync(again);
    userGit(again, "apply", patch);
    expect(snapshot(again)).toEqual(before);
  });

  test.each([
    ["an empty folder", (path: string) => mkdirSync(join(path, "empty"))],
    ["a repository", (path: string) => userGit(path, "init", "--quiet", "inner")],
    ["a file called .git", (path: string) => writeFileSync(join(path, ".git"), "x")],
    ["a name git does not take", (path: string) => writeFileSync(join(path, "git~1"), "")],
  ])("with %s: a tar, because no patch can hold it", async (_, add) => {
    const { folder, root, path, patch } = await newDir();
    write(join(path, "file"), "x");
    add(path);
    const list = (where: string) => readdirSync(where, { recursive: true }).sort();
    const before = [snapshot(path), list(path)];
    const tar = patch.replace(".patch", ".tar");
    const archived = { id: "t1", removed: true, archived: tar };
    expect(await removeWorkspace(root, "t1", patch)).toEqual(archived);
    expect(statSync(tar).mode & 0o777).toBe(0o600);
    const again = join(folder, "again");
    mkdirSync(again);
    execFileSync("tar", ["-xf", tar, "-C", again]);
    expect([snapshot(again), list(again)]).toEqual(before);
  });

  test("stays when nothing can be written", async () => {
    const { folder, root, path, patch } = await newDir();
    write(join(path, "file"), "x");
    writeFileSync(join(folder, "artifacts"), "in the way");
    const { removed, reason } = await removeWorkspace(root, "t1", patch);
    expect([removed, reason]).toEqual([false, expect.stringMatching(/could not be saved/)]);
    expect(readFileSync(join(path, "file"), "utf8")).toBe("x");
    expect(readdirSync(root).sort()).toEqual([".t1.json", "t1"]);
  });
});
