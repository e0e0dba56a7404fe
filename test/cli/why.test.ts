import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { fleetFilesIn } from "../../src/fleet/fleet-files.ts";
import { upFilesIn } from "../../src/fleet/up-files.ts";
import { gateHere, openRun } from "../../src/main.ts";
import { type Landing, writeLanding } from "../../src/merge/landing.ts";
import { localMachine } from "../../src/platform/processes/machine.ts";
import { REASON_CODES, type ReasonCode } from "../../src/work/why.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { commitAll, newRepository, userGit, write } from "../support/landing-world.ts";
import { FakeHost } from "../support/machine.ts";
import { cli, controlCodes, json, ok, type Surroundings } from "./support.ts";

/** `viv why` gives every reason there is, each with the command that would change it. */

let run: string;
let host: FakeHost;
let around: Surroundings;
const seen = new Set<ReasonCode>();

beforeEach(async () => {
  run = join(newFolder(), "run");
  host = new FakeHost();
  around = { env: { VIV_RUN: run }, machine: host.process() };
  await say("init", run);
});

const say = (...args: string[]) => ok(args, { ...around, cwd: join(run, "..") });

interface Why {
  state: string;
  reasons: { code: ReasonCode; text: string; command?: string }[];
}

async function why(id: string): Promise<Why> {
  const answer = await json<Why>(["why", id], around);
  for (const { code } of answer.reasons) seen.add(code);
  // What people see is the same, in the same order.
  const text = await say("why", id);
  const lines = [`${id} is ${answer.state}`];
  answer.reasons.forEach((reason, i) => {
    lines.push(`  ${i + 1}. ${reason.text}`);
    // Each can be pasted: zsh takes a comment behind a command for arguments.
    const commands = reason.command?.split("    # or: ") ?? [];
    lines.push(...commands.map((command) => `     ${command}`));
  });
  expect(text).toBe(`${lines.join("\n")}\n`);
  return answer;
}

const codes = async (id: string) => (await why(id)).reasons.map(({ code }) => code);

async function enqueue(id: string, ...more: string[]): Promise<void> {
  await say("enqueue", "--type", "job", "--id", id, ...more);
}

async function claim(id: string, worker = "w1"): Promise<void> {
  const line = await say("claim", "--worker", worker, "--json");
  expect(JSON.parse(line).task_id).toBe(id);
}

describe("a task that waits", () => {
  it("for tasks that are unknown, pending, claimed, resting, failed and quarantined", async () => {
    await enqueue("claimed");
    await claim("claimed");
    await enqueue("failed");
    await say("cancel", "failed");
    await enqueue("done");
    await claim("done");
    await say("complete", "done", "--worker", "w1");
    await enqueue("pending");
    mkdirSync(join(run, "quarantine"), { recursive: true });
    writeFileSync(join(run, "quarantine/aside.json"), "{");
    await enqueue("t.1", "--depends-on", "unknown,pending,claimed,failed,done,aside");
    expect(await why("t.1")).toMatchObject({
      state: "waiting",
      reasons: [
        {
          code: "dependency_unknown",
          text: "waits for unknown, which is not enqueued yet",
          command: "viv enqueue --id unknown --type TYPE",
        },
        {
          code: "dependency_waiting",
          text: expect.stringMatching(/^waits for pending, which is pending for \d+s$/),
          command: "viv why pending",
        },
        {
          code: "dependency_waiting",
          text: expect.stringMatching(/^waits for claimed, which is claimed by w1 for \d+s$/),
          command: "viv why claimed",
        },
        {
          code: "dependency_failed",
          text: "waits for failed, which was cancelled",
          command: "viv retry failed",
        },
        {
          code: "dependency_unknown",
          text: "waits for aside, which is in quarantine",
          command: "viv why aside",
        },
      ],
    });
  });

  it("for hours, says how long", async () => {
    await enqueue("t.0");
    await claim("t.0");
    await enqueue("t.1", "--depends-on", "t.0");
    host.advance(3 * 3_600_000);
    const [reason] = (await why("t.1")).reasons;
    expect(reason?.text).toBe("waits for t.0, which is claimed by w1 for 3h");
  });

  it("for a time", async () => {
    await enqueue("t.1", "--not-before", "+2h");
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "not_before" });
    expect(reason?.text).toMatch(/^not before \S+Z \(in 2h\)$/);
  });

  it("for both, gives both", async () => {
    await enqueue("t.1", "--not-before", "+2h", "--depends-on", "t.0");
    expect(await codes("t.1")).toEqual(["dependency_unknown", "not_before"]);
  });

  it("for itself, through files that another tool wrote", async () => {
    const foreign = (id: string, on: string) => {
      const path = join(run, `pending/${id}.json`);
      const task = { task_id: id, task_type: "job", depends_on: [on], payload: {} };
      writeFileSync(path, JSON.stringify(task));
    };
    foreign("a", "b");
    foreign("b", "c");
    foreign("c", "a");
    const [reason] = (await why("a")).reasons;
    expect(reason).toEqual({
      code: "dependency_cycle",
      text: "it waits for itself: a → b → c → a",
      command: "viv cancel c",
    });
  });

  it("for the next attempt", async () => {
    await enqueue("t.1", "--max-attempts", "3");
    await claim("t.1");
    await say("fail", "t.1", "--worker", "w1", "--retry-at", "+5m");
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "resting" });
    expect(reason?.text).toMatch(
      /^attempt 1 ended as failed; the next one starts at \S+Z \(in 5m\)$/,
    );
  });

  it("for a rate limit", async () => {
    await enqueue("t.1");
    await claim("t.1");
    const flags = ["--outcome", "rate_limited", "--retry-at", "+20m"];
    await say("fail", "t.1", "--worker", "w1", ...flags);
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "rate_limited" });
    expect(reason?.text).toMatch(/^rate limited until \S+Z \(in 20m\)$/);
  });
});

