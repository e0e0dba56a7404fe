import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { cli, json, ok } from "../cli/support.ts";
import { newFolder } from "../support/folders.ts";
import { Repository } from "./support.ts";

const TEXT = "#+TITLE: board\n#+TODO: ASSIGNED RESEARCH WRITING EDIT | PUBLISHED KILLED\n";

describe("viv board init", () => {
  it("makes a board as the first commit of a repository, and it can be used at once", async () => {
    const repo = new Repository(null);
    const around = { cwd: repo.top };
    writeFileSync(join(repo.top, "notes"), "");
    repo.git("add", "notes");
    expect(await json(["board", "init"], around)).toEqual({
      ...{ board: repo.board, created: true, commit: repo.head },
      states: ["ASSIGNED", "RESEARCH", "WRITING", "EDIT", "PUBLISHED", "KILLED"],
    });
    expect(repo.read()).toBe(TEXT);
    expect(repo.git("show", "--name-only", "--format=%s|%an", "HEAD")).toBe(
      "desk: the board|ida\n\nboard.org",
    );
    // Other staged files stay staged.
    expect(repo.git("status", "--porcelain")).toBe("A  notes");
    await ok(["board", "open", "hello world — one story"], around);
    await ok(["board", "claim", "hello-world", "--agent", "moss"], around);
    expect(await json(["board", "audit"], around)).toMatchObject({ findings: [] });
  });

  it("is done once: a second call changes nothing", async () => {
    const repo = new Repository(null);
    const around = { cwd: repo.top };
    await ok(["board", "init"], around);
    const before = repo.state();
    expect(await ok(["board", "init"], around)).toContain("is a board already");
    expect(await json(["board", "init"], around)).toMatchObject({ created: false, commit: null });
    expect(repo.state()).toBe(before);
  });

  it("commits a board that lies there, as it is", async () => {
    const repo = new Repository(null);
    const text = "#+TODO: A B | C\n*** A hello world\n";
    repo.write(text);
    expect(await json(["board", "init"], { cwd: repo.top })).toMatchObject({
      ...{ created: false, commit: repo.head, states: ["A", "B", "C"] },
    });
    expect(repo.read()).toBe(text);
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("takes another place and other states, and an author where git has none", async () => {
    const repo = new Repository(null);
    repo.git("config", "--unset", "user.name");
    repo.git("config", "--unset", "user.email");
    repo.git("config", "user.useConfigOnly", "true");
    mkdirSync(join(repo.top, "desk"));
    vi.stubEnv("GIT_CONFIG_GLOBAL", "/dev/null");
    vi.stubEnv("GIT_CONFIG_SYSTEM", "/dev/null");
    onTestFinished(() => void vi.unstubAllEnvs());
    const args = ["board", "init", "--board", "desk/b.org", "--states", "TODO | DONE"];
    await ok([...args, "--agent", "moss"], { cwd: repo.top });
    expect(repo.git("show", "HEAD:desk/b.org")).toBe("#+TITLE: board\n#+TODO: TODO | DONE");
    if (process.env.GIT_AUTHOR_NAME === undefined && process.env.EMAIL === undefined) {
      expect(repo.git("log", "-1", "--format=%an <%ae>")).toBe("moss <moss@localhost>");
    }
  });

  it.each([
    ["", 2],
    ["A B", 2],
    ["A | ", 2],
    ["| B", 2],
    ["A | B | C", 2],
    ["A\n* B | C", 2],
  ])("refuses the states %j", async (states, status) => {
    const repo = new Repository(null);
    expect(await cli(["board", "init", "--states", states], { cwd: repo.top })).toMatchObject({
      status,
    });
    expect(existsSync(repo.board)).toBe(false);
  });

  it("outside a repository says how to make one, and leaves nothing", async () => {
    const folder = newFolder();
    const { status, stderr } = await cli(["board", "init"], { cwd: folder });
    expect({ status, stderr }).toMatchObject({ status: 5 });
    expect(stderr).toContain(
      `is in no git repository, and claims are commits; make one with: git init`,
    );
    expect(existsSync(join(folder, "board.org"))).toBe(false);
  });

  it("commits no file that is no board, and makes none that git ignores", async () => {
    const repo = new Repository(null);
    const around = { cwd: repo.top };
    writeFileSync(join(repo.top, "notes.org"), "* a thought\n");
    writeFileSync(join(repo.top, ".gitignore"), "board.org\n");
    const notes = await cli(["board", "init", "--board=notes.org"], around);
    expect(notes).toMatchObject({ status: 5, stderr: expect.stringContaining("is no board") });
    const ignored = await cli(["board", "init"], around);
    expect(ignored).toMatchObject({ status: 5, stderr: expect.stringContaining("git ignores") });
    expect(existsSync(repo.board)).toBe(false);
    expect(repo.git("status", "--porcelain")).toBe("?? .gitignore\n?? notes.org");
  });

  it("of many at once makes one commit", async () => {
    const repo = new Repository(null);
    await Promise.all(Array.from({ length: 5 }, () => ok(["board", "init"], { cwd: repo.top })));
    expect(repo.subjects()).toEqual(["desk: the board"]);
  });
});
