import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { isAlive } from "../support/crew-folder.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cli, Running, viv } from "./support.ts";

/** `viv merge`, as a person uses it: `viv work` has made the branches. */

let home: string;
beforeEach(() => {
  home = newFolder();
  git("init", "-q", "--template=", "-b", "main");
  git("config", "user.name", "t");
  git("config", "user.email", "t@example.org");
  writeFileSync(join(home, "repo/a.txt"), "one\n");
  git("add", ".");
  git("commit", "-qm", "first");
  // The task's id names the file that it makes, and its type what is in it.
  const work = 'cd "$VIV_WORKSPACE"; test "$VIV_TASK_TYPE" = idle || echo "$VIV_TASK_ID" >';
  const handler = `#!/bin/sh\n${work} "$VIV_TASK_TYPE.txt"\n`;
  writeFileSync(join(home, "handle.sh"), handler);
  chmodSync(join(home, "handle.sh"), 0o755);
  config("");
});

function git(...args: string[]): string {
  const [first = ""] = args;
  const where =
    first === "init" ? [...args, join(home, "repo")] : ["-C", join(home, "repo"), ...args];
  return execFileSync("git", where, { encoding: "utf8" }).trimEnd();
}

function config(merge: string, more = ""): void {
  const route = `handler = "./handle.sh"\nworkspace = "worktree"\nrepository = "repo"\n${more}`;
  const text = `run = "night"\n[handlers.default]\n${route}\n[merge]\n${merge}\n`;
  writeFileSync(join(home, "viv.toml"), text);
}

