import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { newFolder } from "../support/folders.ts";
import { cli, json, noTerminal, ok, Running, terminal, viv } from "./support.ts";

/** A run as a whole: pause, archive, rm, runs, and the questions of a terminal. */

let home: string;
let run: string;
let env: Record<string, string>;

beforeEach(() => {
  home = newFolder();
  run = join(home, "run");
  env = { PATH: process.env.PATH ?? "", HOME: home, XDG_STATE_HOME: join(home, "state") };
});

const around = (more = {}) => ({ cwd: home, env: { ...env, VIV_RUN: run }, ...more });
const done = (...args: string[]) => ok(args, around());
const say = (...args: string[]) => cli(args, around());
const as = (...args: string[]) => viv(args, { cwd: home, env });

describe("a paused run", () => {
  test("is told by every command, and no program claims in it", async () => {
    await done("enqueue", "--type", "t", "--id", "a");
    expect(await done("pause", "--by", "pia", "--note", "lunch")).toMatch(
      /^paused by pia \d+s ago/,
    );
    expect(JSON.parse(readFileSync(join(run, "paused.json"), "utf8"))).toMatchObject({ by: "pia" });
    expect(await done("claim", "--worker", "me")).toContain("nothing to claim: the run is paused");
    expect(await done("claim", "--worker", "me", "--json")).toBe("");
    for (const look of ["ls", "status"]) expect(await done(look)).toContain("paused by pia");
    expect(await json(["ls"], around())).toMatchObject({ paused: { note: "lunch" } });
    const drained = await say("work", "--handler", "true", "--drain");
    expect(drained.stdout).toContain("the run is paused by pia: lunch");
    expect(drained.stdout).toContain("nothing was claimed");
    expect(await done("resume")).toMatch(/^resumed after \d+s, paused by pia/);
    expect(await done("resume")).toBe("the run was not paused\n");
    expect(await done("claim", "--worker", "me")).toContain("claimed a");
  });

  test("a pit's status says it too", async () => {
    const pit = join(home, "pit");
    await ok(["pit", "init", pit], around());
    await ok(["pause", "--run", pit, "--by", "pia"], around());
    expect(await ok(["pit", "status", pit], around())).toContain("paused by pia");
  });

  test("a standing worker goes on at once when it is resumed; what runs ends", async () => {
    const handler = join(home, "handle.sh");
    writeFileSync(handler, "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done\n");
    chmodSync(handler, 0o755);
    for (const id of ["a", "b"]) await done("enqueue", "--type", "t", "--id", id);
    const worker = new Running(["work", "--run", run, "--handler", handler, "--max-tasks", "2"], {
      cwd: home,
      env,
    });
    await worker.says("a (t) begins");
    await done("pause");
    writeFileSync(join(home, "go"), "");
    await worker.says("a done");
    await worker.says("the run is paused");
    expect(existsSync(join(run, "pending/b.json"))).toBe(true);
    await done("resume");
    await worker.says("b done");
    expect(await worker.end()).toMatchObject({ status: 0 });
  });
});

