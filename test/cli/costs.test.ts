import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { controlCodes, json, ok, type Surroundings } from "./support.ts";

/** `viv costs`: the sums of the ledger's lines about model runs. */

interface Sum {
  usd: number;
  reported: number;
  imputed: number;
  unpriced_tokens: number;
  tokens: Record<string, number>;
  attempts: number;
  proven: number;
  usd_per_proven: number | null;
}
interface Costs {
  by: string;
  since: string | null;
  rows: (Sum & { key: string | null })[];
  more: number;
  total: Sum;
}

let run: string;
let around: Surroundings;

beforeEach(async () => {
  const folder = newFolder();
  run = join(folder, "run");
  around = { cwd: folder, env: { VIV_RUN: run } };
  await ok(["init", run], { cwd: folder });
});

function write(at: string, event: string, more: Record<string, unknown>): void {
  mkdirSync(join(run, "ledger"), { recursive: true });
  const text = JSON.stringify({ at, event, ...more });
  appendFileSync(join(run, "ledger", `${at.slice(0, 10)}.jsonl`), `${text}\n`);
}

const tokens = (input: number, output: number, cache_read = 0, cache_write = 0) => ({
  ...{ input, output, cache_read, cache_write },
});

/** Two days: one type in two attempts, a task in review, a crash, and a model without a price. */
function writeTwoDays(): void {
  const day1 = (time: string) => `2026-11-14T${time}:00.000Z`;
  const day2 = (time: string) => `2026-11-15T${time}:00.000Z`;
  const first = { task: "t.1", worker: "w1", token: "11", attempt: 1, agent: "ann" };
  const haiku = {
    model: "haiku",
    ...tokens(200_000, 4000, 1_000_000),
    usd: 0.5,
    source: "reported",
  };
  write(day1("10:00"), "enqueued", { task: "t.1", type: "fix", to: "pending" });
  write(day1("10:01"), "claimed", first);
  const used = { model: "haiku", tokens: tokens(50_000, 900), usd: 0.1 };
  write(day1("10:02"), "step", { ...first, kind: "tool", tool: "Bash", target: "ls", ...used });
  write(day1("10:03"), "usage", { ...first, type: "fix", engine: "claude", models: [haiku] });
  write(day1("10:04"), "ended", { ...first, outcome: "unproven", to: "waiting" });

  const second = { ...first, token: "12", attempt: 2, worker: "w2" };
  const opus = { model: "opus", ...tokens(10_000, 2000, 0, 5000), usd: 1.5, source: "imputed" };
  write(day2("08:00"), "usage", { ...second, type: "fix", engine: "claude", models: [opus] });
  write(day2("08:01"), "ended", { ...second, outcome: "done", to: "done" });

  const review = { task: "t.2", worker: "w1", token: "21", attempt: 1 };
  const local = { model: "qwen", ...tokens(7000, 500), usd: null, source: null };
  write(day2("09:00"), "usage", { ...review, type: "plan", engine: "llm", models: [local] });
  write(day2("09:01"), "ended", { ...review, outcome: "done", to: "review" });
  write(day2("09:02"), "approved", { task: "t.2", from: "review", to: "done", by: "me" });

  const crashed = { task: "t.3", worker: "w1", token: "31", attempt: 1, type: "fix" };
  write(day2("09:30"), "step", { ...crashed, kind: "text", ...used });
  write(day2("09:31"), "ended", { ...crashed, outcome: "abandoned", to: "pending" });

  const free = { task: "t.4", worker: "w1", token: "41", attempt: 1 };
  write(day2("09:40"), "ended", { ...free, outcome: "done", to: "done" });
}

const costs = (...args: string[]) => json<Costs>(["costs", ...args], around);
const brief = ({ rows }: Costs) =>
  rows.map(({ key, usd, attempts, proven }) => [key, usd, attempts, proven]);