describe("a task in the queue", () => {
  it("that no worker takes", async () => {
    await enqueue("t.1");
    expect((await why("t.1")).reasons).toEqual([
      {
        code: "no_worker",
        text: "no live worker takes tasks of type job",
        command: "viv work --handler COMMAND --types job",
      },
    ]);
  });

  it("that none of the live workers takes", async () => {
    const store = await openRun(run, { machine: host.process() });
    const registration = await store.register("w1", { types: ["other"] });
    await enqueue("t.1");
    expect((await why("t.1")).reasons[0]).toMatchObject({
      code: "no_worker",
      text: "no live worker takes tasks of type job (live workers: w1)",
    });
    await registration.release();
    await store.close();
  });

  it("that was left by a type filter", async () => {
    await enqueue("t.1");
    await say("enqueue", "--type", "other", "--id", "t.0");
    await say("claim", "--worker", "w1", "--types", "other");
    expect((await why("t.1")).reasons[0]).toMatchObject({
      code: "no_worker",
      text: "no live worker takes tasks of type job (live workers: w1)",
    });
  });

  it("whose file cannot be read", async () => {
    const path = join(run, "pending/t.1.json");
    await enqueue("t.0");
    writeFileSync(path, '{"task_id": "t.1"');
    utimesSync(path, 0, 0);
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "unreadable", command: "viv doctor --fix" });
  });

  it("that nothing holds back any more, before the next look", async () => {
    await enqueue("t.1");
    await enqueue("t.2", "--depends-on", "t.1");
    renameSync(join(run, "pending/t.1.json"), join(run, "done/t.1.json"));
    expect((await why("t.2")).reasons).toMatchObject([{ code: "free", command: "viv reap" }]);
    await say("reap");
    expect(await why("t.2")).toMatchObject({ state: "pending" });
  });

  it("that a worker will take", async () => {
    const store = await openRun(run, { machine: host.process() });
    const registration = await store.register("w1");
    await enqueue("t.1");
    expect((await why("t.1")).reasons).toEqual([
      { code: "queued", text: "it is in the queue; w1 will take it in turn" },
    ]);
    const held = "[handlers.job] is held back: there is no program ./h.sh";
    registration.note(held, { atOnce: true });
    await until("it is written", async () => (await codes("t.1"))[0] === "route_held");
    expect((await why("t.1")).reasons).toEqual([
      { code: "route_held", text: held, command: "viv config check" },
    ]);
    await registration.release();
    await store.close();
    expect(await codes("t.1")).toEqual(["no_worker"]);
  });

  it("that a worker of one heartbeat, whose process is unknown, will not take for sure", async () => {
    await say("heartbeat", "--worker", "ghost");
    await enqueue("t.1");
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "no_worker" });
    expect(reason?.text).toMatch(/^no worker process is known .*; last seen: ghost \(\S+ ago\)$/);
  });

  it("that a route of viv.toml would take, or none of them", async () => {
    const folder = join(run, "..");
    around = { ...around, cwd: folder };
    writeFileSync(join(folder, "viv.toml"), '[handlers.job]\nhandler = "./handle.sh"\n');
    await enqueue("t.1");
    expect((await why("t.1")).reasons).toEqual([
      {
        code: "no_worker",
        text: "no live worker takes tasks of type job",
        command: "viv work",
      },
    ]);
    const { stderr } = await cli(["enqueue", "--type", "other", "--id", "t.2"], around);
    expect(stderr).toContain("no route takes tasks of type other");
    expect((await why("t.2")).reasons).toEqual([
      {
        code: "no_route",
        text: `there is no route for tasks of type other: add [handlers.other] or [handlers.default] to ${join(folder, "viv.toml")}`,
      },
      {
        code: "no_worker",
        text: "no live worker takes tasks of type other",
        command: "viv work --handler COMMAND --types other",
      },
    ]);
  });

  it("that parked workers of viv up would take", async () => {
    const folder = join(run, "..");
    around = { ...around, cwd: folder };
    const groups = "[workers.a]\ntypes = ['job']\n[workers.b]\ntypes = ['other']\n";
    writeFileSync(join(folder, "viv.toml"), `${groups}[handlers.default]\nhandler = "./h.sh"\n`);
    await enqueue("t.1");
    const files = fleetFilesIn(run);
    const part = { kind: "worker", process: null, since: "", restarts: 4, doing: "" } as const;
    mkdirSync(files.folder, { recursive: true });
    files.write({
      ...{ ...localMachine().self(), state: "working", since: "", run, config: null, note: "" },
      parts: ["a-1", "b-1"].map((name) => ({ ...part, name, state: "parked", note: "exit 1" })),
    });
    expect((await why("t.1")).reasons).toEqual([
      {
        code: "worker_down",
        text: "a-1 of viv up is parked: exit 1; it stays so until viv up is started anew:",
        command: "viv down && viv up --detach",
      },
    ]);
  });

  it("that parked agents around the pit would take", async () => {
    const pit = join(run, "../pit");
    await say("pit", "init", pit);
    around = { ...around, env: { VIV_RUN: pit } };
    const agents = join(run, "../agents.toml");
    writeFileSync(agents, '[service]\npit = "pit"\n[agents.keeper]\n[agents.snake-1]\n');
    await say("enqueue", "--type", "egg", "--id", "f.1");
    const files = upFilesIn(pit);
    mkdirSync(join(pit, ".viv/up"), { recursive: true });
    const names = ["keeper", "snake-1"];
    files.write({
      ...{ ...localMachine().self(), name: "service", state: "working", since: "", note: "" },
      ...{ config: agents, agents: names },
    });
    for (const name of names) {
      files.write({
        ...{ name, species: "", state: "parked", pid: null, started: null, boot: null, host: null },
        ...{ since: "", restarts: 4, last_run: null, next_run: null, last_exit: 1, note: "" },
        run: null,
      });
    }
    const [reason, ...more] = (await why("f.1")).reasons;
    expect(reason).toEqual({
      code: "worker_down",
      text: "snake-1 of viv up is parked; it stays so until viv up is started anew:",
      command: `viv down -c ${agents} && viv up -c ${agents} --detach`,
    });
    expect(more).toEqual([]);
    rmSync(agents);
    expect((await why("f.1")).reasons.map(({ code }) => code)).not.toContain("worker_down");
  });

  it("that failed three times in the same way, and was sent round", async () => {
    await enqueue("t.1", "--max-attempts", "9");
    for (let i = 0; i < 3; i++) {
      await claim("t.1");
      const flags = ["--note", "no such branch", "--fingerprint", "f1", "--retry-at", "+1s"];
      await say("fail", "t.1", "--worker", "w1", ...flags);
      host.advance(2_000);
    }
    await say("reap");
    const answer = await why("t.1");
    // No other worker is there to try it.
    expect(answer.state).toBe("failed");
    expect(answer.reasons[0]?.code).toBe("choked");
    expect(answer.reasons[0]?.text).toMatch(/choked/);
  });
});

