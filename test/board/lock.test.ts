import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Board, BoardTask } from "../../src/board/board.ts";
import { changeBoard, type Decision } from "../../src/board/change.ts";
import { checkoutOf } from "../../src/board/checkout.ts";
import { waitForLock } from "../../src/board/commit.ts";
import { claimMove } from "../../src/board/moves.ts";
import { cli } from "../cli/support.ts";
import { newFolder } from "../support/folders.ts";
import { useGit } from "../support/landing-world.ts";
import { Repository } from "./support.ts";

const CLAIM: Decision = {
  slug: "second",
  decide: (board: Board, task: BoardTask) => claimMove(board, task, { agent: "wren", now: 0 }),
};

describe("a stale lock on the branch", () => {
  it("is waited for: first silently, then with a message, and the change is made when it is gone", async () => {
    const repo = new Repository();
    const lock = join(repo.top, ".git/refs/heads/main.lock");
    writeFileSync(lock, "");
    const notices: string[] = [];
    const notify = (sentence: string) => {
      notices.push(sentence);
      rmSync(lock);
    };
    const patience = { silentMs: 0, mostMs: Number.POSITIVE_INFINITY };
    const wait = (path: string) => waitForLock(path, notify, patience);
    const { commit } = await changeBoard(await checkoutOf(repo.board), wait, "wren", CLAIM);
    expect(notices).toEqual([`waiting for the git lock ${lock}`]);
    expect(commit).toBe(repo.head);
    expect(repo.git("status", "--porcelain")).toBe("");
  });

  it("is named when it does not go away, and nothing has changed", async () => {
    const repo = new Repository();
    const { head } = repo;
    const claim = ["board", "claim", "second", "--agent", "wren"];
    for (const name of ["refs/heads/main.lock", "HEAD.lock"]) {
      const lock = join(repo.top, ".git", name);
      writeFileSync(lock, "");
      const around = { cwd: repo.top, patience: { silentMs: 0, mostMs: 0 } };
      expect(await cli(claim, around)).toEqual({
        status: 5,
        stdout: "",
        stderr: `viv: the git lock ${lock} has not gone away for 0 s; if no git runs there any more, remove that file and try again.\n`,
      });
      rmSync(lock);
    }
    expect(repo.head).toBe(head);
    expect(repo.git("status", "--porcelain")).toBe("");
  });
});

it("a Ctrl-C at the terminal reaches no git that holds a lock for the change", async () => {
  const repo = new Repository();
  const log = join(newFolder(), "groups");
  useGit(
    newFolder(),
    `case " $* " in *" update-ref "*|*" update-index "*) echo $$ $(cut -d' ' -f5 /proc/$$/stat) >>'${log}';; esac
exec "$git" "$@"`,
  );
  onTestFinished(() => void vi.unstubAllEnvs());
  await changeBoard(await checkoutOf(repo.board), async () => {}, "wren", CLAIM);
  const calls = readFileSync(log, "utf8").trim().split("\n");
  expect(calls).toHaveLength(2);
  for (const [pid, group] of calls.map((line) => line.split(" "))) expect(group).toBe(pid);
});
