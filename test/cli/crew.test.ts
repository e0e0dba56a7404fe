import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { CrewFolder, eventsOf, isAlive } from "../support/crew-folder.ts";
import { until } from "../support/deadline.ts";
import { removeFolder } from "../support/folders.ts";
import { cli, Running, stripColors, viv } from "./support.ts";

/** `viv crew`, `viv keeper` and `viv up` without an agents.toml, with real processes. */

/** Says that it has begun, and ends when there is a file `go`. */
const WAITS = `echo "$VIV_AGENT" >>begun
echo reading the board
while [ ! -e go ]; do sleep 0.02; done
echo wrote it`;

const of = (running: Running, kind: string, name?: string) =>
  eventsOf(running).filter((one) => one.kind === kind && (name === undefined || one.name === name));

describe("viv crew up", () => {
  it("runs each member, with its prompt, and reports its outcome", async () => {
    const crew = new CrewFolder()
      .member(
        "moss",
        'cat >prompt; echo looked around; echo "NO-WORK: nothing for $VIV_AGENT"',
        ":INTERVAL: 15m\n",
      )
      .member("wren", "echo written; pwd >where", ":MODE: edit\n:WORKDIR: desk\n")
      .member("hale", "echo cannot >&2; exit 3");
    mkdirSync(join(crew.folder, "desk"));
    crew.write("wren.sh", "#!/bin/sh\npwd\n");
    writeFileSync(join(crew.folder, "desk/wren.sh"), "#!/bin/sh\npwd\n", { mode: 0o755 });
    crew.write("moss.org", "#+SHARED: laws.org\nYou are moss.\n");
    crew.write("laws.org", "Never invent a fact.\n");
    const up = crew.up();
    await until("all have run", () => of(up, "ran").length === 3);
    const ran = Object.fromEntries(of(up, "ran").map(({ name, ...rest }) => [name, rest]));
    expect(ran).toMatchObject({
      moss: { outcome: "no_work", note: "NO-WORK: nothing for moss" },
      wren: { outcome: "done", note: join(crew.folder, "desk") },
      hale: { outcome: "failed", note: expect.stringContaining("cannot") },
    });
    const prompt = readFileSync(join(crew.folder, "prompt"), "utf8");
    expect(prompt).toMatch(/^Never invent a fact\.\n[\s\S]*You are moss\.\n+MODE: plan\n/);
    await until("they wait", () => crew.status("hale").state === "backing_off");
    expect(crew.status("wren").state).toBe("waiting");
    expect(crew.status("moss")).toMatchObject({ state: "backing_off", streak: 1 });
    const minutesOf = (name: string) => {
      const { next_tick, last_run } = crew.status(name);
      return Math.round((Date.parse(next_tick ?? "") - Date.parse(last_run ?? "")) / 60_000);
    };
    expect(["moss", "wren", "hale"].map(minutesOf)).toEqual([30, 60, 120]);
    const ps = crew.json("crew", "ps");
    expect(ps).toMatchObject({ state: crew.state, supervisor: { running: true, pid: up.pid } });
    expect(ps.members.map(({ name }: { name: string }) => name)).toEqual(["moss", "wren", "hale"]);
    const text = stripColors(crew.viv("crew", "ps").stdout);
    expect(text).toMatch(/^up \(pid \d+\).*crew\.org\n/);
    expect(text).toMatch(/moss +backing off +\S+ ago +in \S+ +1 /);
    expect(readdirSync(join(crew.state, "runs"))).toHaveLength(3);
    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0, stderr: "" });
    expect(crew.json("crew", "ps").supervisor).toMatchObject({ running: false, pid: null });
    expect(crew.json("crew", "ps").members[0]).toMatchObject({ state: "not running", streak: 1 });
  });

  it("prints events for people", async () => {
    const crew = new CrewFolder().member("moss", "echo fine");
    crew.write();
    const up = crew.running("crew", "up", "crew.org", "--grace", "0s");
    await up.says(/moss done after \S+ s: fine/);
    expect(up.stdout).toMatch(/moss \(pid \d+\)\n.* moss ticks in 0 ?s?/);
    up.child.kill("SIGINT");
    expect((await up.end()).stdout).toMatch(/stopping\n.*all have ended\n$/);
  });

  it("shows a run that is under way, in a small file", async () => {
    const crew = new CrewFolder().member("moss", WAITS);
    const up = crew.up();
    await until("it thinks", () => {
      return (
        existsSync(join(crew.state, "status-moss.json")) && crew.status("moss").thought !== null
      );
    });
    const { run, ...status } = crew.status("moss");
    expect(status).toMatchObject({
      ...{ name: "moss", state: "running", thought: "reading the board", next_tick: null },
      ...{ engine: "exec", mode: "plan", outcome: null },
    });
    expect(run?.pid).toBeGreaterThan(1);
    expect(statSync(join(crew.state, "status-moss.json")).size).toBeLessThan(2_000);
    expect(crew.json("crew", "ps").members).toMatchObject([{ state: "running" }]);
    expect(stripColors(crew.viv("crew", "ps").stdout)).toContain("reading the board");
    crew.touch("go");
    await until("it has ended", () => of(up, "ran").length === 1);
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("is refused where one runs already, with its pid, whatever else is wrong", async () => {
    const crew = new CrewFolder().member("moss", WAITS);
    const up = crew.up("--port=0");
    await crew.hasLines("begun", 1);
    const { port } = crew.json("crew", "ps").supervisor;
    const second = crew.viv("crew", "up", "crew.org", "--port", String(port));
    expect(second.status).toBe(4);
    expect(second.stderr).toContain(`(pid ${up.pid})`);
    // Another state is another crew.
    const other = crew.running("crew", "up", "crew.org", "--state", "other", "--grace=0s");
    await crew.hasLines("begun", 2);
    for (const one of [up, other]) one.child.kill("SIGTERM");
    crew.touch("go");
    expect(await Promise.all([up.end(), other.end()])).toMatchObject([
      { status: 0 },
      { status: 0 },
    ]);
  });

  it("lets runs finish at the first signal, and ends them and all they started at the second", async () => {
    const crew = new CrewFolder().member(
      "moss",
      `trap '' TERM; echo $$ >>pids; setsid sleep 600 & echo $! >>pids; sh -c 'echo $$ >>pids; exec sleep 600' & ${WAITS}`,
    );
    const up = crew.up();
    await crew.hasLines("begun", 1);
    const pids = (await crew.hasLines("pids", 3)).map(Number);
    up.child.kill("SIGTERM");
    await up.says('"stopping"');
    expect(of(up, "stopping")).toMatchObject([{ running: ["moss"] }]);
    expect(pids.every(isAlive)).toBe(true);
    up.child.kill("SIGTERM");
    expect(await up.end()).toMatchObject({ status: 0 });
    expect(of(up, "ran")).toMatchObject([{ outcome: "killed", note: "stopped by hand" }]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(crew.status("moss")).toMatchObject({ state: "stopped", outcome: "killed", run: null });
  });

  it("lets two in at a time, and another number on request", async () => {
    const crew = new CrewFolder();
    for (const name of ["a", "b", "c", "d"]) crew.member(name, WAITS);
    const up = crew.up();
    expect((await crew.hasLines("begun", 2)).sort()).toEqual(["a", "b"]);
    await until("the others wait", () => crew.status("d").state === "queued");
    await until("the gate is shown", () => {
      const { crew: gate } = crew.json("gate", "--state", ".crew");
      return gate.queue.length === 2 && gate.max === 2 && gate.alive;
    });
    crew.json("gate", "--state", ".crew", "--max", "3");
    expect((await crew.hasLines("begun", 3))[2]).toBe("c");
    crew.touch("go");
    await until("all have run", () => of(up, "ran").length === 4);
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("shares the machine's gate with others", async () => {
    const crew = new CrewFolder().member("a", WAITS).member("b", WAITS);
    crew.json("gate", "--max", "1");
    const up = crew.up();
    await crew.hasLines("begun", 1);
    await until("the other waits", () => {
      return crew.json("gate").machine.queue.length === 1;
    });
    expect(crew.lines("begun")).toHaveLength(1);
    crew.touch("go");
    await until("both have run", () => of(up, "ran").length === 2);
    up.child.kill("SIGTERM");
    await up.end();
    expect(crew.json("gate").machine).toMatchObject({ holders: [], queue: [] });
  });

  it("runs RUN-IF first, and shows the saved ticks", async () => {
    const crew = new CrewFolder().member(
      "moss",
      "echo ran >>ran",
      ":INTERVAL: 50\n:RUN-IF: test -e news || { echo no news; exit 1; }\n",
    );
    const up = crew.up();
    await up.says('"saved"');
    await until("some are saved", () => crew.status("moss").saved >= 3);
    expect(of(up, "saved")).toMatchObject([{ name: "moss", saved: 1, note: "no news" }]);
    expect(existsSync(join(crew.folder, "ran"))).toBe(false);
    expect(existsSync(join(crew.state, "keeper-last-run-moss"))).toBe(false);
    expect(crew.json("crew", "ps").members[0].saved).toBeGreaterThanOrEqual(3);
    crew.touch("news");
    await crew.hasLines("ran", 1);
    const [{ meanwhile } = {}] = of(up, "due");
    expect(meanwhile).toBeGreaterThanOrEqual(3);
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("takes in a manifest that is edited, and goes on with one that is broken", async () => {
    const crew = new CrewFolder().member("a", "echo a >>ran", ":INTERVAL: 100\n");
    const up = crew.up();
    await crew.hasLines("ran", 2);
    crew.write("crew.org", "<<<<<<< HEAD\n* a\n=======\n");
    await up.says("cannot be used as it is now");
    const before = crew.lines("ran").length;
    await crew.hasLines("ran", before + 2);
    crew.member("b", "echo b >>ran-b", ":INTERVAL: 100\n").write();
    await crew.hasLines("ran-b", 2);
    expect(crew.json("crew", "ps").members.map(({ name }: { name: string }) => name)).toEqual([
      ...["a", "b"],
    ]);
    crew.without("a").write("crew.org.new");
    renameSync(join(crew.folder, "crew.org.new"), join(crew.folder, "crew.org"));
    await until("a is removed", () => of(up, "removed", "a").length === 1);
    await until("a is through", () => crew.status("a").state === "stopped");
    const ranA = crew.lines("ran").length;
    await crew.hasLines("ran-b", crew.lines("ran-b").length + 3);
    expect(crew.lines("ran")).toHaveLength(ranA);
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("is refused without a member that has a def", () => {
    const crew = new CrewFolder();
    crew.write("empty.org", "* moss\n");
    execFileSync("git", ["init", "-q"], { cwd: crew.folder });
    const exclude = join(crew.folder, ".git/info/exclude");
    const before = existsSync(exclude) && readFileSync(exclude, "utf8");
    const said = crew.viv("crew", "up", "empty.org");
    expect([said.status, said.stderr]).toEqual([
      2,
      expect.stringContaining("no member with a def"),
    ]);
    expect(existsSync(exclude) && readFileSync(exclude, "utf8")).toBe(before);
  });
});

describe("viv crew tick", () => {
  it("asks the crew that runs, and prints the steps of that member only", async () => {
    const crew = new CrewFolder()
      .member("moss", 'echo "step of $VIV_AGENT"; [ -e fails ] && exit 3; echo over')
      .member("wren", "echo noise");
    crew.write();
    const up = crew.running("crew", "up", "crew.org", "--grace", "1h", "--json");
    await up.says(/"(next|parked)"/);
    const said = crew.viv("crew", "tick", "moss");
    expect(said).toMatchObject({ status: 0, stderr: "" });
    expect(said.stdout).toBe("step of moss\nover\nmoss done: step of moss\n");
    crew.touch("fails");
    const failed = crew.viv("crew", "tick", "moss", "--json");
    expect(failed.status).toBe(1);
    const lines = failed.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ thought: "step of moss", agent: "moss" });
    expect(lines.at(-1)).toMatchObject({ name: "moss", outcome: "failed" });
    expect(crew.viv("crew", "tick", "mos")).toMatchObject({
      ...{ status: 3, stderr: expect.stringContaining("did you mean moss?") },
    });
    await until("both events", () => of(up, "ran").length === 2);
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("runs that member here when no crew runs", async () => {
    const crew = new CrewFolder()
      .member("moss", "echo over; echo moss >>ran; [ ! -e fails ]")
      .member("wren", "echo wren >>ran");
    crew.write();
    const up = crew.running("crew", "up", "crew.org", "--grace", "1h", "--json");
    await up.says(/"(next|parked)"/);
    up.child.kill("SIGTERM");
    await up.end();
    expect(crew.viv("crew", "tick", "moss")).toMatchObject({
      status: 0,
      stdout: "over\nmoss done: over\n",
    });
    crew.touch("fails");
    expect(crew.viv("crew", "tick", "moss").status).toBe(1);
    expect(crew.lines("ran")).toEqual(["moss", "moss"]);
    expect(crew.viv("crew", "tick", "stranger").status).toBe(3);
    expect(crew.viv("crew", "tick").status).toBe(2);
    // Interrupted before the run has begun.
    const stopped = { cwd: crew.folder, env: crew.env, signal: AbortSignal.abort() };
    expect((await cli(["crew", "tick", "moss"], stopped)).stdout).toContain("moss did not run");
    expect(crew.lines("ran")).toEqual(["moss", "moss"]);
  });

  it("has nothing to tick where there is no crew", () => {
    const crew = new CrewFolder();
    expect(crew.viv("crew", "tick", "moss")).toMatchObject({ status: 3 });
    expect(crew.viv("crew", "ps")).toMatchObject({ status: 3 });
    expect(crew.viv("crew", "ps", "--state", "nope")).toMatchObject({ status: 3 });
  });
});

describe("viv crew pause, resume, stop", () => {
  it("hold across restarts, and work without a crew that runs", async () => {
    const crew = new CrewFolder().member("moss", "echo ran >>ran", ":INTERVAL: 20\n");
    const up = crew.up();
    await crew.hasLines("ran", 1);
    expect(crew.viv("crew", "pause", "moss")).toMatchObject({ status: 0 });
    await until("it is paused", () => crew.status("moss").state === "paused");
    expect(crew.viv("crew", "stop").stdout).toContain("stopping");
    expect((await up.end()).status).toBe(0);
    const count = crew.lines("ran").length;
    expect(crew.viv("crew", "stop").stdout).toContain("no crew runs");

    const again = crew.up();
    await again.says('"up"');
    await until("it is paused", () => crew.status("moss").state === "paused");
    expect(crew.viv("crew", "resume", "mos").status).toBe(3);
    expect(crew.lines("ran")).toHaveLength(count);
    crew.viv("crew", "resume", "moss");
    await crew.hasLines("ran", count + 1);
    again.child.kill("SIGTERM");
    await again.end();

    expect(crew.viv("crew", "pause", "moss").status).toBe(0);
    expect(crew.viv("crew", "pause", "stranger").status).toBe(3);
    expect(readdirSync(join(crew.state, "paused"))).toEqual(["moss"]);
    expect(crew.viv("crew", "resume", "moss").status).toBe(0);
    expect(readdirSync(join(crew.state, "paused"))).toEqual([]);
  });
});

describe("/_activity", () => {
  const get = async (port: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/_activity`);
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, unknown>;
  };

  it("of a crew has the seed's shape", async () => {
    const crew = new CrewFolder().member("moss", WAITS).member("wren", "true");
    const up = crew.up("--port", "0", "--max-concurrent", "1");
    await up.says('"up"');
    const port = Number(of(up, "up")[0]?.port);
    await crew.hasLines("begun", 1);
    await until("it thinks", () => crew.status("moss").thought !== null);
    const agents = [
      ...[
        { name: "moss", running: true, lifecycle: null, steps: [], thought: "reading the board" },
      ],
      ...[{ name: "wren", running: false, lifecycle: null, steps: [], thought: null }],
    ];
    expect(await get(port)).toEqual({ agents, wire: [], agent: agents[0] });
    crew.touch("go");
    up.child.kill("SIGTERM");
    await up.end();
    await expect(fetch(`http://127.0.0.1:${port}/_activity`)).rejects.toThrow();
  });

  it("is served on the port of viv.toml", async () => {
    const crew = new CrewFolder().member("moss", "true");
    crew.write("viv.toml", '[crew]\ngrace = "1h"\nport = 0\n');
    const up = crew.up();
    await up.says('"up"');
    expect(await get(Number(of(up, "up")[0]?.port))).toMatchObject({ agents: [{ name: "moss" }] });
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("of a keeper has the other one, and its files no suffix", async () => {
    const crew = new CrewFolder().member("desk", WAITS);
    const keeper = crew.running(
      ...["keeper", "up", "desk.org", "--command", "exec ./desk.sh", "--grace=0s", "--port=0"],
      "--json",
    );
    await crew.hasLines("begun", 1);
    await until("it thinks", () => {
      return readFileSync(join(crew.state, "status.json"), "utf8").includes("reading");
    });
    expect(await get(Number(of(keeper, "up")[0]?.port))).toEqual({
      agent: { name: "desk", running: true, lifecycle: null },
      ...{ steps: [], thought: "reading the board" },
    });
    expect(readdirSync(crew.state)).toEqual(
      expect.arrayContaining(["keeper-last-run", "status.json"]),
    );
    expect(readdirSync(crew.state)).not.toContain("gate.json");
    expect(crew.json("crew", "ps").members).toMatchObject([{ name: "desk", state: "running" }]);
    crew.touch("go");
    expect(crew.viv("crew", "pause", "desk").status).toBe(0);
    keeper.child.kill("SIGTERM");
    await keeper.end();
    expect(crew.viv("crew", "resume", "desk").status).toBe(0);
    expect(existsSync(join(crew.state, "paused/keeper"))).toBe(false);
    // Also without it: its command, and not the default engine.
    expect(crew.viv("crew", "tick", "desk")).toMatchObject({
      ...{ status: 0, stdout: expect.stringContaining("wrote it") },
    });
    expect(crew.lines("begun")).toEqual(["desk", "desk"]);
  });

  it("on a port that is taken is refused", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const crew = new CrewFolder().member("moss", "true");
    crew.write();
    const said = crew.viv("crew", "up", "crew.org", "--port", String(port));
    expect(said).toMatchObject({ status: 5, stderr: expect.stringContaining("is taken") });
  });
});

describe("which one starts", () => {
  /** What `viv …` starts with that environment: the members it names. */
  async function starts(crew: CrewFolder, args: string[], env: Record<string, string>) {
    const up = new Running([...args, "--json"], {
      ...{ cwd: crew.folder, env: { ...crew.env, ...env } },
    });
    await up.says(/"(next|parked)"/);
    const { members, manifest } = of(up, "up")[0] as { members: string[]; manifest: string };
    const { singleton } = JSON.parse(readFileSync(join(crew.state, "crew.json"), "utf8"));
    up.child.kill("SIGTERM");
    expect((await up.end()).status).toBe(0);
    return { members, manifest: manifest.slice(crew.folder.length + 1), singleton };
  }

  const scene = () => {
    const crew = new CrewFolder().member("moss", "true").member("desk", "true");
    crew.write();
    crew.write("memberless.org", "* moss\n");
    crew.write(
      "viv.toml",
      '[crew]\ngrace = "1h"\n[crew.toml-one]\ndef = "moss.org"\ncommand = "true"\n',
    );
    return crew;
  };
  const CREW = { members: ["moss", "desk"], manifest: "crew.org", singleton: false };
  const KEEPER = { members: ["desk"], manifest: "desk.org", singleton: true };
  const TOML = { members: ["toml-one"], manifest: "viv.toml", singleton: false };

  it.each([["up"], ["crew", "up"]])(
    "viv %s %s: the crew, else the keeper, else viv.toml",
    async (...args) => {
      const command = args.filter((word): word is string => word !== undefined);
      const crew = scene();
      const both = { WB_CREW_DEF: "crew.org", WB_KEEPER_DEF: "desk.org" };
      expect(await starts(crew, command, both)).toEqual(CREW);
      expect(await starts(crew, command, { ...both, WB_CREW_DEF: "memberless.org" })).toEqual(
        KEEPER,
      );
      expect(await starts(crew, command, { WB_KEEPER_DEF: "desk.org" })).toEqual(KEEPER);
      expect(await starts(crew, command, {})).toEqual(TOML);
    },
  );

  it("viv up: agents.toml and -c come first, and without any it lists the choices", async () => {
    const crew = scene();
    const env = { ...crew.env, WB_CREW_DEF: "crew.org" };
    const named = viv(["up", "-c", "other.toml"], { cwd: crew.folder, env });
    expect(named).toMatchObject({ status: 2, stderr: expect.stringContaining("other.toml") });
    const drained = viv(["up", "--drain"], { cwd: crew.folder, env });
    expect(drained).toMatchObject({ status: 2, stderr: expect.stringContaining("--drain") });
    crew.write("agents.toml", '[service]\npit = "./nopit"\n[agents.snake]\nhandler = "true"\n');
    const agents = viv(["up"], { cwd: crew.folder, env });
    expect(agents).toMatchObject({ status: 3, stderr: expect.stringContaining("nopit") });
    const empty = new CrewFolder();
    const nothing = empty.viv("up");
    expect(nothing.status).toBe(2);
    expect(nothing.stderr).toContain("agents.toml");
    expect(nothing.stderr).toContain("viv crew up");
  });

  it("takes numbers from the environment, unless a flag is given", async () => {
    const crew = scene();
    const env = { ...crew.env, WB_CREW_STAGGER_MS: "5000", WB_CREW_MAX_CONCURRENT: "7" };
    const up = new Running(["crew", "up", "crew.org", "--grace=1h", "--json"], {
      cwd: crew.folder,
      env,
    });
    await until("both events", () => of(up, "next").length === 2);
    expect(of(up, "next").map(({ after_ms }) => after_ms)).toEqual([3_600_000, 3_605_000]);
    expect(crew.json("gate", "--state", ".crew").crew.max).toBe(7);
    up.child.kill("SIGTERM");
    await up.end();
    for (const [name, value] of [
      ["WB_CREW_STAGGER_MS", "-1"],
      ["WB_CREW_MAX_CONCURRENT", "0"],
      ["WB_KEEPER_MODE", "write"],
    ] as const) {
      const said = viv(["crew", "up", "crew.org"], {
        ...{ cwd: crew.folder, env: { ...crew.env, [name]: value } },
      });
      expect(said).toMatchObject({ status: 2, stderr: expect.stringContaining(name) });
    }
  });
});

describe("a crew with a broken folder", () => {
  it("stops when its folder is removed, in words; a second one may then start", async () => {
    const crew = new CrewFolder().member("moss", WAITS);
    const up = crew.up();
    await crew.hasLines("begun", 1);
    removeFolder(crew.state); // it may just write there
    const { status, stderr } = await up.end();
    expect([status, stderr]).toEqual([4, expect.stringContaining("was removed or replaced")]);
    expect(existsSync(crew.state)).toBe(false);
    expect(of(up, "ran")).toMatchObject([{ outcome: "killed" }]);
    const second = crew.up();
    await crew.hasLines("begun", 2);
    crew.touch("go");
    second.child.kill("SIGTERM");
    expect(await second.end()).toMatchObject({ status: 0 });
  });

  it("does not bring a folder back that is gone with its manifest, nor makes one for none", async () => {
    const crew = new CrewFolder();
    crew.write("news/moss.org", "You are moss.\n");
    const manifest =
      "* moss\n:PROPERTIES:\n:DEF: moss.org\n:COMMAND: true\n:INTERVAL: 100\n:END:\n";
    crew.write("news/crew.org", manifest);
    const up = crew.running("crew", "up", "news/crew.org", "--grace=0s", "--json");
    await up.says('"ran"');
    removeFolder(join(crew.folder, "news"));
    expect((await up.end()).status).toBe(4);
    expect(crew.viv("crew", "up", "news/crew.org")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("there is no "),
    });
    expect(crew.viv("keeper", "up", "news/desk.org")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("there is no folder"),
    });
    expect(existsSync(join(crew.folder, "news"))).toBe(false);
  });

  it("reports a missing def or workdir at the start, and shows why a member is parked", async () => {
    const crew = new CrewFolder()
      .member("moss", "true")
      .member("wren", "true", ":WORKDIR: nowhere\n")
      .member("hale", "true", ":WORKDIR: crew.org\n")
      .member("desk", "true", ":MODE: edti\n");
    crew.write("crew.org", crew.manifest.replace("moss.org", "mos.org"));
    const up = crew.running("crew", "up", "crew.org", "--grace", "1h");
    await up.says(/hale is parked/);
    const at = (file: string) => join(crew.folder, file);
    const why = {
      moss: `its def ${at("mos.org")} is not there`,
      wren: `its workdir ${at("nowhere")} is not there`,
      hale: `its workdir ${at("crew.org")} is not a folder`,
      desk: ':MODE: "edti" must be one of plan edit; did you mean edit?',
    };
    const ps = stripColors(
      viv(["crew", "ps"], { cwd: crew.folder, env: { ...crew.env, COLUMNS: "300" } }).stdout,
    );
    for (const [name, note] of Object.entries(why)) {
      expect(up.stdout).toContain(`${name} is parked: ${note}\n`);
      const row = ps.split("\n").find((line) => line.startsWith(`${name} `));
      expect(row).toMatch(/^\w+ +parked /);
      expect(row?.endsWith(` ${note}`)).toBe(true);
      const ticked = crew.viv("crew", "tick", name);
      expect(ticked.status).not.toBe(0);
      expect(ticked.stdout + ticked.stderr).toContain(`${name} is parked: ${note}`);
    }
    crew.write("mos.org", "You are moss.\n");
    await up.says(/moss done/);
    up.child.kill("SIGTERM");
    await up.end();
  });

  it("warns of a workdir that is in no repository, and runs", async () => {
    const crew = new CrewFolder()
      .member("moss", "true", ":WORKDIR: .\n")
      .member("wren", "true", ":MODE: edit\n")
      .member("hale", "true")
      .member("desk", "cd ..; true", ":WORKDIR: repo/inner\n:COMMAND: true\n");
    mkdirSync(join(crew.folder, "repo/.git"), { recursive: true });
    mkdirSync(join(crew.folder, "repo/inner"));
    const up = crew.up();
    await until("all have run", () => of(up, "ran").length === 4);
    const said = of(up, "log").map(({ text }) => String(text));
    expect(said.filter((text) => text.includes("not in a git repository"))).toEqual([
      expect.stringContaining(`moss, wren work in ${crew.folder}, which`),
    ]);
    up.child.kill("SIGTERM");
    await up.end();
  });
});

describe("in a git repository", () => {
  it("has git ignore its state folder, once, and serves a page that is named", async () => {
    const crew = new CrewFolder().member("moss", "true");
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: crew.folder, encoding: "utf8" });
    git("init", "-q");
    rmSync(join(crew.folder, ".git/info/exclude"), { force: true });
    writeFileSync(join(crew.folder, ".gitignore"), "machine/\n");
    for (const isFirst of [true, false]) {
      const up = crew.up("--port=0", "--origins=https://news.example,http://localhost:3000");
      await until("it has run", () => of(up, "ran").length === 1 || !isFirst);
      await up.says('"up"');
      const said = of(up, "log").map(({ text }) => String(text));
      expect(said.filter((text) => text.includes("git ignores")).length).toBe(isFirst ? 1 : 0);
      expect(git("status", "--porcelain", "-uall")).not.toContain(".crew");
      const [{ port } = {}] = of(up, "up");
      const ask = (origin: string) =>
        fetch(`http://127.0.0.1:${port}/_activity`, { headers: { origin } });
      const answer = await ask("https://news.example");
      expect(answer.headers.get("access-control-allow-origin")).toBe("https://news.example");
      expect((await ask("https://evil.example")).status).toBe(403);
      up.child.kill("SIGTERM");
      await up.end();
    }
    expect(crew.lines(".git/info/exclude").filter((line) => line === ".crew/")).toHaveLength(1);
    const wrong = crew.viv("crew", "up", "crew.org", "--origins=*");
    expect(wrong).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("must be an origin"),
    });
  });
});

describe("the seed's manifest", () => {
  const SEED = `#+TITLE: crew — the bit.ml newsroom manifest
* desk
:PROPERTIES:
:DEF: agents/desk.org
:INTERVAL: 45m
:END:
* moss
:PROPERTIES:
:DEF: agents/researcher.org
:INTERVAL: 15m
:END:
* wren
:PROPERTIES:
:DEF: agents/writer.org
:INTERVAL: 15m
:END:
* hale
:PROPERTIES:
:DEF: agents/editor.org
:INTERVAL: 20m
:END:
`;

  function newsroom() {
    const crew = new CrewFolder();
    crew.write("crew.org", SEED);
    crew.write("agents/laws.org", "A task with another's :AGENT: is invisible to you.\n");
    crew.write("agents/desk.org", "#+SHARED: laws.org\nOpen 2-6 assignments; commit them.\n");
    crew.write("agents/researcher.org", "#+SHARED: laws.org\nClaim first, in a commit.\n");
    crew.write("agents/writer.org", "#+SHARED: laws.org\nYou judge drafts.\n");
    crew.write("agents/editor.org", "#+SHARED: laws.org\nNever commit.\n");
    crew.env.PATH = `${join(crew.folder, "bin")}:/usr/bin:/bin`;
    return crew;
  }

  it("runs in plan mode, and says which members need edit mode, with the line to write", async () => {
    const crew = newsroom();
    const up = crew.running("up", "--json");
    expect(await up.end()).toMatchObject({ status: 2 });
    crew.env.WB_CREW_DEF = "crew.org";
    for (const args of [["up"], ["crew", "up"]]) {
      const up = crew.running(...args, "--json");
      await up.says('"up"');
      const said = of(up, "log").map(({ text }) => String(text));
      expect(said).toEqual([
        expect.stringMatching(/crew\.org:2: desk runs in plan mode.*commit.*: :MODE: edit$/),
        expect.stringMatching(/crew\.org:7: moss runs in plan mode.*claim.*: :MODE: edit$/),
      ]);
      await until("statuses", () => existsSync(join(crew.state, "status-hale.json")));
      expect(crew.status("moss").mode).toBe("plan");
      up.child.kill("SIGTERM");
      await up.end();
    }
    const tick = crew.viv("crew", "tick", "moss").stdout;
    expect(tick.match(/runs in plan mode/g)).toHaveLength(1);
    expect(tick).toMatch(/^\S+crew\.org:7: moss runs in plan mode.*: :MODE: edit\n/);
  });

  it("says at the start that claude is missing, and goes on when it appears", async () => {
    const crew = newsroom();
    const up = crew.running("crew", "up", "crew.org", "--grace=0s", "--stagger=0s", "--json");
    await until("all are parked", () => of(up, "parked").length === 4);
    const why =
      "its engine claude cannot start: there is no program claude in PATH; install it, or set binary to its path ([engines.claude] in viv.toml)";
    expect(of(up, "parked").map(({ note }) => note)).toEqual([why, why, why, why]);
    expect(of(up, "runs")).toEqual([]);
    expect(crew.viv("crew", "tick", "moss").stdout).toContain(`moss is parked: ${why}`);
    crew.write("bin/claude", "#!/bin/sh\necho not logged in >&2; exit 1\n");
    chmodSync(join(crew.folder, "bin/claude"), 0o755);
    await until("it is tried", () => of(up, "runs").length > 0);
    up.child.kill("SIGTERM");
    await up.end();
  });
});

describe("steps of a command", () => {
  it("are those it writes to $VIV_STEPS, while it runs, with its name and the time", async () => {
    const crew = new CrewFolder().member(
      "moss",
      `echo '{"tool":"fetch","target":"arxiv.org","agent":"hale"}' >>"$VIV_STEPS"\n${WAITS}\necho junk >>"$VIV_STEPS"\necho '{"tool":"write"}' >>"$VIV_STEPS"`,
    );
    const up = crew.up("--port=0");
    await up.says('"up"');
    const [{ port } = {}] = of(up, "up");
    await until("the step is served", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/_activity`);
      const { wire } = (await answer.json()) as { wire: { tool: string; agent: string }[] };
      return wire.length === 1 && wire[0]?.agent === "moss" && wire[0].tool === "fetch";
    });
    expect(of(up, "ran")).toEqual([]);
    crew.touch("go");
    await until("it has run", () => of(up, "ran").length === 1);
    const tools = crew
      .lines(".crew/_steps.jsonl")
      .map((line) => JSON.parse(line))
      .filter((line) => "tool" in line);
    expect(tools).toMatchObject([
      { tool: "fetch", target: "arxiv.org", agent: "moss", ts: expect.any(Number) },
      { tool: "write", target: "", agent: "moss" },
    ]);
    expect(of(up, "trouble")).toMatchObject([
      { name: "moss", message: expect.stringContaining("$VIV_STEPS") },
    ]);
    expect(readdirSync(join(crew.state, "steps"))).toEqual([]);
    up.child.kill("SIGTERM");
    await up.end();
  });
});

describe("one tick without a crew", () => {
  it("has the lock: a crew names its holder, and ps shows it", async () => {
    const crew = new CrewFolder().member("moss", WAITS).member("wren", "true");
    crew.write();
    const up = crew.running("crew", "up", "crew.org", "--grace", "1h", "--json");
    await up.says(/"(next|parked)"/);
    up.child.kill("SIGTERM");
    await up.end();
    const tick = crew.running("crew", "tick", "moss");
    await crew.hasLines("begun", 1);
    const refused = crew.viv("crew", "up", "crew.org");
    expect(refused.status).toBe(4);
    expect(refused.stderr).toContain(`viv crew tick moss (pid ${tick.pid})`);
    expect(refused.stderr).toContain("until its tick ends");
    expect(crew.json("crew", "ps")).toMatchObject({
      supervisor: { running: false },
      tick: { name: "moss", pid: tick.pid },
      members: [
        { name: "moss", state: "running" },
        { name: "wren", state: "not running" },
      ],
    });
    expect(stripColors(crew.viv("crew", "ps").stdout)).toContain(
      `viv crew tick moss (pid ${tick.pid})`,
    );
    crew.touch("go");
    expect(await tick.end()).toMatchObject({ status: 0 });
    expect(crew.json("crew", "ps").tick).toBe(null);
  });
});

describe("viv keeper up", () => {
  const keeper = (crew: CrewFolder, ...flags: string[]) =>
    crew.running("keeper", "up", "desk.org", "--grace=0s", "--json", ...flags);

  it("is refused where one runs already, with its pid", async () => {
    const crew = new CrewFolder().member("desk", WAITS);
    const up = keeper(crew, "--command", "./desk.sh");
    await crew.hasLines("begun", 1);
    for (const args of [
      ["keeper", "up", "desk.org"],
      ["crew", "up", "crew.org"],
    ]) {
      crew.write();
      const second = crew.viv(...args);
      expect(second.status).toBe(4);
      expect(second.stderr).toContain(`a keeper runs already`);
      expect(second.stderr).toContain(`(pid ${up.pid})`);
    }
    up.child.kill("SIGTERM");
    crew.touch("go");
    expect(await up.end()).toMatchObject({ status: 0 });
  });

  it("has the flags that a member has properties", async () => {
    const crew = new CrewFolder();
    crew.write("news/desk.org", "You are the desk.\n");
    crew.write("life.org", "* wake\n* nap\n");
    mkdirSync(join(crew.folder, "work"));
    const up = crew.running(
      ...["keeper", "up", "news/desk.org", "--grace=0s", "--interval=100ms", "--json"],
      ...["--lifecycle", "life.org", "--workdir", "work", "--mode", "edit"],
      ...["--run-if", "test -e ../go", "--command", 'echo "$VIV_LIFECYCLE $VIV_MODE" >>ran; pwd'],
    );
    await up.says('"saved"');
    crew.touch("go");
    await crew.hasLines("work/ran", 1);
    up.child.kill("SIGTERM");
    await up.end();
    expect(crew.lines("work/ran")[0]).toBe("wake edit");
    expect(of(up, "ran")[0]).toMatchObject({ note: join(crew.folder, "work") });
    // One tick without it is one with the same flags.
    const before = crew.lines("work/ran").length;
    const tick = crew.viv("crew", "tick", "desk", "--state", "news/.crew");
    expect(tick).toMatchObject({ status: 0 });
    expect(crew.lines("work/ran")).toHaveLength(before + 1);
  });
});
