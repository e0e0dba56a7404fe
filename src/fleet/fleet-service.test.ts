import { describe, expect, it } from "vitest";
import { FakeUpHost, settled } from "../../test/support/up-host.ts";
import type { Config } from "../base/section.ts";
import type { Child } from "../platform/processes/children.ts";
import type { ConfigRead } from "../work/host.ts";
import { clockChild } from "./clock-child.ts";
import type { FleetState } from "./fleet-files.ts";
import type { FleetEvent, FleetHost } from "./fleet-ports.ts";
import { fleetService } from "./fleet-service.ts";
import type { PartEvent } from "./part-news.ts";
import type { FleetFacts, PartKind } from "./parts.ts";

/** The supervisor with a fake machine: a viv.toml is its facts. */

const FACTS: FleetFacts = {
  ...{ run: "/r", hasRoutes: true, workers: null, merges: false, crew: null, warden: null },
  ...{ agents: null, server: null, hasPort: true, schedules: null, notifications: null },
};
const toml = (facts: Partial<FleetFacts> = {}) =>
  ({ file: "/viv.toml", folder: "/", facts: { ...FACTS, ...facts } }) as unknown as Config;

class Fleet {
  readonly fake = new FakeUpHost();
  readonly events: FleetEvent[] = [];
  readonly clocks: {
    kind: PartKind;
    emit: (event: PartEvent) => void;
    fail: (error: Error) => void;
  }[] = [];
  last: FleetState | null = null;
  isTaken = false;
  isOurs = true;
  hasRun = true;
  ended: number[] = [];
  edit: (read: ConfigRead) => void = () => {};
  isOver = false;

  readonly host: FleetHost = {
    ...this.fake.host,
    ...{ viv: ["node", "viv"], env: {}, cwd: "/", run: "/r" },
    handing: (config) => ({ GOOD: config?.text ?? "" }),
    files: {
      folder: "/r/.viv/up/fleet",
      take: async () => (this.isTaken ? null : () => this.isOurs),
      read: () => this.last,
      write: (state) => {
        this.last = structuredClone(state);
      },
      openLog: () => {
        throw new Error("not here");
      },
      takeTurn: async () => null,
      ...{ logPath: "up.log", startLogPath: "start.log", logOf: (part) => `${part}.log` },
    },
    facts: async (config) => (config as unknown as { facts: FleetFacts }).facts,
    startClock: (kind, _config, emit): Child =>
      clockChild(this.fake.machine, (signal) => {
        return new Promise((resolve, reject) => {
          this.clocks.push({ kind, emit, fail: reject });
          emit({ kind: "well", doing: kind });
          signal.addEventListener("abort", () => resolve());
        });
      }),
    hasRun: () => this.hasRun,
    watchConfig: (act) => {
      this.edit = act;
      return () => {};
    },
    endProcess: async ({ pid }) => {
      this.ended.push(pid);
      this.fake.world.endProcess(pid);
      return true;
    },
  };

  async start(facts: Partial<FleetFacts> = {}) {
    const service = fleetService(this.host, toml(facts), (event) => this.events.push(event));
    const run = service.run().then(() => {
      this.isOver = true;
    });
    run.catch(() => {}); // looked at by those who expect it
    await settled();
    return { ...service, over: run };
  }

  child(name: string) {
    const arg = name.includes("-") ? `--worker-id=${name}` : null;
    const found = this.fake.children.findLast(({ command: { argv } }) =>
      arg === null ? argv.includes(WORDS[name] ?? name) : argv.includes(arg),
    );
    if (!found) throw new Error(`${name} was never started`);
    return found;
  }

  states() {
    return Object.fromEntries((this.last?.parts ?? []).map(({ name, state }) => [name, state]));
  }

  part(name: string) {
    return this.last?.parts.find((one) => one.name === name);
  }

  kinds() {
    return this.events.map(({ kind }) => kind);
  }
}

