import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { MachineGate } from "../../src/gate/machine-gate.ts";
import { gate as op } from "../../src/gate/operations.ts";
import { gateHere } from "../../src/main.ts";
import { until, within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { cli, json, ok, Running, type Surroundings } from "./support.ts";

/** `viv gate`, and how `viv work` and `viv why` keep to the machine's gate. */

let folder: string;
let state: string;
let host: FakeHost;
let around: Surroundings;
let gate: MachineGate;

beforeEach(async () => {
  folder = newFolder();
  state = join(folder, "state");
  host = new FakeHost();
  around = { cwd: folder, env: { VIV_STATE: state }, machine: host.process() };
  gate = (await gateHere(around.env ?? {}, folder, around.machine)).machine;
});

const say = (...args: string[]) => ok(args, around);

async function looked(...args: string[]) {
  const output = await json(["gate", ...args], around);
  expect(op.output.parse(output)).toEqual(output);
  return output;
}

describe("viv gate", () => {
  it("needs no run, and there may be no limit", async () => {
    expect(await say("gate")).toBe("the machine's gate: no limit\n");
    expect(await looked()).toEqual({ machine: { max: null, holders: [], queue: [] } });
    expect(existsSync(state)).toBe(false);
  });

  it("sets the maximum, changes it and takes it away", async () => {
    expect(await say("gate", "--max", "3")).toBe("the machine's gate: 0 of 3 slots taken\n");
    expect(gate.view().max).toBe(3);
    expect(await looked("--max", "1")).toMatchObject({ machine: { max: 1 } });
    expect(await say("gate", "--max", "none")).toBe("the machine's gate: no limit\n");
    expect(readdirSync(join(state, "gate"))).not.toContain("max");
  });

  it("shows holders and waiters, and for how long", async () => {
    await gate.setMax(1);
    const release = await gate.acquire({ name: "w1\u001b[31m" });
    const low = gate.acquire({ name: "w2", priority: "low" });
    await until("w2 waits", () => gate.view().queue.length === 1);
    host.advance(65_000);
    const next = gate.acquire({ name: "w3" });
    await until("w3 waits", () => gate.view().queue.length === 2);
    host.advance(10_000);
    const pid = around.machine?.self().pid;
    expect((await say("gate")).split("\n")).toEqual([
      "the machine's gate: 1 of 1 slot taken, 2 waiting",
      expect.stringMatching(new RegExp(`^ {2}in +w1␛\\[31m +for 1m 15s +pid ${pid}$`)),
      expect.stringMatching(new RegExp(`^ {2}waits +w3 +for 10s +pid ${pid}$`)),
      expect.stringMatching(new RegExp(`^ {2}waits +w2 +for 1m 15s +low +pid ${pid}$`)),
      "",
    ]);
    expect(await looked()).toMatchObject({
      machine: {
        holders: [{ pid }],
        queue: [
          { name: "w3", waiting_ms: 10_000 },
          { name: "w2", waiting_ms: 75_000, priority: "low" },
        ],
      },
    });
    // Changed while they wait: all of them go in.
    await say("gate", "--max", "none");
    for (const one of await within("they are in", Promise.all([low, next]))) one();
    release();
  });

  it("reports an unusable maximum, and replaces it", async () => {
    mkdirSync(join(state, "gate"), { recursive: true });
    writeFileSync(join(state, "gate/max"), "many");
    expect(await say("gate")).toContain("to write it anew: viv gate --max 3");
    expect(await say("gate", "--max", "2")).toBe("the machine's gate: 0 of 2 slots taken\n");
  });

  it("reports a folder that cannot be written", async () => {
    mkdirSync(state);
    writeFileSync(join(state, "gate"), "a file");
    const { status, stderr } = await cli(["gate", "--max", "1"], around);
    expect([status, stderr]).toEqual([5, expect.stringContaining(join(state, "gate"))]);
  });

  it("has help", async () => {
    const text = await say("gate", "--help");
    for (const word of ["--max", "--state", "viv gate --max none"]) expect(text).toContain(word);
  });
});

describe("the gate of a crew", () => {
  const crewFolder = () => join(folder, ".crew");
  function crew(more: Record<string, unknown> = {}): void {
    mkdirSync(crewFolder(), { recursive: true });
    const at = host.clock.now();
    const file = {
      max: 2,
      holders: [{ name: "moss", since: new Date(at - 90_000).toISOString() }],
      queue: [{ name: "wren", priority: "high", since: at - 30_000 }],
      at,
      ...more,
    };
    writeFileSync(join(crewFolder(), "gate.json"), JSON.stringify(file));
  }
  const inbox = () => readdirSync(join(crewFolder(), "inbox"));

  it("is shown when it is here, or asked for", async () => {
    crew(around.machine?.self() as unknown as Record<string, unknown>);
    const text = await say("gate");
    expect(text.split("\n")).toEqual([
      "the machine's gate: no limit",
      `the gate of the crew in ${crewFolder()}: 1 of 2 slots taken, 1 waiting`,
      expect.stringMatching(/^ {2}in +moss +for 1m 30s$/),
      expect.stringMatching(/^ {2}waits +wren +for 30s +high$/),
      "",
    ]);
    expect(await ok(["gate", "--state", crewFolder()], { ...around, cwd: "/" })).toBe(text);
    expect(await looked("--state", ".crew")).toMatchObject({
      crew: { max: 2, alive: true, queue: [{ name: "wren", waiting_ms: 30_000 }] },
    });
  });

  it("is asked to change its maximum; that of the machine stays", async () => {
    crew();
    const text = await say("gate", "--state", ".crew", "--max", "5");
    expect(text).toContain("the crew was asked to change its maximum to 5\n");
    await say("gate", "--state", ".crew", "--max", "5");
    expect(gate.view().max).toBeNull();
    expect(inbox()).toHaveLength(2);
    for (const name of inbox()) {
      expect(name).toMatch(/^gate-max-5-[\w-]+\.json$/);
      expect(JSON.parse(readFileSync(join(crewFolder(), "inbox", name), "utf8"))).toEqual({
        max: 5,
      });
    }
  });

  it("only with --state: otherwise the machine's is meant", async () => {
    crew();
    await say("gate", "--max", "4");
    expect(gate.view().max).toBe(4);
    expect(existsSync(join(crewFolder(), "inbox"))).toBe(false);
  });

  it("refuses a maximum that a crew cannot have", async () => {
    crew();
    const none = await cli(["gate", "--state", ".crew", "--max", "none"], around);
    expect([none.status, none.stderr]).toEqual([
      2,
      expect.stringContaining("always has a maximum"),
    ]);
    const gone = host.process();
    crew(gone.self() as unknown as Record<string, unknown>);
    gone.die();
    const dead = await cli(["gate", "--state", ".crew", "--max", "3"], around);
    expect([dead.status, dead.stderr]).toEqual([
      4,
      expect.stringContaining("does not run; start it with --max-concurrent 3"),
    ]);
    // The gate of a killed crew is empty, whatever its file has.
    expect((await say("gate")).split("\n").slice(1)).toEqual([
      `the gate of the crew in ${crewFolder()}, which does not run: 0 of 2 slots taken`,
      "",
    ]);
    expect(await looked()).toMatchObject({ crew: { alive: false, holders: [], queue: [] } });
    writeFileSync(join(crewFolder(), "gate.json"), "[1]");
    expect((await cli(["gate"], around)).stderr).toContain("gate.json is not a JSON object");
  });

  it("may be incomplete, or malformed", async () => {
    crew({ max: "two", holders: [{ name: 3 }, null, "x"], queue: [{ since: "soon" }] });
    expect(await looked()).toMatchObject({
      crew: {
        max: null,
        holders: [{ name: "?", since: "" }],
        queue: [{ name: "?", priority: "normal", waiting_ms: 0 }],
        alive: null,
      },
    });
    expect(await say("gate")).toContain("no limit");
  });
});

const TOML = `run = "run"
[handlers.model]
engine = "exec"
prompt = "p.md"
handler = "./handle.sh"
[handlers.default]
handler = "./plain.sh"
`;

/** These work with real processes, on the real clock. */
describe("a worker", () => {
  beforeEach(async () => {
    around = { cwd: folder, env: { VIV_STATE: state, PATH: process.env.PATH } };
    gate = (await gateHere(around.env ?? {}, folder)).machine;
  });

  const log = () => join(folder, "log");
  async function project(tasks: Record<string, string>, script = "sleep 0.05"): Promise<void> {
    const body = `#!/bin/sh\necho begin >> ${log()}\n${script}\necho end >> ${log()}\n`;
    writeFileSync(join(folder, "handle.sh"), body, { mode: 0o755 });
    writeFileSync(join(folder, "plain.sh"), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(join(folder, "p.md"), "do it");
    writeFileSync(join(folder, "viv.toml"), TOML);
    await say("init", "run");
    for (const [id, type] of Object.entries(tasks))
      await say("enqueue", "--id", id, "--type", type);
  }
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m.${n}`, "model"]));
  const done = () => readdirSync(join(folder, "run/done")).sort();
  const work = (...args: string[]) => say("work", "--poll-interval", "60", ...args);
  const codes = async (id: string) =>
    (await json<{ reasons: { code: string }[] }>(["why", id], around)).reasons.map(
      ({ code }) => code,
    );
  function most(): number {
    let inside = 0;
    let most = 0;
    for (const line of readFileSync(log(), "utf8").trim().split("\n")) {
      inside += line === "begin" ? 1 : -1;
      most = Math.max(most, inside);
    }
    return most;
  }

  it("runs no more engines than there are slots, with other workers", async () => {
    await project(many(8));
    await gate.setMax(2);
    await within(
      "all is done",
      Promise.all(
        // The one that has nothing left to do looks now and then whether the other is done.
        ["w1", "w2"].map((name) =>
          say(
            "work",
            "--poll-interval",
            "0.2",
            "--drain",
            "--concurrency",
            "4",
            "--worker-id",
            name,
          ),
        ),
      ),
      50,
    );
    expect(done()).toHaveLength(8);
    expect(most()).toBeLessThanOrEqual(2);
    expect(readdirSync(join(state, "gate/tickets"))).toEqual([]);
  });

  it("claims no task with an engine while the gate is full, but all others; `why` shows it", async () => {
    await project({ "m.1": "model", "q.1": "quick", "m.2": "model", "q.2": "quick" });
    await gate.setMax(1);
    const release = await gate.acquire({ name: "other" });
    expect(await codes("m.1")).toEqual(["gate_full", "no_worker"]);
    expect(await codes("q.1")).toEqual(["no_worker"]);
    expect(await say("why", "m.1")).toContain("1 of 1 slot is taken\n     viv gate\n");
    const text = await work("--max-tasks", "2");
    expect(text).toContain("the machine's gate is full; see: viv gate");
    expect(done()).toEqual(["q.1.json", "q.2.json"]);
    expect(gate.view().queue).toEqual([]);
    const working = work("--drain", "--worker-id", "w1");
    await until("it stands in line", () => gate.view().queue.length === 1);
    const claimed = readdirSync(join(folder, "run/claimed"), { recursive: true }).map(String);
    expect(claimed.filter((name) => name.includes("m."))).toEqual([]);
    expect(gate.view().queue).toMatchObject([{ name: "w1", priority: "normal" }]);
    expect(await codes("m.1")).toEqual(["gate_full", "queued"]);
    release();
    await within("all is done", working);
    expect(done()).toHaveLength(4);
    expect(gate.view()).toMatchObject({ holders: [], queue: [] });
  });

  it("gets its turn although others always stand in line", async () => {
    await project(many(2));
    await gate.setMax(1);
    let isOver = false;
    const crowd = ["a", "b", "c"].map(async (name) => {
      while (!isOver) {
        const release = await gate.acquire({ name });
        await new Promise((resolve) => setTimeout(resolve, 20));
        release();
      }
    });
    await until("there is a line", () => gate.view().queue.length > 1);
    await within("the worker had its turns", work("--drain"), 50);
    isOver = true;
    await Promise.all(crowd);
    expect(done()).toHaveLength(2);
  });

  it("stops on a signal while it waits in line, and leaves the line", async () => {
    await project(many(1));
    await gate.setMax(1);
    const release = await gate.acquire({ name: "other" });
    const stop = new AbortController();
    const working = ok(["work"], { ...around, signal: stop.signal });
    await until("it stands in line", () => gate.view().queue.length === 1);
    stop.abort();
    expect(await within("it stops", working)).toContain("nothing was claimed");
    expect(gate.view().queue).toEqual([]);
    release();
  });

  it("gives the slot back whatever happens to the engine, and before the proof", async () => {
    await project({}, "exit 3");
    const seen = join(folder, "seen");
    await say("enqueue", "--id", "bad", "--type", "model", "--max-attempts", "1");
    await gate.setMax(1);
    await work("--max-tasks", "1");
    expect(gate.view().holders).toEqual([]);
    writeFileSync(join(folder, "handle.sh"), "#!/bin/sh\n", { mode: 0o755 });
    const check = `ls ${join(state, "gate/tickets")} > ${seen}`;
    await say("enqueue", "--id", "good", "--type", "model", "--done-when", check);
    await work("--drain");
    expect(done()).toEqual(["good.json"]);
    expect(readFileSync(seen, "utf8")).toBe("");
  });

  it("that is killed gives its slots back, as soon as one is needed", async () => {
    await project(many(1), "sleep 600");
    await gate.setMax(1);
    const victim = new Running(["work"], { cwd: folder, env: { VIV_STATE: state } });
    await until("it runs", () => existsSync(log()));
    expect(gate.view().holders).toMatchObject([{ pid: victim.pid }]);
    expect(gate.room()).toBe(0);
    victim.child.kill("SIGKILL");
    await victim.end();
    expect(gate.room()).toBe(1);
    (await within("there is a slot", gate.acquire({ name: "next" })))();
    await say("reap");
  });
});