describe("a claimed task", () => {
  it("is being worked on", async () => {
    await enqueue("t.1");
    await claim("t.1");
    const [reason] = (await why("t.1")).reasons;
    expect(reason?.code).toBe("running");
    expect(reason?.text).toMatch(/^w1 has been working on it for \d+s, last heartbeat \d+s ago$/);
    expect(reason?.command).toMatch(/^viv logs t\.1 -f/);
  });

  it("has a worker that is silent", async () => {
    await enqueue("t.1");
    await claim("t.1");
    host.advance(301_000);
    expect((await why("t.1")).reasons).toEqual([
      {
        code: "worker_silent",
        text: expect.stringMatching(/^w1 claimed it 5m( \d+s)? ago and is gone or silent$/),
        command: "viv reap",
      },
    ]);
  });

  it("has a worker whose process is gone", async () => {
    const machine = host.process();
    const store = await openRun(run, { machine });
    await store.register("w1");
    await enqueue("t.1");
    await store.claim({ worker: "w1" });
    expect(await codes("t.1")).toEqual(["running"]);
    machine.die();
    expect(await codes("t.1")).toEqual(["worker_silent"]);
    await store.close();
  });
});

describe("a task at its end", () => {
  it("in review", async () => {
    await enqueue("t.1", "--review");
    await claim("t.1");
    await say("complete", "t.1", "--worker", "w1");
    host.advance(3_600_000);
    expect((await why("t.1")).reasons).toEqual([
      {
        code: "in_review",
        text: "a person must approve it; it has waited for 1h",
        command: 'viv approve t.1    # or: viv reject t.1 --note "…"',
      },
    ]);
  });

  it("done", async () => {
    await enqueue("t.1");
    await claim("t.1");
    await say("complete", "t.1", "--worker", "w1");
    expect(await codes("t.1")).toEqual(["done"]);
  });

  it("failed", async () => {
    await enqueue("t.1");
    await claim("t.1");
    await say("fail", "t.1", "--worker", "w1", "--outcome", "timed_out", "--note", "10 minutes");
    expect((await why("t.1")).reasons).toEqual([
      {
        code: "failed",
        text: "attempt 1 by w1 ended as timed_out: 10 minutes",
        command: "viv retry t.1",
      },
    ]);
  });

  it("cancelled, while it waited and while it was claimed", async () => {
    await enqueue("t.1");
    await say("cancel", "t.1", "--note", "not needed");
    await enqueue("t.2");
    await claim("t.2");
    await say("cancel", "t.2", "--note", "nor this");
    expect((await why("t.1")).reasons).toEqual([
      { code: "cancelled", text: "it was cancelled: not needed", command: "viv retry t.1" },
    ]);
    expect((await why("t.2")).reasons).toEqual([
      { code: "cancelled", text: "it was cancelled: nor this", command: "viv retry t.2" },
    ]);
  });

  it("quarantined", async () => {
    const path = join(run, "pending/t.1.json");
    writeFileSync(path, '{"task_id":"other"}');
    utimesSync(path, 0, 0);
    await say("claim", "--worker", "w1", "--json");
    const answer = await why("t.1");
    expect(answer).toMatchObject({
      state: "quarantined",
      reasons: [
        {
          code: "quarantined",
          text: 'it was moved aside: task_id "other" does not match the file name; repair the file, then move it back',
          command: "mv quarantine/t.1.json pending/",
        },
      ],
    });
  });
});

