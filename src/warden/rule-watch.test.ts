import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeHost } from "../../test/support/machine.ts";
import { wardenDirectory } from "../app/warden-directory.ts";
import type { Machine } from "../base/clock.ts";
import { crewFilesIn } from "../crew/crew-files.ts";
import { usedOn } from "../engines/costs/usage.ts";
import { openRun } from "../main.ts";
import type { Rules } from "./config.ts";
import type { Receipt } from "./dance.ts";
import { reapAfter } from "./finish-dance.ts";
import { logOf, resolveTarget } from "./resolve.ts";
import { patternFor, type RulesHost, type RuleWatch, ruleWatch } from "./rule-watch.ts";
import type { RuleEvent, RulesSettings } from "./warden-host.ts";
import { targetKey, type Warrant } from "./warrant.ts";

const MIN = 60_000;
const FILE = { after: 10 * MIN };

let folder: string;
let host: FakeHost;
let events: RuleEvent[];
let lines: Record<string, unknown>[];
let open: Warrant[];
let receipts: Receipt[];
let sessions: { name: string; activeAt: number }[] | Error;
const watches: RuleWatch[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "viv-rules-"));
  host = new FakeHost();
  [events, lines, open, receipts, sessions] = [[], [], [], [], []];
});
afterEach(async () => {
  for (const one of watches.splice(0)) await one.stop();
  rmSync(folder, { recursive: true, force: true });
});

function lookupOn(machine: Machine) {
  const open = (path: string) => openRun(path, { readOnly: true, machine });
  return { machine, openRun: open, directory: wardenDirectory(machine.clock) };
}

function watch(rules: Rules, settings: Partial<RulesSettings> = {}): RuleWatch {
  const lookup = lookupOn(host.process());
  let ids = 0;
  const ports: RulesHost = {
    timers: { after: () => () => {} },
    writtenAt: (path) => written.get(path) ?? null,
    budgetFor: (type) => (type === "dear" ? { usd: 1, of: "task" } : null),
    usdOn: (line) => usedOn(line).reduce((sum, { usd }) => sum + (usd ?? 0), 0),
    ...lookup,
    sessionsOn: async () => {
      if (sessions instanceof Error) throw sessions;
      return sessions;
    },
    files: {
      file: async (warrant) => {
        open.push(warrant);
        return { filed: true, id: warrant.id };
      },
      dances: () => [],
      queued: () => ({ warrants: open, bad: [] }),
      receipts: () => receipts,
      recordFinding: (line) => void lines.push(line),
    },
    newId: () => `w${++ids}`,
  };
  const all = { rules, runs: [], crews: [], sessions: [], ...settings };
  const made = ruleWatch(all, ports, (event) => void events.push(event));
  watches.push(made);
  return made;
}

const written = new Map<string, number>();
/** Time passes, with a pass every 30 s. */
async function pass(watch: RuleWatch, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 30_000) {
    host.advance(Math.min(30_000, left));
    await watch.runOnce();
  }
}

