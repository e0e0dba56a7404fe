import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type * as z from "zod/mini";
import { ls, show, status } from "../../src/overview/operations.ts";
import { why } from "../../src/overview/why.ts";
import { claim, fail, heartbeat, release } from "../../src/queue/operations/claims.ts";
import { doctor, init, reap } from "../../src/queue/operations/maintenance.ts";
import { cancel, enqueue, reject, retry } from "../../src/queue/operations/tasks.ts";
import { approve } from "../../src/work/operations/approve.ts";
import { complete } from "../../src/work/operations/complete.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { cli, json, ok, type Surroundings, viv } from "./support.ts";

/** Every command does what it says, for people and, with --json, for programs. */

let folder: string;
let run: string;
let host: FakeHost;
let around: Surroundings;

beforeEach(() => {
  folder = newFolder();
  run = join(folder, "run");
  host = new FakeHost();
  around = { cwd: folder, env: { VIV_RUN: run, USER: "pia" }, machine: host.process() };
});

const say = (...args: string[]) => ok(args, around);

/** The output with --json: what the operation's schema says, and not a key more. */
async function documented<S extends z.ZodMiniType>(
  schema: S,
  keys: readonly string[],
  args: readonly string[],
): Promise<z.output<S>> {
  const value = await json(args, around);
  expect(schema.parse(value)).toEqual(value);
  expect(Object.keys(value).sort()).toEqual([...keys].sort());
  return value as z.output<S>;
}

const ENDED = ["id", "from", "to", "attempt"];
const COUNTS = {
  waiting: 0,
  pending: 0,
  claimed: 0,
  review: 0,
  done: 0,
  failed: 0,
  cancelled: 0,
  quarantined: 0,
};

async function claimed(id: string, ...more: string[]): Promise<string> {
  await say("enqueue", "--type", "job", "--id", id, ...more);
  const line = await say("claim", "--worker", "w1", "--json");
  const { task_id, token } = JSON.parse(line);
  expect(task_id).toBe(id);
  return token as string;
}

describe("init", () => {
  it("makes a run, and .viv-run says where", async () => {
    around.env = {};
    expect(await say("init", "./audit")).toBe(
      `made ${folder}/audit\ncommands in this folder use it (.viv-run); try: viv enqueue --type hello\n`,
    );
    expect(readFileSync(join(folder, ".viv-run"), "utf8")).toBe("audit\n");
    const made = await documented(init.output, ["run_id", "run_dir"], ["init", "other"]);
    expect(made).toEqual({ run_id: "other", run_dir: join(folder, "other") });
    expect(readdirSync(made.run_dir)).toEqual(expect.arrayContaining(["pending", "done"]));
  });

  it("does not pass over --run", async () => {
    around.env = {};
    const { status } = await cli(["init", "--run", join(folder, "there")], around);
    expect(status === 2 || existsSync(join(folder, "there/pending"))).toBe(true);
  });

  it("makes a run that the next command finds, also beside a viv.toml", async () => {
    around.env = {};
    writeFileSync(join(folder, "viv.toml"), 'on_dependency_failed = "fail"\n');
    await say("init", "audit");
    expect(await say("ls")).toContain(join(folder, "audit"));
  });

  it("does not promise what a viv.toml or VIV_RUN prevents", async () => {
    around.env = {};
    writeFileSync(join(folder, "viv.toml"), 'run = "other"\n');
    const text = await say("init", "audit");
    expect(text).not.toContain("commands in this folder use it");
    const named = await say("init", "other");
    expect(named).toContain("commands in this folder use it (the run in viv.toml)");
    expect(existsSync(join(folder, ".viv-run"))).toBe(false);
  });

  it("uses ./run when no folder is given", async () => {
    around.env = {};
    await say("init");
    expect(existsSync(join(run, "pending"))).toBe(true);
  });
});

