import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { watchConfig } from "../../src/app/settings/watch-config.ts";
import type { ConfigRead } from "../../src/work/host.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cli, json, ok, Running } from "./support.ts";

let home: string;
beforeEach(() => {
  home = newFolder();
});

const env = () => ({ PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state") });
const around = () => ({ cwd: home, env: env() });
const config = (text: string) => writeFileSync(join(home, "viv.toml"), `run = "run"\n${text}`);
const script = (name: string, text: string) => {
  writeFileSync(join(home, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(home, name), 0o755);
};
const enqueue = (id: string, type = "t", ...more: string[]) =>
  cli(["enqueue", "--type", type, "--id", id, "--durability", "fast", ...more], around());
const stateOf = async (id: string) => (await json<{ state: string }>(["show", id], around())).state;
const git = (folder: string, ...args: string[]) =>
  execFileSync("git", [
    "-C",
    join(home, folder),
    "-c",
    "user.name=t",
    "-c",
    "user.email=t@t",
    ...args,
  ]);

describe("every route is checked before the first claim", () => {
  it("stops the start with all findings at once, and fails no task", async () => {
    mkdirSync(join(home, "plain"));
    mkdirSync(join(home, "empty"));
    git("empty", "init", "-q");
    mkdirSync(join(home, "repo"));
    git("repo", "init", "-q", "-b", "main");
    git("repo", "commit", "-q", "--allow-empty", "-m", "first");
    writeFileSync(join(home, "text.sh"), "");
    writeFileSync(join(home, "line.sh"), "#!/no/such\n", { mode: 0o755 });
    script("h.sh", "true");
    const worktree = (folder: string) =>
      `handler = "./h.sh"\nworkspace = "worktree"\nrepository = "${folder}"\n`;
    config(
      [
        '[handlers.gone]\nhandler = "./gone.sh"',
        '[handlers.text]\nhandler = "./text.sh"',
        '[handlers.line]\nhandler = "./line.sh"',
        '[handlers.nowhere]\nhandler = "no-such-program"',
        `[handlers.plain]\n${worktree("plain")}`,
        `[handlers.empty]\n${worktree("empty")}`,
        `[handlers.base]\n${worktree("repo")}base = "no-such-branch"`,
        '[handlers.engine]\nengine = "claude"\nprompt = "p.md"\nbinary = "./no-claude"',
        `[handlers.good]\n${worktree("repo")}base = "main"`,
      ].join("\n"),
    );
    await enqueue("a", "gone");
    const { status, stderr } = await cli(["work", "--drain"], around());
    expect(status).toBe(2);
    const said = stderr
      .replace(/^viv: /, "")
      .trim()
      .split("\n");
    expect(said).toEqual([
      expect.stringMatching(
        /^\[handlers\.gone\]: there is no program .*gone\.sh; correct handler$/,
      ),
      expect.stringMatching(/^\[handlers\.text\]: .*text\.sh is not executable; run: chmod \+x/),
      expect.stringMatching(/^\[handlers\.line\]: .*line\.sh has \/no\/such in its #! line/),
      expect.stringMatching(/^\[handlers\.nowhere\]: there is no program no-such-program in PATH/),
      expect.stringMatching(/^\[handlers\.plain\]: .*cannot be used as a repository/),
      expect.stringMatching(/^\[handlers\.empty\]: .*has no commits/),
      expect.stringMatching(/^\[handlers\.base\]: .*no commit called no-such-branch/),
      expect.stringMatching(/^\[handlers\.engine\]: .*p\.md is not there/),
      expect.stringMatching(/^\[handlers\.engine\]: there is no program .*no-claude/),
    ]);
    expect(await stateOf("a")).toBe("pending");
  });
});

describe("viv work --drain", () => {
  it("ends with 1 when a task failed meanwhile, and with 0 for earlier ones", async () => {
    script("h.sh", "exit 1");
    config('[handlers.t]\nhandler = "./h.sh"');
    await enqueue("t.1");
    const first = await cli(["work", "--drain"], around());
    expect(first).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("1 task failed: t.1"),
    });
    expect((await cli(["work", "--drain"], around())).status).toBe(0);
    await enqueue("t.2");
    expect((await cli(["work", "--drain", "--exit-zero"], around())).status).toBe(0);
    await enqueue("t.3");
    const events = (await cli(["work", "--drain", "--json"], around())).stdout.trim().split("\n");
    expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ kind: "finished", failed: ["t.3"] });
  });

  it("counts a task whose dependency failed, and not one that a person cancelled", async () => {
    script("h.sh", 'case "$VIV_TASK_ID" in stop) viv cancel later; exit 0;; esac; exit 1');
    config('on_dependency_failed = "fail"\n[handlers.t]\nhandler = "./h.sh"');
    await enqueue("a");
    await enqueue("b", "t", "--depends-on", "a");
    await enqueue("c");
    const begun = cli(["work", "--drain", "--types", "t", "--max-tasks", "1", "--json"], around());
    const { stdout } = await begun;
    const { failed } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
    expect(failed.sort()).toEqual(["a", "b"]);
    script("h.sh", 'rm "$VIV_RUN"/pending/c.json.not 2>/dev/null; exit 0');
    await ok(["cancel", "c"], around());
    expect((await cli(["work", "--drain"], around())).status).toBe(0);
  });
});

