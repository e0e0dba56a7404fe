import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PsOutput } from "../../src/fleet/fleet-operations.ts";
import type { SpeciesOutput } from "../../src/fleet/operations.ts";
import { localMachine } from "../../src/platform/processes/machine.ts";
import { killTree } from "../../src/platform/processes/process-tree.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { keepersOf, killWithKeeper, pidOf } from "../support/processes.ts";
import { Running, viv } from "./support.ts";

/** `viv up` and `viv status --config`, with real processes. */

const machine = localMachine();
const isAlive = (pid: number) => existsSync(`/proc/${pid}`) && !isZombie(pid);

function isZombie(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

const AGENTS = `[service]
pit = "./pit"

[agents.keeper]
every = "5m"
run = "./keeper-run.sh"
handler = "./handle.sh"

[agents.planner]
handler = "./handle.sh"

[agents.snake-1]
handler = "./handle.sh"
[agents.snake-2]
handler = "./handle.sh"
[agents.snake-3]
handler = "./handle.sh"

[agents.cleanup]
every = "1m"
`;
const NAMES = ["keeper", "planner", "snake-1", "snake-2", "snake-3", "cleanup"];
const WORKERS = NAMES.slice(0, 5);

/** A handler that reports its start, and ends when the file `go` is there. */
const HANDLE = `#!/bin/sh
here=$(dirname "$0")
echo "$VIV_TASK_ID $VIV_WORKER_ID" >>"$here/begun"
trap 'exit 1' TERM
while [ ! -e "$here/go" ]; do sleep 0.05; done
echo done >"$VIV_ARTIFACT_PATH"
`;

function farm(agents = AGENTS) {
  const folder = newFolder("viv-up-");
  const pit = join(folder, "pit");
  const script = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  for (const name of ["food", "claimed", "done", "scraps", "waste"]) {
    mkdirSync(join(pit, name), { recursive: true });
  }
  writeFileSync(join(folder, "agents.toml"), agents);
  script("handle.sh", HANDLE);
  script("keeper-run.sh", '#!/bin/sh\necho "$VIV_AGENT $VIV_RUN $PWD" >>"$VIV_RUN/../ran"\n');
  const env = { VIV_STATE: join(folder, "state") };
  const status = (): SpeciesOutput => {
    const said = viv(["status", "--config", "agents.toml", "--json"], { cwd: folder, env });
    expect(said).toMatchObject({ status: 0, stderr: "" });
    return JSON.parse(said.stdout) as SpeciesOutput;
  };
  const agent = (name: string) => {
    const found = status().agents.find((one) => one.name === name);
    if (!found) throw new Error(`${name} is not listed`);
    return found;
  };
  const states = () => Object.fromEntries(status().agents.map((one) => [one.name, one.state]));
  const up = (...args: string[]) =>
    new Running(["up", "-c", "agents.toml", ...args], { cwd: folder, env });
  const say = (args: readonly string[]) => viv(args, { cwd: folder, env });
  const feed = (id: string, type = "food") => {
    const said = say(["enqueue", "--run", "pit", "--type", type, "--id", id]);
    expect(said).toMatchObject({ status: 0 });
  };
  const go = () => writeFileSync(join(folder, "go"), "");
  return { folder, pit, script, status, agent, states, up, say, feed, go };
}

type Farm = ReturnType<typeof farm>;

async function untilReady({ states }: Farm, workers = WORKERS): Promise<void> {
  await until("all wait for food", () => {
    const now = states();
    return workers.every((name) => now[name] === "idle");
  });
}

describe("a whole species", () => {
  it("is listed with its states before, while and after it is up, and ends in order", async () => {
    const here = farm();
    expect(here.status().service).toMatchObject({ state: "not running", pid: null });
    expect(new Set(Object.values(here.states()))).toEqual(new Set(["not running"]));

    const up = here.up();
    await untilReady(here);
    await until("the sweep has been", () => here.agent("cleanup").state === "resting");
    const { service, agents, pit } = here.status();
    expect(pit).toBe(here.pit);
    expect(service).toMatchObject({ state: "working", pid: up.pid });
    expect(agents.map(({ name, species }) => [name, species])).toEqual([
      ["keeper", "keeper"],
      ["planner", "planner"],
      ["snake-1", "snake"],
      ["snake-2", "snake"],
      ["snake-3", "snake"],
      ["cleanup", "cleanup"],
    ]);
    for (const { name, pid, restarts } of agents) {
      expect(restarts).toBe(0);
      if (name !== "cleanup") expect(isAlive(pid ?? 0), name).toBe(true);
    }
    const [keeper] = agents;
    expect(Date.parse(keeper?.next_run ?? "") - Date.parse(keeper?.last_run ?? "")).toBeGreaterThan(
      290_000,
    );
    expect(readFileSync(join(here.folder, "ran"), "utf8")).toBe(`keeper ${pit} ${pit}\n`);
    expect(agents[5]).toMatchObject({ last_exit: 0, note: "" });

    const text = here.say(["status", "--config", "agents.toml"]).stdout;
    expect(text).toMatch(/^service +working, pid \d+/);
    for (const name of NAMES) expect(text).toMatch(new RegExp(`^${name} +\\w+`, "m"));

    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0, stderr: "" });
    for (const { pid } of agents) if (pid) expect(isAlive(pid)).toBe(false);
    expect(here.status().service.state).toBe("stopped");
    expect(here.states()).toEqual(Object.fromEntries(NAMES.map((name) => [name, "stopped"])));
  });

  it("shows the food of each snake, and lets them finish when it is stopped", async () => {
    const here = farm();
    const up = here.up("--json");
    await untilReady(here);
    here.feed("food-1-mouse");
    await until("somebody has it", () => existsSync(join(here.folder, "begun")));
    const who = here.status().agents.filter(({ digesting }) => digesting.length > 0);
    expect(who).toMatchObject([{ state: "working", digesting: ["food-1-mouse"] }]);
    up.child.kill("SIGTERM");
    await up.says('"stopping"');
    expect(here.status().service.state).toBe("stopping");
    here.go();
    const { status, stdout } = await up.end();
    expect(status).toBe(0);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.every(({ at }) => typeof at === "string")).toBe(true);
    expect(events[0]).toMatchObject({ kind: "up", pid: up.pid, agents: NAMES });
    expect(events.find(({ kind }) => kind === "stopping")).toMatchObject({
      working: [who[0]?.name],
    });
    expect(events.at(-1)).toMatchObject({ kind: "finished" });
    const { counts } = JSON.parse(here.say(["ls", "--run", "pit", "--json"]).stdout);
    expect(counts).toMatchObject({ done: 1, claimed: 0, pending: 0 });
  });

  it("leaves keeper and planner food to the keeper and the planner", async () => {
    const here = farm();
    here.go();
    here.feed("food-1-mouse");
    here.feed("food-2-feud", "keeper");
    here.feed("food-3-cow", "planner");
    expect(await here.up("--drain").end()).toMatchObject({ status: 0, stderr: "" });
    const begun = readFileSync(join(here.folder, "begun"), "utf8").trimEnd().split("\n").sort();
    expect(begun).toEqual([
      expect.stringMatching(/^food-1-mouse snake-[123]$/),
      "food-2-feud keeper",
      "food-3-cow planner",
    ]);
    expect(here.say(["doctor", "--run", "pit"])).toMatchObject({ status: 0 });
  });

  it("gives the food back at the second signal", async () => {
    const here = farm();
    const up = here.up();
    await untilReady(here);
    here.feed("food-1-mouse");
    await until("somebody has it", () => existsSync(join(here.folder, "begun")));
    up.child.kill("SIGINT");
    await up.says('"stopping"');
    up.child.kill("SIGINT");
    expect(await up.end()).toMatchObject({ status: 0, stderr: "" });
    const { counts } = JSON.parse(here.say(["ls", "--run", "pit", "--json"]).stdout);
    expect(counts).toMatchObject({ done: 0, claimed: 0, pending: 1 });
  });

  it("ends by itself with --drain, when all is eaten", async () => {
    const here = farm();
    here.go();
    for (const id of ["food-1-a", "food-2-b", "food-3-c"]) here.feed(id);
    const up = here.up("--drain");
    expect(await up.end()).toMatchObject({ status: 0, stderr: "" });
    const { counts } = JSON.parse(here.say(["ls", "--run", "pit", "--json"]).stdout);
    expect(counts).toMatchObject({ done: 3, claimed: 0, pending: 0 });
    expect(here.status().service.state).toBe("ended");
    expect(here.states()).toMatchObject({ "snake-1": "ended", cleanup: "stopped" });
  });
});