describe("enqueue", () => {
  it("says the id and the state", async () => {
    expect(await say("enqueue", "--type", "job", "--id", "t.1")).toBe("enqueued t.1 (pending)\n");
    expect(await say("enqueue", "--type", "job", "--id", "t.2", "--depends-on", "t.1")).toBe(
      "enqueued t.2 (waiting)\n",
    );
    expect(await say("enqueue", "--type", "job", "--id", "t.1", "--if-absent")).toBe(
      "there already: t.1 (pending)\n",
    );
  });

  it("makes an id when none is given", async () => {
    const keys = ["id", "type", "state", "created"];
    const made = [...keys, "created_run"];
    const first = await documented(enqueue.output, made, ["enqueue", "--type", "job"]);
    const second = await documented(enqueue.output, keys, ["enqueue", "--type", "job"]);
    expect(first).toMatchObject({ state: "pending", created: true });
    expect(first.id).not.toBe(second.id);
    expect(readdirSync(join(run, "pending")).sort()).toEqual(
      [`${first.id}.json`, `${second.id}.json`].sort(),
    );
  });

  it("writes every flag into the task", async () => {
    const flags = ["--type", "job", "--id", "t.1", "--payload", '{"repo":"web","n":[1,2]}'];
    flags.push("--depends-on", "a,b", "--depends-on=c", "--priority", "high", "--review");
    flags.push("--not-before", "2030-01-02T03:04:05+02:00", "--deadline", "+1d");
    flags.push("--tier-hint", "haiku", "--created-by", "pia", "--parent", "t.0");
    flags.push("--done-when", "npm test", "--max-attempts", "3", "--timeout", "10m");
    flags.push("--durability", "fast");
    const now = host.clock.now();
    await say("enqueue", ...flags);
    expect(JSON.parse(readFileSync(join(run, "waiting/t.1.json"), "utf8"))).toEqual({
      task_id: "t.1",
      task_type: "job",
      run_id: "run",
      created_at: new Date(now).toISOString(),
      created_by: "pia",
      payload: { repo: "web", n: [1, 2] },
      depends_on: ["a", "b", "c"],
      priority: "high",
      not_before: "2030-01-02T01:04:05.000Z",
      deadline: new Date(now + 86_400_000).toISOString(),
      tier_hint: "haiku",
      parent: "t.0",
      done_when: "npm test",
      review: true,
      max_attempts: 3,
      timeout: "10m",
    });
  });

  it("takes the parent from a handler's environment", async () => {
    around.env = { VIV_RUN: run, SWARM_TASK_ID: "t.0" };
    await say("enqueue", "--type", "job", "--id", "t.1");
    expect(JSON.parse(readFileSync(join(run, "pending/t.1.json"), "utf8")).parent).toBe("t.0");
  });
});

describe("claim", () => {
  it("prints one JSON object per line, with the task's keys beside worker, token and attempt", async () => {
    for (const id of ["t.1", "t.2", "t.3"]) await say("enqueue", "--type", "job", "--id", id);
    const text = await say("claim", "--worker", "w1", "--max", "2", "--json");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.id)).toEqual(["t.1", "t.2"]);
    const claims = lines.map(({ worker, token, attempt, ...task }) => {
      const { id, type } = task;
      return { id, type, task, worker, token, attempt };
    });
    const output = { claims, artifacts: [null, null] };
    expect(claim.output.parse(output)).toEqual(output);
    const ours = { id: "t.1", type: "job" };
    expect(claims[0]).toMatchObject({ worker: "w1", attempt: 1, ...ours });
    const file = JSON.parse(readFileSync(join(run, "claimed/w1/t.1.json"), "utf8"));
    expect(file).toMatchObject({ task_id: "t.1", task_type: "job" });
    expect(claims[0]?.task).toEqual({ ...ours, ...file });
  });

  it("prints nothing with --json when there is nothing, and says so to people", async () => {
    await say("init", "run");
    expect(await say("claim", "--worker", "w1", "--json")).toBe("");
    expect(await say("claim", "--worker", "w1")).toBe("nothing to claim\n");
  });

  it("shows people the payload, the attempt, where the result goes and the next step", async () => {
    const rest = [
      "  artifact: run/artifacts/t.1.md",
      "  next: viv complete t.1 --worker w1   or: viv fail t.1 --worker w1",
      "",
    ].join("\n");
    await say("enqueue", "--type", "job", "--id", "t.1", "--payload", '{"repo":"web"}');
    expect(await say("claim", "--worker", "w1")).toBe(`claimed t.1 (job) {"repo":"web"}\n${rest}`);
    await say("release", "t.1", "--worker", "w1");
    expect(await say("claim", "--worker", "w1")).toBe(
      `claimed t.1 (job) attempt 2 {"repo":"web"}\n${rest}`,
    );
  });

  it("takes only the types it is told, and the worker from VIV_WORKER", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1");
    await say("enqueue", "--type", "other", "--id", "t.2");
    around.env = { ...around.env, VIV_WORKER: "w9" };
    const line = JSON.parse(await say("claim", "--types", "none,other", "--json"));
    expect(line).toMatchObject({ task_id: "t.2", worker: "w9" });
    expect(await say("claim", "--types", "other", "--json")).toBe("");
  });

  it("with an empty list of types does not take everything", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1");
    // As a script has it when its variable is empty: --types "$TYPES"
    const { stdout } = await cli(["claim", "--worker", "w1", "--types", "", "--json"], around);
    expect(stdout).toBe("");
  });

  it("takes the important first, and what came first before what came later", async () => {
    const order: [string, string][] = [
      ["n1", "normal"],
      ["l1", "low"],
      ["h1", "high"],
      ["n2", "normal"],
      ["h2", "high"],
    ];
    for (const [id, priority] of order)
      await say("enqueue", "--type", "job", "--id", id, "--priority", priority);
    const text = await say("claim", "--worker", "w1", "--max", "9", "--json");
    const ids = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).task_id);
    expect(ids).toEqual(["h1", "h2", "n1", "n2", "l1"]);
  });
});