describe("a tmux session", () => {
  const settings = { sessions: ["agent-*"] };
  const rules: Rules = { no_output: { afterMs: FILE.after, action: "observe" } };

  it("that is silent for long is reported once, until it has output again", async () => {
    const now = host.clock.now();
    sessions = [
      { name: "agent-1", activeAt: now },
      { name: "other", activeAt: now },
    ];
    const rulesAt = watch(rules, settings);
    expect(await rulesAt.runOnce()).toMatchObject({ seen: 1, found: 0 });
    await pass(rulesAt, 10 * MIN);
    expect(events).toMatchObject([{ kind: "observed", target: "agent-1", rule: "no_output" }]);
    expect(lines[0]).toMatchObject({
      state: "found",
      evidence: expect.stringContaining("10m ago"),
    });
    await pass(rulesAt, 5 * MIN);
    expect(events).toHaveLength(1);
    sessions = new Error("tmux does not answer");
    expect(await rulesAt.runOnce()).toMatchObject({ ceased: 0, failed: 1 });
    await rulesAt.runOnce();
    expect(events.slice(1)).toEqual([{ kind: "trouble", message: "tmux does not answer" }]);
    sessions = [{ name: "agent-1", activeAt: host.clock.now() }];
    expect(await rulesAt.runOnce()).toMatchObject({ ceased: 1 });
    expect(events.at(-1)).toMatchObject({ kind: "ceased", target: "agent-1" });
  });

  it("is filed once, let alone after a pardon, and filed again later", async () => {
    sessions = [{ name: "agent-1", activeAt: host.clock.now() - 11 * MIN }];
    const rulesAt = watch({ no_output: { afterMs: FILE.after, action: "file" } }, settings);
    expect(await rulesAt.runOnce()).toMatchObject({ filed: 1 });
    expect(open[0]).toMatchObject({
      ...{ target: "agent-1", kind: "tmux", requester: "warden:no_output" },
      reason: expect.stringContaining("no_output: no new output since"),
    });
    expect(await rulesAt.runOnce()).toMatchObject({ filed: 0 });
    const [warrant] = open.splice(0);
    receipts = [{ verdict: "pardoned", warrant } as Receipt];
    expect(await rulesAt.runOnce()).toMatchObject({ found: 1, filed: 0 });
    receipts = [];
    expect(await rulesAt.runOnce()).toMatchObject({ filed: 1 });
    expect(targetKey(open[0] as Warrant)).toBe(targetKey(warrant as Warrant));
  });

  it("is no suspect because the clock was set, or the machine slept", async () => {
    sessions = [{ name: "agent-1", activeAt: host.clock.now() }];
    const rulesAt = watch(rules, settings);
    await rulesAt.runOnce();
    host.jumpWall(8 * 60 * MIN);
    expect(await rulesAt.runOnce()).toMatchObject({ found: 0 });
    await pass(rulesAt, 9 * MIN);
    expect(events).toEqual([]);
    await pass(rulesAt, MIN);
    expect(events).toHaveLength(1);
    host.jumpWall(-24 * 60 * MIN);
    expect(await rulesAt.runOnce()).toMatchObject({ found: 0, ceased: 1 });
  });

  it("has a name that its pattern means, and no other", () => {
    expect(patternFor("agent-*").test("agent-1")).toBe(true);
    expect(patternFor("agent-*").test("my-agent-1")).toBe(false);
    expect(patternFor("a.b[c]$(x)").test("a.b[c]$(x)")).toBe(true);
    expect(patternFor("a.b").test("axb")).toBe(false);
    expect(patternFor("*").test("")).toBe(true);
  });
});

describe("a worker of a run", () => {
  it("is found by its log, its heartbeat, its steps, its money and its deadline", async () => {
    const run = join(folder, "run");
    const machine = host.process();
    const store = await openRun(run, { create: true, machine });
    const deadline = new Date(host.clock.now() + 3 * MIN).toISOString();
    await store.enqueue({ id: "a", type: "dear", deadline });
    await store.register("w");
    const [claim] = await store.claim({ worker: "w" });
    const log = logOf(store, "a") ?? "";
    written.set(log, host.clock.now() + MIN);
    const rules: Rules = {
      no_output: { afterMs: 5 * MIN, action: "observe" },
      stale_heartbeat: { afterMs: 4 * MIN, action: "file" },
      repeated_tool: { times: 3, action: "observe" },
      over_budget: { action: "observe" },
      past_deadline: { afterMs: 0, action: "observe" },
    };
    const rulesAt = watch(rules, { runs: [run] });
    expect(await rulesAt.runOnce()).toMatchObject({ seen: 1, found: 0 });
    const of = { task: "a", worker: "w", token: claim?.token ?? "", attempt: 1 };
    for (let n = 0; n < 3; n++) {
      const tokens = { input: 1, output: 1, cache_read: 0, cache_write: 0 };
      const step = { kind: "tool", tool: "Bash", target: "npm test", usd: 0.4, tokens };
      await store.append({ event: "step", ...of, ...step });
    }
    await new Promise(setImmediate); // then its lines are on the disk
    await rulesAt.runOnce();
    expect(events.map((one) => ("evidence" in one ? one.evidence : ""))).toEqual([
      'Bash "npm test" 3 times in a row',
      "$1.20 of $1.00 spent (task a)",
    ]);
    await pass(rulesAt, 6 * MIN + 30_000);
    expect(events.slice(2).map((one) => `${one.kind} ${"rule" in one ? one.rule : ""}`)).toEqual([
      "observed past_deadline",
      "filed stale_heartbeat",
      "observed no_output",
    ]);
    expect(events.at(-1)).toMatchObject({ evidence: expect.stringContaining(log) });
    expect(open).toMatchObject([
      {
        ...{ kind: "worker", target: "w", home: run, watch: [log] },
        bound: { is: "process", pid: machine.self().pid, claim: "" },
      },
    ]);
    machine.die();
    expect(await rulesAt.runOnce()).toMatchObject({ found: 0, ceased: 5 });
    const reaped = async () =>
      reapAfter(await openRun(run, { machine: host.process() }), "w", {
        ...{ receipt: "/r.json", since: new Date(0).toISOString() },
      });
    expect(await reaped()).toEqual(["a"]);
    expect(await reaped()).toEqual(["a"]);
  });

  it("that waits for work is not silent; a missing run is reported once", async () => {
    const run = join(folder, "run");
    const store = await openRun(run, { create: true, machine: host.process() });
    await store.register("w");
    const rulesAt = watch(
      { no_output: { afterMs: 5 * MIN, action: "file" } },
      { runs: [run, join(folder, "nowhere")] },
    );
    await pass(rulesAt, 20 * MIN);
    expect(events).toMatchObject([{ kind: "trouble" }]);
    await store.close();
  });
});