describe("viv archive", () => {
  const repository = () => join(home, "app");
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", repository(), ...args])
      .toString()
      .trim();

  async function withWorktree(): Promise<void> {
    mkdirSync(repository());
    git("init", "-q", "-b", "main");
    for (const key of ["user.name", "user.email"]) git("config", key, "t@example.org");
    git("commit", "-q", "--allow-empty", "-m", "one");
    const handler = join(home, "handle.sh");
    writeFileSync(handler, "#!/bin/sh\necho work > file\n");
    chmodSync(handler, 0o755);
    writeFileSync(
      join(home, "viv.toml"),
      'run = "run"\n[handlers.t]\nhandler = "./handle.sh"\nworkspace = "worktree"\nrepository = "app"\n',
    );
    await done("enqueue", "--type", "t", "--id", "a");
    await say("work", "--drain");
  }

  test("packs a finished run, keeps its branches, and brings it back", async () => {
    await withWorktree();
    const tip = git("rev-parse", "viv/a@run");
    expect(await done("archive", "--by", "pia")).toContain(
      "branches with commits of their own stay: viv/a@run",
    );
    expect(readdirSync(home)).toContain("run.tar.gz");
    expect(existsSync(run)).toBe(false);
    expect(git("rev-parse", "viv/a@run")).toBe(tip);
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
    expect((await say("ls")).stderr).toContain(`viv archive --restore ${run}`);
    expect(await done("archive", "--restore")).toMatch(/^restored /);
    expect(existsSync(join(home, "run.tar.gz"))).toBe(false);
    expect(await json(["ls"], around())).toMatchObject({ paused: {}, counts: { done: 1 } });
    expect((await say("doctor")).stdout).toContain("healthy");
    await done("resume");
    expect(await done("merge", "a")).toContain("landed  a");
    await done("retry", "a").catch(() => {});
    await done("enqueue", "--type", "t", "--id", "b");
    await say("work", "--drain");
    expect(existsSync(join(run, "done/b.json"))).toBe(true);
  });

  test("without what set-ups made, which may have a copied secret in it", async () => {
    await withWorktree();
    const kept = join(run, "workspaces/.setup/key");
    mkdirSync(join(kept, "files"), { recursive: true });
    writeFileSync(join(kept, "files/secret"), "SECRET");
    const about = { key: "key", command: "x", paths: ["secret"], bytes: 6, made_at: "x" };
    writeFileSync(join(kept, "about.json"), JSON.stringify(about));
    cpSync(kept, join(run, "workspaces/.setup/torn"), { recursive: true });
    writeFileSync(join(run, "workspaces/.setup/torn/about.json"), "");
    await done("archive");
    const names = execFileSync("tar", ["tzf", join(home, "run.tar.gz")], { encoding: "utf8" });
    expect(names).toContain("done/a.json");
    expect(names).not.toContain("secret");
  });

  test("waits for no merge queue: it refuses; and takes the queue's worktree off its repository", async () => {
    await withWorktree();
    const toml = readFileSync(join(home, "viv.toml"), "utf8");
    const wait = "touch began; while [ ! -e go ]; do sleep 0.02; done".replaceAll(
      /began|go/g,
      (name) => join(home, name),
    );
    writeFileSync(join(home, "viv.toml"), `${toml}[merge]\nprove = "${wait}"\n`);
    const queue = new Running(["merge", "a"], around());
    await vi.waitFor(() => expect(existsSync(join(home, "began"))).toBe(true), 10_000);
    for (const command of [["archive"], ["rm", run, "--yes"]]) {
      expect(await say(...command)).toMatchObject({ status: 5, stderr: /a merge queue works on/ });
    }
    writeFileSync(join(home, "go"), "");
    expect((await queue.end()).stdout).toContain("1 landed");
    await done("archive");
    expect(git("worktree", "list").split("\n")).toHaveLength(1);
    expect(readdirSync(home)).not.toContain("run");
  });

  test("a full disk leaves the run as it was: no draft, no pause", async () => {
    await done("init", run);
    const bin = join(home, "bin");
    mkdirSync(bin);
    const said = "gzip: stdout: No space left on device";
    writeFileSync(
      join(bin, "tar"),
      `#!/bin/sh\nhead -c 9999 /dev/zero > .run.tar.gz.new\necho "${said}" >&2\nexit 2\n`,
    );
    chmodSync(join(bin, "tar"), 0o755);
    const full = viv(["archive", "run"], {
      cwd: home,
      env: { ...env, PATH: `${bin}:${env.PATH}` },
    });
    expect(full).toMatchObject({ status: 5, stderr: /No space left/ });
    expect(readdirSync(home).filter((name) => name.includes("tar.gz"))).toEqual([]);
    expect(await json(["ls"], around())).not.toHaveProperty("paused");
  });

  test("a restored run is synced in one step, or file by file", async () => {
    const bin = join(home, "bin");
    mkdirSync(bin);
    for (const status of [0, 1]) {
      await done("init", run);
      writeFileSync(join(bin, "sync"), `#!/bin/sh\necho "$@" > ${home}/synced\nexit ${status}\n`);
      chmodSync(join(bin, "sync"), 0o755);
      await done("archive", "run");
      const path = { ...env, PATH: `${bin}:${env.PATH}` };
      const back = viv(["archive", "--restore", "run"], { cwd: home, env: path });
      expect(back).toMatchObject({ status: 0, stdout: /^restored/ });
      const once = process.platform === "linux" ? `-f ${home}/.run.restoring/run\n` : undefined;
      if (once) expect(readFileSync(join(home, "synced"), "utf8")).toBe(once);
      rmSync(run, { recursive: true });
    }
  });

  test("refuses open tasks, claims, live workers, and an archive that is there", async () => {
    await done("enqueue", "--type", "t", "--id", "a");
    expect(await say("archive")).toMatchObject({ status: 4, stderr: /1 task is open/ });
    await done("claim", "--worker", "me");
    await done("pause", "--note", "n");
    expect(await say("archive")).toMatchObject({ status: 5, stderr: /live worker \(me\)/ });
    await done("complete", "a", "--worker", "me");
    writeFileSync(join(home, "run.tar.gz"), "mine");
    expect(await say("archive")).toMatchObject({ status: 4, stderr: /is there already/ });
    expect(readFileSync(join(home, "run.tar.gz"), "utf8")).toBe("mine");
    rmSync(join(home, "run.tar.gz"));
    expect(await json(["ls"], around())).toMatchObject({ paused: { note: "n" } });
    await done("archive");
    expect(await say("archive")).toMatchObject({ status: 3 });
  });
});