describe("the end of an attempt", () => {
  it("complete", async () => {
    const token = await claimed("t.1");
    expect(await say("complete", "t.1", "--worker", "w1", "--token", token)).toBe(
      "t.1: claimed → done\n",
    );
    await claimed("t.2");
    const args = ["complete", "--worker", "w1", "--id", "t.2", "--note", "all green"];
    expect(await documented(complete.output, ENDED, args)).toEqual({
      id: "t.2",
      from: "claimed",
      to: "done",
      attempt: 1,
    });
    expect(readdirSync(join(run, "done")).sort()).toEqual(["t.1.json", "t.2.json"]);
  });

  it("complete parks a task that needs a review", async () => {
    await claimed("t.1", "--review");
    expect(await say("complete", "t.1", "--worker", "w1")).toBe("t.1: claimed → review\n");
  });

  it("fail", async () => {
    await claimed("t.1");
    expect(await say("fail", "t.1", "--worker", "w1", "--note", "no such branch")).toBe(
      "t.1: claimed → failed\n",
    );
    await claimed("t.2");
    const args = ["fail", "t.2", "--worker", "w1", "--outcome", "timed_out"];
    const ended = await documented(fail.output, ENDED, args);
    expect(ended).toEqual({ id: "t.2", from: "claimed", to: "failed", attempt: 1 });
  });

  it("fail with attempts left says until when it rests", async () => {
    await claimed("t.1", "--max-attempts", "3");
    const at = new Date(host.clock.now() + 20 * 60_000).toISOString();
    const args = ["fail", "t.1", "--worker", "w1", "--outcome", "rate_limited"];
    const ended = await documented(
      fail.output,
      [...ENDED, "retry_at"],
      [...args, "--retry-at", "+20m"],
    );
    expect(ended).toMatchObject({ to: "waiting", retry_at: at });
    await claimed("t.2", "--max-attempts", "2");
    expect(await say("fail", "t.2", "--worker", "w1", "--retry-at", at)).toBe(
      `t.2: claimed → waiting (until ${at})\n`,
    );
    await claimed("t.3", "--max-attempts", "2");
    expect(await say("fail", "t.3", "--worker", "w1", "--final")).toBe("t.3: claimed → failed\n");
  });

  it("release", async () => {
    await claimed("t.1");
    expect(await say("release", "t.1", "--worker", "w1")).toBe("t.1: claimed → pending\n");
    await say("claim", "--worker", "w1");
    const args = ["release", "--id", "t.1", "--worker", "w1", "--note", "not mine"];
    const ended = await documented(release.output, ENDED, args);
    expect(ended).toEqual({ id: "t.1", from: "claimed", to: "pending", attempt: 2 });
  });

  it("takes the worker from a handler's environment", async () => {
    await claimed("t.1");
    around.env = { VIV_RUN: run, SWARM_WORKER_ID: "w1" };
    expect(await say("complete", "t.1")).toBe("t.1: claimed → done\n");
  });
});