it("the machine's gate is full", async () => {
  const folder = join(run, "..");
  writeFileSync(join(folder, "p.md"), "do it");
  writeFileSync(join(folder, "viv.toml"), '[handlers.job]\nengine = "claude"\nprompt = "p.md"\n');
  const env = { VIV_RUN: run, VIV_STATE: join(folder, "state") };
  around = { ...around, cwd: folder, env };
  await enqueue("t.1");
  await say("gate", "--max", "1");
  expect(await codes("t.1")).toEqual(["no_worker"]);
  const { machine: gate } = await gateHere(env, folder, host.process());
  await gate.acquire({ name: "a" });
  const full = "the machine's gate is full: 1 of 1 slot is taken";
  expect((await why("t.1")).reasons[0]).toEqual({
    code: "gate_full",
    text: full,
    command: "viv gate",
  });
  const stop = new AbortController();
  const waiting = gate.acquire({ name: "b", signal: stop.signal }).catch(() => {});
  await until("b waits", () => gate.view().queue.length === 1);
  expect((await why("t.1")).reasons[0]?.text).toBe(`${full}, and 1 waits there`);
  stop.abort();
  await waiting;
});

it("its account is closed for all", async () => {
  const folder = join(run, "..");
  const route = 'engine = "claude"\nprompt = "p.md"\naccount = "acme"';
  writeFileSync(join(folder, "p.md"), "do it");
  writeFileSync(join(folder, "viv.toml"), `[handlers.job]\n${route}\n`);
  around = { ...around, cwd: folder, env: { VIV_RUN: run, VIV_STATE: join(folder, "state") } };
  await enqueue("t.1");
  await say("accounts", "close", "acme", "--for", "2h", "--note", "for myself");
  const [reason] = (await why("t.1")).reasons;
  expect(reason).toMatchObject({ code: "account_closed" });
  expect(reason?.text).toMatch(
    /^account acme is closed until .* \(in 2h\): by hand \(for myself\)$/,
  );
  await say("accounts", "open", "acme");
  expect(await codes("t.1")).toEqual(["no_worker"]);
});