describe("viv rm", () => {
  test("asks with what is lost, and takes anything but yes for no", async () => {
    for (const id of ["a", "b"]) await done("enqueue", "--type", "t", "--id", id);
    expect(await say("rm", "run")).toMatchObject({ status: 2, stderr: /2 tasks, .*add --yes/ });
    const no = await cli(["rm", "run"], around({ answer: "" }));
    expect(no).toMatchObject({ status: 1, stdout: "nothing was removed\n", stderr: /2 tasks/ });
    expect(existsSync(join(run, "pending/a.json"))).toBe(true);
    expect(await json(["ls"], around())).not.toHaveProperty("paused");
    const yes = await cli(["rm", "run"], around({ answer: "y" }));
    expect(yes).toMatchObject({ status: 0, stdout: /^removed .*2 tasks/ });
    expect(readdirSync(home)).not.toContain("run");
  });

  test("removes nothing that is not a run, is used, or is a link", async () => {
    mkdirSync(join(home, "project"));
    writeFileSync(join(home, "project/precious"), "");
    expect(await say("rm", "project", "--yes")).toMatchObject({ status: 3 });
    const todo = join(home, "todo");
    for (const name of ["pending", "done"]) mkdirSync(join(todo, name), { recursive: true });
    writeFileSync(join(todo, "done/tax.txt"), "paid");
    for (const verb of ["rm", "archive"]) {
      const yes = verb === "rm" ? ["--yes"] : [];
      expect(await say(verb, "todo", ...yes)).toMatchObject({ status: 5, stderr: /neither \.viv/ });
      expect(readdirSync(todo)).toEqual(["done", "pending"]);
    }
    await done("enqueue", "--type", "t", "--id", "a");
    mkdirSync(join(run, "src"));
    expect(await say("rm", "run", "--yes")).toMatchObject({
      status: 5,
      stderr: /more than a run: src/,
    });
    rmSync(join(run, "src"), { recursive: true });
    symlinkSync(run, join(home, "link"));
    expect(await say("rm", "link", "--yes")).toMatchObject({ status: 2, stderr: /symbolic link/ });
    await done("claim", "--worker", "me");
    expect(await say("rm", "run", "--yes")).toMatchObject({ status: 5, stderr: /live worker/ });
    expect(existsSync(join(run, "claimed/me/a.json"))).toBe(true);
    expect(await json(["ls"], around())).not.toHaveProperty("paused");
    symlinkSync(join(home, "project"), join(run, "artifacts/project"));
    await done("release", "a", "--worker", "me");
    expect((await say("rm", "run", "--yes")).status).toBe(0);
    expect(existsSync(join(home, "project/precious"))).toBe(true);
    expect((await say("rm")).status).toBe(2);
  });

  test.skipIf(noTerminal)("asks on a real terminal", async () => {
    await done("enqueue", "--type", "t", "--id", "a");
    const said = terminal("viv rm run", 80, { cwd: home, env, input: "y\n" });
    expect(said).toContain("remove it for good? [y/N]");
    expect(existsSync(run)).toBe(false);
  });
});

