import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PsOutput } from "../../src/fleet/fleet-operations.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { cannotMount, mountTmpfs, remount } from "../support/mounts.ts";
import { keepersOf, pidOf } from "../support/processes.ts";
import { cli, Running, viv } from "./support.ts";

/** `viv up` on a run, `viv ps`, `viv down` and `viv schedule`, with real processes. */

/** It reports its start, and ends when the file `go` is there. */
const HANDLE = `#!/bin/sh
here=$(dirname "$0")
echo "$VIV_TASK_ID $VIV_WORKER_ID" >>"$here/begun"
trap 'exit 1' TERM
while [ ! -e "$here/go" ]; do sleep 0.05; done
echo done >"$VIV_ARTIFACT_PATH"
`;
const ROUTE = '[handlers.default]\nhandler = "./handle.sh"\n';
const toml = (more = "", count = 1) => `run = "run"\n[workers]\ncount = ${count}\n${ROUTE}${more}`;

const isAlive = (pid: number | null | undefined) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

function farm(config = toml()) {
  const folder = newFolder("viv-fleet-");
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write("handle.sh", HANDLE);
  chmodSync(join(folder, "handle.sh"), 0o755);
  write("viv.toml", config);
  const env = { VIV_STATE: join(folder, "state") };
  const say = (...args: string[]) => viv(args, { cwd: folder, env });
  const json = <T>(...args: string[]) => JSON.parse(say(...args, "--json").stdout) as T;
  const ps = () => json<PsOutput>("ps");
  const part = (name: string) => ps().parts.find((one) => one.name === name);
  const up = (...args: string[]) =>
    new Running(["up", "--no-server", ...args], { cwd: folder, env });
  const begun = () =>
    existsSync(join(folder, "begun"))
      ? readFileSync(join(folder, "begun"), "utf8").split("\n").filter(Boolean)
      : [];
  const counts = () => json<{ counts: Record<string, number> }>("ls").counts;
  onTestFinished(() => {
    // Of those that a test has detached, or whose supervisor it has killed.
    const { status, stdout } = say("ps", "--json");
    if (status > 1) return;
    const { pid, parts } = JSON.parse(stdout) as PsOutput;
    for (const one of [pid, ...parts.map((each) => each.pid)]) if (one !== null) end(one);
  });
  return { folder, write, say, json, ps, part, up, begun, counts, go: () => write("go", "") };
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

const events = ({ stdout }: Running) =>
  stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("viv up on a run", () => {
  it("does tasks, refuses a second one, restarts a worker alone, follows viv.toml, and drains", async () => {
    const here = farm();
    expect(here.say("ps")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("start it: viv up"),
    });
    const up = here.up();
    await up.says('"ready"');
    const { running, pid, parts } = here.ps();
    expect({ running, pid }).toEqual({ running: true, pid: up.pid });
    expect(parts.map(({ name, state }) => [name, state])).toEqual([
      ["reaper", "idle"],
      ["worker-1", "idle"],
    ]);
    const second = here.up();
    expect(await second.end()).toMatchObject({
      ...{ status: 4, stderr: expect.stringContaining(`already: pid ${up.pid} on`) },
    });

    // A worker is killed in the middle of a task: it alone is restarted, and does the task.
    here.say("enqueue", "--type", "x", "--id", "t.1");
    await until("it has begun", () => here.begun().length === 1);
    expect(here.part("worker-1")).toMatchObject({ state: "working", doing: "t.1 (x)" });
    const killed = pidOf(here.part("worker-1"));
    for (const pid of [...keepersOf(killed), killed]) process.kill(pid, "SIGKILL");
    await until("it has begun again", () => here.begun().length === 2);
    expect(here.part("worker-1")).toMatchObject({ state: "working", restarts: 1 });

    // A bad edit changes nothing and is shown; a good one counts.
    here.write("viv.toml", toml("[workres]\n"));
    await until("ps shows the bad edit", () => here.ps().note.includes('"workres"'));
    expect(here.say("ps").stdout).toContain("the last good viv.toml counts");
    expect(here.say("top").stdout).toContain("viv config check: the last good viv.toml counts");
    expect(here.part("worker-1")?.restarts).toBe(1);
    here.write("viv.toml", toml("", 2));
    await until("there are two", () => here.part("worker-2")?.state === "idle");
    expect(here.ps().note).toBe("");
    here.write("viv.toml", toml("", 1));
    await until("there is one", () => here.part("worker-2") === undefined);
    expect(here.part("worker-1")).toMatchObject({ state: "working", restarts: 1 });

    up.child.kill("SIGTERM");
    await up.says('"draining"');
    expect(here.ps().state).toBe("stopping");
    here.go();
    expect(await up.end()).toMatchObject({ status: 0, stderr: expect.not.stringContaining("bug") });
    expect(here.counts()).toMatchObject({ done: 1, claimed: 0, pending: 0 });
    expect(events(up).every(({ at }) => typeof at === "string")).toBe(true);
    expect(events(up)).toContainEqual(
      expect.objectContaining({ kind: "claimed", part: "worker-1", id: "t.1" }),
    );
    const { lines } = here.json<{ lines: { event: string }[] }>(
      ...["ledger", "show", "--rooms", "fleet"],
    );
    expect(new Set(lines.map(({ event }) => event))).toEqual(
      new Set([
        ...["up_started", "part_started", "part_ended", "config_bad"],
        ...["config_reloaded", "up_stopped"],
      ]),
    );
    expect(here.say("doctor").status).toBe(0);
  });

  it("killed: an idle worker ends, a busy one finishes, ps and the next start name it", async () => {
    const here = farm(toml("", 2));
    const up = here.up();
    await up.says('"ready"');
    here.say("enqueue", "--type", "x", "--id", "t.1");
    await until("it has begun", () => here.begun().length === 1);
    const [, busy = ""] = here.begun()[0]?.split(" ") ?? [];
    const workers = here.ps().parts.filter(({ kind }) => kind === "worker");
    up.child.kill("SIGKILL");
    await up.end();
    await until(
      "the idle one has ended",
      () => workers.filter(({ pid }) => isAlive(pid)).length === 1,
    );
    const left = here.ps();
    expect(left).toMatchObject({ running: false, state: "not running" });
    expect(left.parts.map(({ name, state }) => [name, state])).toEqual([[busy, "left over"]]);

    const next = here.up();
    await next.says(/"lingers".*\n(.*\n)*.*"ready"/);
    expect(events(next)).toContainEqual(
      expect.objectContaining({ kind: "lingers", part: busy, pid: left.parts[0]?.pid }),
    );
    expect(here.part(busy)).toMatchObject({ state: "resting", restarts: 0 });
    here.go();
    await until("its name is free", () => here.part(busy)?.state === "idle");
    expect(here.counts()).toMatchObject({ done: 1, claimed: 0 });
    expect(here.begun()).toHaveLength(1);
    next.child.kill("SIGTERM");
    expect((await next.end()).status).toBe(0);
  });

  it("killed: what it left is named until it is gone, and down ends it, also after the next one", async () => {
    const here = farm();
    const up = here.up();
    await up.says('"ready"');
    here.say("enqueue", "--type", "x", "--id", "t.1");
    await until("it has begun", () => here.begun().length === 1);
    const pid = pidOf(here.part("worker-1"));
    up.child.kill("SIGKILL");
    await up.end();
    const isNamed = () => {
      const left = here.ps().parts.filter(({ state }) => state === "left over");
      expect(left).toMatchObject([{ name: "worker-1", pid, doing: "t.1 (x)" }]);
      expect(here.say("doctor")).toMatchObject({
        ...{ status: 1, stdout: expect.stringContaining(`worker-1 (pid ${pid}) still runs`) },
      });
    };
    isNamed();
    expect(here.say("up", "--detach", "--no-server").stdout).toContain(
      `worker-1 of an earlier viv up still runs, pid ${pid}`,
    );
    isNamed();
    const second = here.ps().pid ?? 0;

    const down = new Running(["down"], {
      ...{ cwd: here.folder, env: { VIV_STATE: join(here.folder, "state") } },
    });
    await down.says(`worker-1 (pid ${pid}), left by an earlier viv up, ends after`);
    expect([isAlive(second), isAlive(pid)]).toEqual([false, true]);
    expect(here.ps().running).toBe(false);
    isNamed();
    expect(here.say("down", "--now")).toMatchObject({
      ...{ status: 0, stdout: expect.stringContaining(`pid ${pid} is gone`) },
    });
    expect(isAlive(pid)).toBe(false);
    expect((await down.end()).status).toBe(0);
    expect(here.counts()).toMatchObject({ pending: 1, claimed: 0 });
    expect(here.ps().parts).toEqual([]);
    expect(here.say("doctor").status).toBe(0);
    expect(here.say("down").stdout).toContain("no viv up runs");
  });

  it("restarts crew and warden alone when they are killed, and ends them with itself", async () => {
    const crew =
      '[warden]\nstate = "w"\n[crew]\ngrace = "1h"\n[crew.moss]\ndef = "moss.md"\ncommand = "true"\n';
    const here = farm(`run = "run"\n${crew}`);
    here.write("moss.md", "You are moss.\n");
    const up = here.up();
    await up.says('"ready"');
    const pidsOf = () => ["crew", "warden"].map((name) => pidOf(here.part(name)));
    for (const pid of pidsOf()) process.kill(pid, "SIGKILL");
    await until("both are back", () =>
      ["crew", "warden"].every(
        (name) => here.part(name)?.state === "idle" && here.part(name)?.restarts === 1,
      ),
    );
    const after = pidsOf();
    up.child.kill("SIGKILL");
    await up.end();
    await until("both have ended with it", () => !after.some(isAlive));
  });
});