describe("a member of a crew", () => {
  it("is found by its steps while its run is under way", async () => {
    const state = join(folder, ".crew");
    mkdirSync(state);
    const files = crewFilesIn(state);
    const machine = host.process();
    const since = new Date(host.clock.now()).toISOString();
    const status = {
      ...{ name: "moss", state: "running" as const, since, run: null, outcome: null, note: "" },
      ...{ last_run: null, next_tick: null, streak: 0, crashes: 0, lifecycle: null, saved: 0 },
      ...{ cost_today: 3, day: since.slice(0, 10), budget_usd_day: 2, thought: null },
      ...{ engine: "exec", mode: "edit" },
    };
    files.writeStatus("moss", status);
    const rules: Rules = {
      repeated_tool: { times: 2, action: "file" },
      over_budget: { action: "observe" },
    };
    const rulesAt = watch(rules, { crews: [state] });
    expect(await rulesAt.runOnce()).toMatchObject({ seen: 1, found: 0 });
    const find = (name: string) => resolveTarget(lookupOn(machine), "agent", name, state);
    expect(await find("moss")).toMatchObject({
      is: "gone",
      why: expect.stringContaining("moss has no process now (running since"),
    });
    expect(await find("mos")).toEqual({ is: "gone", why: `there is no agent mos in ${state}` });
    files.writeStatus("moss", { ...status, run: { ...machine.self(), claim: "c1" } });
    writeFileSync(files.newLog("moss", 1), "");
    writeFileSync(files.newLog("moss-2", 3), "");
    const log = files.newLog("moss", 2);
    writeFileSync(log, "");
    const ts = Math.floor(host.clock.now() / 1000);
    const step = { tool: "Read", target: "a", ts, agent: "moss" };
    files.append(step);
    files.append({ run: "done", ts, agent: "moss", seconds: 1, usd: null, note: "" });
    files.append(step);
    expect(await rulesAt.runOnce()).toMatchObject({ found: 1 });
    files.append(step);
    expect(await rulesAt.runOnce()).toMatchObject({ found: 2, filed: 1 });
    expect(open).toMatchObject([
      { kind: "agent", target: "moss", home: state, bound: { claim: "c1" }, watch: [log] },
    ]);
  });

  it("is not silent while its log grows, and is when it does not", async () => {
    const state = join(folder, ".crew");
    mkdirSync(state);
    const files = crewFilesIn(state);
    const machine = host.process();
    const since = new Date(host.clock.now()).toISOString();
    const log = files.newLog("moss", 1);
    writeFileSync(log, "");
    files.writeStatus("moss", {
      ...{ name: "moss", state: "running", since, outcome: null, note: "", last_run: null },
      ...{ run: { ...machine.self(), claim: "c1" }, next_tick: null, streak: 0, crashes: 0 },
      ...{ lifecycle: null, saved: 0, cost_today: 0, day: "", thought: null },
      ...{ engine: "exec", mode: "edit" },
    });
    const rules: Rules = { no_output: { afterMs: 5 * MIN, action: "observe" } };
    const rulesAt = watch(rules, { crews: [state] });
    await pass(rulesAt, 4 * MIN);
    written.set(log, host.clock.now());
    await pass(rulesAt, 4 * MIN);
    expect(events).toEqual([]);
    await pass(rulesAt, MIN);
    expect(events).toMatchObject([{ evidence: expect.stringContaining(log) }]);
  });
});