describe("kill -9", () => {
  it("of a snake: it is started again, and the others do not notice", async () => {
    const here = farm();
    const up = here.up();
    await untilReady(here);
    const before = here.status().agents;
    process.kill(pidOf(before[2]), "SIGKILL");
    await up.says(/"restarts".*"snake-1"/);
    await until("it is back", () => here.agent("snake-1").state === "idle");
    const after = here.status().agents;
    expect(after[2]).toMatchObject({ restarts: 1, last_exit: "SIGKILL" });
    expect(after[2]?.pid).not.toBe(before[2]?.pid);
    const rest = (list: typeof before) => WORKERS.map((_, i) => (i === 2 ? 0 : list[i]?.pid));
    expect(rest(after)).toEqual(rest(before));
    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0 });
  });

  it("of the service: its workers end, and the next one takes over", async () => {
    const here = farm();
    here.script("keeper-run.sh", '#!/bin/sh\necho $$ >>"$VIV_RUN/../ran"\nexec sleep 300\n');
    const up = here.up();
    await untilReady(here, WORKERS.slice(1));
    await until("the keeper runs", () => here.agent("keeper").state === "working");
    const state = JSON.parse(readFileSync(join(here.pit, ".viv/up/keeper.json"), "utf8"));
    onTestFinished(() => killTree(state.run).then(() => {}));
    const pids = here.status().agents.flatMap(({ pid }) => pid ?? []);
    expect(pids).toHaveLength(5);
    killWithKeeper(up.child);
    await up.end();
    await until("its workers are gone", () => !pids.some(isAlive));
    expect(here.status().service).toMatchObject({ state: "not running", pid: null });
    expect(new Set(Object.values(here.states()))).toEqual(new Set(["not running"]));
    // What would have ended the keeper's run was killed as well; the next service ends it.
    expect(machine.vitality(state.run)).toBe("alive");
    const next = here.up();
    await next.says('"leftover"');
    expect(machine.vitality(state.run)).toBe("gone");
    await untilReady(here, WORKERS.slice(1));
    expect(here.status().service.pid).toBe(next.pid);
    next.child.kill("SIGTERM");
    expect(await next.end()).toMatchObject({ status: 0 });
    const [, second = "0"] = readFileSync(join(here.folder, "ran"), "utf8").split("\n");
    expect(isAlive(Number(second))).toBe(false);
  });
});