const WORDS: Record<string, string> = { server: "serve" };
const GROUP = { name: "worker", count: 2, concurrency: 1 };
const READY = { kind: "started", types: null };

describe("a fleet", () => {
  it("starts its parts, is ready when each was heard, and writes their states", async () => {
    const fleet = new Fleet();
    await fleet.start({ server: "" });
    expect(fleet.last).toMatchObject({ state: "starting", run: "/r" });
    fleet.child("worker-1").says(READY);
    fleet.child("worker-2").says(READY);
    await settled();
    expect(fleet.kinds()).not.toContain("ready");
    fleet.child("server").says({ kind: "up", address: "http://127.0.0.1:4747" });
    await settled();
    expect(fleet.events.at(-1)).toEqual({
      kind: "ready",
      parts: 4,
      address: "http://127.0.0.1:4747",
    });
    fleet.child("worker-1").says({ kind: "claimed", id: "t.1", type: "fix", attempt: 2 });
    await fleet.fake.pass(100);
    expect(fleet.last).toMatchObject({ state: "working" });
    expect(fleet.states()).toEqual({
      reaper: "idle",
      server: "working",
      "worker-1": "working",
      "worker-2": "idle",
    });
    expect(fleet.part("worker-1")).toMatchObject({ doing: "t.1 (fix, attempt 2)", restarts: 0 });
    fleet.child("worker-1").says({ kind: "ended", id: "t.1" });
    fleet.child("worker-2").says({ kind: "held", reasons: ["the budget is used up"] });
    await fleet.fake.pass(100);
    expect(fleet.part("worker-1")).toMatchObject({ state: "idle", doing: "waits for any task" });
    expect(fleet.part("worker-2")).toMatchObject({
      state: "paused",
      note: "the budget is used up",
    });
  });

  it("restarts a part alone, with growing pauses, and parks one that keeps dying", async () => {
    const fleet = new Fleet();
    await fleet.start();
    fleet.child("worker-2").says(READY);
    for (const pause of [1, 2, 4, 8]) {
      fleet.child("worker-1").says(READY);
      fleet.child("worker-1").end({ signal: "SIGKILL", exit: null });
      await settled();
      expect(fleet.events).toContainEqual({
        kind: "restarts",
        part: "worker-1",
        after_ms: pause * 1000,
      });
      await fleet.fake.pass(pause * 1000 + 100);
    }
    fleet.child("worker-1").end({ signal: "SIGKILL", exit: null });
    await fleet.fake.pass(100);
    expect(fleet.states()).toMatchObject({ "worker-1": "parked", "worker-2": "idle" });
    expect(fleet.fake.children).toHaveLength(6);
  });

  it("restarts a clock that fails, and never parks it", async () => {
    const fleet = new Fleet();
    await fleet.start();
    for (let i = 0; i < 8; i++) {
      fleet.clocks.at(-1)?.fail(new Error("the disk is full"));
      await settled();
      await fleet.fake.pass(61_000);
      expect(fleet.states().reaper).toBe("idle");
    }
    expect(fleet.clocks).toHaveLength(9);
    expect(fleet.events).toContainEqual({
      kind: "gone",
      part: "reaper",
      exit: null,
      note: "the disk is full",
    });
  });

  it("waits for a name that another process has", async () => {
    const fleet = new Fleet();
    await fleet.start();
    fleet.child("worker-1").fail("WORKER_TAKEN", "another has it", 4);
    await fleet.fake.pass(100);
    expect(fleet.part("worker-1")).toMatchObject({
      state: "resting",
      note: "another has it",
      restarts: 0,
    });
    await fleet.fake.pass(2_000);
    fleet.child("worker-1").says(READY);
    await fleet.fake.pass(100);
    expect(fleet.states()["worker-1"]).toBe("idle");
  });

  it("serves on any free port where its own is taken and not named", async () => {
    const fleet = new Fleet();
    await fleet.start({ server: "", hasPort: false, hasRoutes: false });
    fleet.child("server").fail("UNSUPPORTED", "port 4747 is taken, perhaps by another", 5);
    await fleet.fake.pass(2_100);
    expect(fleet.child("server").command.argv.at(-1)).toBe("--port=0");
    expect(fleet.part("server")).toMatchObject({ restarts: 0, state: "starting" });
    expect(fleet.kinds()).not.toContain("ready"); // which has its address
    // Pages that are open find it again.
    fleet.child("server").says({ kind: "up", address: "http://127.0.0.1:40123" });
    fleet.child("server").end({ signal: "SIGKILL" });
    await fleet.fake.pass(1_100);
    expect(fleet.child("server").command.argv.at(-1)).toBe("--port=40123");
    fleet.child("server").fail("UNSUPPORTED", "port 40123 is taken, perhaps by another", 5);
    await fleet.fake.pass(2_100);
    expect(fleet.child("server").command.argv.at(-1)).toBe("--port=0");
  });

  it("tries a port that is named and taken again, until it is free", async () => {
    const fleet = new Fleet();
    await fleet.start({ server: "", hasRoutes: false });
    for (let i = 0; i < 8; i++) {
      fleet.child("server").fail("UNSUPPORTED", "port 4831 is taken, perhaps by another", 5);
      await fleet.fake.pass(100);
      expect(fleet.part("server")).toMatchObject({
        ...{ state: "resting", restarts: 0, note: expect.stringContaining("port 4831 is taken") },
      });
      await fleet.fake.pass(10_000);
    }
    expect(fleet.kinds().filter((kind) => kind === "waits")).toHaveLength(1);
    fleet.child("server").says({ kind: "up", address: "http://127.0.0.1:4831" });
    await fleet.fake.pass(100);
    expect(fleet.part("server")).toMatchObject({ state: "working", note: "" });
  });

  it("starts a merge queue of its own when the last worker is parked, and ends it with an edit that helps", async () => {
    const fleet = new Fleet();
    const workers = [{ name: "worker", count: 1, concurrency: 1 }];
    await fleet.start({ merges: true, workers });
    fleet.child("worker-1").fail("USAGE", "no such handler", 2);
    await fleet.fake.pass(100);
    expect(fleet.states()).toMatchObject({ "worker-1": "parked", merge: "starting" });
    fleet.edit({ config: toml({ merges: true, workers }) });
    await fleet.fake.pass(100);
    fleet.child("worker-1").says(READY);
    fleet.child("merge").end({});
    await fleet.fake.pass(100);
    expect(fleet.states()).toEqual({ reaper: "idle", "worker-1": "idle" });
  });

  it("says what to write where there is nothing to do", async () => {
    const fleet = new Fleet();
    await fleet.start({ hasRoutes: false });
    expect(fleet.events).toContainEqual({
      kind: "empty",
      message: expect.stringContaining("viv init --template"),
    });
  });
});

