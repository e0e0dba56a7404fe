import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { DIST } from "../support/processes.ts";
import { cli, ok } from "./support.ts";

/** `viv work` with real handlers: the contract with them, and what becomes of the task. */

let home: string;
let run: string;

beforeEach(async () => {
  home = newFolder();
  run = join(home, "run");
  const store = await openRun(run, { create: true, durability: "fast" });
  await store.close();
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Makes `name` in the home folder an executable shell script. */
function script(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

function config(text: string): void {
  writeFileSync(join(home, "viv.toml"), `run = "run"\n${text}`);
}

const around = (env: Record<string, string> = {}) => ({
  cwd: home,
  env: { PATH: process.env.PATH ?? "", HOME: home, ...env },
});

async function enqueue(id: string, more: string[] = []): Promise<void> {
  await ok(
    ["enqueue", "--run", run, "--id", id, "--type", "t", "--durability", "fast", ...more],
    around(),
  );
}

async function drain(flags: string[] = [], env: Record<string, string> = {}) {
  return cli(["work", "--run", run, "--worker-id", "w1", "--drain", ...flags], around(env));
}

async function show(id: string) {
  return JSON.parse(await ok(["show", "--run", run, "--json", id], around()));
}

/** A zombie is dead: its parent decides when its number is given back. */
function isAlive(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const log = (id: string) => readFileSync(join(run, "artifacts", `${id}.log`), "utf8");

describe("the handler's side", () => {
  test("it gets the task on stdin, and where it is in the environment", async () => {
    const handler = script(
      "handle.sh",
      'cat > "$SWARM_ARTIFACT_PATH"; env | grep -E "^(SWARM|VIV)_" | sort; echo oops >&2; echo more >> "$SWARM_LOG_PATH"',
    );
    await enqueue("t.1", ["--payload", '{"n":1}']);
    const said = await drain(["--handler", handler]);
    expect(said.status, said.stderr).toBe(0);
    const task = JSON.parse(readFileSync(join(run, "artifacts", "t.1.md"), "utf8"));
    expect(task).toMatchObject({ task_id: "t.1", task_type: "t", payload: { n: 1 } });
    for (const prefix of ["SWARM", "VIV"]) {
      expect(log("t.1")).toContain(`${prefix}_RUN_DIR=${run}\n`);
      expect(log("t.1")).toContain(`${prefix}_TASK_ID=t.1\n`);
      expect(log("t.1")).toContain(`${prefix}_WORKER_ID=w1\n`);
      expect(log("t.1")).toContain(`${prefix}_ARTIFACT_PATH=${run}/artifacts/t.1.md\n`);
      expect(log("t.1")).toContain(`${prefix}_LOG_PATH=${run}/artifacts/t.1.log\n`);
    }
    expect(log("t.1")).toContain("VIV_ATTEMPT=1\n");
    expect(log("t.1")).toContain("oops\n");
    expect(log("t.1")).toContain("more\n");
    expect((await show("t.1")).state).toBe("done");
  });

  test("from a route it inherits only what it was given", async () => {
    script("handle.sh", "env | cut -d= -f1 | sort | tr '\\n' ' '; echo \"$MODE $GIVEN\"");
    config('[handlers.t]\nhandler = "./handle.sh"\nenv = ["GIVEN", "MODE=fast", "ABSENT"]\n');
    await enqueue("t.1");
    const said = await drain([], { GIVEN: "yes", SECRET: "no", LC_ALL: "C", VIV_OTHER: "x" });
    expect(said.status, said.stderr).toBe(0);
    expect(log("t.1")).toContain("fast yes");
    expect(log("t.1")).toContain("LC_ALL");
    expect(log("t.1")).not.toMatch(/SECRET|VIV_OTHER|ABSENT/);
  });

  test("from --handler it inherits everything, as with swarm-lib", async () => {
    const handler = script("handle.sh", 'echo "secret is $SECRET"');
    await enqueue("t.1");
    await drain(["--handler", handler], { SECRET: "mine" });
    expect(log("t.1")).toBe("secret is mine\n");
  });

  test("children enqueued without flags belong to it", async () => {
    const viv = join(DIST, "viv.cjs");
    script(
      "handle.sh",
      `case "$VIV_TASK_ID" in t.1) "${process.execPath}" "${viv}" enqueue --type t --id t.2 && "${process.execPath}" "${viv}" status --summary half --json >/dev/null;; esac`,
    );
    config('[handlers.default]\nhandler = "./handle.sh"\n');
    await enqueue("t.1");
    const said = await drain();
    expect(said.status, said.stderr).toBe(0);
    const child = await show("t.2");
    expect(child.state).toBe("done");
    expect(child.task).toMatchObject({ parent: "t.1", created_by: "w1" });
    const tree = JSON.parse(await ok(["tree", "--run", run, "--json"], around()));
    expect(tree.families).toEqual([
      {
        id: "t.1",
        type: "t",
        state: "done",
        children: [{ id: "t.2", type: "t", state: "done", children: [] }],
      },
    ]);
  });
});

describe("how it ends", () => {
  test.each([
    ["exit 3", "failed", /exit 3: last words/],
    ["kill -SEGV $$", "failed", /SIGSEGV/],
  ])("%s is %s, with its last words", async (how, outcome, note) => {
    const handler = script("handle.sh", `echo last words; ${how}`);
    await enqueue("t.1");
    await drain(["--handler", handler]);
    const view = await show("t.1");
    expect(view.state).toBe("failed");
    expect(view.history[0]).toMatchObject({ outcome });
    expect(view.history[0].note).toMatch(note);
  });

  test("gone in the middle of a run: said plainly, and not tried again", async () => {
    const path = script("handle.sh", `rm ${join(home, "handle.sh")}`);
    config(`[handlers.t]\nhandler = "${path}"`);
    for (const id of ["t.1", "t.2"]) await enqueue(id, ["--max-attempts", "5"]);
    await drain();
    const { history } = await show("t.2");
    expect(history).toHaveLength(1);
    expect(history[0].note).toContain(path);
  });

  test("a typing mistake in --handler is reported before any task is taken", async () => {
    writeFileSync(join(home, "plain.txt"), "hello");
    await enqueue("t.1");
    const typo = await drain(["--handler", "./not-there.sh"]);
    expect(typo).toMatchObject({ status: 2, stderr: expect.stringContaining("not-there.sh") });
    const plain = await drain(["--handler", "./plain.txt"]);
    expect(plain).toMatchObject({ status: 2, stderr: expect.stringContaining("not executable") });
    expect((await show("t.1")).state).toBe("pending");
  });

  test("out of time: the whole tree is ended, also what left its group", async () => {
    const pids = join(home, "pids");
    const handler = script(
      "handle.sh",
      `trap "" TERM; sleep 1000 & echo $! >> ${pids}; setsid sleep 1000 & echo $! >> ${pids}; wait`,
    );
    await enqueue("t.1");
    await drain(["--handler", handler, "--timeout", "300ms", "--kill-after", "100ms"]);
    const view = await show("t.1");
    // The limit that struck; that it took longer to end it is another matter.
    expect(view.history[0]).toMatchObject({
      outcome: "timed_out",
      note: "not finished after 300 ms",
    });
    for (const pid of readFileSync(pids, "utf8").trim().split("\n")) {
      expect(isAlive(pid), pid).toBe(false);
    }
  });

  test("exit 75 is tried again later and does not count", async () => {
    const handler = script(
      "handle.sh",
      `[ -e ${join(home, "once")} ] && exit 0; touch ${join(home, "once")}; exit 75`,
    );
    await enqueue("t.1");
    await drain(["--handler", handler]);
    const view = await show("t.1");
    expect(view.state).toBe("done");
    expect(view.history[0]).toMatchObject({ outcome: "rate_limited", to: "waiting" });
  });

  test("retries wait their time, and the route says how many", async () => {
    script("handle.sh", `echo x >> ${join(home, "tries")}; exit 1`);
    config('[handlers.t]\nhandler = "./handle.sh"\nmax_attempts = 2\nbackoff = "20ms"\n');
    await enqueue("t.1");
    await drain();
    expect(readFileSync(join(home, "tries"), "utf8")).toBe("x\nx\n");
    expect((await show("t.1")).state).toBe("failed");
  });

  test("the same failure three times is a choke; with no other worker: failed", async () => {
    script("handle.sh", `echo x >> ${join(home, "tries")}; echo boom 17; exit 1`);
    config('[handlers.t]\nhandler = "./handle.sh"\nmax_attempts = 9\nbackoff = "10ms"\n');
    await enqueue("t.1");
    await drain();
    expect(readFileSync(join(home, "tries"), "utf8")).toBe("x\nx\nx\n");
    const view = await show("t.1");
    expect(view.state).toBe("failed");
    expect(view.history.at(-1).note).toMatch(/choke/i);
  });
});

describe("proof", () => {
  test("no proof, not done; the next attempt sees the evidence", async () => {
    script(
      "handle.sh",
      'echo "evidence: $VIV_EVIDENCE"; cat "$VIV_EVIDENCE" 2>/dev/null; echo $VIV_ATTEMPT > proofs',
    );
    config(
      '[handlers.t]\nhandler = "./handle.sh"\nworkspace = "dir"\nmax_attempts = 3\nbackoff = "10ms"\n',
    );
    await enqueue("t.1", ["--done-when", 'echo "saw $(cat proofs)"; test "$(cat proofs)" = 2']);
    await drain();
    const view = await show("t.1");
    expect(view.state).toBe("done");
    expect(view.history[0]).toMatchObject({ outcome: "unproven", to: "waiting" });
    expect(view.proof).toMatchObject({ attempt: 2, exit: 0, output: "saw 2\n" });
    expect(log("t.1")).toContain(`evidence: ${join(run, "artifacts", "t.1.evidence", "1.log")}`);
    expect(log("t.1")).toContain("saw 1");
    const text = await ok(["show", "--run", run, "t.1"], around());
    expect(text).toContain("saw 2");
    expect(text).toContain("exit 0");
  });

  test("a proof that hangs is not one", async () => {
    script("handle.sh", "true");
    config(
      '[handlers.t]\nhandler = "./handle.sh"\ndone_when = "sleep 1000"\ndone_when_timeout = "200ms"\n',
    );
    await enqueue("t.1");
    await drain(["--kill-after", "50ms"]);
    const view = await show("t.1");
    const note = "not finished after 200 ms";
    expect(view.history[0]).toMatchObject({ outcome: "unproven", to: "failed", note });
    expect(view.proof).toMatchObject({ timed_out: true });
  });

  test("review parks it; rejecting sends it back with the note", async () => {
    script("handle.sh", 'echo "note: $VIV_NOTE"');
    config('[handlers.t]\nhandler = "./handle.sh"\nreview = true\n');
    await enqueue("t.1");
    expect((await drain()).stdout).toMatch(/\n0 done, 1 in review\n$/);
    expect((await show("t.1")).state).toBe("review");
    await ok(["reject", "--run", run, "t.1", "--note", "too short"], around());
    await drain();
    expect(log("t.1")).toBe("note: too short\n");
    await ok(["approve", "--run", run, "t.1"], around());
    expect((await show("t.1")).state).toBe("done");
  });
});

test("a proof's output is shown with its indentation, its note names the line that failed", async () => {
  script("handle.sh", "true");
  const report = "a:\\n  not ok 1 - b\\n    deep\\nok 2 - c\\n1..2\\n";
  config(`[handlers.t]\nhandler = "./handle.sh"\ndone_when = "printf '${report}'; exit 1"\n`);
  await enqueue("t.1");
  await drain();
  const view = await show("t.1");
  expect(view.history[0]).toMatchObject({ outcome: "unproven", note: "exit 1: not ok 1 - b" });
  const text = await ok(["show", "--run", run, "t.1"], around());
  expect(text).toContain("  │ a:\n  │   not ok 1 - b\n  │     deep\n  │ ok 2 - c\n");
});

test("a worktree without commits has no changes; one with them is merged or not", async () => {
  const repository = join(home, "app");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: repository,
      env: { PATH: process.env.PATH, HOME: home },
    });
  mkdirSync(repository);
  git("init", "--quiet", "--initial-branch=main");
  git("commit", "--quiet", "--allow-empty", "-m", "first");
  script("handle.sh", '[ "$VIV_TASK_ID" = none ] || echo x > "$VIV_TASK_ID"');
  config('[handlers.t]\nhandler = "./handle.sh"\nworkspace = "worktree"\nrepository = "app"\n');
  for (const id of ["none", "open", "merged"]) await enqueue(id);
  await drain();
  git("merge", "--quiet", "viv/merged@run");
  const text = await ok(["workspaces", "--run", run], around());
  expect(text).toMatch(/^done {2}none .* no changes /m);
  expect(text).toMatch(/^done {2}merged .* merged /m);
  expect(text).toMatch(/^done {2}open .* 1 commit not merged /m);
});

test("a worker that ended is no longer a worker of the run", async () => {
  await enqueue("t.1");
  await drain(["--handler", "true"]);
  expect(JSON.parse(await ok(["status", "--run", run, "--json"], around())).workers).toEqual([]);
  expect(await ok(["status", "--run", run], around())).not.toContain("Workers");
});

describe("the command itself", () => {
  test("a type without a handler is refused, and one without a route is left alone", async () => {
    config('[handlers.other]\nhandler = "/bin/true"\n');
    const said = await cli(["work", "--types", "t,other", "--drain"], around());
    expect(said.status).toBe(2);
    expect(said.stderr).toMatch(/no handler for t;/);
    const enqueued = await cli(["enqueue", "--run", run, "--id", "t.1", "--type", "t"], around());
    expect(enqueued.stderr).toContain("no route takes tasks of type t");
    expect((await drain()).status).toBe(0);
    expect((await show("t.1")).state).toBe("pending");
  });

  test("swarm-lib's flags are understood", async () => {
    const handler = script("handle.sh", "true");
    await enqueue("t.1");
    await enqueue("t.2");
    const flags = `--run-dir ${run} --worker-id w.demo --handler ${handler} --task-type-filter t,u --poll-interval 1 --max-iterations 1 --heartbeat-interval 1`;
    const said = await cli(["work", ...flags.split(" ")], around());
    expect(said.status, said.stderr).toBe(0);
    expect((await show("t.1")).state).toBe("done");
    expect((await show("t.2")).state).toBe("pending");
    expect(existsSync(join(run, "claimed", "w.demo", ".heartbeat"))).toBe(false);
  });

  test("--max-iterations counts tasks, whatever became of them, and no empty polls", async () => {
    const stop = new AbortController();
    const flags = ["--worker-id", "w", "--max-iterations", "2", "--poll-interval", "0.05"];
    const handler = script("handle.sh", 'test "$VIV_TASK_ID" != t.1');
    const working = cli(["work", "--run", run, "--handler", handler, ...flags], {
      ...around(),
      signal: stop.signal,
      onStdout: (text) => {
        // One by one: between them it finds nothing, many times.
        if (text.includes("waits for work")) void enqueue("t.1");
        if (text.includes("t.1 failed")) void enqueue("t.2");
      },
    });
    expect((await working).stdout).toContain("1 done, 1 attempt ended otherwise");
    expect([(await show("t.1")).state, (await show("t.2")).state]).toEqual(["failed", "done"]);
    expect(stop.signal.aborted).toBe(false);
  });

  test("a handler without a slash is a file of the current folder, else a name in PATH", async () => {
    script("handle.sh", "echo here");
    await enqueue("t.1");
    await enqueue("t.2");
    for (const handler of ["handle.sh", "true"]) {
      const said = await cli(["work", "--run", run, "--handler", handler, "--once"], around());
      expect(said.status, said.stderr).toBe(0);
    }
    expect(log("t.1")).toBe("here\n");
    expect((await show("t.2")).state).toBe("done");
  });

  test("a missing run is made, and named on stderr; an existing one is not mentioned", async () => {
    const there = join(home, "new");
    const work = (dir: string) =>
      cli(["work", "--run-dir", dir, "--worker-id", "w", "--handler", "true", "--drain"], around());
    expect(await work(there)).toMatchObject({ status: 0, stderr: `viv: created run ${there}\n` });
    expect(existsSync(join(there, "pending"))).toBe(true);
    expect(await work(there)).toMatchObject({ status: 0, stderr: "" });
    // As in swarm-lib's tour, which makes the folder first.
    mkdirSync(join(home, "empty"));
    expect((await work(join(home, "empty"))).stderr).toContain("viv: created run");
  });

  test.each([
    ["a handler that is not there", ["--handler", "./not-there.sh"], "not-there.sh"],
    ["no handler", [], "which handler?"],
    ["a worker's name that cannot be", ["--handler", "true", "--worker-id", "-x"], "-x"],
    ["no time at all", ["--handler", "true", "--timeout", "0"], "--timeout"],
  ])("%s: no run is made", async (_, flags, said) => {
    const there = join(home, "new");
    const refused = await cli(["work", "--run-dir", there, "--drain", ...flags], around());
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining(said) });
    expect(existsSync(there)).toBe(false);
  });

  test("its heartbeat names the task at hand, and nothing when it has none", async () => {
    const beat = join(run, "claimed/w/.heartbeat");
    const handler = script("handle.sh", `until test "$(cat ${beat})" = t.1; do :; done`);
    const seen: string[] = [];
    await enqueue("t.1");
    const flags = ["--worker-id", "w", "--once", "--heartbeat-interval", "0.05"];
    const said = await cli(["work", "--run", run, "--handler", handler, ...flags], {
      ...around(),
      onStdout: (text) => {
        if (text.includes("waits for work")) seen.push(readFileSync(beat, "utf8"));
      },
    });
    expect(said.status, said.stderr).toBe(0);
    expect(seen).toEqual([""]);
  });

  test("a handler reads the numbers of the payload as they were written", async () => {
    const payload = '{"f": 1.0, "big": 12345678901234567890}';
    const task = { task_id: "t.1", task_type: "t", run_id: "r", created_at: "", depends_on: [] };
    const text = JSON.stringify(task).replace(/}$/, `, "payload": ${payload}}`);
    writeFileSync(join(run, "pending/t.1.json"), text);
    const said = await drain(["--handler", script("handle.sh", 'cat > "$SWARM_ARTIFACT_PATH"')]);
    expect(said.status, said.stderr).toBe(0);
    const got = readFileSync(join(run, "artifacts/t.1.md"), "utf8");
    expect(got).toContain('"big": 12345678901234567890');
    expect(got).toContain('"f": 1.0');
  });

  test("--once, --max-tasks and --json", async () => {
    for (const id of ["t.1", "t.2", "t.3", "t.4"]) await enqueue(id);
    const base = ["work", "--run", run, "--handler", "true", "--worker-id", "w", "--json"];
    const lines = (await ok([...base, "--once"], around()))
      .trim()
      .split("\n")
      .map((l) => JSON.parse(l));
    expect(lines.map(({ kind }) => kind)).toEqual(["started", "claimed", "ended", "finished"]);
    const ended = ["kind", "at", "id", "type", "attempt", "outcome", "to", "duration_ms"];
    expect(Object.keys(lines[2] ?? {}).slice(0, ended.length)).toEqual(ended);
    expect(lines[2]).toMatchObject({ id: "t.1", outcome: "done", to: "done", attempt: 1 });
    await ok([...base, "--max-tasks", "2", "--concurrency", "4"], around());
    const states = await Promise.all(
      ["t.1", "t.2", "t.3", "t.4"].map(async (id) => (await show(id)).state),
    );
    expect(states).toEqual(["done", "done", "done", "pending"]);
  });
});