it("lets a snake finish its food, though its service was killed and another is up", async () => {
  const here = farm();
  const up = here.up();
  await untilReady(here);
  here.feed("food-1-mouse");
  const begun = join(here.folder, "begun");
  await until("somebody has it", () => existsSync(begun));
  up.child.kill("SIGKILL");
  await up.end();
  // It is named, by status and by doctor, and at the next start.
  const busy = readFileSync(begun, "utf8").trim().split(" ")[1] ?? "";
  await until("the idle ones are gone", () => {
    const left = here.status().agents.filter(({ state }) => state === "left over");
    return left.length === 1 && left[0]?.name === busy;
  });
  const { pid, digesting } = here.agent(busy);
  expect([isAlive(pid ?? 0), digesting]).toEqual([true, ["food-1-mouse"]]);
  const doctor = here.say(["doctor", "--run", "pit"]).stdout;
  expect(doctor).toContain(`${busy} (pid ${pid}) still runs, though its viv up is gone`);
  const next = here.up();
  await next.says(`"name":"${busy}","pid":${pid},"digesting":["food-1-mouse"]`);
  await next.says(/"waits".*"snake-[123]".* belongs to a live worker/);
  here.go();
  await untilReady(here);
  expect(readFileSync(begun, "utf8")).toMatch(/^food-1-mouse snake-[123]\n$/);
  next.child.kill("SIGTERM");
  expect(await next.end()).toMatchObject({ status: 0, stderr: "" });
  const { counts } = JSON.parse(here.say(["ls", "--run", "pit", "--json"]).stdout);
  expect(counts).toMatchObject({ done: 1, claimed: 0, pending: 0 });
});

