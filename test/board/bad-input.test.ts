import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cli, ok } from "../cli/support.ts";
import { NEWSROOM, Repository } from "./support.ts";

/** What is refused: the status, a part of the sentence, and that nothing has changed. */
async function refused(
  repo: Repository,
  args: readonly string[],
  status: number,
  sentence: string | RegExp,
): Promise<void> {
  const before = repo.state();
  const text = existsSync(repo.board) ? repo.read() : null;
  const said = await cli(["board", ...args], { cwd: repo.top });
  expect(said.stderr).toMatch(sentence);
  expect(said).toMatchObject({ status, stdout: "" });
  expect(repo.state()).toBe(before);
  expect(existsSync(repo.board) ? repo.read() : null).toBe(text);
}

const CLAIM = ["claim", "hello-world", "--agent", "moss"];

describe("viv board refuses, and changes nothing", () => {
  it("where there is no board, or it is in no repository", async () => {
    const repo = new Repository();
    await refused(repo, [...CLAIM, "--board", "nowhere.org"], 3, /there is no board .*nowhere.org/);
    await refused(repo, [...CLAIM, "--board", "no/where.org"], 3, /there is no board/);
    await refused(repo, [...CLAIM, "--board", "."], 2, /is a folder/);
    await refused(repo, [...CLAIM, "--board", ""], 2, /--board is empty/);
    renameSync(join(repo.top, ".git"), join(repo.top, "gone"));
    await refused(repo, CLAIM, 5, /is in no git repository.*git init/);
    await refused(repo, ["ls"], 5, /is in no git repository/);
    renameSync(join(repo.top, "gone"), join(repo.top, ".git"));
    const bare = join(repo.top, "bare.git");
    repo.git("init", "-q", "--bare", bare);
    writeFileSync(join(bare, "board.org"), NEWSROOM);
    rmSync(join(repo.top, ".git"), { recursive: true });
    await refused(repo, [...CLAIM, "--board", join(bare, "board.org")], 5, /bare repository/);
  });

  it("a board that is not committed, ignored, deleted or a link", async () => {
    const empty = new Repository(null);
    empty.write(NEWSROOM);
    await refused(empty, CLAIM, 5, /has no commit yet/);
    await refused(empty, ["ls"], 5, /has no commit yet/);
    writeFileSync(join(empty.top, "a.txt"), "a");
    empty.git("add", "a.txt");
    empty.git("commit", "-qm", "a");
    await refused(empty, CLAIM, 5, /is not committed on this branch.*git add board.org/);
    writeFileSync(join(empty.top, ".gitignore"), "board.org\n");
    await refused(empty, CLAIM, 5, /is ignored by git/);
    const repo = new Repository();
    rmSync(repo.board);
    await refused(
      repo,
      [...CLAIM, "--board", "board.org"],
      4,
      /was deleted.*git restore board.org/,
    );
    symlinkSync("elsewhere.org", repo.board);
    await refused(repo, [...CLAIM, "--board", "board.org"], 5, /is a link/);
  });

  it("a repository whose branch names no commit that is there", async () => {
    const repo = new Repository();
    for (const [text, said] of [
      ["1".repeat(40), /HEAD of .* names "1{40}".*damaged; run: git fsck/],
      ["garbage", /names "garbage".*damaged/],
    ] as const) {
      writeFileSync(join(repo.top, ".git/refs/heads/main"), `${text}\n`);
      await refused(repo, CLAIM, 5, said);
      await refused(repo, ["ls"], 5, said);
    }
  });

  it("a branch whose lock cannot be created, at once and with git's message", async () => {
    const repo = new Repository();
    repo.git("pack-refs", "--all");
    const heads = join(repo.top, ".git/refs/heads");
    rmSync(heads, { recursive: true });
    symlinkSync("/nowhere/at/all", heads);
    await refused(repo, CLAIM, 5, /the branch main could not be moved: .*unable to create/);
  });

  it("a board with uncommitted or staged edits", async () => {
    const repo = new Repository();
    repo.write(`${NEWSROOM}mine\n`);
    await refused(repo, CLAIM, 4, /has uncommitted edits/);
    await refused(repo, ["open", "more"], 4, /has uncommitted edits/);
    repo.git("add", "board.org");
    await refused(repo, CLAIM, 4, /edits.*git restore --staged --worktree board.org/);
    repo.write(NEWSROOM);
    await refused(repo, CLAIM, 4, /staged changes.*git restore --staged board.org/);
    expect((await cli(["board", "ls"], { cwd: repo.top })).status).toBe(0);
  });

  it("a merge, a rebase or a cherry-pick under way, conflicts, and no branch", async () => {
    const repo = new Repository();
    repo.git("switch", "-qc", "side");
    repo.edit("A lead.", "Their lead.", "desk: theirs");
    repo.git("switch", "-q", "main");
    repo.edit("A lead.", "Our lead.", "desk: ours");
    for (const [begin, end, what] of [
      [["merge", "side"], ["merge", "--abort"], "a merge"],
      [["rebase", "side"], ["rebase", "--abort"], "a rebase"],
      [["cherry-pick", "side"], ["cherry-pick", "--abort"], "a cherry-pick"],
    ] as const) {
      expect(repo.ask(...begin).status).not.toBe(0);
      await refused(repo, CLAIM, 4, `${what} is under way`);
      repo.git(...end);
    }
    repo.write(repo.read().replace("Our lead.", "Stashed lead."));
    repo.git("stash", "-q");
    repo.edit("Our lead.", "Newer lead.", "desk: newer");
    expect(repo.ask("stash", "pop").status).not.toBe(0);
    await refused(repo, CLAIM, 4, /has unresolved conflicts/);
    repo.git("add", "board.org");
    repo.git("commit", "-qm", "desk: oh dear");
    await refused(repo, CLAIM, 5, /conflict markers \(line \d+\)/);
    await refused(repo, ["next", "--agent", "moss"], 5, /with conflict markers/);
    repo.git("switch", "-q", "--detach", "side");
    await refused(repo, CLAIM, 4, /on no branch \(detached HEAD\)/);
  });

  it("but not a file named like an option, with odd letters, in a folder below", async () => {
    const repo = new Repository(NEWSROOM, "a b/-ü*[x].org");
    const board = join(repo.top, "a b/-ü*[x].org");
    mkdirSync(join(repo.top, "a b/c"));
    await ok(["board", "claim", "second", "--agent", "wren", "--board", board]);
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.subjects()[0]).toBe("write: claim second");
  });

  it("warns when the index cannot follow, and updates it the next time", async () => {
    const repo = new Repository();
    const lock = join(repo.top, ".git/index.lock");
    writeFileSync(lock, "");
    const said = await cli(["board", "claim", "second", "--agent", "wren"], { cwd: repo.top });
    expect(said.status).toBe(0);
    expect(said.stderr).toMatch(/committed, but the index is behind: .*index.lock/);
    rmSync(lock);
    await ok(["board", "claim", "hello-world", "--agent", "moss"], { cwd: repo.top });
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("a repository to which nothing can be added, with the words of git", async () => {
    const repo = new Repository();
    const folders = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"))
      .map((name) => join(repo.top, ".git/objects", name))
      .filter((folder) => !existsSync(folder));
    for (const folder of folders) writeFileSync(folder, ""); // where git would make a folder
    await refused(repo, CLAIM, 5, /nothing can be committed in .*unpack-objects failed/);
    for (const folder of folders) rmSync(folder);
    await ok(["board", ...CLAIM], { cwd: repo.top });
  });

  it("but not SHA-256, deep folders and a branch with slashes", async () => {
    const repo = new Repository(null, "a/b/c/board.org");
    rmSync(join(repo.top, ".git"), { recursive: true });
    repo.git("init", "-q", "-b", "feature/x", "--object-format=sha256");
    repo.git("config", "user.name", "somebody");
    repo.git("config", "user.email", "somebody@example.org");
    mkdirSync(join(repo.top, "a/b/c"), { recursive: true });
    repo.write(NEWSROOM);
    writeFileSync(join(repo.top, "a/z.txt"), "z");
    repo.commit("desk: the board");
    repo.git("gc", "-q");
    const cwd = join(repo.top, "a/b/c");
    await ok(["board", "claim", "second", "--agent", "wren"], { cwd });
    await ok(["board", "advance", "second", "--agent", "wren"], { cwd });
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.git("fsck", "--strict")).toBe("");
    expect(repo.git("show", "--format=", "--name-only")).toBe("a/b/c/board.org");
  });
});