describe("an edit of viv.toml", () => {
  it("starts, stops and restarts only the parts that it changes", async () => {
    const fleet = new Fleet();
    await fleet.start({ server: "a", warden: "" });
    const first = fleet.child("worker-1");
    fleet.edit({
      config: toml({
        server: "b",
        workers: [{ name: "worker", count: 1, concurrency: 1 }],
        crew: "",
      }),
    });
    await settled();
    expect(fleet.child("worker-1")).toBe(first);
    expect(first.asked).toBe(0);
    expect(fleet.child("worker-2").asked).toBe(1);
    const old = fleet.child("server");
    expect(old.asked).toBe(1);
    expect(fleet.events).toContainEqual({ kind: "leaves", part: "server", why: "changed" });
    expect(fleet.events).toContainEqual({ kind: "leaves", part: "warden", why: "removed" });
    // It is at a task, and is started again after it.
    old.end({});
    fleet.child("worker-2").end({});
    fleet.child("warden").end({});
    await fleet.fake.pass(100);
    expect(fleet.child("server")).not.toBe(old);
    expect(Object.keys(fleet.states())).toEqual(["reaper", "server", "worker-1", "crew"]);
  });

  it("with mistakes changes nothing, is told, and is forgotten when it is repaired", async () => {
    const fleet = new Fleet();
    await fleet.start();
    fleet.edit({ problem: "viv.toml:3: count must be a whole number" });
    await fleet.fake.pass(100);
    expect(fleet.last?.note).toBe(
      "the last good viv.toml counts: viv.toml:3: count must be a whole number",
    );
    expect(fleet.events.at(-1)).toMatchObject({
      kind: "config_bad",
      message: expect.stringContaining("still counts"),
    });
    expect(fleet.fake.children).toHaveLength(2);
    fleet.edit({ config: toml() });
    await fleet.fake.pass(100);
    expect(fleet.last?.note).toBe("");
    expect(fleet.fake.children).toHaveLength(2);
  });

  it("of the run counts from the next start", async () => {
    const fleet = new Fleet();
    await fleet.start();
    fleet.edit({ config: toml({ run: "/other" }) });
    await settled();
    expect(fleet.events).toContainEqual(
      expect.objectContaining({ notes: [expect.stringContaining("next start")] }),
    );
    expect(fleet.events).not.toContainEqual(expect.objectContaining({ kind: "leaves" }));
    fleet.edit({ config: toml({ run: "/other", workers: [{ ...GROUP, count: 3 }] }) });
    await settled();
    expect(fleet.child("worker-3").command.argv).toContain("--run=/r");
  });
});