describe("decisions of people", () => {
  it("cancel, one or several", async () => {
    for (const id of ["t.1", "t.2", "t.3"]) await say("enqueue", "--type", "job", "--id", id);
    expect(await say("cancel", "t.1", "t.2", "--note", "as discussed")).toBe(
      "t.1: pending → cancelled\nt.2: pending → cancelled\n",
    );
    const { tasks } = await documented(cancel.output, ["tasks"], ["cancel", "t.3"]);
    expect(tasks).toEqual([{ id: "t.3", from: "pending", to: "cancelled", attempt: 0 }]);
    expect(await say("show", "t.1")).toContain("as discussed");
    expect(await say("show", "t.1")).toContain("by=pia");
  });

  it("retry", async () => {
    await claimed("t.1");
    await say("fail", "t.1", "--worker", "w1");
    expect(await say("retry", "t.1")).toBe("t.1: failed → pending\n");
    await say("cancel", "t.1");
    const { tasks } = await documented(retry.output, ["tasks"], ["retry", "t.1"]);
    expect(tasks).toEqual([{ id: "t.1", from: "failed", to: "pending", attempt: 1 }]);
  });

  it("retry --all: every failed task, and no cancelled one", async () => {
    await claimed("t.1");
    expect(await say("retry", "--all")).toBe("there is none\n");
    for (const id of ["t.2", "t.3"]) await claimed(id);
    for (const id of ["t.1", "t.2"]) await say("fail", id, "--worker", "w1");
    await say("cancel", "t.3");
    const all = (await say("retry", "--all")).trimEnd().split("\n").sort();
    expect(all).toEqual(["t.1: failed → pending", "t.2: failed → pending"]);
    expect(await say("ls", "--state", "cancelled")).toContain("t.3");
  });

  it("approve and reject", async () => {
    for (const id of ["t.1", "t.2", "t.3", "t.4"]) {
      await claimed(id, "--review");
      await say("complete", id, "--worker", "w1");
    }
    expect(await say("approve", "t.1")).toBe("t.1: review → done\n");
    const approved = await documented(approve.output, ["tasks"], ["approve", "t.2"]);
    expect(approved.tasks).toMatchObject([{ id: "t.2", from: "review", to: "done" }]);
    expect(await say("reject", "t.3", "--note", "no test")).toBe("t.3: review → pending\n");
    const rejected = await documented(reject.output, ["tasks"], ["reject", "t.4", "--note", "no"]);
    expect(rejected.tasks).toMatchObject([{ id: "t.4", from: "review", to: "pending" }]);
  });

  it("an attempt that ended in review counts and is shown", async () => {
    await claimed("t.1", "--review");
    await say("complete", "t.1", "--worker", "w1");
    const rejected = await json(["reject", "t.1", "--note", "no test"], around);
    expect(rejected).toMatchObject({ tasks: [{ attempt: 1 }] });
    const again = JSON.parse(await say("claim", "--worker", "w1", "--json"));
    expect(again).toMatchObject({ task_id: "t.1", attempt: 2 });
    await say("complete", "t.1", "--worker", "w1");
    const { history } = await json<{ history: unknown[] }>(["show", "t.1"], around);
    expect(history).toMatchObject([
      { attempt: 1, outcome: "done", to: "review" },
      { retried: true, note: "no test" },
      { attempt: 2, outcome: "done", to: "review" },
    ]);
  });
});

