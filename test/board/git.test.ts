import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BoardRepository, boardGit } from "../../src/board/repository.ts";
import { ok } from "../cli/support.ts";
import { Repository } from "./support.ts";

const boards = boardGit(() => {});

/** A change up to the commit, as if its process died there. */
async function commitAs(board: BoardRepository, agent: string) {
  const tip = await board.look();
  return () =>
    board.commit(tip, {
      bytes: Buffer.concat([tip.bytes, Buffer.from(`${agent}\n`)]),
      message: `desk: ${agent}\n`,
      agent,
    });
}

describe("a board in git", () => {
  it("takes one commit of all that were made on the same tip", async () => {
    const repo = new Repository();
    const agents = ["a", "b", "c", "d", "e"];
    const opened = await Promise.all(agents.map(() => boards.open(repo.board)));
    for (let round = 0; round < 5; round++) {
      const ready = await Promise.all(
        opened.map((board, i) => commitAs(board, agents[i] as string)),
      );
      const tips = await Promise.all(ready.map((commit) => commit()));
      const [winner, ...others] = tips.filter((tip) => tip !== null);
      expect(others).toEqual([]);
      expect(repo.head).toBe(winner?.commit);
      expect(
        await opened[tips.findIndex((tip) => tip !== null)]?.follow(winner as never),
      ).toBeNull();
      expect(repo.git("status", "--porcelain")).toBe("");
    }
    expect(repo.git("rev-list", "--count", "HEAD")).toBe("6");
    // One that comes long after has lost as well.
    const late = await commitAs(await boards.open(repo.board), "late");
    repo.git("commit", "-q", "--allow-empty", "-m", "something else");
    expect(await late()).toBeNull();
    // And so has one whose tip was taken back.
    const back = await commitAs(await boards.open(repo.board), "back");
    repo.git("update-ref", "refs/heads/main", "HEAD~1");
    expect(await back()).toBeNull();
  });

  it("knows a board that is behind, after a crash, from one that was edited", async () => {
    const repo = new Repository();
    const before = repo.read();
    expect(await (await commitAs(await boards.open(repo.board), "dead"))()).not.toBeNull();
    expect(repo.read()).toBe(before);
    expect(repo.git("status", "--porcelain")).toBe("M  board.org");
    repo.write(`${before}mine\n`);
    await expect((await boards.open(repo.board)).look()).rejects.toThrow("has uncommitted edits");
    repo.write(before);
    expect((await (await boards.open(repo.board)).look()).isBehind).toBe(true);
    await ok(["board", "claim", "second", "--agent", "wren"], { cwd: repo.top });
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.read()).toContain(":AGENT: wren");
    expect(repo.read()).toMatch(/\ndead\n$/);
  });

  it("leaves an edit between the commit and the update of the file", async () => {
    const repo = new Repository();
    const board = await boards.open(repo.board);
    const tip = await (await commitAs(board, "a"))();
    repo.write("mine\n");
    expect(await board.follow(tip as never)).toContain("was edited meanwhile and is left as it is");
    expect(repo.read()).toBe("mine\n");
    expect(readdirSync(join(repo.top, ".git/viv-board"))).toEqual([]);
    expect(existsSync(join(repo.top, ".git/index.lock"))).toBe(false);
  });

  it("stays left out where a sparse checkout leaves it out", async () => {
    const repo = new Repository();
    writeFileSync(join(repo.top, "kept.txt"), "kept");
    repo.commit("kept");
    repo.git("sparse-checkout", "set", "--no-cone", "/kept.txt");
    for (const slug of ["hello-world", "second"]) {
      await ok(["board", "claim", slug, "--agent", "wren", "--board", repo.board]);
      expect(existsSync(repo.board)).toBe(false);
      expect(repo.git("status", "--porcelain")).toBe("");
    }
  });

  it("runs no hook and signs nothing", async () => {
    const repo = new Repository();
    repo.git("config", "commit.gpgSign", "true");
    repo.git("config", "gpg.program", "/bin/false");
    for (const hook of ["pre-commit", "reference-transaction", "post-commit", "commit-msg"]) {
      const path = join(repo.top, ".git/hooks", hook);
      writeFileSync(path, `#!/bin/sh\ntouch ${repo.top}/ran\nexit 1\n`);
      chmodSync(path, 0o755);
    }
    await ok(["board", "claim", "second", "--agent", "wren"], { cwd: repo.top });
    expect(existsSync(join(repo.top, "ran"))).toBe(false);
  });
});
