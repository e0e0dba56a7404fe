import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Landing } from "../../src/merge/landing.ts";
import type { Report } from "../../src/overview/report/report-shape.ts";
import type { Store } from "../../src/queue/store.ts";
import { newFolder } from "../support/folders.ts";
import { cli, json, ok, type Surroundings } from "./support.ts";

/** `viv report`, on real runs; how it is set is in src/overview/report/. */

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(async () => {
  folder = newFolder();
  run = join(folder, "run");
  const env = { HOME: folder, VIV_STATE: join(folder, "state"), USER: "ida" };
  around = { cwd: folder, env };
  await ok(["init", "run"], around);
});

const say = (...args: string[]) => ok(args, around);
const report = (...args: string[]) => json<Report>(["report", ...args], around);
const kinds = ({ needs_you }: Report) => needs_you.map(({ kind }) => kind);
const brief = ({ needs_you }: Report) =>
  needs_you.map(({ kind, subject, text, command }) => [kind, subject, text, command]);

async function onRun<T>(act: (store: Store) => Promise<T>, path = run): Promise<T> {
  const store = await openRun(path, { durability: "fast" });
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

const today = () => new Date().toISOString().slice(0, 10);
function ledger(event: string, more: Record<string, unknown>, at = new Date().toISOString()): void {
  const file = join(run, "ledger", `${at.slice(0, 10)}.jsonl`);
  mkdirSync(join(run, "ledger"), { recursive: true });
  appendFileSync(file, `${JSON.stringify({ at, event, ...more })}\n`);
}

const ledgerOf = (path: string) =>
  readdirSync(join(path, "ledger"))
    .sort()
    .flatMap((file) => readFileSync(join(path, "ledger", file), "utf8").split("\n"));

/** The usage of one model; null: it has no price. */
const used = (usd: number | null) => {
  const tokens = { input: 10, output: 1, cache_read: 0, cache_write: 0 };
  return [{ model: "m", ...tokens, usd, source: usd && "reported" }];
};

const proof = (attempt: number, exit = 0) =>
  JSON.stringify({
    ...{ attempt, command: "npm test", exit, signal: null, timed_out: false, duration_ms: 5 },
    ...{ at: new Date().toISOString(), output: "", dropped: 0 },
  });

/** A task that is done, or in review, by a worker. */
async function finished(store: Store, id: string, more: { review?: boolean; proof?: string } = {}) {
  const { review = false } = more;
  await store.enqueue({ id, type: "fix", review, done_when: "npm test", payload: { title: id } });
  const [claim] = await store.claim({ worker: "w1" });
  if (more.proof) await store.artifacts.write(`${id}.proof.json`, more.proof);
  const { exit, attempt } = JSON.parse(more.proof ?? "{}");
  const isProven = exit === 0 && attempt === 1;
  const ref = { id, worker: "w1", token: claim?.token };
  await store.complete(ref, isProven ? { proof: {} } : {});
}

describe("an empty run", () => {
  it("needs nobody", async () => {
    const text = await say("report");
    expect(text).toContain("Nothing needs you\n");
    expect(text).toContain(
      "Done      nothing was done\nCost      no model has worked in this period\n",
    );
    expect(await report()).toMatchObject({
      ...{ needs_you: [], worked: [], slowest: [], dearest: [], retried: [], killed: [] },
      cost: { usd: 0, usd_per_landed: null, budgets: [], crew_today_usd: null },
    });
  });

  it("is reported on for twelve hours, or since a time", async () => {
    const { since, until } = await report();
    expect(Date.parse(until) - Date.parse(since)).toBe(12 * 3_600_000);
    expect((await report("--since", "2026-11-15")).since).toBe("2026-11-15T00:00:00.000Z");
    const clock = new Date((await report("--since", "22:00")).since);
    expect([clock.getHours(), clock.getMinutes()]).toEqual([22, 0]);
    const { status, stderr } = await cli(["report", "--since", "yesterday"], around);
    expect(stderr).toBe(
      'viv: --since "yesterday" is not a time; write 2h, 7d, 22:00, 2026-11-15 or 2026-11-15T08:00:00Z.\n',
    );
    expect(status).toBe(2);
  });
});

it("is reported on since the run began, if that is later than asked", async () => {
  await onRun((store) => store.enqueue({ type: "fix" }));
  const { at } = JSON.parse(ledgerOf(run)[0] ?? "");
  const began = new Date(Math.min(Date.parse(at), statSync(run).birthtimeMs)).toISOString();
  const week = ["--since", "7d"];
  expect((await report()).since).toBe(began);
  expect((await report(...week)).since).toBe(began);
  const old = new Date(Date.now() - 2 * 86_400_000).toISOString();
  ledger("enqueued", { task: "t.0", type: "fix", to: "pending" }, old);
  expect((await report(...week)).since).toBe(old);
  const { since, until } = await report();
  expect(Date.parse(until) - Date.parse(since)).toBe(12 * 3_600_000);
});

/** One step of a random night. */
const step = fc.record({
  act: fc.constantFrom(
    "enqueue",
    "claim",
    "complete",
    "fail",
    "release",
    "approve",
    "reject",
    "cancel",
    "retry",
  ),
  pick: fc.nat(50),
  usd: fc.option(fc.integer({ min: 1, max: 500 }), { nil: null }),
  isProven: fc.boolean(),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(store: Store, steps: readonly Step[]): Promise<void> {
  const claims: Awaited<ReturnType<Store["claim"]>> = [];
  const inState = async (state: "review" | "failed" | "pending") => {
    const ids: string[] = [];
    for await (const { id } of store.list({ states: [state] })) ids.push(id);
    return ids.sort();
  };
  for (const [i, { act, pick, usd, isProven }] of steps.entries()) {
    if (act === "enqueue") {
      await store.enqueue({ id: `t.${i}`, type: i % 2 ? "fix" : "plan", review: pick % 3 === 0 });
      continue;
    }
    if (act === "claim") {
      claims.push(...(await store.claim({ worker: `w${pick % 3}` })));
      continue;
    }
    if (act === "complete" || act === "fail" || act === "release") {
      const [claim] = claims.splice(pick % Math.max(1, claims.length), 1);
      if (claim === undefined) continue;
      const { id, type, worker, token, attempt } = claim;
      const models = used(usd && usd / 100);
      await store.append({
        event: "usage",
        task: id,
        type,
        worker,
        token,
        attempt,
        models,
        unreadable: pick === 7,
      });
      const exit = pick % 4 === 0 ? 1 : 0;
      if (isProven) await store.artifacts.write(`${id}.proof.json`, proof(attempt, exit));
      const ref = { id, worker, token };
      const passed = isProven && exit === 0;
      if (act === "complete") await store.complete(ref, passed ? { proof: {} } : {});
      else if (act === "fail")
        await store.fail(ref, {
          note: `exit ${pick % 2}`,
          final: pick % 2 === 0,
          maxAttempts: 2,
          backoffMs: 1,
        });
      else await store.release(ref);
      continue;
    }
    const from = {
      approve: "review",
      reject: "review",
      cancel: "pending",
      retry: "failed",
    } as const;
    const ids = await inState(from[act]);
    const id = ids[pick % Math.max(1, ids.length)];
    if (id !== undefined) await store[act](id, { by: "ida" });
  }
}

/** Long before the period: nothing of it counts. */
const OLD_NIGHT = ["claimed", "usage", "ended"]
  .map((event, i) => {
    const at = `2026-11-01T0${i}:00:00.000Z`;
    const of = { task: "old", worker: "w0", token: "1", attempt: 1 };
    const end = { outcome: "done", to: "done", models: used(99) };
    return `${JSON.stringify({ at, event, ...of, ...(event === "claimed" ? {} : end) })}\n`;
  })
  .join("");

describe("a random night", () => {
  it("has the numbers of ls, costs and status", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const path = join(newFolder(), "run");
        await ok(["init", path], around);
        mkdirSync(join(path, "ledger"), { recursive: true });
        writeFileSync(join(path, "ledger/2026-11-01.jsonl"), OLD_NIGHT);
        await onRun((store) => play(store, steps), path);
        const all = ["--run", path];
        const one = await report(...all, "--since", "1h");
        const ls = await json<{ counts: Report["counts"]; tasks: { id: string; state: string }[] }>(
          ["ls", ...all, "--limit", "1000"],
          around,
        );
        const status = await json<{ counts: Report["counts"] }>(["status", ...all], around);
        expect(one.counts).toEqual(ls.counts);
        expect(one.counts).toEqual(status.counts);
        const costs = await json<{
          total: Record<string, number>;
          unreadable: number;
          rows: { key: string; usd: number }[];
        }>(["costs", ...all, "--since", "1h", "--group-by", "task"], around);
        const { usd, unpriced_tokens, attempts } = costs.total;
        expect(one.cost).toMatchObject({
          usd,
          unpriced_tokens,
          attempts,
          unreadable: costs.unreadable,
        });
        const dear = costs.rows.filter((row) => row.usd > 0).slice(0, 5);
        expect(one.dearest.map((row) => row.usd)).toEqual(dear.map((row) => row.usd));
        expect(one.slowest.map(({ id }) => id)).not.toContain("old");
        // All else is of the last hour.
        expect(one.done.count).toBe(ls.counts.done);
        const idsIn = (state: string) =>
          ls.tasks.filter((task) => task.state === state).map(({ id }) => id);
        const proven = idsIn("done").filter((id) => {
          const ends = ledgerOf(path)
            .filter((line) => line.includes('"ended"') && line.includes(`"task":"${id}"`))
            .map((line) => JSON.parse(line));
          return ends.at(-1)?.proof === "passed";
        });
        expect(one.done.proven).toBe(proven.length);
        const sumOf = (...of: string[]) =>
          one.needs_you
            .filter(({ kind }) => of.includes(kind))
            .reduce((sum, { count }) => sum + count, 0);
        expect(sumOf("review")).toBe(ls.counts.review);
        expect(sumOf("choked", "failed")).toBe(ls.counts.failed);
        expect(one.cancelled).toBe(ls.counts.cancelled);
      }),
      { numRuns: 12 },
    );
  });
});