describe("viv enqueue", () => {
  it("warns of a type without a route, and names the likely one", async () => {
    script("h.sh", "true");
    config('[handlers.audit]\nhandler = "./h.sh"\n');
    const { stderr, status } = await enqueue("t.1", "audti");
    expect(status).toBe(0);
    expect(stderr).toContain("no route takes tasks of type audti");
    expect(stderr).toContain("did you mean audit?");
    const plain = await cli(["enqueue", "--type", "other", "--json"], around());
    expect(JSON.parse(plain.stdout).warnings).toEqual([
      expect.stringContaining("write [handlers.other] into"),
    ]);
    expect((await enqueue("t.2", "audit")).stderr).toBe("");
  });

  it("warns once for each type of a stream", async () => {
    config('[handlers.audit]\nhandler = "true"\n');
    const lines = ["audit", "x", "x", "y"].map((type) => JSON.stringify({ type })).join("\n");
    const said = await cli(["enqueue", "--jsonl", "-", "--json"], { ...around(), stdin: lines });
    expect(JSON.parse(said.stdout)).toMatchObject({ enqueued: 4, warnings: { length: 2 } });
    expect(said.stderr.match(/no route takes tasks of type/g)).toHaveLength(2);
  });

  it("says nothing where a worker that runs takes every type, or no route is written", async () => {
    config("");
    expect((await enqueue("t.0", "any")).stderr).not.toContain("no route");
    config('[handlers.audit]\nhandler = "true"\n');
    const worker = new Running(["work", "--handler", "/bin/true"], around());
    await worker.says("waits for work");
    expect((await enqueue("t.1", "any")).stderr).not.toContain("no route");
  });

  it("says that a run had to be made", async () => {
    config("");
    const { stderr } = await enqueue("a");
    expect(stderr).toBe(`viv: created run ${join(home, "run")}\n`);
    const run = join(home, "other");
    const second = await cli(["enqueue", "--type", "t", "--run", run, "--json"], around());
    expect(JSON.parse(second.stdout)).toMatchObject({ created_run: run });
    expect(second.stderr).toBe(""); // programs read JSON there
    expect((await enqueue("b")).stderr).toBe("");
  });
});