describe("what others wrote", () => {
  it("in a note cannot command a terminal", async () => {
    await enqueue("t.1");
    await say("cancel", "t.1", "--note", "\u001b]0;evil\u0007\u001b[2J");
    const text = await ok(["why", "t.1"], { ...around, columns: 80 });
    expect(text).toContain("evil");
    expect(controlCodes(text)).toEqual([]);
  });

  it("as the type of a foreign task cannot either", async () => {
    const task = { task_id: "t.1", task_type: "a\u001b[2Jb", payload: {} };
    writeFileSync(join(run, "pending/t.1.json"), JSON.stringify(task));
    const text = await ok(["why", "t.1"], { ...around, columns: 80 });
    expect(controlCodes(text)).toEqual([]);
  });

  it("does not make a suggested command do something else", async () => {
    const task = { task_id: "t.1", task_type: "a; rm -rf ~", payload: {} };
    writeFileSync(join(run, "pending/t.1.json"), JSON.stringify(task));
    const [reason] = (await json<Why>(["why", "t.1"], around)).reasons;
    expect(reason?.command).not.toContain("--types a; rm");
  });
});

it("a task whose file was moved away is known by the ledger", async () => {
  await enqueue("t.1");
  renameSync(join(run, "pending/t.1.json"), join(run, "../elsewhere.json"));
  const said = await cli(["why", "t.1"], around);
  expect(said.stderr).toContain("t.1 was enqueued, but its file is in no state any more");
  expect((await cli(["why", "t.2"], around)).stderr).toContain("there is no task t.2");
});