describe("what needs a person", () => {
  it("is a review, and plainly whether it is proven", async () => {
    await onRun(async (store) => {
      await finished(store, "t.1", { review: true, proof: proof(1) });
      await finished(store, "t.2", { review: true, proof: proof(1, 2) });
      await finished(store, "t.3", { review: true });
      await finished(store, "t.4", { review: true, proof: proof(7) });
      await store.enqueue({
        id: "t.5",
        type: "x",
        review: true,
        payload: { goal: "写文档\nand more" },
      });
      const [claim] = await store.claim({ worker: "w1" });
      await store.complete({ id: "t.5", worker: "w1", token: claim?.token });
    });
    expect(brief(await report())).toEqual([
      ["review", "t.1", "proven; t.1", "viv approve t.1"],
      ["review", "t.2", "not proven: its proof ended with exit 2; t.2", "viv show t.2"],
      ["review", "t.3", "not proven: its done_when has not run; t.3", "viv show t.3"],
      ["review", "t.4", "not proven: its proof is of attempt 7; t.4", "viv show t.4"],
      ["review", "t.5", "not proven: nothing proves it; 写文档", "viv show t.5"],
    ]);
  });

  it("is one line for thousands of equal failures, and none for a cancelled task", async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => {
      const id = `t.${i}`;
      const task = { task_id: id, task_type: "x", payload: {}, depends_on: [] };
      writeFileSync(join(run, `failed/${id}.json`), JSON.stringify(task));
      const [note, fingerprint] =
        i === 7
          ? ["exit 3: no such file", "failed: exit 3"]
          : [`exit 1: npm ERR! ${id}`, "failed: exit 1: npm ERR!"];
      const ended = { event: "ended", task: id, token: "1", attempt: 1, outcome: "failed" };
      const at = new Date().toISOString();
      return `${JSON.stringify({ at, ...ended, to: "failed", note, fingerprint })}\n`;
    });
    mkdirSync(join(run, "ledger"), { recursive: true });
    writeFileSync(join(run, "ledger", `${today()}.jsonl`), lines.join(""));
    await onRun(async (store) => {
      await store.enqueue({ id: "t.no", type: "x" });
      await store.cancel("t.no", { by: "ida" });
    });
    const one = await report();
    expect(one.needs_you).toHaveLength(2);
    expect(one.needs_you[0]?.text).toMatch(/^2,999 × exit 1: npm ERR! t\.\d+$/);
    expect(one.needs_you[1]).toMatchObject({
      subject: "t.7",
      text: "exit 3: no such file",
      command: "viv why t.7",
    });
    expect(one.cancelled).toBe(1);
    const text = await ok(["report"], {
      ...around,
      columns: 80,
      env: { ...around.env, NO_COLOR: "1" },
    });
    expect(text.split("\n").length).toBeLessThan(20);
  });

  it("leaves failures from before the period in one line", async () => {
    const at = "2026-11-01T00:00:00.000Z";
    for (const id of ["a", "b"]) {
      await onRun((store) => store.enqueue({ id, type: "x" }));
      renameSync(join(run, `pending/${id}.json`), join(run, `failed/${id}.json`));
      ledger(
        "ended",
        { task: id, token: "1", outcome: "failed", to: "failed", note: "exit 1" },
        at,
      );
    }
    expect(brief(await report())).toEqual([
      ["failed", "", "2 tasks failed before this period", "viv ls --state failed"],
    ]);
  });

  it("names first what most tasks wait for, directly or through others, and since when", async () => {
    await onRun(async (store) => {
      const fail = async (id: string, note: string) => {
        await store.enqueue({ id, type: "x", max_attempts: 1 });
        const [claim] = await store.claim({ worker: "w1" });
        await store.fail({ id, worker: "w1", token: claim?.token }, { note, final: true });
      };
      for (const id of ["p", "q"]) await fail(id, "exit 1: npm ERR!");
      await fail("root", "exit 2: no room");
      await store.enqueue({ id: "child", type: "x", depends_on: ["root"] });
      await store.enqueue({ id: "grandchild", type: "x", depends_on: ["child", "root"] });
    });
    const { needs_you } = await report();
    const failed = needs_you.filter(({ kind }) => kind === "failed");
    expect(failed.map(({ text, blocks, tasks }) => [text, blocks, tasks.sort()])).toEqual([
      ["exit 2: no room", 2, ["root"]],
      ["2 × exit 1: npm ERR!", 0, ["p", "q"]],
    ]);
    for (const { since } of failed) expect(since?.slice(0, 10)).toBe(today());
    expect(await say("report")).toContain("2 tasks wait for it; exit 2: no room");
  });

  it("is what tasks wait for and nothing brings: a cancelled task, an id that is not enqueued", async () => {
    await onRun(async (store) => {
      await finished(store, "ended");
      await store.enqueue({ id: "stopped", type: "x" });
      await store.enqueue({ id: "alone", type: "x" });
      await store.enqueue({ id: "a", type: "x", depends_on: ["stopped"] });
      await store.enqueue({ id: "b", type: "x", depends_on: ["a"] });
      await store.enqueue({ id: "c", type: "x", depends_on: ["mistyped"] });
      await store.enqueue({
        id: "later",
        type: "x",
        depends_on: ["ended"],
        not_before: "2099-01-01T00:00:00Z",
      });
      for (const id of ["stopped", "alone"]) await store.cancel(id, { by: "pia" });
    });
    const { needs_you } = await report();
    expect(brief({ needs_you } as Report)).toEqual([
      ["stuck", "stopped", "cancelled", "viv retry stopped"],
      ["stuck", "mistyped", "not enqueued", "viv why c"],
    ]);
    expect(needs_you.map(({ blocks, tasks }) => [blocks, tasks])).toEqual([
      [2, ["stopped"]],
      [1, ["c"]],
    ]);
    expect(await say("report")).toContain("2 tasks wait for it; cancelled");
    await onRun((store) =>
      store.enqueue({ id: "mistyped", type: "x", not_before: "2099-01-01T00:00:00Z" }),
    );
    const left = (await report()).needs_you.filter(({ kind }) => kind === "stuck");
    expect(left.map(({ subject }) => subject)).toEqual(["stopped"]);
  });

  it("names of many reviews those that tasks wait for, also the youngest", async () => {
    await onRun(async (store) => {
      for (let n = 1; n <= 60; n++) await finished(store, `r.${n}`, { review: true });
      await store.enqueue({ id: "w", type: "x", depends_on: ["r.60"] });
    });
    const reviews = (await report()).needs_you.filter(({ kind }) => kind === "review");
    expect(reviews).toHaveLength(51);
    expect(reviews[0]).toMatchObject({ subject: "r.60", blocks: 1 });
    expect(reviews[50]).toMatchObject({ text: "10 more tasks in review", count: 10, blocks: 0 });
  });

  it("is a paused worker", async () => {
    await onRun(async (store) => {
      await store.enqueue({ id: "a", type: "x" });
      await store.claim({ worker: "solo" });
    });
    await say("pause", "--worker", "solo", "--by", "pia", "--note", "odd");
    expect(brief(await report())).toContainEqual([
      "paused",
      "solo",
      "by pia: odd; it claims nothing",
      "viv resume --worker solo",
    ]);
  });

  it("is a schedule that could not fire", async () => {
    const schedule = '[[schedule]]\nname = "n"\ncron = "@daily"\njsonl = "n.jsonl"\n';
    writeFileSync(join(folder, "viv.toml"), `run = "run"\n${schedule}`);
    const state = { handled: new Date().toISOString(), note: "no such file" };
    writeFileSync(join(run, "schedules.json"), JSON.stringify({ n: state, gone: state }));
    expect(brief(await report())).toEqual([
      ["schedule", "n", "could not fire: no such file", "viv schedule ls"],
    ]);
  });

  it("is a merge that does not go on, with the command of the queue", async () => {
    const landing = (task: string, more: Partial<Landing>): void => {
      const whole = {
        ...{ task, at: new Date().toISOString(), repository: folder, branch: `viv/${task}` },
        ...{ base: "0", head: "1", target: "main", strategy: "merge", reworks: 0, state: "queued" },
        ...more,
      };
      mkdirSync(join(run, "merge"), { recursive: true });
      writeFileSync(join(run, "merge", `${task}.json`), JSON.stringify(whole));
    };
    landing("t.1", { state: "held", reason: "main has changes", command: "git merge --ff-only x" });
    landing("t.2", { state: "needs_you", reworks: 2, files: ["a.ts", "b.ts"] });
    const own = { reason: "conflict with main in a.ts", command: "viv merge --continue t.7" };
    landing("t.7", { state: "needs_you", reworks: 2, ...own });
    landing("t.3", { state: "landed", to: "c".repeat(40) });
    landing("t.4", { state: "queued" });
    landing("t.5", { state: "conflict", reason: "conflict in a.ts" });
    writeFileSync(join(run, "merge/t.6.json"), "{");
    const one = await report();
    expect(new Set(brief(one).map((row) => row.join(" | ")))).toEqual(
      new Set([
        "merge | t.1 | main has changes | git merge --ff-only x",
        "merge | t.2 | not in main: sent back as often as allowed (a.ts, b.ts) | viv merge --continue t.2",
        "merge | t.5 | not in main: conflict in a.ts | viv merge t.5",
        "merge | t.7 | conflict with main in a.ts | viv merge --continue t.7",
        `merge |  | ${join(run, "merge/t.6.json")} cannot be read; repair it with: viv doctor --fix. | `,
      ]),
    );
    const elsewhere = await ok(["report", "--run", run], { ...around, cwd: "/" });
    expect(elsewhere).toContain(`viv merge --continue t.7 --run ${run}`);
    expect(one.landed).toEqual({
      ...{ count: 1, lost: [], waiting: 0 },
      targets: [{ repository: folder, target: "main", count: 1 }],
    });
  });

  it("is an account, a used-up budget, a quarantined file, a lack of workers, a damaged ledger", async () => {
    const toml = [
      'run = "run"',
      '[handlers.fix]\nengine = "claude"\nprompt = "p.md"\naccount = "main"',
      "[budget]\nday = { usd = 2.00 }\nrun = { usd = 50, tokens = 1000 }",
    ];
    writeFileSync(join(folder, "viv.toml"), toml.join("\n"));
    writeFileSync(join(folder, "p.md"), "x");
    await say("accounts", "close", "main", "--for", "2h", "--note", "plan");
    await onRun((store) => store.enqueue({ id: "t.1", type: "fix" }));
    writeFileSync(join(run, "quarantine/x.json"), "junk");
    const base = { task: "t.0", type: "fix", worker: "w1", token: "1", attempt: 1 };
    const models = used(2.5);
    ledger("usage", { ...base, models });
    ledger("ended", { ...base, outcome: "failed", to: "failed" });
    appendFileSync(join(run, "ledger", `${today()}.jsonl`), '{"torn\n{"at":5,"event":"ended"}\n');
    const one = await report();
    expect(kinds(one)).toEqual(["account", "budget", "quarantine", "workers", "ledger"]);
    const [account, budget, quarantine, workers, damaged] = brief(one);
    expect(account?.slice(1)).toEqual([
      "main",
      expect.stringMatching(/^is closed until .*: by hand \(plan\)$/),
      "viv accounts",
    ]);
    expect(budget?.slice(2)).toEqual([
      expect.stringMatching(
        /^the budget of this (run|day) is used up: \$2\.50 of \$2\.00.*; raise it in viv\.toml, or wait$/,
      ),
      "viv costs",
    ]);
    expect(quarantine?.slice(2)).toEqual([
      "1 unusable file set aside",
      `cat ${run}/quarantine/*.reason`,
    ]);
    expect(workers?.slice(2)).toEqual(["no worker runs, and 1 task is pending", "viv work"]);
    expect(damaged?.slice(2)).toEqual([
      "2 lines cannot be read; the numbers lack them",
      "viv doctor",
    ]);
    expect(one.cost.budgets).toEqual([
      { of: "day", unit: "usd", spent: 2.5, limit: 2 },
      { of: "run", unit: "usd", spent: 2.5, limit: 50 },
      { of: "run", unit: "tokens", spent: 11, limit: 1000 },
    ]);
    expect(await say("report")).toContain("$2.50 of $2.00 today, $2.50 of $50.00 in this run");
  });

  it("is a review that nothing more is claimed for, and a type without a route", async () => {
    writeFileSync(
      join(folder, "viv.toml"),
      'run = "run"\n[handlers.a]\nhandler = "true"\n[limits]\nreview = 1\n',
    );
    await onRun(async (store) => {
      await finished(store, "t.1", { review: true });
      await store.enqueue({ id: "t.2", type: "other" });
    });
    expect(brief(await report()).slice(1)).toEqual([
      ["review", "", "with 1 in review, nothing more is claimed", "viv ls --state review"],
      ["workers", "", "no worker runs, and 1 task is pending", "viv why t.2"],
    ]);
  });
});