describe("a part that dies while viv.toml is bad", () => {
  it("comes back with the last good one: worker, server and crew, with garbage, an empty file and none", async () => {
    const crew = '[crew]\ngrace = "1h"\n[crew.moss]\ndef = "moss.md"\ncommand = "true"\n';
    const good = toml(`[server]\nport = 0\n${crew}`);
    const here = farm(good);
    here.write("moss.md", "You are moss.\n");
    here.go();
    const up = new Running(["up", "--json"], {
      ...{ cwd: here.folder, env: { VIV_STATE: join(here.folder, "state") } },
    });
    await up.says('"ready"');
    const names = ["worker-1", "server", "crew"];
    // Commands here are refused: they would not know what proves a task.
    const elsewhere = (...args: string[]) =>
      viv([...args, "--run", join(here.folder, "run")], { cwd: "/" });
    const bads: [string, () => void, RegExp][] = [
      ["garbage", () => here.write("viv.toml", "nonsense = = ["), /viv\.toml:1/],
      ["empty", () => here.write("viv.toml", ""), /is empty/],
      ["gone", () => rmSync(join(here.folder, "viv.toml")), /no such file|is gone|ENOENT/],
    ];
    for (const [i, [what, spoil, said]] of bads.entries()) {
      spoil();
      await until(`ps shows that it is ${what}`, () => said.test(here.ps().note));
      for (const pid of names.map((name) => pidOf(here.part(name)))) process.kill(pid, "SIGKILL");
      const { parts } = await untilAll(here.ps, (found) =>
        names.every((name) => {
          const one = found.parts.find((each) => each.name === name);
          return one?.restarts === i + 1 && ["idle", "working"].includes(one.state);
        }),
      );
      expect(parts.map(({ state }) => state)).not.toContain("parked");
      elsewhere("enqueue", "--type", "x", "--id", `t.${i}`);
      await until("its route is there", () =>
        existsSync(join(here.folder, `run/done/t.${i}.json`)),
      );
      const { address, note } = here.ps();
      const page = await fetch(`${new URL(address ?? "").origin}/api/fleet`);
      expect((await page.json()) as object).toMatchObject({ parts: { running: true, note } });
      // The worker that was started with it says so too.
      await until("its note", () => said.test(elsewhere("status").stdout));
    }
    expect(events(up)).toContainEqual(expect.objectContaining({ kind: "config_bad" }));
    here.write("viv.toml", "[workres]");
    await until("each part has read it", () =>
      names.every((name) => here.part(name)?.note.includes('"workres"') || name === "crew"),
    );
    // For people once, at the top.
    expect(here.say("ps").stdout.match(/"workres"/g)).toHaveLength(1);
    here.write("viv.toml", good);
    await until("it is repaired, and forgotten", () => {
      const { note, parts } = here.ps();
      return [note, ...parts.map((part) => part.note)].every((one) => one === "");
    });
    up.child.kill("SIGTERM");
    expect((await up.end()).status).toBe(0);
  });
});

