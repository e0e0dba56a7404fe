import { describe, expect, it } from "vitest";
import { FakeUpHost, settled } from "../../test/support/up-host.ts";
import { type AgentsConfig, parseAgents } from "./agents.ts";
import type { UpEvent } from "./up-ports.ts";
import { upService } from "./up-service.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const SPECIES = `
[service]
pit = "./pit"
[agents.keeper]
every = "5m"
run = "./keeper.sh"
handler = "./keeper.sh"
[agents.snake-1]
handler = "./snake.sh"
[agents.snake-2]
[agents.cleanup]
`;

async function start(text = SPECIES, drain = false, fake = new FakeUpHost()) {
  const config: AgentsConfig = await parseAgents(text, "/farm/agents.toml");
  const events: UpEvent[] = [];
  const around = { viv: ["node", "viv"], env: { PATH: "/bin" }, handing: () => ({}), drain };
  const service = upService(config, around, fake.host, (event) => events.push(event));
  let isOver = false;
  const over = service.run().finally(() => {
    isOver = true;
  });
  over.catch(() => {}); // tests that await it get the error
  await settled();
  const told = (kind: UpEvent["kind"]) => events.filter((event) => event.kind === kind);
  return { fake, service, events, told, over, isOver: () => isOver };
}

describe("an agent that is up", () => {
  it("has a process for its worker, and a run for its interval", async () => {
    const { fake } = await start();
    expect(fake.child("snake-1").command).toMatchObject({
      argv: [
        ...["node", "viv", "work", "--run=/farm/pit", "--worker-id=snake-1"],
        ...["--handler=/farm/snake.sh", "--until-stdin-closes", "--json"],
      ],
      cwd: "/farm",
      env: { PATH: "/bin", VIV_RUN: "/farm/pit", VIV_AGENT: "snake-1" },
    });
    expect(fake.child("keeper").command.argv).toContain("--types=keeper");
    expect(fake.child("snake-2").command.argv.join(" ")).not.toContain("--handler");
    expect(fake.runs.map(({ command }) => [command.argv, command.cwd, command.timeoutMs])).toEqual([
      [["/farm/keeper.sh"], "/farm/pit", 15 * MINUTE],
      [
        [
          ...["node", "viv", "pit", "sweep", "--run=/farm/pit"],
          ...["--stale-after=1800", "--keep-logs=604800s"],
        ],
        "/farm/pit",
        15 * MINUTE,
      ],
    ]);
    expect(fake.files.service()).toMatchObject({ state: "working", pid: fake.machine.self().pid });
  });

  it("has the state that its worker reports", async () => {
    const { fake } = await start();
    const snake = fake.child("snake-1");
    const states = [fake.state("snake-1").state];
    const held = { kind: "held", reasons: ["the account is closed"] };
    for (const event of [
      { kind: "started" },
      { kind: "claimed" },
      held,
      { kind: "ended" },
      { kind: "held", reasons: [] },
    ]) {
      snake.says(event);
      states.push(fake.state("snake-1").state);
    }
    expect(states).toEqual(["starting", "idle", "working", "working", "paused", "idle"]);
    snake.says({ kind: "trouble", message: "the disk is full" });
    expect(fake.state("snake-1")).toMatchObject({ state: "idle", note: "the disk is full" });
  });

  it("works while its run is under way, whatever its worker does", async () => {
    const { fake } = await start();
    fake.child("keeper").says({ kind: "started" });
    expect(fake.state("keeper")).toMatchObject({ state: "working", run: { claim: "mark-0" } });
    fake.runs[0]?.end({});
    await settled();
    expect(fake.state("keeper")).toMatchObject({ state: "idle", run: null, last_exit: 0 });
  });

  it("goes on when its file cannot be written", async () => {
    const { fake, told } = await start();
    fake.files.isFull = true;
    fake.child("snake-1").says({ kind: "claimed" });
    expect(told("trouble")).toHaveLength(1);
    fake.files.isFull = false;
    fake.child("snake-1").says({ kind: "ended" });
    expect(fake.state("snake-1").state).toBe("idle");
  });
});

describe("a worker that dies", () => {
  it("is started again after its pause, and no other is", async () => {
    const { fake, events } = await start();
    fake.child("snake-1").says({ kind: "started" });
    fake.child("snake-1").end({ exit: null, signal: "SIGKILL" });
    await settled();
    expect(fake.state("snake-1")).toMatchObject({
      ...{ state: "resting", pid: null, last_exit: "SIGKILL", note: "SIGKILL", restarts: 1 },
    });
    await fake.pass(999);
    expect(fake.countOf("snake-1")).toBe(1);
    await fake.pass(1);
    expect(fake.countOf("snake-1")).toBe(2);
    expect(fake.countOf("snake-2")).toBe(1);
    expect(events.slice(-3)).toMatchObject([
      { kind: "ended", name: "snake-1", exit: "SIGKILL" },
      { kind: "restarts", name: "snake-1", after_ms: 1_000 },
      { kind: "started", name: "snake-1", pid: fake.child("snake-1").process?.pid },
    ]);
  });

  it("is parked when it keeps dying early, and the others live on", async () => {
    const { fake, told } = await start();
    for (let i = 0; i < 5; i++) {
      fake.child("snake-1").end({ exit: 1, lastWords: "oh no\n" });
      await fake.pass(MINUTE);
    }
    expect(fake.countOf("snake-1")).toBe(5);
    expect(fake.state("snake-1")).toMatchObject({
      state: "parked",
      note: "it died 5 times in a row within a minute of its start (exit 1: oh no)",
    });
    expect(told("parked")).toHaveLength(1);
    await fake.pass(100 * MINUTE);
    expect(fake.countOf("snake-1")).toBe(5);
    expect(fake.state("snake-2").state).toBe("starting");
  });

  it("is parked at once when it cannot work as it is configured", async () => {
    const { fake } = await start();
    fake.child("snake-1").fail("USAGE", "there is no program x.", 2);
    await fake.pass(MINUTE);
    expect(fake.countOf("snake-1")).toBe(1);
    expect(fake.state("snake-1").note).toContain("there is no program x.");
  });

  it("is not parked for a refusal after it has worked: a file is being edited", async () => {
    const { fake } = await start();
    fake.child("snake-1").says({ kind: "started" });
    fake.child("snake-1").end({ exit: 1 });
    await fake.pass(SECOND);
    fake.child("snake-1").fail("INVALID", "viv.toml:3: …", 2);
    await fake.pass(2 * SECOND);
    expect(fake.countOf("snake-1")).toBe(3);
  });

  it("waits for its name while the one before has not let go of it", async () => {
    const { fake, events } = await start();
    const before = events.length;
    for (let i = 0; i < 10; i++) {
      fake.child("snake-1").fail("WORKER_TAKEN", "the name belongs to a live worker", 4);
      await settled();
      expect(fake.state("snake-1")).toMatchObject({
        ...{ state: "resting", restarts: 0, note: "the name belongs to a live worker" },
      });
      await fake.pass(2 * SECOND);
    }
    expect(fake.countOf("snake-1")).toBe(11);
    fake.child("snake-1").says({ kind: "started" });
    expect(fake.state("snake-1")).toMatchObject({ state: "idle", note: "" });
    expect(events.slice(before)).toMatchObject([
      { kind: "waits", name: "snake-1" },
      { kind: "started", name: "snake-1" },
    ]);
  });
});

describe("a run at an interval", () => {
  const CLOCK = '[service]\npit = "p"\n[agents.clock]\nrun = "tick"\nevery = "1m"';

  it("runs at once, and then in each interval", async () => {
    const { fake, told } = await start(CLOCK);
    const begin = fake.world.clock.now();
    expect(fake.state("clock")).toMatchObject({ state: "working", pid: fake.runs[0]?.ref.pid });
    await fake.pass(10 * SECOND);
    fake.runs[0]?.end({ exit: 3, tail: "first\nlast\n" });
    await settled();
    expect(fake.state("clock")).toMatchObject({
      state: "resting",
      pid: null,
      last_exit: 3,
      note: "its run failed: exit 3: last",
      last_run: new Date(begin).toISOString(),
      next_run: new Date(begin + MINUTE).toISOString(),
    });
    await fake.pass(49 * SECOND);
    expect(fake.runs).toHaveLength(1);
    await fake.pass(SECOND);
    expect(fake.runs).toHaveLength(2);
    fake.runs[1]?.end({});
    await settled();
    expect(fake.state("clock").note).toBe("");
    expect(told("ran")).toHaveLength(2);
  });

  it("never runs twice at a time", async () => {
    const { fake } = await start(CLOCK);
    await fake.pass(90 * SECOND);
    expect(fake.runs).toHaveLength(1);
    fake.runs[0]?.end({ cause: "timed_out", exit: null });
    await fake.pass(29 * SECOND);
    expect(fake.runs).toHaveLength(1);
    expect(fake.state("clock").note).toBe("its run was ended after its timeout");
    await fake.pass(SECOND);
    expect(fake.runs).toHaveLength(2);
  });
});

describe("stopping", () => {
  it("asks every worker once, ends runs, waits for all, and reports it", async () => {
    const { fake, service, told, isOver, over } = await start();
    fake.child("snake-1").says({ kind: "claimed" });
    fake.runs[1]?.end({});
    await settled();
    void service.stop();
    void service.stop();
    await settled();
    expect(fake.files.service()?.state).toBe("stopping");
    expect(fake.children.map(({ asked }) => asked)).toEqual([1, 1, 1]);
    expect(told("stopping")).toEqual([{ kind: "stopping", working: ["keeper", "snake-1"] }]);
    for (const name of ["keeper", "snake-2"]) fake.child(name).end({});
    await fake.pass(60 * MINUTE);
    expect(isOver()).toBe(false);
    expect(fake.child("snake-1").isKilled).toBe(false);
    fake.child("snake-1").end({});
    await over;
    const states = ["keeper", "snake-1", "snake-2", "cleanup"].map((one) => fake.state(one).state);
    expect(states).toEqual(["stopped", "stopped", "stopped", "stopped"]);
    expect(fake.files.service()?.state).toBe("stopped");
    expect(fake.runs).toHaveLength(2);
  });

  it("at once asks a second time, and kills a worker that goes on", async () => {
    const { fake, service, over } = await start();
    void service.stop();
    void service.stopNow();
    await settled();
    expect(fake.child("snake-1").asked).toBe(2);
    await fake.pass(30 * SECOND);
    expect(fake.child("snake-1").isKilled).toBe(true);
    await over;
  });

  it("cancels pending restarts", async () => {
    const { fake, service, over } = await start();
    fake.child("snake-1").end({ exit: 1 });
    await settled();
    void service.stop();
    for (const name of ["keeper", "snake-2"]) fake.child(name).end({});
    await over;
    expect(fake.pending).toBe(0);
    expect(fake.countOf("snake-1")).toBe(1);
    expect(fake.state("snake-1").state).toBe("stopped");
  });

  it("leaves parked agents parked", async () => {
    const { fake, service, over } = await start();
    fake.child("snake-1").fail("USAGE", "no", 2);
    await settled();
    void service.stop();
    for (const name of ["keeper", "snake-2"]) fake.child(name).end({});
    await over;
    expect(fake.state("snake-1").state).toBe("parked");
  });
});

describe("draining", () => {
  it("ends when all have ended and found nothing since the others worked", async () => {
    const { fake, isOver, over, told } = await start(SPECIES, true);
    expect(fake.child("snake-1").command.argv).toContain("--drain");
    fake.child("keeper").end({});
    fake.child("snake-2").end({});
    await settled();
    expect(fake.state("snake-2").state).toBe("ended");
    fake.child("snake-1").says({ kind: "claimed" });
    fake.child("snake-1").end({});
    await settled();
    // It may have tossed something for the keeper.
    expect(["keeper", "snake-1", "snake-2"].map((one) => fake.countOf(one))).toEqual([2, 2, 2]);
    expect(isOver()).toBe(false);
    for (const name of ["keeper", "snake-1", "snake-2"]) fake.child(name).end({});
    await over;
    expect(fake.files.service()?.state).toBe("ended");
    expect(told("ended")).not.toContainEqual(expect.objectContaining({ note: "exit 0" }));
    expect(fake.state("snake-1").state).toBe("ended");
    expect(fake.state("cleanup").state).toBe("stopped");
  });

  it("does not wait for parked agents", async () => {
    const { fake, over } = await start(SPECIES, true);
    fake.child("snake-1").fail("USAGE", "no", 2);
    for (const name of ["keeper", "snake-2"]) fake.child(name).end({});
    await over;
    expect(fake.state("snake-1").state).toBe("parked");
  });
});

describe("taking a pit over", () => {
  it("is refused, and names the holder", async () => {
    const fake = new FakeUpHost();
    const first = await start(SPECIES, false, fake);
    fake.files.isTaken = true;
    const second = start(SPECIES, false, fake).then(({ over }) => over);
    await expect(second).rejects.toThrow(
      `viv up runs there already: pid ${fake.machine.self().pid} on fake`,
    );
    expect(fake.countOf("snake-1")).toBe(1);
    expect(first.fake.files.service()?.state).toBe("working");
  });

  it("ends runs of the one before, and forgets agents that are no more", async () => {
    const fake = new FakeUpHost();
    await start(SPECIES, false, fake);
    const pids = fake.runs.map(({ ref }) => ref.pid);
    const smaller = `[service]\npit = "./pit"\n[agents.snake-1]`;
    const next = await start(smaller, false, fake);
    expect(fake.endedTrees).toEqual(pids);
    expect(next.told("leftover")).toMatchObject([{ name: "keeper" }, { name: "cleanup" }]);
    expect(fake.files.names()).toEqual(["snake-1"]);
  });
});
