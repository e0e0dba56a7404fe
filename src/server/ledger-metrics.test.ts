import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { Entry } from "../ledger/line.ts";
import { LedgerMetrics } from "./ledger-metrics.ts";

async function counted(lines: readonly Partial<Entry>[]): Promise<string> {
  const registry = new Registry();
  const metrics = new LedgerMetrics(registry);
  for (const line of lines) {
    metrics.add({
      at: "2026-01-01T00:00:00.000Z",
      room: "queue",
      agent: "w",
      event: "step",
      ...line,
    });
  }
  return registry.metrics();
}
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

it("measures how long a task waited and ran, by the lines of its claim", async () => {
  const text = await counted([
    { event: "enqueued", task: "a", to: "pending", at: at(0) },
    { event: "claimed", task: "a", token: "t1", at: at(10) },
    { event: "ended", task: "a", token: "t1", outcome: "crashed", to: "waiting", at: at(70) },
    { event: "promoted", task: "a", to: "pending", at: at(100) },
    { event: "claimed", task: "a", token: "t2", at: at(101) },
    { event: "ended", task: "a", token: "t2", outcome: "done", to: "done", at: at(131) },
    { event: "ended", task: "b", token: "lost", outcome: "done", at: at(1) }, // its claim is not known
  ]);
  expect(text).toContain("viv_wait_seconds_sum 11\nviv_wait_seconds_count 2");
  expect(text).toContain("viv_attempt_seconds_sum 90\nviv_attempt_seconds_count 2");
  expect(text).toContain('viv_attempts_total{outcome="done"} 2');
  expect(text).toContain('viv_attempts_total{outcome="crashed"} 1');
});

it("counts ticks, dances and landings", async () => {
  const text = await counted([
    { room: "crew", event: "tick_ended", outcome: "done" },
    { room: "crew", event: "tick_ended", outcome: "error" },
    { room: "warden", event: "executed" },
    { room: "warden", event: "pardoned" },
    { room: "queue", event: "executed", task: "a" }, // the queue's word for it is no verdict
    { event: "held", task: "a" },
    { event: "landed", task: "a" },
    { event: "conflict", task: "b" },
  ]);
  for (const line of [
    ...['viv_crew_ticks_total{outcome="error"} 1', 'viv_dances_total{verdict="executed"} 1'],
    ...[
      'viv_landings{state="landed"} 1',
      'viv_landings{state="held"} 0',
      'viv_landings{state="conflict"} 1',
    ],
  ]) {
    expect(text).toContain(line);
  }
});

it("is harmed by no line", async () => {
  const odd = [
    { event: "ended", task: "a", at: "never" },
    { event: "usage", models: "none" },
    {
      event: "usage",
      engine: 7,
      models: [null, { model: '"}\n', usd: "1", input: -5, output: Number.NaN }],
    },
    { event: 'x"} 1\nevil 1', room: "queue" },
  ] as unknown as Partial<Entry>[];
  expect(await counted(odd)).not.toMatch(/^evil/m);
});

it("counts no model runs without a task, as viv costs", async () => {
  const models = [{ model: "opus", usd: 1, input: 5 }];
  const text = await counted([
    { event: "usage", engine: "claude", models },
    { event: "step", model: "opus", usd: 2, tokens: { input: 9 } },
    { event: "ended", outcome: "done" },
    { event: "usage", task: "a", token: "t1", engine: "claude", models },
  ]);
  expect(text).toContain('viv_usd_total{engine="claude",model="opus"} 1\n');
  expect(text).toContain('viv_tokens_total{engine="claude",model="opus",kind="input"} 5\n');
  expect(text).toContain("viv_usd_running 0\n");
});

it("has no more series than fit a scrape, whatever the ledger names; its sums stay whole", async () => {
  const lines = Array.from({ length: 1_000 }, (_, i): Partial<Entry>[] => {
    const task = { task: `t${i}`, token: "1" };
    const models = [{ model: `m${i}`, usd: 1 }];
    return [
      { event: "usage", ...task, engine: "own", models },
      { event: "ended", ...task, outcome: `o${i}` },
      { event: `e_${"abcdefghij".charAt(i % 10)}${"x".repeat(i % 25)}`, room: "queue" },
    ];
  }).flat();
  const text = await counted(lines);
  const usd = [...text.matchAll(/^viv_usd_total\{engine="own",model="(.*)"\} (\d+)$/gm)];
  expect(usd).toHaveLength(101);
  expect(usd.at(-1)?.slice(1)).toEqual(["other", "900"]);
  expect(text.match(/^viv_attempts_total/gm)).toHaveLength(101);
});