async function untilAll<T>(read: () => T, isIt: (found: T) => boolean): Promise<T> {
  let found = read();
  await until("all are there", () => {
    found = read();
    return isIt(found);
  });
  return found;
}

describe("in the background", () => {
  it("returns when it is ready, with its pid; down waits until it is gone", async () => {
    const here = farm();
    const starts = await Promise.all([1, 2, 3].map(() => here.up("--detach").end()));
    const [started, ...others] = starts.sort((a, b) => a.status - b.status);
    if (started === undefined) throw new Error("none has ended");
    expect(started).toMatchObject({ status: 0, stderr: expect.not.stringContaining("bug") });
    for (const { status, stderr } of others) {
      expect(status).toBe(4);
      expect(stderr).toMatch(/viv up runs on this run already|just starting/);
    }
    const { pid, state, parts } = here.ps();
    expect(started.stdout).toMatch(new RegExp(`in the background.*pid ${pid}`));
    expect(started.stdout).toContain("viv down");
    expect({ state, worker: parts[1]?.state }).toEqual({ state: "working", worker: "idle" });
    const again = here.say("up", "--detach", "--no-server");
    expect(again).toMatchObject({ status: 4, stderr: expect.stringContaining(`pid ${pid}`) });

    here.say("enqueue", "--type", "x", "--id", "t.1");
    await until("it has begun", () => here.begun().length === 1);
    for (const content of ["", "nonsense = = ["]) {
      here.write("viv.toml", content);
      expect(here.ps().pid).toBe(pid); // it is found by the file that it has read
    }
    const down = here.say("down", "--now");
    here.write("viv.toml", toml());
    expect(down).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`pid ${pid} is gone`),
    });
    expect(isAlive(pid)).toBe(false);
    expect(here.counts()).toMatchObject({ pending: 1, claimed: 0 });
    expect(here.say("down")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("no viv up"),
    });
  });

  it.skipIf(cannotMount)("is refused on a disk that is read-only, as in the foreground", () => {
    const here = farm();
    const disk = join(here.folder, "disk");
    mountTmpfs(disk, "size=4m,mode=0755");
    const run = join(disk, "run");
    here.say("enqueue", "--run", run, "--type", "x");
    remount(disk, "ro");
    for (const how of [[], ["--detach"]]) {
      expect(here.say("up", "--run", run, "--no-server", ...how)).toMatchObject({
        ...{ status: 5, stderr: expect.stringMatching(/run\/\.viv\/up\/fleet.* EROFS/) },
      });
    }
  });

  it("is seen, and can be stopped, whatever became of viv.toml", async () => {
    const run = "it's my run";
    const good = toml().replace('"run"', `"${run}"`);
    const here = farm(good);
    const file = join(here.folder, "viv.toml");
    expect(await here.up("--detach").end()).toMatchObject({ status: 0 });
    const { pid } = here.ps();
    const states: [string, () => void][] = [
      ["has mistakes", () => here.write("viv.toml", `${good}[workres]\n`)],
      ["is gone", () => rmSync(file)],
      ["is a folder", () => mkdirSync(file)],
      [
        "may be written by everybody",
        () => {
          rmSync(file, { recursive: true });
          here.write("viv.toml", good);
          chmodSync(file, 0o666);
        },
      ],
      [
        "names another run",
        () => {
          chmodSync(file, 0o644);
          here.write("viv.toml", toml().replace('"run"', '"other"'));
        },
      ],
    ];
    for (const [what, make] of states) {
      make();
      expect([what, here.ps().pid]).toEqual([what, pid]);
    }
    expect(here.say("down")).toMatchObject({ status: 0 });
    expect(isAlive(pid)).toBe(false);
    expect(here.say("ps").stdout).toContain("/other;");
  });

  it("gives begun work back by itself at the end of --grace", async () => {
    const here = farm();
    const up = here.up("--grace", "10ms");
    await up.says('"ready"');
    here.say("enqueue", "--type", "x", "--id", "t.1");
    await until("it has begun", () => here.begun().length === 1);
    up.child.kill("SIGTERM");
    expect((await up.end()).status).toBe(0);
    expect(here.counts()).toMatchObject({ pending: 1, claimed: 0 });
  });

  it("a second down waits as the first does; after it, down --now still ends in order", async () => {
    const here = farm();
    const downs = () =>
      new Running(["down", "--json"], {
        ...{ cwd: here.folder, env: { VIV_STATE: join(here.folder, "state") } },
      });
    for (const now of [false, true]) {
      const up = here.up();
      await up.says('"ready"');
      const count = here.begun().length + 1;
      here.say("enqueue", "--type", "x");
      await until("it has begun", () => here.begun().length === count);
      const first = downs();
      await first.says('"waits"');
      const second = downs();
      await second.says('"waits"');
      if (now) expect(here.say("down", "--now").status).toBe(0);
      else here.go();
      await up.end();
      expect(events(up).at(-1)).toMatchObject({ kind: "down" });
      expect(here.counts()).toMatchObject(now ? { done: 1, pending: 1 } : { done: 1, pending: 0 });
      for (const one of [first, second]) expect((await one.end()).status).toBe(0);
      if (!now) rmSync(join(here.folder, "go"));
    }
  });

  it("runs the agents of a pit as a part", async () => {
    const here = farm('run = "pit"\n[warden]\nstate = "w"\n');
    here.say("pit", "init", "pit");
    here.write(
      "agents.toml",
      '[service]\npit = "pit"\n[agents.snake-1]\nhandler = "./handle.sh"\n',
    );
    expect(here.say("up", "--detach", "--no-server")).toMatchObject({ status: 0 });
    expect(here.ps().parts.map(({ name, doing }) => [name, doing])).toEqual([
      ["reaper", expect.any(String)],
      ["warden", expect.any(String)],
      ["agents", "1 agent"],
    ]);
    expect(here.part("warden")?.state).toBe("idle");
    const log = join(here.folder, "pit/.viv/up/fleet/agents.log");
    expect(readFileSync(log, "utf8")).not.toContain("without a warden");
    expect(here.say("down").status).toBe(0);
  });

  it("makes the run that viv.toml names, with an agents.toml beside it; no run where its pit is to be", async () => {
    const here = farm();
    here.say("pit", "init", "pit");
    const agents = (pit: string) => `[service]\npit = "${pit}"\n[agents.cleanup]\nevery = "1m"\n`;
    here.write("agents.toml", agents("run"));
    expect(here.say("up", "--detach")).toMatchObject({
      ...{ status: 3, stderr: expect.stringContaining("viv pit init run") },
    });
    expect(existsSync(join(here.folder, "run"))).toBe(false);
    here.write("agents.toml", agents("pit"));
    expect(here.say("up", "--detach", "--no-server")).toMatchObject({ status: 0 });
    expect(here.ps().parts.map(({ name }) => name)).toEqual(["reaper", "worker-1", "agents"]);
    expect(here.say("down").status).toBe(0);
  });

  it("does not start where it cannot leave a record, and says so", () => {
    const here = farm();
    here.say("init");
    const state = join(here.folder, "run/.viv/up/fleet/state.json");
    mkdirSync(state, { recursive: true, mode: 0o700 });
    const { status, stderr } = here.say("up", "--detach", "--no-server");
    expect({ status, stderr }).toMatchObject({
      ...{ status: 5, stderr: expect.stringContaining("state.json") },
    });
    rmSync(state, { recursive: true });
    expect(here.say("up", "--detach", "--no-server").status).toBe(0); // none has the lock
    expect(here.say("down").status).toBe(0);
  });

  it("notifies as a part, once, of a task that failed; ps shows the part", async () => {
    const notify =
      '[[notify]]\non = ["failed"]\ncommand = ["sh", "-c", "cat >>told; echo >>told"]\n';
    const here = farm(toml(notify, 0)); // a worker would notify, too
    const up = here.up();
    await up.says('"kind":"ready"');
    expect(here.part("notifications")).toMatchObject({ state: "idle", doing: "1 target" });
    for (const id of ["bad.1", "bad.2"]) {
      here.say("enqueue", "--type", "x", "--id", id, "--max-attempts", "1");
      here.say("claim", "--worker", "w");
      expect(here.say("fail", id, "--worker", "w").stderr).toBe("");
    }
    const told = () =>
      existsSync(join(here.folder, "told"))
        ? readFileSync(join(here.folder, "told"), "utf8").split("\n").filter(Boolean)
        : [];
    here.write("viv.toml", toml(notify + notify.replace("failed", "landed"), 0));
    await until("ps knows both", () => here.part("notifications")?.doing === "2 targets");
    const subjects = () =>
      told().flatMap((line) =>
        (JSON.parse(line).events as { subject: string }[]).map(({ subject }) => subject),
      );
    await until("both are told", () => subjects().length >= 2);
    up.child.kill("SIGTERM");
    await up.end();
    expect(subjects().sort()).toEqual(["bad.1", "bad.2"]);
  });

  it("names the parts that are parked, also in the background", () => {
    const here = farm(toml().replace("./handle.sh", "./gone.sh"));
    const { status, stdout } = here.say("up", "--detach", "--no-server");
    expect({ status, stdout }).toMatchObject({
      ...{ status: 0, stdout: expect.stringMatching(/ worker-1 is parked: .*gone\.sh/) },
    });
    expect(here.say("down").status).toBe(0);
  });

  it("names the part whose port is taken, also in the background", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const here = farm(toml(`[server]\nport = ${port}\n`, 0));
    expect(here.say("up", "--detach")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(
        `server does not run yet, and is tried again: port ${port} is taken`,
      ),
    });
    expect(here.say("down").status).toBe(0);
  });

  it("says that the warden is without tmux, in its log and in ps", async () => {
    const here = farm(toml("[warden]\n"));
    const bin = join(here.folder, "bin");
    mkdirSync(bin);
    const flock = execFileSync("sh", ["-c", "command -v flock"], { encoding: "utf8" }).trim();
    symlinkSync(flock, join(bin, "flock"));
    const env = { VIV_STATE: join(here.folder, "state"), PATH: bin };
    const up = new Running(["up", "--no-server"], { cwd: here.folder, env });
    await up.says("neither seen nor asked: tmux is not installed");
    const said = "tmux is not installed: `apt install tmux`";
    await until("ps says it", () => here.part("warden")?.note.includes(said) === true);
    expect(here.part("warden")?.state).toBe("idle");
    up.child.kill("SIGTERM");
    expect((await up.end()).status).toBe(0);
  });

  it("says why it could not start", () => {
    const here = farm('run = "run"\n[[schedule]]\nname = "a b"\n');
    const { status, stderr } = here.say("up", "--detach");
    expect(status).toBe(2);
    expect(stderr).toContain("viv.toml:3: name must be a name of letters");
  });

  it("needs a run, or a pit for its agents; none is made", () => {
    const here = farm("[warden]\n");
    here.write("agents.toml", '[service]\npit = "pit"\n[agents.cleanup]\nevery = "1m"\n');
    expect(here.say("up", "--detach")).toMatchObject({
      status: 3,
      stderr: expect.stringContaining("viv pit init pit"),
    });
    expect(existsSync(join(here.folder, "pit"))).toBe(false);
    expect(here.say("up", "--no-server")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("viv init"),
    });
  });
});

