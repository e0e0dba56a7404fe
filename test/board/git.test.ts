import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BoardCheckout, checkoutOf } from "../../src/board/checkout.ts";
import { commitChange, waitForLock } from "../../src/board/commit.ts";
import { follow } from "../../src/board/follow.ts";
import { readTip } from "../../src/board/tip.ts";
import { gitVariables } from "../../src/platform/git/git.ts";
import { ok } from "../cli/support.ts";
import { Repository } from "./support.ts";

/** A change up to the commit, as if its process were killed there. */
async function commitAs(checkout: BoardCheckout, agent: string) {
  const tip = await readTip(checkout);
  const variables = await gitVariables(checkout.top);
  const context = {
    checkout,
    variables,
    waitForLock: (lock: string) => waitForLock(lock, () => {}),
  };
  const bytes = Buffer.concat([tip.bytes, Buffer.from(`${agent}\n`)]);
  return () => commitChange(context, tip, { bytes, message: `desk: ${agent}\n`, agent });
}

describe("a board in git", () => {
  it("takes one commit of all that were made on the same tip", async () => {
    const repo = new Repository();
    const agents = ["a", "b", "c", "d", "e"];
    const board = await checkoutOf(repo.board);
    for (let round = 0; round < 5; round++) {
      const ready = await Promise.all(agents.map((agent) => commitAs(board, agent)));
      const made = await Promise.all(ready.map((commit) => commit()));
      const [winner, ...others] = made.filter((one) => one !== null);
      if (winner === undefined) throw new Error("no commit was made");
      expect(others).toEqual([]);
      expect(repo.head).toBe(winner.tip.commit);
      expect(await follow(board, winner.tip, winner.note)).toBeUndefined();
      expect(repo.git("status", "--porcelain")).toBe("");
    }
    expect(repo.git("rev-list", "--count", "HEAD")).toBe("6");
    // One that comes long after has lost as well.
    const late = await commitAs(board, "late");
    repo.git("commit", "-q", "--allow-empty", "-m", "something else");
    expect(await late()).toBeNull();
    // And so has one after its tip was taken back.
    const back = await commitAs(board, "back");
    repo.git("update-ref", "refs/heads/main", "HEAD~1");
    expect(await back()).toBeNull();
  });

  it("knows a board that is behind, after a crash, from one that was edited", async () => {
    const repo = new Repository();
    const before = repo.read();
    const board = await checkoutOf(repo.board);
    expect(await (await commitAs(board, "dead"))()).not.toBeNull();
    expect(repo.read()).toBe(before);
    expect(repo.git("status", "--porcelain")).toBe("M  board.org");
    repo.write(`${before}mine\n`);
    await expect(readTip(board)).rejects.toThrow("has uncommitted edits");
    repo.write(before);
    expect((await readTip(board)).isBehind).toBe(true);
    await ok(["board", "claim", "second", "--agent", "wren"], { cwd: repo.top });
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.read()).toContain(":AGENT: wren");
    expect(repo.read()).toMatch(/\ndead\n$/);
  });

  it("leaves an edit between the commit and the update of the file", async () => {
    const repo = new Repository();
    const board = await checkoutOf(repo.board);
    const made = await (await commitAs(board, "a"))();
    if (made === null) throw new Error("no commit was made");
    repo.write("mine\n");
    const warning = await follow(board, made.tip, made.note);
    expect(warning).toContain("was edited meanwhile and is left as it is");
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