describe("heartbeat and reap", () => {
  it("heartbeat is silent", async () => {
    await claimed("t.1");
    expect(await say("heartbeat", "--worker", "w1", "--note", "halfway")).toBe("");
    const value = await documented(
      heartbeat.output,
      ["worker"],
      ["heartbeat", "--worker", "w1", "--note", "nearly"],
    );
    expect(value).toEqual({ worker: "w1" });
    expect(await json(["status"], around)).toMatchObject({
      workers: [{ name: "w1", note: "nearly" }],
    });
  });

  it("reap says what it took back, and from whom", async () => {
    const keys = ["reaped", "live", "skipped", "stuck", "promoted", "adopted", "recovered"];
    await claimed("t.1");
    expect(await say("reap")).toBe("nothing to reap (at work: w1)\n");
    expect(await documented(reap.output, keys, ["reap", "--stale-after", "60"])).toMatchObject({
      reaped: [],
      live: ["w1"],
    });
    host.advance(120_000);
    const [report] = (await documented(reap.output, keys, ["reap", "--stale-after", "60"])).reaped;
    expect(report).toMatchObject({ worker: "w1", id: "t.1", to: "pending", reason: "stale" });
    await say("claim", "--worker", "w2");
    host.advance(301_000);
    expect(await say("reap")).toMatch(
      /^t\.1: claimed → pending \(w2: last heartbeat 5m( \d+s)? ago\)\n$/,
    );
  });

  it("reap reports what it promoted", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1", "--not-before", "+1h");
    host.advance(3_600_001);
    expect(await say("reap")).toBe("1 promoted\n");
  });
});