it("viv init and viv up are enough in one's own repository", async () => {
  const folder = newFolder("viv-own-");
  const env = { VIV_STATE: join(folder, ".git/state") };
  const git = (...args: string[]) => execFileSync("git", ["-C", folder, ...args]);
  git("init", "-q");
  git(
    ...["-c", "user.name=t", "-c", "user.email=t@example.org"],
    "commit",
    "-qm",
    "first",
    "--allow-empty",
  );
  for (const [key, value] of [
    ["user.name", "t"],
    ["user.email", "t@example.org"],
  ] as const)
    git("config", key, value);
  const say = (...args: string[]) => viv(args, { cwd: folder, env });
  const made = say("init", "--engine", "script", "--done-when", "grep -q t.1 NOTES.md");
  expect(made).toMatchObject({ status: 0, stdout: expect.stringContaining("viv up") });
  expect(say("enqueue", "--jsonl", "viv/tasks.jsonl").status).toBe(0);
  const up = new Running(["up", "--no-server", "--json"], { cwd: folder, env });
  await up.says(/"ended".*"outcome":"done"/);
  up.child.kill("SIGTERM");
  expect((await up.end()).status).toBe(0);
  expect(JSON.parse(say("ls", "--json").stdout).counts).toMatchObject({ done: 1 });
});