describe("viv runs", () => {
  test("has the address of a run's server while it lives", async () => {
    as("init", "run");
    const found = async () =>
      (await json<{ runs: { address?: string }[] }>(["runs"], around())).runs[0];
    expect(await found()).not.toHaveProperty("address");
    const server = new Running(["serve", "--run", run, "--port", "0", "--json"], {
      cwd: home,
      env,
    });
    await server.says('"address"');
    const { address } = JSON.parse(server.stdout.split("\n")[0] ?? "");
    expect(await found()).toMatchObject({ path: run, address });
    expect(await done("runs")).toContain(address);
    // A run that another process writes to may name anything.
    const file = join(run, ".viv/server.json");
    const record = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify({ ...record, address: "javascript:alert(1)" }));
    expect(await found()).not.toHaveProperty("address");
    writeFileSync(file, JSON.stringify(record));
    server.child.kill("SIGKILL");
    await server.end();
    expect(await found()).not.toHaveProperty("address");
  });

  test("lists every run that a command opened, with its state", async () => {
    expect(await done("runs")).toContain("no run is known");
    const at = (name: string) => join(home, name);
    const made = ["open", "paused", "finished", "empty", "gone", "archived"];
    for (const name of made) expect(as("init", name).status).toBe(0);
    for (const name of ["open", "finished"])
      as("enqueue", "--run", name, "--type", "t", "--id", "a");
    as("cancel", "--run", "finished", "a");
    as("pause", "--run", "paused");
    rmSync(at("gone"), { recursive: true });
    as("archive", "archived");
    const { runs } = await json<{ runs: { path: string; state: string }[] }>(["runs"], around());
    expect(Object.fromEntries(runs.map(({ path, state }) => [path, state]))).toEqual(
      Object.fromEntries(made.map((name) => [at(name), name])),
    );
    expect(await done("runs")).toMatch(/finished .*1 cancelled/);
    expect(await done("runs", "--prune")).toContain(`forgot ${at("gone")}`);
    expect(await done("runs")).not.toContain(at("gone"));
    as("rm", "open", "--yes");
    expect(await done("runs")).not.toContain(at("open"));
  });

  test("many at once note it once, and a home that cannot be written is no error", async () => {
    as("init", "run");
    const look = () => new Running(["ls", "--run", run], { cwd: home, env });
    const all = await Promise.all(Array.from({ length: 6 }, () => look().end()));
    expect(all.map(({ status, stderr }) => [status, stderr])).toEqual(Array(6).fill([0, ""]));
    const files = readdirSync(join(home, "state/vivarium/runs"));
    expect(files.filter((name) => name.endsWith(".json"))).toHaveLength(1);
    const sealed = viv(["ls", "--run", run], { env: { ...env, XDG_STATE_HOME: "/proc/nowhere" } });
    expect(sealed).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("cancelled", () => {
  test("is a state in words: ls, show, why, tree, watch", async () => {
    await done("enqueue", "--type", "t", "--id", "a");
    await done("enqueue", "--type", "t", "--id", "b", "--parent", "a");
    const seen = new Running(["watch", "--run", run], { cwd: home, env });
    await seen.says("pending 2");
    expect(await done("cancel", "b")).toBe("b: pending → cancelled\n");
    await seen.says("b  pending → cancelled");
    seen.child.kill("SIGINT");
    expect(await done("show", "b")).toMatch(/^b {2}cancelled since/);
    expect(await done("why", "b")).toContain("b is cancelled");
    expect(await done("tree")).toContain("b (t) cancelled");
    expect(await done("ls", "--state", "cancelled")).toMatch(/^cancelled {2}b/m);
    expect(await json(["status"], around())).toMatchObject({ counts: { failed: 0, cancelled: 1 } });
    // Derived: it comes back with the ledger.
    rmSync(join(run, ".viv"), { recursive: true });
    await done("reap");
    expect(await done("ls")).toContain("failed 0  cancelled 1");
  });
});

describe("viv reject", () => {
  test("needs a note, and asks for it on a terminal", async () => {
    await done("enqueue", "--type", "t", "--id", "a", "--review");
    await done("claim", "--worker", "me");
    await done("complete", "a", "--worker", "me");
    for (const note of [[], ["--note", " "]]) {
      const refused = await say("reject", "a", ...note);
      expect(refused).toMatchObject({ status: 2, stderr: /needs a note/ });
    }
    const silent = await cli(["reject", "a"], around({ answer: "" }));
    expect(silent.status).toBe(2);
    const asked = await cli(["reject", "a"], around({ answer: "the test is missing" }));
    expect(asked).toMatchObject({ status: 0, stderr: /what must the next attempt do better/ });
    expect(await done("show", "a")).toContain("the test is missing");
  });
});
