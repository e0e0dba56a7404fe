import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openRun } from "../../src/main.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { TmuxServer } from "../support/tmux.ts";
import { cli, type Said, VIV } from "./support.ts";

/** Warrants, dogs and the warden, as typed. */

interface Place {
  folder: string;
  state: string;
  run(...args: string[]): Promise<Said>;
  // biome-ignore lint/suspicious/noExplicitAny: as the command prints it
  json(...args: string[]): Promise<any>;
}

function place(): Place {
  const folder = newFolder();
  const env = { VIV_STATE: join(folder, "state"), USER: "pia", PATH: process.env.PATH };
  const run = (...args: string[]) => cli(args, { cwd: folder, env });
  return {
    folder,
    state: join(folder, "state/warden"),
    run,
    json: async (...args) => {
      const said = await run(...args, "--json");
      expect(said.stderr).toBe("");
      return JSON.parse(said.stdout);
    },
  };
}

function start(command: string, args: string[], options = {}): ChildProcess {
  const child = spawn(command, args, { stdio: "ignore", ...options });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** The warden as the program it is, with time-outs for a test. */
function wardenUp(here: Place, ...args: string[]) {
  return vivProgram(here, "warden", "up", ...args);
}

function vivProgram({ folder }: Place, ...args: string[]) {
  const child = spawn(process.execPath, [VIV, ...args], {
    cwd: folder,
    env: { ...process.env, VIV_STATE: join(folder, "state"), VIV_RUN: "" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (more: string) => {
      text += more;
    });
  }
  return { child, said: () => text };
}

describe("the queue", () => {
  it("takes a warrant for a missing target, with a note", async () => {
    const here = place();
    const said = await here.run(
      ...["warrant", "file", "no:such.$(session);", "--socket", "/nowhere/s"],
      ...["--reason", "no_progress", "--by", "deacon"],
    );
    expect(said).toMatchObject({ status: 0, stderr: "" });
    expect(said.stdout).toMatch(/^filed w-\S+ for no:such.\$\(session\);\n/);
    expect(said.stdout).toContain("start one: viv warden up");
    const { warrants } = await here.json("dog", "warrants");
    expect(warrants).toMatchObject([
      { target: "no:such.$(session);", kind: "tmux", reason: "no_progress", requester: "deacon" },
    ]);
    const { id } = warrants[0];
    const again = await here.json(
      "warrant",
      "file",
      "no:such.$(session);",
      "--socket",
      "/nowhere/s",
    );
    expect(again).toMatchObject({ filed: false, id });
    expect((await here.run("warrant", "ls")).stdout).toContain("by deacon");
    expect((await here.run("warrant", "show", id)).stdout).toContain("queued");
    expect((await here.run("epitaph", id)).stderr).toContain("has no epitaph: it is queued");
    expect((await here.run("warrant", "withdraw", id)).stdout).toContain(`withdrawn ${id}`);
    expect((await here.run("warrant", "withdraw", id)).status).toBe(0);
    expect((await here.run("dog", "warrants")).stdout).toBe("Pending Warrants: 0\n");
    expect(await here.json("warrant", "show", id)).toMatchObject({ state: "withdrawn" });
  });

  it("is given to a dog by hand, and back", async () => {
    const here = place();
    const { id } = await here.json("warrant", "file", "x", "--socket", "/nowhere/s");
    const { dog } = await here.json("dog", "pool", "allocate", id);
    const status = await here.run("dog", "pool", "status");
    expect(status.stdout).toMatch(
      /^Dog Pool: 1\/5 active\n {2}dog-\d+: interrogating x \(attempt 1\)/,
    );
    const dances = (await here.run("dog", "dances")).stdout;
    expect(dances).toBe(`Active Shutdown Dances:\n  ${dog} → x: Interrogating (1/3)\n`);
    expect(await here.run("dog", "pool", "allocate", id)).toMatchObject({ status: 4 });
    expect(await here.json("warrant", "show", dog)).toMatchObject({ id, state: "dancing" });
    expect((await here.run("dog", "pool", "release", dog)).stdout).toContain("asked to give");
    expect(await here.json("warrant", "withdraw", id)).toMatchObject({ withdrawn: false });
    expect((await here.run("dog", "pool", "release", `${dog}1`)).stderr).toContain("did you mean");
  });

  it("refuses a session that its server does not have, unless --force", async () => {
    const here = place();
    const server = new TmuxServer();
    server.session("agent-1", "sleep", "600");
    const file = (name: string, ...more: string[]) =>
      here.run("warrant", "file", name, "--socket", server.socket, ...more);
    const refused = await file("agnet-1");
    expect(refused).toMatchObject({ status: 3, stdout: "" });
    expect(refused.stderr).toContain("no session of that name; did you mean agent-1?");
    expect(refused.stderr).toContain("--force");
    expect((await file("other")).stderr).toContain("there are: agent-1");
    expect((await here.run("dog", "warrants")).stdout).toBe("Pending Warrants: 0\n");
    expect((await file("other", "--force")).stdout).toMatch(/^filed w-/);
    expect(await file("agent-1")).toMatchObject({ status: 0 });
  });

  it("shows that all dogs are busy, and which are idle", async () => {
    const here = place();
    const dogs: string[] = [];
    for (let n = 1; n <= 5; n++) {
      const { id } = await here.json("warrant", "file", `x${n}`, "--socket", "/nowhere/s");
      dogs.push((await here.json("dog", "pool", "allocate", id)).dog);
      const { stdout } = await here.run("dog", "pool", "status");
      expect(stdout.match(/^ {2}dog-\d+: idle$/gm) ?? []).toHaveLength(5 - n);
    }
    const said = await here.run("warrant", "file", "y", "--socket", "/nowhere/s");
    expect(said.stdout).toContain(
      "queued (pool exhausted): no free dog (pool of 5), it is the next",
    );
    const active = (await here.run("dog", "status", "--active")).stdout.trim().split("\n");
    expect(active).toEqual(dogs.map((dog, n) => `${dog}: interrogating x${n + 1} (attempt 1)`));
    expect(await here.json("dog", "status")).toMatchObject({ active: 5, idle: 0, waiting: 1 });
  });

  it("shows which executions are held, and what to type", async () => {
    const here = place();
    const { id } = await here.json("warrant", "file", "x", "--socket", "/nowhere/s");
    const { dog } = await here.json("dog", "pool", "allocate", id);
    await here.run("warden", "pause", "--why", "a storm");
    const path = join(here.state, `active/${dog}.json`);
    const dance = JSON.parse(readFileSync(path, "utf8"));
    const { since } = (await here.json("warden", "status")).paused;
    const held = { since, why: "a storm", told_at: null };
    writeFileSync(path, JSON.stringify({ ...dance, state: "evaluating", held }));
    const dances = (await here.run("dog", "dances")).stdout;
    expect(dances).toContain(`${dog} → x: Held before its execution\n`);
    expect(dances).toContain("paused: a storm; to go on: viv warden resume");
    const status = (await here.run("warden", "status")).stdout;
    expect(status).toContain(`${dog} holds the execution of x`);
    expect(status).toContain("to go on: viv warden resume");
    const filed = await here.run("warrant", "file", "y", "--socket", "/nowhere/s");
    expect(filed.stdout).toContain("queued (pool paused: a storm); to go on: viv warden resume");
  });

  it("is paused and resumed by a person", async () => {
    const here = place();
    const { id } = await here.json("warrant", "file", "x", "--socket", "/nowhere/s");
    expect((await here.run("warden", "pause", "--why", "a storm")).stdout).toContain("a storm");
    expect((await here.run("warden", "status")).stdout).toContain("paused by pia: a storm");
    const refused = await here.run("dog", "pool", "allocate", id);
    expect(refused).toMatchObject({ status: 4, stderr: expect.stringContaining("a storm") });
    expect((await here.run("warden", "resume")).stdout).toContain("it was paused: a storm");
    expect((await here.run("warden", "resume")).stdout).toBe(
      "the pool was not paused (a warden with a folder of its own: --state-dir DIR)\n",
    );
  });

  it("tells of files that are no warrants", async () => {
    const here = place();
    mkdirSync(join(here.state, "warrants"), { recursive: true });
    writeFileSync(join(here.state, "warrants/broken.json"), "{");
    writeFileSync(join(here.state, "warrants/good.json"), '{"target":"a"}');
    const { stdout } = await here.run("dog", "warrants");
    expect(stdout).toContain("Pending Warrants: 1");
    expect(stdout).toContain("broken.json: not a warrant: it is not a JSON object.");
  });

  it("lists a thousand", async () => {
    const here = place();
    mkdirSync(join(here.state, "warrants"), { recursive: true });
    for (let n = 0; n < 1000; n++) {
      const text = JSON.stringify({ target: `s${n}`, reason: "r" });
      writeFileSync(join(here.state, `warrants/w${n}.json`), text);
    }
    expect((await here.json("dog", "warrants")).warrants).toHaveLength(1000);
  });
});

describe("bad input", () => {
  it("in GT_DOG_POOL_SIZE and [warden] is named", async () => {
    const here = place();
    const env = { VIV_STATE: join(here.folder, "state"), GT_DOG_POOL_SIZE: "many" };
    const said = await cli(["dog", "pool", "status"], { cwd: here.folder, env });
    expect(said.stderr).toContain('GT_DOG_POOL_SIZE "many" is no pool');
    writeFileSync(join(here.folder, "viv.toml"), "[warden]\npol = 3\n");
    const { status, stderr } = await here.run("dog", "pool", "status");
    expect(status).toBe(2);
    expect(stderr).toContain('viv.toml:2: unknown key "pol" in [warden]; did you mean "pool"?');
  });
});

describe("help", () => {
  it.each([["dog"], ["dog", "pool"], ["warden"], ["warrant"]])("viv %s %s", async (...words) => {
    const family = words.filter((word) => word !== undefined);
    const said = await place().run(...family, "--help");
    expect(said.status).toBe(0);
    expect(said.stdout).toContain(`viv ${family.join(" ")}: `);
    expect(said.stdout).toContain(`  viv ${family.join(" ")} `);
    expect((await place().run(...family)).status).toBe(2);
  });
});

describe("viv.toml", () => {
  it("shows where the warden is, and how large its pool", async () => {
    const here = place();
    writeFileSync(join(here.folder, "viv.toml"), '[warden]\nstate = "w"\npool = 2\n');
    const status = await here.json("dog", "pool", "status");
    expect(status).toMatchObject({ pool: 2, state: join(here.folder, "w") });
    const env = { VIV_STATE: join(here.folder, "state"), GT_DOG_POOL_SIZE: "7" };
    const said = await cli(["dog", "pool", "status"], { cwd: here.folder, env });
    expect(said.stdout).toContain("Dog Pool: 0/7 active");
  });
});

describe("a warden that is up", () => {
  it("ends a worker that does not answer; its task goes back, with the receipt", async () => {
    const here = place();
    const run = join(here.folder, "run");
    const script = `
      import("${join(VIV, "../main.js")}").then(async ({ openRun }) => {
        const store = await openRun(${JSON.stringify(run)}, { create: true });
        await store.enqueue({ id: "a", type: "t" });
        await store.register("w1");
        await store.claim({ worker: "w1" });
        process.on("SIGTERM", () => {});
        setInterval(() => {}, 1000);
      });`;
    const worker = start(process.execPath, ["-e", script]);
    await until("it has claimed", async () => {
      const said = await here.run("show", "a", "--run", run);
      return said.stdout.includes("claimed");
    });
    writeFileSync(
      join(here.folder, "viv.toml"),
      '[warden]\ntimeouts = ["300ms"]\nkill_after = "300ms"\nhook = "cat > t && mv t told.json"\n',
    );
    const filed = await here.json("warrant", "file", "--worker", "w1", "--run", run, "--by", "pia");
    expect(filed.bound).toMatchObject({ is: "process", pid: worker.pid });
    const warden = wardenUp(here);
    await until("it is over", async () => {
      const { state } = await here.json("warrant", "show", filed.id);
      return state === "over" && warden.said().includes("executed");
    });
    const { receipt } = await here.json("warrant", "show", filed.id);
    expect(receipt).toMatchObject({ verdict: "executed", reaped: ["a"] });
    const path = join(here.state, "completed", `${receipt.dog}.json`);
    const store = await openRun(run, { readOnly: true });
    expect(await store.show("a")).toMatchObject({
      state: "pending",
      history: [{ worker: "w1", outcome: "abandoned", receipt: path }],
    });
    await store.close();
    const shown = await here.run("show", "a", "--run", run);
    expect(shown.stdout).toContain(`receipt: ${path}`);
    expect((await here.run("logs", "a", "--run", run)).stderr).toContain(`receipt: ${path}`);
    const hookSaid = join(here.folder, "told.json");
    await until("the hook has run", () => existsSync(hookSaid));
    expect(JSON.parse(readFileSync(hookSaid, "utf8")).verdict).toBe("executed");
    const { stdout } = await here.run("epitaph", filed.id);
    expect(stdout).toContain("# Executed: `w1`");
    expect(stdout).toContain("gone after SIGKILL");
    expect((await here.run("warden", "status")).stdout).toContain("executed");
    expect(await here.run("warrant", "withdraw", filed.id)).toMatchObject({
      status: 4,
      stderr: expect.stringContaining("its verdict is executed"),
    });
  });

  it("accepts viv alive from the suspect only", async () => {
    const here = place();
    const questions = join(here.state, "questions");
    // It waits for its question, and answers it.
    const script = `
      until nonce=$(sed -n 's/^Nonce: \\([^ ]*\\).*/\\1/p' ${questions}/*.txt 2>/dev/null) && [ -n "$nonce" ] && [ -e ${here.folder}/go ]; do sleep 0.05; done
      "${process.execPath}" "${VIV}" alive "$nonce"; sleep 600`;
    const env = { ...process.env, VIV_STATE: join(here.folder, "state") };
    const suspect = start("bash", ["-c", script], { env, cwd: here.folder });
    const { id } = await here.json("warrant", "file", "--pid", String(suspect.pid));
    wardenUp(here, "--timeouts", "60s");
    let nonce = "";
    await until("it is asked", async () => {
      const { dance } = await here.json("warrant", "show", id);
      nonce = dance?.attempts[0]?.asked_at ? String(dance.attempts[0].nonce) : "";
      return nonce !== "";
    });
    expect((await here.run("alive", nonce)).stdout).toBe(`ALIVE ${nonce}\n`); // not the suspect
    const status = await here.run("dog", "pool", "status");
    expect(status.stdout).toMatch(/interrogating \d+ \(attempt 1, \d+s remaining\)/);
    writeFileSync(join(here.folder, "go"), "");
    await until("it is pardoned", async () => {
      const { receipt } = await here.json("warrant", "show", id);
      return receipt?.verdict === "pardoned";
    });
    suspect.kill("SIGKILL");
  });

  it("is seen and answered by a crew's member: in $VIV_QUESTION, with viv alive, by viv crew ps", async () => {
    const here = place();
    const at = (name: string) => join(here.folder, name);
    const viv = `"${process.execPath}" "${VIV}"`;
    writeFileSync(
      at("moss.sh"),
      `until [ -e "$VIV_QUESTION" ] && [ -e go ]; do sleep 0.05; done\n${viv} alive >said; until [ -e over ]; do sleep 0.05; done\n`,
    );
    writeFileSync(at("moss.org"), "You are moss.\n");
    writeFileSync(
      at("crew.org"),
      "* moss\n:PROPERTIES:\n:DEF: moss.org\n:INTERVAL: 1h\n:ENGINE: exec\n:COMMAND: sh ./moss.sh\n:END:\n",
    );
    const crew = vivProgram(here, "crew", "up", "crew.org");
    // biome-ignore lint/suspicious/noExplicitAny: as the command prints it
    const moss = async (): Promise<any> => (await here.json("crew", "ps")).members[0];
    await until("the crew is up", async () => (await here.run("crew", "ps")).status === 0);
    vivProgram(here, "crew", "tick", "moss");
    await until(`moss runs; ${crew.said()}`, async () => (await moss())?.state === "running");
    expect((await moss()).asked).toBeNull();
    expect((await here.run("alive")).stdout).toBe("no question to this process\n");
    const state = ["--state", at("elsewhere")];
    let id = "";
    // Its status says that it runs a moment before it says which process that is.
    await until("its process is known", async () => {
      const filed = await here.json("warrant", "file", "--agent", "moss", ...state);
      id = filed.id;
      if (filed.bound !== null) return true;
      await here.run("warrant", "withdraw", id, ...state);
      return false;
    });
    wardenUp(here, "--timeouts", "60s", ...state);
    await until("it is shown", async () => (await moss()).asked !== null);
    expect((await moss()).asked).toContain(`viv alive`);
    expect((await here.run("crew", "ps")).stdout).toContain("the warden asks whether it is alive");
    // Neither a stranger nor one that names the folder answers for it.
    expect(await here.json("alive", ...state)).toMatchObject({ answered: false, nonces: [] });
    writeFileSync(at("go"), "");
    await until("it is pardoned", async () => {
      const { receipt } = await here.json("warrant", "show", id, ...state);
      return receipt?.verdict === "pardoned";
    });
    expect(readFileSync(at("said"), "utf8")).toMatch(/^ALIVE \S+\n$/);
    await until("it is shown no more", async () => (await moss()).asked === null);
    writeFileSync(at("over"), "");
    const ended = once(crew.child, "exit");
    crew.child.kill("SIGTERM");
    await ended;
  });

  it("finds a silent session by a rule, files a warrant, and ends it", async () => {
    const here = place();
    const socket = join(here.folder, "tmux");
    const tmux = (...args: string[]) =>
      execFileSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], { encoding: "utf8" });
    tmux("new-session", "-d", "-s", "agent-1", "exec sleep 600");
    tmux("new-session", "-d", "-s", "other", "exec sleep 600");
    tmux("set-option", "-t", "agent-1", "@viv-ask", "on");
    onTestFinished(() => {
      spawnSync("tmux", ["-S", socket, "kill-server"]);
    });
    const toml = `[warden]
timeouts = ["300ms"]
tmux_socket = "tmux"
sessions = ["agent-*"]
[warden.rules]
no_output = { after = "1s", action = "file" }
`;
    writeFileSync(join(here.folder, "viv.toml"), toml);
    const made = Date.now();
    await until("both are silent", () => Date.now() - made > 2_000);
    const warden = wardenUp(here);
    await until("it is ended", () => warden.said().includes("agent-1: executed"));
    expect(warden.said()).toMatch(/no_output: agent-1, no new output since .*; filed w-/);
    expect(tmux("list-sessions", "-F", "#{session_name}")).toBe("other\n");
    const { verdicts } = await here.json("warden", "status");
    expect(verdicts).toMatchObject([{ target: "agent-1", verdict: "executed" }]);
    const [found = ""] = readFileSync(join(here.state, "observed.jsonl"), "utf8").split("\n");
    expect(JSON.parse(found)).toMatchObject({
      state: "found",
      rule: "no_output",
      target: "agent-1",
    });
    const { stdout } = await here.run("epitaph", verdicts[0].warrant);
    expect(stdout).toContain("- Asked for by: `warden:no_output`");
  });

  it("comes with viv up, where viv.toml has a [warden]", async () => {
    const here = place();
    await here.run("pit", "init", "pit");
    writeFileSync(
      join(here.folder, "agents.toml"),
      '[service]\npit = "./pit"\n[agents.cleanup]\nevery = "1m"\n',
    );
    writeFileSync(join(here.folder, "viv.toml"), '[warden]\nstate = "w"\n');
    const up = vivProgram(here, "up");
    await until("both are up", () => up.said().includes('"pool":5'));
    await until("both are up", () => up.said().includes('"agents":["cleanup"]'));
    expect(await here.json("warden", "status")).toMatchObject({ up: true, pid: up.child.pid });
    up.child.kill("SIGTERM");
    await until("both have ended", () => up.child.exitCode !== null);
    expect(up.child.exitCode).toBe(0);
    expect(up.said()).toContain('"kind":"stopped"');
    expect(await here.json("warden", "status")).toMatchObject({ up: false });
  });

  it("is one for a folder", async () => {
    const here = place();
    const first = wardenUp(here);
    await until("it is up", () => first.said().includes("is up"));
    const second = wardenUp(here);
    await until("it is refused", () => second.said().includes("another warden"));
  });
});