describe("an error is reported", () => {
  it("a second service, with the pid of the first", async () => {
    const here = farm();
    const up = here.up();
    await untilReady(here);
    const second = here.say(["up"]);
    expect(second.status).toBe(4);
    expect(second.stderr).toContain(`viv up runs there already: pid ${up.pid}`);
    expect(here.status().service).toMatchObject({ state: "working", pid: up.pid });
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("a handler that is not there: its snake is parked, and the others work", async () => {
    const here = farm(
      AGENTS.replace('snake-2]\nhandler = "./handle', 'snake-2]\nhandler = "./hand'),
    );
    const up = here.up();
    await up.says(/"parked".*"snake-2".*there is no program .*hand\.sh/);
    await untilReady(here, ["keeper", "planner", "snake-1", "snake-3"]);
    expect(here.agent("snake-2")).toMatchObject({ state: "parked", pid: null, last_exit: 2 });
    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0 });
    expect(here.agent("snake-2").state).toBe("parked");
  });

  it("a run that is not there, in the status and at each time it is due", async () => {
    const here = farm(AGENTS.replace("./keeper-run.sh", "./nowhere.sh"));
    const up = here.up();
    await up.says(/"keeper".*nowhere\.sh/);
    await untilReady(here);
    expect(here.agent("keeper").note).toContain("nowhere.sh");
    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0 });
  });

  it("a typo, with its line, by both commands", () => {
    const here = farm(
      AGENTS.replace('every = "1m"', 'evry = "1m"').replace("[service]", "[sevice]"),
    );
    for (const args of [["up"], ["status", "-c", "agents.toml"]]) {
      const { status, stderr } = here.say(args);
      expect(status).toBe(2);
      expect(stderr).toContain('agents.toml:1: unknown table "sevice"; did you mean "service"?');
      expect(stderr).toContain('unknown key "evry" in [agents.cleanup]; did you mean "every"?');
      expect(stderr.trimEnd().split("\n")).toHaveLength(2);
    }
  });

  it("a pit that is not there, and how to make it", () => {
    const here = farm(AGENTS.replace("./pit", "./pond"));
    const { status, stderr } = here.say(["up"]);
    expect(status).toBe(3);
    expect(stderr).toContain("viv pit init ./pond");
  });

  it("a file that is not there", () => {
    const { status, stderr } = farm().say(["up", "-c", "missing.toml"]);
    expect(status).toBe(2);
    expect(stderr).toContain("missing.toml; write it, or name it with");
  });

  it("flags of a run beside --config", () => {
    const { status, stderr } = farm().say(["status", "-c", "agents.toml", "--risk", "x"]);
    expect(status).toBe(2);
    expect(stderr).toContain("--risk is about a run");
  });
});

it("viv work --until-stdin-closes ends with its stdin", async () => {
  const here = farm();
  const args = ["work", "--run", "pit", "--handler", "./handle.sh", "--until-stdin-closes"];
  const worker = new Running(args, { cwd: here.folder });
  await worker.says("waits for work");
  worker.child.stdin?.end();
  expect(await worker.end()).toMatchObject({ status: 0, stderr: "" });
  expect(here.say(["work", "--help"]).stdout).not.toContain("stdin");
});

it("a snake that dies while viv.toml is bad comes back with the last good routes", async () => {
  const here = farm('[service]\npit = "./pit"\n[agents.snake-1]\n');
  const config = join(here.folder, "viv.toml");
  writeFileSync(config, '[handlers.default]\nhandler = "./handle.sh"\n');
  here.go();
  const up = here.up();
  await untilReady(here, ["snake-1"]);
  writeFileSync(config, "nonsense = = [");
  const snake = () => {
    const file = join(here.pit, ".viv/up/snake-1.json");
    return JSON.parse(readFileSync(file, "utf8")) as { pid: number; state: string };
  };
  const before = pidOf(snake());
  process.kill(before, "SIGKILL");
  await until("it is back", () => snake().state === "idle" && snake().pid !== before);
  writeFileSync(join(here.pit, "food/1-x.md"), "eat\n");
  await until("it is eaten", () => existsSync(join(here.pit, "done/1-x.md")));
  up.child.kill("SIGTERM");
  expect((await up.end()).status).toBe(0);
});