describe("done", () => {
  it("is proven only by the attempt that ended there; by hand it is not", async () => {
    await onRun(async (store) => {
      await finished(store, "t.1", { proof: proof(1) });
      await finished(store, "t.2", { proof: proof(1, 1) });
      await finished(store, "t.3");
      await store.enqueue({ id: "t.4", type: "fix" });
      await store.artifacts.write("t.4.proof.json", proof(1));
    });
    renameSync(join(run, "pending/t.4.json"), join(run, "done/t.4.json"));
    const { done, counts } = await report();
    expect(done).toMatchObject({ count: 4, proven: 1, by_hand: 1 });
    expect(done.unproven.sort()).toEqual(["t.2", "t.3", "t.4"]);
    expect(counts.done).toBe(4);
  });

  it("is of the period by the time in the ledger", async () => {
    await onRun((store) => store.enqueue({ id: "t.1", type: "fix" }));
    renameSync(join(run, "pending/t.1.json"), join(run, "done/t.1.json"));
    const at = "2026-11-01T00:00:00.000Z";
    ledger("ended", { task: "t.1", token: "1", attempt: 1, outcome: "done", to: "done" }, at);
    expect((await report()).done.count).toBe(0);
    expect((await report("--since", "2026-11-01")).done.count).toBe(1);
  });

  it("says what landed, what no longer is in its target, and which branches have not", async () => {
    const git = (...args: string[]) =>
      execFileSync(
        "git",
        ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args],
        { encoding: "utf8" },
      ).trim();
    git("init", "-q", "-b", "main");
    git("commit", "-q", "--allow-empty", "-m", "one");
    git("commit", "-q", "--allow-empty", "-m", "two");
    const kept = git("rev-parse", "HEAD");
    git("commit", "-q", "--allow-empty", "-m", "three");
    const lost = git("rev-parse", "HEAD");
    git("reset", "-q", "--hard", kept);
    await onRun(async (store) => {
      for (const id of ["t.1", "t.2", "t.3"]) await finished(store, id);
      const record = {
        kind: "worktree",
        repository: folder,
        branch: "viv/t",
        base: kept,
        created_at: "x",
      };
      for (const id of ["t.1", "t.3"]) {
        mkdirSync(store.workspaces, { recursive: true });
        writeFileSync(join(store.workspaces, `.${id}.json`), JSON.stringify(record));
      }
    });
    const landed = { target: "main", repository: folder };
    ledger("landed", { task: "t.1", commit: kept, ...landed });
    ledger("landed", { task: "t.2", commit: lost, ...landed });
    ledger("landed", { task: "t.0", commit: kept, ...landed }, "2026-11-01T00:00:00.000Z");
    const usage = {
      task: "t.1",
      token: "9",
      models: used(3),
    };
    ledger("usage", usage);
    const one = await report();
    expect(one.landed).toEqual({
      ...{ count: 2, lost: ["t.2"], waiting: 1 },
      targets: [{ repository: folder, target: "main", count: 2 }],
    });
    expect(one.cost.usd_per_landed).toBe(1.5);
    const text = await say("report");
    expect(text).toContain("Landed    2 landed: 2 in main; 1 branch has not: viv merge --all");
    expect(text).toContain("no longer in the target: t.2");
    // On a forge it is in the branch that was fetched.
    git("update-ref", "refs/remotes/origin/main", lost);
    expect((await report()).landed.lost).toEqual([]);
    // A branch that viv made still has to be taken over.
    git("branch", "viv/run", lost);
    ledger("landed", { task: "t.3", commit: lost, target: "viv/run", repository: folder });
    const command = `git -C ${folder} merge viv/run`;
    expect(await say("report")).toContain(`          take it over with: ${command}\n`);
    execFileSync("/bin/sh", ["-c", command]);
    expect(await say("report")).not.toContain("take it over");
  });
});