describe("viv costs", () => {
  it("has a message for a run without a model", async () => {
    expect(await ok(["costs"], around)).toBe("no model has worked in this run so far\n");
    await ok(["enqueue", "--type", "t"], around);
    expect(await ok(["costs", "--since", "2026-11-15"], around)).toBe(
      "no model has worked in this run since 2026-11-15T00:00:00.000Z\n",
    );
    expect(await costs()).toMatchObject({ rows: [], total: { usd: 0, usd_per_proven: null } });
  });

  it("is a table for people, with what each proven task cost", async () => {
    writeTwoDays();
    expect(await ok(["costs"], around)).toBe(
      [
        "type    dollars    in   out  cached  to cache  attempts  proven  $/proven",
        "fix       $2.10  260k  6.9k      1M        5k         3       1     $2.10",
        "plan   no price    7k   500       0         0         1       1         -",
        "total    $2.10+  267k  7.4k      1M        5k         4       2    $1.05+",
        "",
        "$0.50 reported by the vendors, $1.60 imputed from the price table",
        '7,500 tokens have no price: add [prices."MODEL"] to viv.toml; see: viv costs --group-by model',
        "",
      ].join("\n"),
    );
  });

  it("by model, worker, agent, day and task: the dearest first, days in order", async () => {
    writeTwoDays();
    expect(brief(await costs("--by", "model"))).toEqual([
      ["opus", 1.5, 1, 1],
      ["haiku", 0.6, 2, 0],
      ["qwen", 0, 1, 1],
    ]);
    expect(brief(await costs("--by", "worker"))).toEqual([
      ["w2", 1.5, 1, 1],
      ["w1", 0.6, 3, 1],
    ]);
    expect(brief(await costs("--by", "agent"))).toEqual([
      ["ann", 2, 2, 1],
      [null, 0.1, 2, 1],
    ]);
    expect(brief(await costs("--by", "day"))).toEqual([
      ["2026-11-14", 0.5, 1, 0],
      ["2026-11-15", 1.6, 3, 2],
    ]);
    expect(brief(await costs("--by", "task"))).toEqual([
      ["t.1", 2, 2, 1],
      ["t.3", 0.1, 1, 0],
      ["t.2", 0, 1, 1],
    ]);
    expect(await ok(["costs", "--by", "agent"], around)).toContain("\n(no agent)   $0.10+  ");
  });

  it("gives programs every part of it", async () => {
    writeTwoDays();
    const { by, since, more, total, rows } = await costs("--by", "model");
    expect({ by, since, more }).toEqual({ by: "model", since: null, more: 0 });
    expect(total).toEqual({
      usd: 2.1,
      reported: 0.5,
      imputed: 1.6,
      unpriced_tokens: 7500,
      tokens: { input: 267_000, output: 7400, cache_read: 1_000_000, cache_write: 5000 },
      attempts: 4,
      proven: 2,
      usd_per_proven: 1.05,
      ...{ landed: 0, usd_per_landed: null },
    });
    expect(rows.find(({ key }) => key === "haiku")?.usd_per_proven).toBeNull();
  });

  it("from a time on", async () => {
    writeTwoDays();
    const today = await costs("--since", "2026-11-15");
    expect(today.since).toBe("2026-11-15T00:00:00.000Z");
    expect(today.total).toMatchObject({ usd: 1.6, attempts: 3, proven: 2 });
    const late = await costs("--since", "2026-11-15T09:10:00Z");
    expect(late.total).toMatchObject({ usd: 0.1, attempts: 1, proven: 0 });
  });

  it("so long ago, by the clock", async () => {
    const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const models = [{ model: "m", ...tokens(1, 1), usd: 1, source: "reported" }];
    for (const hours of [5, 1]) {
      write(at(hours), "usage", { task: `t.${hours}`, token: "1", type: "x", models });
    }
    expect((await costs("--since", "2h")).total.usd).toBe(1);
    expect((await costs("--since", "1d")).total.usd).toBe(2);
  });

  it("at most so many rows, and the total is that of all", async () => {
    for (let i = 1; i <= 5; i++) {
      const models = [{ model: `m${i}`, ...tokens(1, 1), usd: i, source: "reported" }];
      const at = `2026-11-0${i}T00:00:00.000Z`;
      write(at, "usage", { task: `t.${i}`, token: "1", type: "x", models });
    }
    const dear = await costs("--by", "model", "--limit", "2");
    expect([dear.rows.map(({ key }) => key), dear.more, dear.total.usd]).toEqual([
      ["m5", "m4"],
      3,
      15,
    ]);
    const days = await costs("--by", "day", "--limit", "2");
    expect(days.rows.map(({ key }) => key)).toEqual(["2026-11-04", "2026-11-05"]);
    const text = await ok(["costs", "--by", "day", "--limit", "2"], around);
    expect(text).toContain("… 3 more rows than these 2; see --limit\n");
  });

  it("adds up what a store has written", async () => {
    const store = await openRun(run);
    await store.enqueue({ id: "a", type: "fix", review: true });
    const [claim] = await store.claim({ worker: "w1" });
    if (claim === undefined) throw new Error("nothing to claim");
    const of = { task: "a", worker: "w1", token: claim.token, attempt: 1 };
    const used = { model: "opus", tokens: tokens(10, 1), usd: 0.75 };
    await store.append({ event: "step", ...of, kind: "text", text: "hm", ...used });
    await setImmediate(); // steps are written when the process turns to something else
    expect((await costs()).total).toMatchObject({ usd: 0.75, attempts: 1, proven: 0 });
    const models = [{ model: "opus", ...tokens(10, 5), usd: 1, source: "reported" }];
    await store.append({ event: "usage", ...of, type: "fix", engine: "claude", models });
    await store.complete({ id: "a", worker: "w1", token: claim.token });
    expect((await costs()).total).toMatchObject({ usd: 1, attempts: 1, proven: 0 });
    await store.approve("a", { by: "me" });
    await store.close();
    expect((await costs()).rows).toMatchObject([{ key: "fix", usd: 1, usd_per_proven: 1 }]);
  });
});