const env = () => ({ PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state") });
const here = (columns?: number) => ({ cwd: home, env: env(), columns });

async function done(tasks: Record<string, string>): Promise<void> {
  for (const [id, type] of Object.entries(tasks)) {
    await cli(["enqueue", "--id", id, "--type", type], here());
  }
  const { status, stderr } = await cli(["work", "--drain"], here());
  expect(status, stderr).toBe(0);
}

it("shows what waits, what would land, and what has landed", async () => {
  await done({ "t.1": "x", "t.2": "y", "t.3": "x", "t.4": "idle" });
  const before = await cli(["merge"], here());
  expect(before.stdout).toContain("4 queued\nland 4 tasks with: viv merge --all\n");
  const plan = await cli(["merge", "--all", "--dry-run"], here());
  expect(plan.stdout.split("\n").map((line) => line.trimEnd())).toEqual([
    "would land  t.1  into viv/night",
    "would land  t.2  into viv/night",
    "conflict    t.3  x.txt",
    "no changes  t.4",
    "2 would land, 1 conflict, 1 no changes",
    "",
  ]);
  expect(existsSync(join(home, "night/merge"))).toBe(false);
  const all = await cli(["merge", "t.1", "t.2", "t.4"], here());
  expect(all.status).toBe(0);
  const commits = git("log", "--format=%h", "--abbrev=10", "--first-parent", "-2", "viv/night");
  const [second, first] = commits.split("\n");
  expect(all.stdout.split("\n").map((line) => line.trimEnd())).toEqual([
    `landed      t.1  in viv/night (${first})`,
    `landed      t.2  in viv/night (${second})`,
    "no changes  t.4",
    "2 landed, 1 no changes",
    `take it over with: git -C ${join(home, "repo")} merge viv/night`,
    "",
  ]);
  const { landings } = JSON.parse((await cli(["merge", "t.1", "--json"], here())).stdout);
  expect(landings).toMatchObject([{ id: "t.1", type: "x", state: "done", landing: "landed" }]);
});

it("refuses another target for a task that has landed", async () => {
  await done({ "t.1": "x" });
  git("branch", "other");
  await cli(["merge", "t.1"], here());
  const again = await cli(["merge", "t.1", "--into", "other"], here());
  expect(again.status).toBe(4);
  expect(again.stderr).toMatch(
    /t\.1 has landed in viv\/night \(\w+\) already, and a task lands once; bring that commit to other with git/,
  );
  expect(git("rev-parse", "other")).toBe(git("rev-parse", "main"));
});

it("says what to type when the target is dirty, also on a narrow terminal", async () => {
  await done({ "t.1": "x" });
  writeFileSync(join(home, "repo/a.txt"), "mine\n");
  const { status, stdout } = await cli(["merge", "--all", "--into", "main"], here(60));
  expect(status).toBe(1);
  const command = /^ {2}(git -C .*)$/m.exec(stdout)?.[1] ?? "";
  execFileSync("sh", ["-c", command]);
  const after = await cli(["merge", "--all", "--into", "main"], here());
  expect(after.stdout).toMatch(/^landed {2}t\.1 {2}in main/);
  expect(readFileSync(join(home, "repo/a.txt"), "utf8")).toBe("mine\n");
});

it("proves a merge with what set-up, copy and link bring into a workspace", async () => {
  writeFileSync(join(home, "repo/.gitignore"), "made\n.env\ntools\n");
  git("add", ".");
  git("commit", "-qm", "ignore");
  writeFileSync(join(home, "repo/.env"), "KEY=1\n");
  writeFileSync(join(home, "repo/tools"), "");
  const proof = "test -e made && grep -q KEY .env && test -L tools";
  const needs = 'setup = "echo ran > made"\ncopy = [".env"]\nlink = ["tools"]';
  config("", `${needs}\ndone_when = "${proof}"`);
  await done({ "t.1": "x", "t.2": "y" });
  const { stdout } = await cli(["merge", "--all"], here());
  expect(stdout).toContain("2 landed\n");
  expect(git("ls-tree", "--name-only", "viv/night")).toBe(".gitignore\na.txt\nx.txt\ny.txt");
  await done({ "t.3": "z" });
  config("", `${needs.replace("echo ran", "echo no registry; false")}\ndone_when = "${proof}"`);
  const held = await cli(["merge", "--all"], here());
  expect(held.stdout).toMatch(/^held {2,}t\.3 {2,}its set-up failed after the merge: exit 1/m);
  expect(git("ls-tree", "--name-only", "viv/night")).not.toContain("z.txt");
});

it("refuses what cannot land, in words", async () => {
  await done({ "t.1": "x" });
  await cli(["enqueue", "--id", "t.2", "--type", "x"], here());
  const refused = async (...args: string[]) => (await cli(["merge", ...args], here())).stderr;
  expect(await refused("t.9")).toContain("there is no task t.9");
  expect(await refused("t.2")).toContain("t.2 has no branch to land");
  expect(await refused("t.1", "--all")).toContain("name the tasks, or say --all, not both");
  expect(await refused("t.1", "--into", "nowhere")).toContain("has no branch nowhere");
  config('strategy = "sqash"');
  expect(await refused("t.1")).toContain('did you mean "squash"?');
});

it("with auto, viv work lands what it has done before --drain ends", async () => {
  config('auto = true\nprove = "ls"');
  await done({ "t.1": "x", "t.2": "y" });
  expect(git("ls-tree", "--name-only", "viv/night")).toBe("a.txt\nx.txt\ny.txt");
  const { stdout } = await cli(["merge"], here());
  expect(stdout).toContain("nothing to land (2 landed before)");
});

it("killed in a proof: that ends with it, and the next one lands everything once", async () => {
  await done({ "t.1": "x", "t.2": "y" });
  const begun = join(home, "begun");
  config(`prove = "echo $$ > ${begun}; sleep 300"`);
  const running = new Running(["merge", "--all"], { cwd: home, env: env() });
  await until("the proof runs", () => existsSync(begun) && readFileSync(begun, "utf8") !== "");
  running.child.kill("SIGKILL");
  await running.end();
  const proof = Number(readFileSync(begun, "utf8"));
  config('prove = "ls"');
  const { status, stderr } = viv(["merge", "--all"], { cwd: home, env: env() });
  expect(status, stderr).toBe(0);
  expect(isAlive(proof)).toBe(false);
  expect(git("rev-list", "--count", "--merges", "viv/night")).toBe("2");
});
