import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readBoard } from "../../src/board/board.ts";
import { Running, viv } from "../cli/support.ts";
import { until } from "../support/deadline.ts";
import { Repository } from "./support.ts";

const TASKS = (count: number) =>
  `#+TODO: ASSIGNED RESEARCH WRITING | DONE\n${Array.from({ length: count }, (_, i) => `* ASSIGNED t${i}\n`).join("")}`;

const AGENTS = ["moss", "wren", "hale", "desk"];

function claims(repo: Repository): Map<string, string> {
  const { tasks } = readBoard(repo.git("show", "HEAD:board.org"));
  return new Map(tasks.flatMap(({ slug, agent }) => (agent === null ? [] : [[slug, agent]])));
}

describe("a board that many agents use at once", () => {
  it("gives each task to exactly one of several claims at the same moment", async () => {
    const rounds = 8;
    const repo = new Repository(TASKS(rounds));
    for (let round = 0; round < rounds; round++) {
      const running = AGENTS.map(
        (agent) =>
          new Running(["board", "claim", `t${round}`, "--agent", agent], { cwd: repo.top }),
      );
      const ends = await Promise.all(running.map((one) => one.end()));
      expect(ends.map(({ status }) => status).sort()).toEqual([0, 4, 4, 4]);
      const winner = AGENTS[ends.findIndex(({ status }) => status === 0)];
      expect(claims(repo).get(`t${round}`)).toBe(winner);
      for (const { status, stderr } of ends) {
        expect(stderr).toBe(
          status === 0
            ? ""
            : `viv: ${winner} has t${round} (RESEARCH); take another: viv board next\n`,
        );
      }
    }
    expect(repo.git("rev-list", "--count", "HEAD")).toBe(String(rounds + 1));
    expect(repo.git("rev-list", "--merges", "HEAD")).toBe("");
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.git("fsck", "--strict", "--no-dangling")).toBe("");
    expect(viv(["board", "audit"], { cwd: repo.top }).status).toBe(0);
  }, 120_000);

  it("loses nothing when all change different tasks, and leaves file and index at the latest", async () => {
    const repo = new Repository(TASKS(10));
    const running = Array.from(
      { length: 10 },
      (_, i) => new Running(["board", "claim", `t${i}`, "--agent", `a${i}`], { cwd: repo.top }),
    );
    const ends = await Promise.all(running.map((one) => one.end()));
    expect(ends.map(({ status, stderr }) => [status, stderr])).toEqual(ends.map(() => [0, ""]));
    expect([...claims(repo)].sort()).toEqual(ends.map((_, i) => [`t${i}`, `a${i}`]));
    expect(repo.git("status", "--porcelain")).toBe("");
    expect(repo.read()).toBe(`${repo.git("show", "HEAD:board.org")}\n`);
    expect(readdirSync(join(repo.top, ".git/viv-board"))).toEqual([]);
  }, 120_000);
});

describe("a claim that is killed", () => {
  it("leaves the board before or after, the repository whole, and the next one goes on", async () => {
    const rounds = 24;
    const repo = new Repository(TASKS(rounds + 1));
    const start = performance.now();
    expect(viv(["board", "claim", `t${rounds}`, "--agent", "kim"], { cwd: repo.top }).status).toBe(
      0,
    );
    const took = performance.now() - start;
    let made = 0;
    for (let round = 0; round < rounds; round++) {
      const before = repo.head;
      const running = new Running(["board", "claim", `t${round}`, "--agent", "moss"], {
        cwd: repo.top,
      });
      // The moments are spread over the whole of its life, the later half more closely.
      const timer = setTimeout(
        () => running.child.kill("SIGKILL"),
        took * (0.3 + (0.8 * round) / rounds),
      );
      await running.end();
      clearTimeout(timer);
      // A git that it had started goes on for a moment.
      await until("the index is free", () => !existsSync(join(repo.top, ".git/index.lock")));
      expect(repo.git("fsck", "--strict", "--no-dangling")).toBe("");
      const { head } = repo;
      expect([before, repo.git("rev-parse", "HEAD~1")]).toContain(head === before ? head : before);
      if (head !== before) made++;
      // The same agent asks again, and gets what it has or takes it now; all is up to date then.
      const again = viv(["board", "claim", `t${round}`, "--agent", "moss"], { cwd: repo.top });
      expect([again.status, again.stderr]).toEqual([0, ""]);
      expect(repo.git("status", "--porcelain")).toBe("");
      expect(claims(repo).get(`t${round}`)).toBe("moss");
    }
    expect(repo.git("rev-list", "--count", "HEAD")).toBe(String(rounds + 2));
    expect(made).toBeLessThan(rounds + 1);
    rmSync(join(repo.top, ".git/viv-board"), { recursive: true, force: true });
    expect(viv(["board", "audit"], { cwd: repo.top }).status).toBe(0);
  }, 180_000);
});
