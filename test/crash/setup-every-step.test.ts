import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { cli, viv } from "../cli/support.ts";
import { newFolder } from "../support/folders.ts";

/**
 * kill -9 of a worker before each change that it makes to get a workspace ready. The next one goes on:
 * the task is done once, nothing that was copied is committed, and no later workspace gets a half.
 */

const PRELOAD = fileURLToPath(new URL("fatal-setup.cjs", import.meta.url));
const MOST_STEPS = 60;

async function newRun() {
  const home = newFolder();
  const app = join(home, "app");
  const git = (...args: string[]) => {
    const who = ["-c", "user.name=User", "-c", "user.email=user@example.org"];
    return execFileSync("git", [...who, ...args], { cwd: app, encoding: "utf8" });
  };
  mkdirSync(join(app, "models"), { recursive: true });
  writeFileSync(join(app, "yarn.lock"), "one\n");
  writeFileSync(join(app, ".gitignore"), "node_modules/\n");
  git("init", "--quiet", "--initial-branch=main");
  git("add", "-A");
  git("commit", "--quiet", "-m", "first");
  writeFileSync(join(app, ".env"), "SECRET=1\n");
  const handle = '#!/bin/sh\ncat .env node_modules/*/lib; echo work > "$VIV_TASK_ID.txt"\n';
  writeFileSync(join(home, "handle.sh"), handle, { mode: 0o755 });
  const setup =
    "mkdir -p node_modules/a node_modules/b; for i in a b; do echo $i > node_modules/$i/lib; done";
  writeFileSync(
    join(home, "viv.toml"),
    `run = "run"\n[handlers.default]\nhandler = "./handle.sh"\nworkspace = "worktree"\nrepository = "app"\ncopy = [".env"]\nlink = ["models"]\nsetup = "${setup}; date >> yarn.lock"\n`,
  );
  const store = await openRun(join(home, "run"), { create: true, durability: "fast" });
  await store.enqueue({ id: "a", type: "t" });
  await store.enqueue({ id: "b", type: "t", priority: "low" });
  await store.close();
  const env = { PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state") };
  return { home, git, around: { cwd: home, env } };
}

test("a worker that is killed at any step of a set-up", { timeout: 120_000 }, async () => {
  let steps = 0;
  for (let isOver = false; !isOver && steps < MOST_STEPS; ) {
    steps++;
    const { home, git, around } = await newRun();
    const env = { ...around.env, NODE_OPTIONS: `--require ${PRELOAD}`, VIV_DIE_AT: String(steps) };
    const first = viv(["work", "--once", "--durability", "fast"], { cwd: home, env });
    isOver = first.stdout.includes("1 done");
    const how = `killed at step ${steps}`;
    const { stdout } = await cli(["work", "--drain", "--durability", "fast"], around);
    expect(stdout, how).toContain(isOver ? "1 done" : "2 done");
    for (const id of ["a", "b"]) {
      const log = readFileSync(join(home, `run/artifacts/${id}.log`), "utf8");
      expect(log, how).toBe("SECRET=1\na\nb\n");
      const files = git("diff", "--stat", "--name-only", "main", `viv/${id}@run`)
        .trim()
        .split("\n");
      expect(files, how).toEqual([`${id}.txt`]);
    }
    const folder = join(home, "run/workspaces/.setup");
    const kept = readdirSync(folder).filter((name) => /^\w/.test(name));
    expect(kept, how).toHaveLength(1);
    const copy = join(folder, kept[0] ?? "", "files/node_modules/b/lib");
    expect(readFileSync(copy, "utf8"), how).toBe("b\n");
  }
  expect(steps).toBeGreaterThan(8);
  expect(steps).toBeLessThan(MOST_STEPS);
});