describe("looking", () => {
  it("ls", async () => {
    await claimed("t.1");
    await say("enqueue", "--type", "audit", "--id", "t.2", "--priority", "low");
    await say("enqueue", "--type", "job", "--id", "t.3", "--depends-on", "t.1");
    const text = await say("ls");
    expect(text.split("\n")).toEqual([
      `run  ${run}`,
      "waiting 1  pending 1  claimed 1  review 0  done 0  failed 0",
      "",
      expect.stringMatching(/^claimed {2}t\.1 {2}job {9}\d+s by w1$/),
      expect.stringMatching(/^pending {2}t\.2 {2}audit {2}low {2}\d+s$/),
      expect.stringMatching(/^waiting {2}t\.3 {2}job {9}\d+s$/),
      "",
    ]);
    const keys = ["run_id", "run_dir", "counts", "tasks", "more"];
    const listed = await documented(ls.output, keys, ["ls"]);
    expect(listed.counts).toEqual({ ...COUNTS, waiting: 1, pending: 1, claimed: 1 });
    expect(listed.tasks.map(({ since: _, ...task }) => task)).toEqual([
      { id: "t.1", type: "job", state: "claimed", worker: "w1", priority: "normal" },
      { id: "t.2", type: "audit", state: "pending", priority: "low" },
      { id: "t.3", type: "job", state: "waiting", priority: "normal" },
    ]);
  });

  it("ls chooses by state, type and number", async () => {
    await claimed("t.1");
    await say("enqueue", "--type", "audit", "--id", "t.2");
    await say("enqueue", "--type", "job", "--id", "t.3");
    const ids = async (...args: string[]) =>
      (await json<{ tasks: { id: string }[] }>(["ls", ...args], around)).tasks.map(({ id }) => id);
    expect(await ids("--state", "claimed,failed")).toEqual(["t.1"]);
    expect(await ids("--state", "claimed", "--state=pending", "--types", "audit")).toEqual(["t.2"]);
    expect(await ids("--limit", "1")).toEqual(["t.1"]);
    expect(await ids("--limit", "0")).toEqual([]);
    expect(await say("ls", "--limit", "1")).toContain("… 2 more; choose with");
    const twice = await say("ls", "--limit", "1", "--state", "claimed,pending,claimed,pending");
    expect(twice).toContain("… 2 more; choose with");
    for (const id of ["t.2", "t.3"]) await say("cancel", id);
    expect(await ids("--state", "failed")).toEqual([]);
    expect(await ids("--state", "cancelled")).toEqual(["t.3", "t.2"]);
    expect(await ids("--state", "failed,cancelled,claimed", "--limit", "1")).toEqual(["t.3"]);
    expect(await say("ls")).toContain("failed 0  cancelled 2");
    expect(await say("ls", "--help")).toMatch(
      /of each state the oldest, of done and failed the\s+newest/,
    );
  });

  it("ls counts only what its filter would show as more", async () => {
    await claimed("t.1");
    await say("enqueue", "--type", "audit", "--id", "t.2");
    expect(await say("ls", "--state", "claimed")).not.toContain("more");
  });

  it("show", async () => {
    await claimed("t.1", "--payload", '{"repo":"web"}', "--max-attempts", "2");
    await say("fail", "t.1", "--worker", "w1", "--note", "no such branch", "--retry-at", "+1s");
    host.advance(2_000);
    await say("claim", "--worker", "w2");
    const keys = ["id", "type", "state", "since", "worker", "token", "task", "history", "ledger"];
    const shown = await documented(show.output, keys, ["show", "t.1"]);
    expect(shown).toMatchObject({
      id: "t.1",
      state: "claimed",
      worker: "w2",
      task: { task_id: "t.1", payload: { repo: "web" } },
      history: [{ attempt: 1, worker: "w1", outcome: "failed", to: "waiting" }],
    });
    expect(shown.ledger.map((line) => line.event)).toEqual([
      "enqueued",
      "claimed",
      "ended",
      "promoted",
      "claimed",
    ]);
    const text = await say("show", "t.1");
    for (const part of ["t.1  claimed by w2", "task_type", '"repo": "web"', "Attempts", "Ledger"])
      expect(text).toContain(part);
    expect(text).toMatch(/1\. w1 {2}failed → waiting {2}no such branch/);
  });

  it("show of a done and of a quarantined task", async () => {
    await claimed("t.1");
    await say("complete", "t.1", "--worker", "w1");
    const keys = ["id", "type", "state", "since", "task", "history", "ledger"];
    expect(await documented(show.output, keys, ["show", "t.1"])).toMatchObject({ state: "done" });
    const path = join(run, "pending/broken.json");
    writeFileSync(path, "{");
    utimesSync(path, 0, 0); // a young file may still be in the making, so this one is old
    expect(await say("claim", "--worker", "w1", "--json")).toBe("");
    const broken = await documented(show.output, [...keys, "reason"], ["show", "broken"]);
    expect(broken).toMatchObject({ state: "quarantined", task: null });
    expect(await say("show", "broken")).toContain(broken.reason);
  });

  it("why", async () => {
    await say("enqueue", "--type", "job", "--id", "t.1", "--depends-on", "t.0");
    expect(await say("why", "t.1")).toBe(
      "t.1 is waiting\n  1. waits for t.0, which is not enqueued yet\n     viv enqueue --id t.0 --type TYPE\n",
    );
    const keys = ["id", "type", "state", "since", "reasons"];
    expect(await documented(why.output, keys, ["why", "t.1"])).toMatchObject({
      state: "waiting",
      reasons: [{ code: "dependency_unknown" }],
    });
  });

  it("status shows the checkpoint and the workers, and writes a new one", async () => {
    await claimed("t.1");
    const keys = ["run_id", "run_dir", "counts", "workers", "status"];
    const before = await documented(status.output, keys, ["status"]);
    expect(before).toMatchObject({
      run_id: "run",
      counts: { ...COUNTS, claimed: 1 },
      workers: [{ name: "w1", claims: ["t.1"], process: "none", types: null }],
    });
    const text = await say(
      ...["status", "--summary", "Plan is written", "--next-step", "Implement it"],
      ...["--next-task-id", "t.1", "--risk", "none", "--metadata", '{"a":1}'],
    );
    expect(text).toMatch(/summary +Plan is written\nnext_step +Implement it\nnext_task_id +t\.1\n/);
    expect(text).toMatch(/Workers\nw1 +\d+s ago {2}any type {2}holds t\.1\n/);
    await say("heartbeat", "--worker", "w1", "--note", "halfway through t.1");
    expect(await say("status")).toMatch(/ holds t\.1 {2}halfway through t\.1\n/);
    const after = await documented(status.output, keys, ["status"]);
    expect(after.status).toMatchObject({
      checkpoint: { summary: "Plan is written", next_task_id: "t.1" },
      metadata: { a: 1 },
    });
    await say("status", "--next-task-id", "");
    expect(JSON.parse(readFileSync(join(run, "status.json"), "utf8"))).toMatchObject({
      checkpoint: { next_task_id: null, summary: "Plan is written" },
      metadata: { a: 1 },
    });
  });

  it("logs prints a task's log, and says when there is none", async () => {
    await claimed("t.1");
    const none = await cli(["logs", "t.1"], around);
    expect(none).toEqual({
      status: 0,
      stdout: "",
      stderr: "viv: t.1 has written no log (artifacts/t.1.log)\n",
    });
    appendFileSync(join(run, "artifacts/t.1.log"), "one\ntwo ␛ \u001b[31mred\n");
    expect(await say("logs", "t.1")).toBe("one\ntwo ␛ \u001b[31mred\n");
    const lines = (await say("logs", "t.1", "--json")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).text).join("")).toBe("one\ntwo ␛ \u001b[31mred\n");
  });

  it("doctor", async () => {
    await claimed("t.1");
    const keys = ["healthy", "findings", "checked"];
    expect(await documented(doctor.output, keys, ["doctor"])).toMatchObject({
      healthy: true,
      findings: [],
    });
    expect(await say("doctor")).toMatch(/^healthy\nlooked at /);
  });
});