it("teaches the next command where there is nothing to do", async () => {
  const here = farm("# nothing yet\n");
  expect(here.say("init", "run").status).toBe(0);
  const up = here.up();
  await up.says('"ready"');
  expect(events(up)).toContainEqual(
    expect.objectContaining({
      kind: "empty",
      message: expect.stringContaining("viv init --template fleet"),
    }),
  );
  // A route is written: workers come by themselves.
  here.write("viv.toml", ROUTE);
  await until("two workers", () => here.part("worker-2")?.state === "idle");
  up.child.kill("SIGTERM");
  await up.end();
});

it("begins without a viv.toml, and its server knows the one that is written later", async () => {
  const here = farm();
  rmSync(join(here.folder, "viv.toml"));
  expect(here.say("init", "run").status).toBe(0);
  const env = { VIV_STATE: join(here.folder, "state") };
  const up = new Running(["up", "--json"], { cwd: here.folder, env });
  await up.says('"ready"');
  here.write("viv.toml", '[[schedule]]\nname = "n"\ncron = "@daily"\ntype = "x"\n');
  const names = async () => {
    const answer = await fetch(`${here.ps().address}/api/schedule/ls`).catch(() => null);
    const { schedules = [] } = ((await answer?.json()) ?? {}) as { schedules?: { name: string }[] };
    return schedules.map(({ name }) => name);
  };
  await until("it answers with the schedule", async () => (await names()).includes("n"));
  up.child.kill("SIGTERM");
  expect((await up.end()).status).toBe(0);
});