describe("what is up to people", () => {
  it("a paused run", async () => {
    await enqueue("t.1");
    await say("pause", "--by", "pia", "--note", "lunch");
    expect((await why("t.1")).reasons[0]).toEqual({
      code: "paused",
      text: expect.stringMatching(
        /^the run is paused by pia \d+s ago: lunch \(nothing is claimed\)$/,
      ),
      command: "viv resume",
    });
  });

  it("a full review", async () => {
    around = { ...around, cwd: join(run, "..") };
    writeFileSync(join(run, "../viv.toml"), 'run = "run"\n[limits]\nreview = 1\n');
    await enqueue("t.1", "--review");
    await claim("t.1");
    await say("complete", "t.1", "--worker", "w1");
    await enqueue("t.2");
    expect((await why("t.2")).reasons[0]).toEqual({
      code: "review_full",
      text: "1 task waits for review, and with 1 nothing more is claimed",
      command: "viv ls --state review",
    });
  });

  it("workspaces that take up their limit, and a set-up that fails", async () => {
    around = { ...around, cwd: join(run, "..") };
    const route = '[handlers.job]\nhandler = "x"\nworkspace = "dir"\nsetup = "false"\n';
    writeFileSync(join(run, "../viv.toml"), `run = "run"\n${route}[limits]\nworkspaces = "1kB"\n`);
    await enqueue("t.1");
    mkdirSync(join(run, "workspaces/old"), { recursive: true });
    writeFileSync(join(run, "workspaces/.bytes"), "2000 old\n");
    expect((await why("t.1")).reasons[0]).toEqual({
      code: "no_space",
      text: "workspaces take up what [limits] workspaces allows (1 kB): 2 kB",
      command: "viv workspaces gc",
    });
    writeFileSync(join(run, "../viv.toml"), `run = "run"\n${route}`);
    await claim("t.1");
    const failed = ["--outcome", "setup_failed", "--retry-at", "+1h", "--note", "exit 1"];
    await say("fail", "t.1", "--worker", "w1", ...failed);
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "setup_failed", command: "viv logs t.1 --setup" });
    expect(reason?.text).toMatch(/^the set-up of its workspace failed, .*: exit 1$/);
  });

  it("a budget that is used up", async () => {
    around = { ...around, cwd: join(run, "..") };
    writeFileSync(
      join(run, "../viv.toml"),
      `run = "run"\n[handlers.job]\nengine = "claude"\nprompt = "p.md"\n[budget]\nrun = { usd = 1 }\n`,
    );
    await enqueue("t.1");
    const store = await openRun(run, { machine: host.process() });
    await store.append({
      event: "usage",
      ...{ task: "t.0", type: "job", worker: "w", token: "1", attempt: 1, engine: "claude" },
      models: [
        {
          model: "m",
          input: 1,
          output: 1,
          cache_read: 0,
          cache_write: 0,
          usd: 1.5,
          source: "reported",
        },
      ],
      ...{ usd: 1.5, tokens: 2 },
    });
    await store.close();
    const [reason] = (await why("t.1")).reasons;
    expect(reason).toMatchObject({ code: "budget_used_up", command: "viv costs" });
    expect(reason?.text).toContain("the budget of this run is used up: $1.50 of $1.00");
  });

  it("a budget that others have reserved", async () => {
    around = { ...around, cwd: join(run, "..") };
    writeFileSync(
      join(run, "../viv.toml"),
      `run = "run"\n[handlers.job]\nengine = "claude"\nprompt = "p.md"\n[budget]\nrun = { usd = 1 }\n`,
    );
    await enqueue("t.1");
    await enqueue("t.2");
    const store = await openRun(run, { machine: host.process() });
    const [claim] = await store.claim({ worker: "w" });
    const of = { task: "t.1", type: "job", worker: "w", token: claim?.token ?? "", attempt: 1 };
    const tokens = { input: 1, output: 0, cache_read: 0, cache_write: 0 };
    await store.append({ event: "reserved", ...of, usd: 0.9, tokens: 0 });
    await store.append({ event: "step", ...of, kind: "text", model: "m", tokens, usd: 0.1 });
    await store.close();
    const [reason] = (await why("t.2")).reasons;
    expect(reason).toMatchObject({ code: "budget_used_up", command: "viv costs" });
    expect(reason?.text).toContain(
      "the budget of this run is reserved: $0.10 of $1.00, $0.80 reserved by others, and an attempt may cost $1.00; wait until those attempts end",
    );
  });
});

it("where the work of a done task is, and why one went back", async () => {
  const repository = newRepository(join(run, "..", "repository"));
  const base = userGit(repository, "rev-parse", "main");
  userGit(repository, "switch", "--quiet", "--create", "viv/t.1");
  write(join(repository, "file.txt"), "changed\n");
  const head = commitAll(repository, "work");
  await enqueue("t.1");
  const store = await openRun(run, { machine: host.process() });
  const [claim] = await store.claim({ worker: "w" });
  await store.complete({ id: "t.1", worker: "w", token: claim?.token });
  const at = "2026-11-16T12:00:00.000Z";
  const place = { task: "t.1", at, repository, branch: "viv/t.1", base, target: "main" };
  const landing = { ...place, head, strategy: "merge", reworks: 0 } as const;
  const reasonWith = async (more: Partial<Landing> & Pick<Landing, "state">) => {
    writeLanding(run, { ...landing, ...more });
    return (await why("t.1")).reasons.at(-1);
  };
  const conflict = {
    state: "needs_you",
    reason: "conflict with main in a.ts",
    command: "viv x",
  } as const;
  expect(await reasonWith(conflict)).toEqual({
    code: "not_landed",
    text: "done, not landed: conflict with main in a.ts",
    command: "viv x",
  });
  expect(await reasonWith({ state: "landed", to: head })).toMatchObject({ code: "landed" });
  expect(await reasonWith({ state: "no_changes" })).toMatchObject({ code: "no_changes" });
  const reason = "conflict with main in a.ts; sent back (rework 1 of 2)";
  expect((await reasonWith({ state: "reworked", reason }))?.text).toBe(
    `done, not landed: ${reason}; done again since`,
  );
  await store.rework("t.1");
  await store.close();
  expect((await why("t.1")).reasons[0]).toEqual({
    code: "reworked",
    text: "sent back: conflict with main in a.ts (rework 1 of 2)",
  });
});

it("every reason that the code can give was given above", () => {
  expect([...seen].sort()).toEqual([...REASON_CODES].sort());
});