describe("viv ps and viv down", () => {
  const ONE = '[service]\npit = "./pit"\n[agents.snake-1]\nhandler = "./handle.sh"\n';
  const seen = ({ say }: Farm, ...args: string[]) =>
    JSON.parse(say(["ps", "--json", ...args]).stdout) as PsOutput;

  it("see the agents of the agents.toml here, of -c FILE, of the pit one stands in; down ends them", async () => {
    const here = farm(ONE);
    expect(here.say(["ps"])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("viv up"),
    });
    expect(here.say(["down"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("no viv up"),
    });
    const up = here.up();
    await untilReady(here, ["snake-1"]);
    const expected = {
      ...{
        of: "agents",
        running: true,
        state: "working",
        pid: up.pid,
        run_dir: here.pit,
        others: [],
      },
      parts: [{ name: "snake-1", kind: "agent", state: "idle" }],
    };
    expect(seen(here)).toMatchObject(expected);
    expect(seen(here, "-c", "agents.toml")).toMatchObject(expected);
    expect(seen(here, "--run", "pit")).toMatchObject(expected);
    const elsewhere = viv(["ps", "--json", "-c", join(here.folder, "agents.toml")], { cwd: "/" });
    expect(JSON.parse(elsewhere.stdout)).toMatchObject(expected);
    expect(here.say(["ps"]).stdout).toContain(`pid ${up.pid}`);

    // A file with mistakes, or none, hides nothing.
    writeFileSync(join(here.folder, "agents.toml"), "nonsense = = [");
    expect(seen(here)).toMatchObject({ running: true, pid: up.pid });
    expect(seen(here, "-c", "agents.toml")).toMatchObject({ running: true, pid: up.pid });
    writeFileSync(join(here.folder, "agents.toml"), ONE);

    here.feed("f.1");
    await until("it digests", () => seen(here).parts[0]?.doing === "digesting f.1");
    const down = new Running(["down"], {
      ...{ cwd: here.folder, env: { VIV_STATE: join(here.folder, "state") } },
    });
    await down.says("waits for snake-1: digesting f.1");
    here.go();
    expect(await down.end()).toMatchObject({
      ...{ status: 0, stdout: expect.stringContaining(`pid ${up.pid} is gone`) },
    });
    expect((await up.end()).status).toBe(0);
    expect(here.say(["ps"]).status).toBe(1);
  });

  /** A `viv up` that was killed while its agent digested f.1. */
  async function killedAtItsFood() {
    const here = farm(ONE);
    const first = here.up();
    await untilReady(here, ["snake-1"]);
    here.feed("f.1");
    await until("it digests", () => seen(here).parts[0]?.doing === "digesting f.1");
    const pid = pidOf(here.agent("snake-1"));
    first.child.kill("SIGKILL");
    await first.end();
    return { here, first, pid };
  }

  it("after kill -9: a busy worker is left over, the next up is seen, down --now gives food back", async () => {
    const { here, first, pid } = await killedAtItsFood();
    expect(seen(here)).toMatchObject({
      ...{ running: false, note: expect.stringContaining(`pid ${first.pid} is gone`) },
      parts: [{ name: "snake-1", state: "left over", pid, doing: "digesting f.1" }],
    });
    expect(here.say(["ps"]).status).toBe(1);
    for (const one of [...keepersOf(pid), pid]) process.kill(one, "SIGKILL");

    const started = here.say(["up", "-c", "agents.toml", "--detach"]);
    expect(started).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("in the background"),
    });
    const second = seen(here);
    expect(second).toMatchObject({ of: "agents", running: true });
    expect(started.stdout).toContain(`pid ${second.pid}`);
    onTestFinished(() => void here.say(["down", "--now"]));
    const again = here.say(["up", "-c", "agents.toml", "--detach"]);
    expect(again).toMatchObject({
      status: 4,
      stderr: expect.stringContaining(`pid ${second.pid}`),
    });
    await until("it digests again", () => seen(here).parts[0]?.doing === "digesting f.1");
    expect(here.say(["down", "--now"])).toMatchObject({ status: 0 });
    expect(isAlive(second.pid ?? 0)).toBe(false);
    const { counts } = JSON.parse(here.say(["ls", "--run", "pit", "--json"]).stdout);
    expect(counts).toMatchObject({ pending: 1, claimed: 0 });
    expect(readFileSync(join(here.pit, ".viv/up/up.log"), "utf8")).toContain('"kind":"finished"');
  });

  it("after kill -9: what is left over is named beside the next one, and down --now stops both", async () => {
    const { here, pid } = await killedAtItsFood();
    const started = here.say(["up", "-c", "agents.toml", "--detach"]);
    expect(started.stdout).toContain(`snake-1 of an earlier viv up still runs, pid ${pid}`);
    expect(seen(here)).toMatchObject({
      running: true,
      parts: [
        { name: "snake-1", state: "resting" },
        { name: "snake-1", state: "left over", pid, doing: "digesting f.1" },
      ],
    });
    const found = `snake-1 (pid ${pid}) still runs, though its viv up is gone`;
    expect(here.say(["doctor", "--run", "pit"]).stdout).toContain(found);
    expect(here.say(["down", "--now"]).status).toBe(0);
    expect(isAlive(pid)).toBe(false);
    expect(seen(here)).toMatchObject({ running: false, parts: [] });
    const { counts } = JSON.parse(here.say(["ls", "--run", "pit", "--json"]).stdout);
    expect(counts).toMatchObject({ pending: 1, claimed: 0 });
  });

  it("show agents beside the fleet of another run, and stop both; a part of a fleet is refused", async () => {
    const here = farm(ONE);
    writeFileSync(join(here.folder, "viv.toml"), 'run = "run"\n');
    expect(here.say(["init"])).toMatchObject({ status: 0 });
    const agents = here.up();
    await untilReady(here, ["snake-1"]);
    expect(seen(here)).toMatchObject({ of: "agents", pid: agents.pid, others: [] });
    renameSync(join(here.folder, "agents.toml"), join(here.folder, "a.toml"));
    const fleet = new Running(["up", "--no-server"], {
      ...{ cwd: here.folder, env: { VIV_STATE: join(here.folder, "state") } },
    });
    await fleet.says('"ready"');
    renameSync(join(here.folder, "a.toml"), join(here.folder, "agents.toml"));
    expect(seen(here)).toMatchObject({
      ...{ of: "fleet", pid: fleet.pid, others: [{ of: "agents", pid: agents.pid }] },
    });
    expect(here.say(["down"]).status).toBe(0);
    expect([(await agents.end()).status, (await fleet.end()).status]).toEqual([0, 0]);

    const both = new Running(["up", "--no-server"], {
      ...{ cwd: here.folder, env: { VIV_STATE: join(here.folder, "state") } },
    });
    await both.says('"ready"');
    expect(seen(here)).toMatchObject({ of: "fleet", pid: both.pid, others: [] });
    expect(here.say(["down", "-c", "agents.toml"])).toMatchObject({
      ...{ status: 4, stderr: expect.stringContaining("a part of the viv up on") },
    });
    expect(here.say(["down"]).status).toBe(0);
    expect((await both.end()).status).toBe(0);
  });

  it("of a project in a folder below leave the agents above alone", async () => {
    const here = farm(ONE);
    const agents = here.up();
    await untilReady(here, ["snake-1"]);
    const inner = join(here.folder, "inner");
    mkdirSync(inner);
    writeFileSync(join(inner, "viv.toml"), 'run = "run"\n');
    const at = { cwd: inner, env: { VIV_STATE: join(here.folder, "state") } };
    const fleet = new Running(["up", "--no-server"], at);
    await fleet.says('"ready"');
    expect(JSON.parse(viv(["ps", "--json"], at).stdout)).toMatchObject({
      ...{ of: "fleet", pid: fleet.pid, others: [] },
    });
    expect(viv(["down"], at).status).toBe(0);
    expect((await fleet.end()).status).toBe(0);
    expect(seen(here)).toMatchObject({ of: "agents", running: true, pid: agents.pid });
    agents.child.kill("SIGTERM");
    expect((await agents.end()).status).toBe(0);
  });
});