describe("rendering", () => {
  it("unreadable lines are skipped, names do not command a terminal", async () => {
    writeTwoDays();
    appendFileSync(join(run, "ledger/2026-11-15.jsonl"), '{"at":"2026-11-15T1\nnull\n7\n[]\n');
    const models = [{ model: "\u001b[31mred\u0007", ...tokens(1, 1), usd: 9, source: "reported" }];
    write("2026-11-15T12:00:00.000Z", "usage", { task: "t.9", token: "1", type: "x", models });
    write("2026-11-15T12:00:01.000Z", "usage", { task: "t.9", token: 2, type: 3, models: "none" });
    const text = await ok(["costs", "--by", "model"], { ...around, columns: 100 });
    expect(text).toContain("␛[31mred\\x07");
    expect(controlCodes(text)).toEqual([]);
    expect((await costs()).total).toMatchObject({ attempts: 6 });
    expect((await costs("--since", "2026-11-15")).total).toMatchObject({ attempts: 5 });
  });

  it("a narrow terminal has lines that fit, and every digit", async () => {
    writeTwoDays();
    const env = { ...around.env, NO_COLOR: "1" };
    const shown = (columns: number) => ok(["costs", "--by", "model"], { ...around, env, columns });
    const words = (text: string) => text.split(/\s+/).sort();
    const wide = await shown(200);
    for (const columns of [60, 40]) {
      const text = await shown(columns);
      const [lines = ""] = text.split("\n\n");
      for (const line of lines.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
      expect(words(text)).toEqual(words(wide));
    }
  });
});

it("shows which models were used although another was asked for", async () => {
  const of = { task: "t.1", type: "fix", worker: "w1", token: "11", attempt: 1, engine: "claude" };
  const models = [
    { model: "claude-sonnet-5-5", ...tokens(10, 20), usd: 0.4, source: "reported" },
    { model: "claude-haiku-5-5", ...tokens(10, 20), usd: 0.1, source: "reported" },
  ];
  write("2026-11-14T10:00:00.000Z", "usage", { ...of, asked: "haiku", models });
  expect(await ok(["costs"], around)).toContain(
    "claude-sonnet-5-5 was used in 1 attempt that asked for haiku: $0.40",
  );
  const { unasked } = await json<{ unasked: object[] }>(["costs"], around);
  expect(unasked).toEqual([{ asked: "haiku", model: "claude-sonnet-5-5", usd: 0.4, attempts: 1 }]);
});

it("lists what models cost; prices of one's own come first, and hide the list's", async () => {
  const of = async (...args: string[]) =>
    (await json<{ prices: { model: string; source: string; input: number }[] }>(args, around))
      .prices;
  const [haiku] = await of("prices", "claude-haiku-5-5");
  expect(haiku).toMatchObject({ source: "list", input: 0.1 });
  for (const [asked, model] of [
    ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    ["anthropic/claude-haiku-5-5", "claude-haiku-5-5"],
    ["claude-haiku-5-5[1m]", "claude-haiku-5-5"],
  ] as const) {
    expect(await of("prices", asked)).toMatchObject([{ model, source: "list" }]);
  }
  expect(await of("prices", "no-such-model")).toEqual([]);
  writeFileSync(
    join(around.cwd ?? "", "viv.toml"),
    '[prices."claude-haiku*"]\ninput = 7\noutput = 9\n',
  );
  expect(await of("prices", "claude-haiku-5-5")).toMatchObject([
    { model: "claude-haiku*", source: "viv.toml", input: 7 },
  ]);
  expect(await ok(["prices"], around)).toContain("dollars for a million tokens");
});

it("shows what is reserved by attempts that run, and not by those that are over", async () => {
  const store = await openRun(run);
  await store.enqueueMany(["a", "b"].map((id) => ({ id, type: "t" })));
  const [a, b] = await store.claim({ worker: "w", max: 2 });
  const at = new Date().toISOString();
  const of = (claim: typeof a) => ({ task: claim?.task.task_id, token: claim?.token, type: "t" });
  for (const claim of [a, b]) write(at, "reserved", { ...of(claim), usd: 0.5, tokens: 0 });
  const used = { kind: "text", model: "m", tokens: { input: 1 }, usd: 0.2 };
  write(at, "step", { ...of(a), ...used });
  expect(await json(["costs"], around)).toMatchObject({
    reserved: { usd: 0.8, tokens: 0, attempts: 2 },
  });
  await store.release({ id: "b", worker: "w" });
  expect(await ok(["costs"], around)).toContain("$0.30 reserved by 1 attempt that runs");
  await store.close();
});