describe("schedules", () => {
  const EVERY_SECOND = '[[schedule]]\nname = "tick"\ncron = "* * * * * *"\ntype = "x"\n';

  it("fire while viv up runs, each once, over a kill -9; pause holds", async () => {
    const here = farm(toml(EVERY_SECOND, 0));
    const ids = () =>
      here.json<{ tasks: { id: string }[] }>("ls", "--limit", "1000").tasks.map(({ id }) => id);
    const first = here.up();
    await until("it has fired", () => events(first).some(({ kind }) => kind === "fired"));
    first.child.kill("SIGKILL");
    await first.end();
    const next = here.up();
    await until(
      "it fires again",
      () => events(next).filter(({ kind }) => kind === "fired").length > 1,
    );
    expect(here.say("schedule", "pause", "tick").status).toBe(0);
    const ls = here.json<{ running: boolean; schedules: { state: string; next: string[] }[] }>(
      "schedule",
      "ls",
    );
    expect(ls).toMatchObject({ running: true, schedules: [{ state: "paused", next: [] }] });
    const run = here.json<{ tasks: string[] }>("schedule", "run", "tick");
    expect(run.tasks).toEqual([expect.stringMatching(/^tick\.run\.\d{8}T\d{9}Z$/)]);
    next.child.kill("SIGTERM");
    await next.end();
    const fired = [...events(first), ...events(next)].filter(({ kind }) => kind === "fired");
    const created = fired.reduce((sum, one) => sum + Number(one.created), 0);
    expect(new Set(ids()).size).toBe(ids().length);
    expect(ids().length - 1 - created).toBeLessThanOrEqual(1); // killed between a fire and its line
    expect(here.say("schedule", "resume", "tick").stdout).toContain("tick is on");
    expect(here.say("schedule", "ls").stdout).toContain("no viv up runs here");
  });

  it("are listed before there is a run", () => {
    const here = farm(toml(EVERY_SECOND));
    const { stdout, status } = here.say("schedule", "ls");
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^tick +on [\s\S]*no viv up runs here, .*start it: viv up/),
    });
    expect(existsSync(join(here.folder, "run"))).toBe(false);
  });

  it("that cannot fire are in the ledger once, and in the report", async () => {
    const here = farm(
      toml('[[schedule]]\nname = "m"\ncron = "* * * * * *"\njsonl = "no.jsonl"\n', 0),
    );
    const up = here.up();
    await until("it could not fire", () => events(up).some(({ kind }) => kind === "failed"));
    up.child.kill("SIGTERM");
    await up.end();
    const { lines } = here.json<{ lines: unknown[] }>(
      ...["ledger", "show", "--events", "schedule_failed"],
    );
    const text = expect.stringContaining("no.jsonl");
    expect(lines).toMatchObject([{ room: "fleet", schedule: "m", note: text }]);
    const { needs_you } = here.json<{ needs_you: unknown[] }>("report");
    expect(needs_you).toMatchObject([{ kind: "schedule", subject: "m", text }]);
    here.json("schedule", "pause", "m");
    expect(here.json("report")).toMatchObject({ needs_you: [] });
  });

  it.each([
    [
      'cron = "61 * * * *"',
      /viv\.toml:3: cron "61 \* \* \* \*" cannot be used: Invalid value for minute/,
    ],
    ['cron = "0 0 30 2 *"', /:3: cron .* it never fires/],
    ['cron = "2099-01-01T10:00:00"', /:3: cron .* it is a date/],
    ['cron = "@daily"\ntimezone = "Mars/North"', /:4: timezone must be a time zone like/],
    ['cron = "@daily"\nmissed = "twice"', /:4: missed must be "once" or "skip"/],
    ['crn = "@daily"', /:3: unknown key "crn" in \[\[schedule\]\]; did you mean "cron"/],
    [
      'cron = "@daily"\njsonl = "a.jsonl"',
      /:4: \[\[schedule\]\] needs a type, or a jsonl; one of them/,
    ],
  ])("a mistake is found with its line: %s", async (line, expected) => {
    const cwd = newFolder("viv-fleet-");
    writeFileSync(join(cwd, "viv.toml"), `[[schedule]]\nname = "n"\n${line}\ntype = "x"\n`);
    const { status, stdout } = await cli(["config", "check"], { cwd });
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(expected) });
  });
});