describe("a worker follows viv.toml", () => {
  const start = async (...flags: string[]) => {
    const worker = new Running(["work", "--worker", "w", ...flags], around());
    await worker.says("waits for work");
    return worker;
  };

  it("takes new routes, keeps the last good ones after a bad edit, and says so once", async () => {
    script("h.sh", "true");
    config('[handlers.a]\nhandler = "./h.sh"\n');
    const worker = await start();
    config('[handlers.a]\nhandler = "./h.sh"\n[handlers.b]\nhandler = "./h.sh"\n');
    await worker.says("viv.toml was read anew");
    await enqueue("b.1", "b");
    await worker.says("b.1 done");
    config('[handlers.a]\nhandler = "./h.sh"\ntimeut = 3\n');
    await worker.says(/viv\.toml:4: unknown key "timeut".*\n.*last good/);
    // Other commands refuse the file; inside the run it does not count.
    const inside = { ...around(), cwd: join(home, "run") };
    await ok(["enqueue", "--type", "b", "--id", "b.2"], inside);
    await worker.says("b.2 done");
    expect(worker.stdout.match(/timeut/g)).toHaveLength(1);
    const note = async () => {
      const { workers } = await json<{
        workers: { name: string; note: string; types: string[] }[];
      }>(["status"], inside);
      return workers.find(({ name }) => name === "w");
    };
    await until("the heartbeat tells", async () => /timeut/.test((await note())?.note ?? ""));
    expect((await note())?.types).toEqual(["a", "b"]);
    config('on_dependency_failed = "fail"\n[handlers.a]\nhandler = "./h.sh"\n');
    await worker.says("on_dependency_failed counts from the next start");
    await until("the heartbeat is as before", async () => (await note())?.note === "");
  });

  it("lands by [merge] as it is now, also once auto is set", async () => {
    mkdirSync(join(home, "repo"));
    git("repo", "init", "-q", "-b", "main");
    git("repo", "commit", "-q", "--allow-empty", "-m", "first");
    script("h.sh", "echo work > new.txt");
    const work = (merge: string) =>
      config(
        `[merge]\n${merge}\n[handlers.a]\nhandler = "./h.sh"\nworkspace = "worktree"\nrepository = "repo"\n`,
      );
    work('into = "main"');
    const worker = await start();
    work('into = "main"\nauto = true\nstrategy = "squash"');
    await worker.says("viv.toml was read anew");
    await enqueue("a.1", "a");
    await worker.says("a.1 landed in main");
    const parents = String(git("repo", "log", "-1", "--format=%p", "main")).trim();
    expect(parents, "one parent: squashed").toMatch(/^\w+$/);
  });

  it("holds back a route that became bad, until it is repaired", async () => {
    script("h.sh", "true");
    config('[handlers.a]\nhandler = "./h.sh"\n');
    const worker = await start();
    config('[handlers.a]\nhandler = "./later.sh"\n[handlers.c]\nhandler = "./h.sh"\n');
    await worker.says(/\[handlers\.a\] is held back: there is no program .*later\.sh/);
    await enqueue("a.1", "a");
    await enqueue("c.1", "c");
    await worker.says("c.1 done");
    expect(await stateOf("a.1")).toBe("pending");
    // Told where people look, at once: not with the next heartbeat.
    const hold = expect.stringMatching(/^\[handlers\.a\] is held back: there is no program/);
    const { reasons } = await json<{ reasons: object[] }>(["why", "a.1"], around());
    expect(reasons).toEqual([{ code: "route_held", text: hold, command: "viv config check" }]);
    const needs = async () =>
      (await json<{ needs_you: { kind: string }[] }>(["report"], around())).needs_you;
    expect(await needs()).toEqual([
      expect.objectContaining({ kind: "config", subject: "w", text: hold }),
    ]);
    script("later.sh", "true");
    await worker.says("a.1 done");
    await until("the report is as before", async () => (await needs()).length === 0);
  });

  it("tells a bad edit in the report, too", async () => {
    script("h.sh", "true");
    config('[handlers.a]\nhandler = "./h.sh"\n');
    const worker = await start();
    config('[handlers.a]\nhandlr = "./h.sh"\n');
    await worker.says("last good");
    const inside = { ...around(), cwd: join(home, "run") };
    const told =
      /config +w +the last good viv\.toml counts: .*viv\.toml:3: unknown key "handlr".* viv config check/;
    // The worker's note follows its line.
    await until("the report tells it", async () =>
      told.test((await cli(["report"], inside)).stdout),
    );
  });

  it("a drained worker does not end well when an edit holds tasks back", async () => {
    script("h.sh", `until [ -e ${home}/go ]; do sleep 0.05; done`);
    config('[handlers.a]\nhandler = "./h.sh"\n');
    await enqueue("a.1", "a");
    const worker = new Running(["work", "--worker", "w", "--drain"], around());
    await worker.says("a.1 (a) begins");
    config('[handlers.a]\nhandler = "./gone.sh"\n');
    await worker.says("viv.toml was read anew");
    await enqueue("a.2", "a");
    writeFileSync(join(home, "go"), "");
    expect((await worker.end()).status).toBe(1);
    expect(worker.stdout).toMatch(/1 task left behind:\n.*\[handlers\.a\] is held back/);
  });

  it("lets a running attempt keep its settings", async () => {
    script("h.sh", `until [ -e ${home}/go ]; do sleep 0.05; done`);
    config('[handlers.a]\nhandler = "./h.sh"\n');
    await enqueue("a.1", "a");
    const worker = new Running(["work", "--worker", "w"], around());
    await worker.says("a.1 (a) begins");
    config('[handlers.a]\nhandler = "./h.sh"\ntimeout = "10ms"\n');
    await worker.says("was read anew");
    writeFileSync(join(home, "go"), "");
    await worker.says("a.1 done");
  });
});

describe("watching a viv.toml", () => {
  const GOOD = '[handlers.a]\nhandler = "./h.sh"\n';

  it("tells no mistake of a half-written save", async () => {
    const file = join(home, "viv.toml");
    writeFileSync(file, GOOD);
    const reads: ConfigRead[] = [];
    const hasty: ConfigRead[] = []; // of one without patience: it tells that a change was seen
    const watches = [
      watchConfig(file, (read) => reads.push(read), { settleMs: 5, patienceMs: 3_600_000 }),
      watchConfig(file, (read) => hasty.push(read), { settleMs: 5, patienceMs: 0 }),
    ];
    // Truncated, half-written, and then whole; then with an editor's rename.
    writeFileSync(file, "");
    await until("the empty one is seen", () => hasty.length === 1);
    writeFileSync(file, "[handlers.a]\nhandl");
    await until("the half one is seen", () => hasty.length === 2);
    writeFileSync(file, `${GOOD}timeout = "1s"\n`);
    await until("the whole one is read", () => reads.length === 1);
    renameSync(file, `${file}~`);
    writeFileSync(`${file}.new`, `${GOOD}timeout = "2s"\n`);
    renameSync(`${file}.new`, file);
    await until("the renamed one is read", () => reads.length === 2);
    expect(reads.every((read) => "config" in read)).toBe(true);
    for (const unwatch of watches) unwatch();
  });

  it("tells a mistake that stands once, and that the file is gone", async () => {
    const file = join(home, "viv.toml");
    writeFileSync(file, GOOD);
    const reads: ConfigRead[] = [];
    const unwatch = watchConfig(file, (read) => reads.push(read), { settleMs: 5, patienceMs: 50 });
    writeFileSync(file, "run = [");
    await until("the mistake is told", () => reads.length === 1);
    writeFileSync(file, readFileSync(file));
    renameSync(file, `${file}~`);
    await until("that it is gone is told", () => reads.length === 2);
    expect(reads.map((read) => "problem" in read)).toEqual([true, true]);
    unwatch();
  });
});