describe("the crew and the warden", () => {
  const now = () => new Date().toISOString();

  it("are told of: parked members, their runs, what was killed, a pause", async () => {
    const crew = join(folder, ".crew");
    mkdirSync(crew);
    const status = {
      name: "moss",
      state: "parked",
      since: now(),
      run: null,
      outcome: "failed",
      note: "five bad ends",
      last_run: now(),
      next_tick: null,
      streak: 0,
      crashes: 5,
      lifecycle: null,
      saved: 0,
      cost_today: 0.25,
      day: today(),
      thought: null,
      engine: "exec",
      mode: "plan",
    };
    writeFileSync(join(crew, "status-moss.json"), JSON.stringify(status));
    const line = {
      run: "done",
      ts: Math.floor(Date.now() / 1000) - 1,
      agent: "moss",
      seconds: 60,
      usd: null,
      note: "",
    };
    writeFileSync(join(crew, "_steps.jsonl"), `${JSON.stringify(line)}\n{torn\n`);
    const warden = join(folder, "state/warden");
    mkdirSync(join(warden, "completed"), { recursive: true });
    const receipt = (dog: string, home: string, target = "w1") => ({
      ...{
        dog,
        verdict: "executed",
        why: "it was asked 3 times",
        ended_at: now(),
        reaped: ["t.1"],
      },
      warrant: { id: `w-${dog}`, target, kind: "worker", home, requester: "deacon" },
    });
    writeFileSync(join(warden, "completed/d1.json"), JSON.stringify(receipt("d1", run)));
    writeFileSync(join(warden, "completed/d2.json"), JSON.stringify(receipt("d2", "/another/run")));
    writeFileSync(
      join(warden, "paused"),
      JSON.stringify({ since: now(), by: "breaker", why: "4 in 10m" }),
    );
    ledger("executed", {
      task: "t.1",
      worker: "w1",
      token: "1",
      receipt: `${warden}/completed/d1.json`,
    });
    ledger("executed", { task: "t.2", worker: "w9", token: "2", receipt: "/gone/d9.json" });
    const up = join(run, ".viv/up");
    mkdirSync(up, { recursive: true });
    const service = { name: "service", state: "working", config: "/w/agents.toml" };
    const process = { host: "h", boot: "b", pid: 1, started: "s" };
    const agents = {
      ...service,
      ...process,
      agents: ["snake-1", "snake-2"],
      since: now(),
      note: "",
    };
    writeFileSync(join(up, "service.json"), JSON.stringify(agents));
    for (const [name, state] of [
      ["snake-1", "parked"],
      ["snake-2", "idle"],
    ]) {
      const agent = { name, state, species: "snake", note: "it died 5 times", since: now() };
      writeFileSync(join(up, `${name}.json`), JSON.stringify(agent));
    }
    const one = await report();
    expect(brief(one)).toEqual([
      ["crew", "moss", "parked: five bad ends", "viv crew resume moss"],
      ["agent", "snake-1", "parked: it died 5 times", "viv status --config /w/agents.toml"],
      ["warden", "", "paused: 4 in 10m", "viv warden resume"],
    ]);
    expect(one.killed.map(({ target, tasks, command }) => [target, tasks, command]).sort()).toEqual(
      [
        ["w1", ["t.1"], "viv epitaph w-d1"],
        ["w9", ["t.2"], "cat /gone/d9.json"],
      ],
    );
    expect(one.worked).toMatchObject([{ name: "moss", kind: "crew", tasks: 1, busy_ms: 60_000 }]);
    expect(one.cost.crew_today_usd).toBe(0.25);
    expect(await say("report")).toContain("moss (crew)");
  });

  it("that cannot be trusted cost their part of the report only", async () => {
    const crew = join(folder, ".crew");
    mkdirSync(crew, { mode: 0o777 });
    execFileSync("chmod", ["777", crew]);
    const one = await report();
    expect(one.notes).toEqual([expect.stringContaining(crew)]);
    expect(await say("report")).toContain(crew);
  });
});