describe("the program", () => {
  it("is the same commands as a process", () => {
    const options = { cwd: folder, env: { NO_COLOR: "1" } };
    expect(viv(["init", "run"], options)).toMatchObject({ status: 0, stderr: "" });
    expect(viv(["enqueue", "--type", "job", "--id", "t.1"], options)).toEqual({
      status: 0,
      stdout: "enqueued t.1 (pending)\n",
      stderr: "",
    });
    const { stdout } = viv(["claim", "--worker", "w1", "--json"], options);
    const { task_id, token } = JSON.parse(stdout);
    expect(task_id).toBe("t.1");
    expect(viv(["complete", "t.1", "--worker", "w1", "--token", token], options)).toEqual({
      status: 0,
      stdout: "t.1: claimed → done\n",
      stderr: "",
    });
    expect(viv(["claim", "--worker", "w1", "--json"], options)).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
  });

  it("knows its version", () => {
    const { version } = JSON.parse(
      readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
    );
    expect(viv(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
    expect(viv(["-v"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
  });

  it.each(["version", "-v", "-V", "--version"])("%s is the version", async (word) => {
    expect(await ok([word])).toBe("0.0.0-source\n");
  });

  it.each([
    [["help"], /^viv: a queue/],
    [["-h"], /^viv: a queue/],
    [["help", "help"], /^viv: a queue/],
    [["--help", "--json"], /^viv: a queue/],
    [["help", "ls"], /^viv ls: /],
    [["-h", "ls"], /^viv ls: /],
    [["--help", "board", "claim"], /^viv board claim: /],
    [["help", "dog", "pool"], /^viv dog pool: status, allocate, release\n/],
    [["dog", "pool", "-h"], /^viv dog pool: status, allocate, release\n/],
    [["--run", "x", "ls", "-h"], /^viv ls: /],
    [["--run", "x", "help", "ls"], /^viv ls: /],
    [["--json", "dog", "pool", "status", "-h"], /^viv dog pool status: /],
    [["dog", "pool", "--state", "x", "-h"], /^viv dog pool: status, allocate, release\n/],
  ])("%j is help", async (args, text) => {
    expect(await ok(args)).toMatch(text);
  });

  it.each([
    [["--json"], "--json needs a command: viv COMMAND --json"],
    [["--run", "x"], "--run needs a command: viv COMMAND --run x"],
    [["-r"], "-r needs a command"],
    [
      ["dog", "pool", "--state", "x"],
      "viv dog pool needs a word before --state; there are: viv dog",
    ],
    [["dog", "--json"], "viv dog needs a word before --json; there are: viv dog pool status"],
    [["board", "claim"], "viv board claim needs a task: viv board claim SLUG"],
    [["crew", "pause"], "viv crew pause needs a member: viv crew pause NAME"],
    [["schedule", "pause"], "viv schedule pause needs a schedule: viv schedule pause NAME"],
    [["warrant", "show"], "viv warrant show needs a warrant: viv warrant show ID"],
    [["board", "open"], "viv board open needs a title: viv board open TITLE"],
  ])("%j says what is missing", async (args, text) => {
    const { status, stderr } = await cli(args, around);
    expect(stderr).toContain(text);
    expect(status).toBe(2);
  });
});