describe("a stop", () => {
  it("lets workers finish before the server and the reaper go", async () => {
    const fleet = new Fleet();
    const { stop, over } = await fleet.start({ server: "" });
    fleet.child("worker-1").says({ kind: "claimed", id: "t.1", type: "x" });
    fleet.child("worker-2").says(READY);
    void stop();
    await settled();
    expect(fleet.events.at(-1)).toEqual({ kind: "draining", working: ["worker-1"] });
    await fleet.fake.pass(100);
    const doing = [fleet.part("worker-1")?.doing, fleet.part("worker-2")?.doing];
    expect(doing).toEqual(["t.1 (x)", ""]); // which `viv down` waits for
    expect(fleet.child("worker-1").asked).toBe(1);
    expect(fleet.child("server").asked).toBe(0);
    fleet.child("worker-2").end({});
    await settled();
    expect(fleet.child("server").asked).toBe(0);
    fleet.child("worker-1").end({});
    await settled();
    expect(fleet.child("server").asked).toBe(1);
    fleet.child("server").end({});
    await over;
    expect(fleet.last).toMatchObject({ state: "stopped", parts: [] });
    expect(fleet.fake.children).toHaveLength(3);
  });

  it("asks again at the second request", async () => {
    const fleet = new Fleet();
    const { stop, stopNow, over } = await fleet.start();
    void stop();
    void stopNow();
    await settled();
    const [one, two] = fleet.fake.children;
    expect([one?.asked, two?.asked]).toEqual([2, 2]);
    one?.end({});
    two?.end({});
    await over;
  });

  it("at the second request does not wait for a server that hangs", async () => {
    const fleet = new Fleet();
    const { stop, stopNow } = await fleet.start({ server: "", hasRoutes: false });
    void stop();
    await settled();
    void stopNow();
    await settled();
    expect(fleet.child("server").asked).toBe(2);
  });

  it("that comes while it ends what was left starts nothing", async () => {
    const fleet = new Fleet();
    await fleet.start({ server: "" });
    await fleet.fake.pass(100);
    const started = fleet.fake.children.length;
    fleet.events.length = 0;
    let isEnded = () => {};
    fleet.host.endProcess = () => new Promise((resolve) => (isEnded = () => resolve(true)));
    const { stop, over } = await fleet.start({ server: "" });
    void stop();
    await settled();
    isEnded();
    await over;
    expect(fleet.fake.children).toHaveLength(started);
    expect(fleet.last).toMatchObject({ state: "stopped" });
  });

  it("by itself, when the run is gone: it is not made anew", async () => {
    const fleet = new Fleet();
    const { over } = await fleet.start();
    fleet.isOurs = fleet.hasRun = false;
    fleet.last = null;
    fleet.child("worker-1").says(READY);
    fleet.host.files.take = async () => {
      throw new Error("it would make the folder");
    };
    await fleet.fake.pass(5_100);
    expect(fleet.events.at(-2)).toMatchObject({
      kind: "trouble",
      message: expect.stringContaining("is gone"),
    });
    for (const child of fleet.fake.children) child.end({});
    await expect(over).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(fleet.last).toBeNull();
  });
});

