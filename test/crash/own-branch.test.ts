import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { cli, viv } from "../cli/support.ts";
import { newFolder } from "../support/folders.ts";

/**
 * kill -9 of a worker before and after each git that makes a worktree, while another run of the same
 * name works on a task of the same id in the same repository. Each has a branch with its own work.
 */
const MOST_STEPS = 40;

async function twoRuns() {
  const home = newFolder();
  const app = join(home, "app");
  mkdirSync(app);
  const git = (...args: string[]) => {
    const who = ["-c", "user.name=User", "-c", "user.email=user@example.org"];
    return execFileSync("git", [...who, ...args], { cwd: app, encoding: "utf8" }).trim();
  };
  git("init", "--quiet", "--initial-branch=main");
  git("commit", "--quiet", "--allow-empty", "-m", "first");
  const handle = '#!/bin/sh\necho work > "$(basename "$(dirname "$VIV_RUN")").txt"\n';
  writeFileSync(join(home, "handle.sh"), handle, { mode: 0o755 });
  const env = { PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state") };
  const [one, two] = ["one", "two"].map((name) => ({ cwd: join(home, name), env }));
  if (one === undefined || two === undefined) throw new Error("two");
  const route = 'handler = "../handle.sh"\nworkspace = "worktree"\nrepository = "../app"\n';
  for (const { cwd } of [one, two]) {
    mkdirSync(cwd);
    writeFileSync(join(cwd, "viv.toml"), `run = "run"\n[handlers.default]\n${route}`);
    const store = await openRun(join(cwd, "run"), { create: true, durability: "fast" });
    await store.enqueue({ id: "a", type: "t" });
    await store.close();
  }
  return { home, git, one, two };
}

/** A git that kills the program that calls it, at the Nth call; with "after", it does its work first. */
function fatalGit(home: string, number: number, when: "before" | "after") {
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const bin = join(home, "bin");
  mkdirSync(bin);
  const work = when === "after" ? `${real} "$@";` : "";
  const script = `#!/bin/sh
set -C # so that ">" makes a file that was not there, without a program
n=1
until command : 2>/dev/null >${bin}/call.$n; do n=$((n + 1)); done
test $n = ${number} && { ${work} kill -9 $PPID; exit 1; }
exec ${real} "$@"
`;
  writeFileSync(join(bin, "git"), script, { mode: 0o755 });
  return `${bin}:${process.env.PATH}`;
}

test.each(["before", "after"] as const)(
  "killed %s each git",
  { timeout: 300_000 },
  async (when) => {
    let steps = 0;
    for (let isOver = false; !isOver && steps < MOST_STEPS; ) {
      steps++;
      const { home, git, one, two } = await twoRuns();
      const env = { ...one.env, PATH: fatalGit(home, steps, when) };
      const first = viv(["work", "--once", "--durability", "fast"], { cwd: one.cwd, env });
      isOver = existsSync(join(one.cwd, "run/workspaces/a/one.txt"));
      const isDone = first.stdout.includes("1 done");
      const how = `killed ${when} call ${steps}`;
      for (const place of [two, one]) {
        const { stdout } = await cli(["work", "--drain", "--durability", "fast"], place);
        if (place === two || !isDone) expect(stdout, how).toContain("1 done");
      }
      const branches = ["one", "two"].map((name) => {
        const record = readFileSync(join(home, name, "run/workspaces/.a.json"), "utf8");
        const { branch, making } = JSON.parse(record);
        expect(making, how).toBeUndefined();
        expect(git("ls-tree", "--name-only", branch), how).toBe(`${name}.txt`);
        return branch;
      });
      const list = git("branch", "--list", "--format=%(refname:short)", "viv/*").split("\n");
      expect(list, `${how}: none is left over`).toEqual(branches.sort());
    }
    expect(steps).toBeGreaterThan(5);
    expect(steps).toBeLessThan(MOST_STEPS);
  },
);