describe("commands", () => {
  it("name the run where it is not the one of this folder", async () => {
    const other = join(folder, "an other");
    await ok(["init", other], { ...around, cwd: newFolder() });
    await onRun((store) => finished(store, "t.1", { review: true }), other);
    expect((await report("--run", other)).needs_you[0]?.command).toBe(
      `viv show t.1 --run '${other}'`,
    );
    const env = { ...around.env, VIV_RUN: other };
    const byEnv = await json<Report>(["report"], { ...around, env });
    expect(byEnv.needs_you[0]?.command).toBe("viv show t.1");
    expect((await report("--run", "run")).run_words).toBe("");
  });
});

describe("a pit", () => {
  it("is reported on as any run", async () => {
    const pit = join(folder, "pit");
    await say("pit", "init", pit);
    await say("pit", "toss", pit, "Write hello", "--done-when", "true");
    await onRun(async (store) => {
      const [claim] = await store.claim({ worker: "snake-1" });
      await store.artifacts.write(`${claim?.id}.proof.json`, proof(1));
      const ref = { id: claim?.id ?? "", worker: "snake-1", token: claim?.token };
      await store.complete(ref, { proof: {} });
    }, pit);
    const one = await json<Report>(["report", "--run", pit], around);
    expect(one.done).toMatchObject({ count: 1, proven: 1, by_hand: 0 });
    expect(one.worked).toMatchObject([{ name: "snake-1", tasks: 1 }]);
    expect(one.counts.done).toBe(1);
  });
});