it("goes on when its lock is gone and cannot be made anew at once", async () => {
  const fleet = new Fleet();
  const { take } = fleet.host.files;
  await fleet.start();
  fleet.isOurs = false;
  fleet.host.files.take = async () => {
    throw new Error("the disk is full");
  };
  await fleet.fake.pass(5_100);
  expect(fleet.events).toContainEqual({ kind: "trouble", message: "the disk is full" });
  fleet.host.files.take = take;
  fleet.isTaken = true;
  expect(fleet.last).toMatchObject({ state: "starting" });
  await fleet.fake.pass(5_100);
  expect(fleet.last).toMatchObject({ state: "stopping" });
});

it("goes on when its surroundings cannot be read at the moment at which a part is parked", async () => {
  const fleet = new Fleet();
  await fleet.start();
  fleet.host.facts = async () => {
    throw new Error("the crew's file is gone");
  };
  fleet.child("worker-1").fail("USAGE", "no such flag", 2);
  await settled();
  await fleet.fake.pass(100);
  expect(fleet.events).toContainEqual({ kind: "trouble", message: "the crew's file is gone" });
  expect(fleet.states()).toMatchObject({ "worker-2": "starting" });
});

describe("a second start", () => {
  it("is refused with the pid of the first", async () => {
    const first = new Fleet();
    await first.start();
    first.isTaken = true;
    const service = fleetService(first.host, toml(), () => {});
    await expect(service.run()).rejects.toThrow(`already: pid ${first.last?.pid}`);
    const next = fleetService(first.host, toml(), () => {});
    first.last = first.last && { ...first.last, state: "stopping", since: "T" };
    await expect(next.run()).rejects.toThrow("has been stopping since T");
  });

  it("after a kill ends a server, and names a worker at its task", async () => {
    const fleet = new Fleet();
    await fleet.start({ server: "" });
    await fleet.fake.pass(100);
    const pid = (name: string) => fleet.part(name)?.process?.pid;
    const [server, worker] = [pid("server"), pid("worker-1")];
    fleet.fake.world.endProcess(pid("worker-2") ?? 0);
    fleet.events.length = 0;
    await fleet.start({ server: "" });
    expect(fleet.ended).toEqual([server]);
    expect(fleet.events.slice(0, 2)).toEqual([
      { kind: "leftover", part: "server", pid: server, survivors: [] },
      { kind: "lingers", part: "worker-1", pid: worker },
    ]);
    // The one after that knows of it too, until it is gone.
    const named = () => fleet.last?.left?.map((one) => [one.name, one.process?.pid]);
    expect(named()).toEqual([["worker-1", worker]]);
    for (const { process } of fleet.last?.parts ?? []) {
      if (process !== null) fleet.fake.world.endProcess(process.pid);
    }
    fleet.events.length = 0;
    await fleet.start();
    expect(fleet.events[0]).toEqual({ kind: "lingers", part: "worker-1", pid: worker });
    fleet.fake.world.endProcess(worker ?? 0);
    fleet.child("worker-1").says(READY);
    await fleet.fake.pass(100);
    expect(named()).toEqual([]);
  });
});