describe("a page", () => {
  const page = () => readFileSync(join(folder, "r.html"), "utf8");

  it("is written to a file, whole, and also beside Markdown or JSON", async () => {
    expect(await say("report", "--html", "r.html")).toBe("wrote r.html\n");
    expect(page()).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    writeFileSync(join(folder, "r.html"), "old");
    expect(await say("report", "--html", "r.html", "--md")).toMatch(/^# Report: run\n/);
    expect(page()).toMatch(/^<!doctype html>/);
    writeFileSync(join(folder, "r.html"), "old");
    expect((await report("--html", "r.html")).run_id).toBe("run");
    expect(page()).toMatch(/^<!doctype html>/);
    expect(readdirSync(folder).filter((name) => name.includes("r.html"))).toEqual(["r.html"]);
    expect(await say("report", "--html", "-")).toMatch(/^<!doctype html>/);
  });

  it("follows a link, and is refused where there is no folder", async () => {
    writeFileSync(join(folder, "r.html"), "old");
    symlinkSync(join(folder, "r.html"), join(folder, "link.html"));
    await say("report", "--html", "link.html");
    expect(page()).toMatch(/^<!doctype html>/);
    const { status, stderr } = await cli(["report", "--html", "no/such/r.html"], around);
    expect(stderr).toMatch(/^viv: cannot write \S*\/no\/such\/r\.html: ENOENT/);
    expect(status).toBe(2);
  });

  it("and something else cannot both be standard output", async () => {
    for (const flag of ["--md", "--json"]) {
      const { status, stderr } = await cli(["report", "--html", "-", flag], around);
      expect(stderr).toContain(`--html - and ${flag} both print; give --html a file.`);
      expect(status).toBe(2);
    }
    expect((await cli(["report", "--html", ""], around)).status).toBe(2);
  });
});

it("writes nothing into the run", async () => {
  await onRun((store) => finished(store, "t.1", { review: true }));
  const files = () => readdirSync(run, { recursive: true, encoding: "utf8" }).sort();
  const before = files();
  await say("report");
  await say("report", "--md");
  expect(files()).toEqual(before);
});

it("says that the run is paused, and which routes are held back", async () => {
  await say("pause", "--note", "lunch", "--by", "ida");
  const route = '[handlers.fix]\nhandler = "true"\nworkspace = "dir"\n';
  writeFileSync(
    join(folder, "viv.toml"),
    `run = "run"\n${route}[limits]\nfree_disk = "999999GB"\n`,
  );
  expect(brief(await report())).toMatchObject([
    ["setup", "fix", expect.stringContaining("the disk of the workspaces"), "viv workspaces gc"],
    ["paused", "", "by ida: lunch; nothing is claimed", "viv resume"],
  ]);
});
