import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { newFolder } from "../support/folders.ts";
import { cli, ok } from "./support.ts";

/** Engines as a worker runs them: stand-ins for the vendors, which speak their real streams. */

const vendor = (name: string) =>
  fileURLToPath(new URL(`../engines/vendors/${name}.mjs`, import.meta.url));

let home: string;
let run: string;
let scenario = "";

beforeEach(async () => {
  home = newFolder();
  run = join(home, "run");
  scenario = "";
  await (await openRun(run, { create: true, durability: "fast" })).close();
  writeFileSync(join(home, "prompt.md"), "Please do {{payload.goal}}. {{note}}{{evidence}}\n");
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const around = () => ({
  cwd: home,
  env: {
    PATH: process.env.PATH ?? "",
    HOME: home,
    VIV_STATE: join(home, "state"),
    VENDOR_SCENARIO: scenario,
    VENDOR_RECORD: join(home, "calls"),
  },
});

function config(route: string, more = ""): void {
  const env = 'env = ["VENDOR_SCENARIO", "VENDOR_RECORD"]';
  writeFileSync(
    join(home, "viv.toml"),
    `run = "run"\n[handlers.default]\nprompt = "prompt.md"\n${env}\n${route}\n${more}`,
  );
}

const claude = (more = "") => `engine = "claude"\nbinary = "${vendor("claude")}"\n${more}`;

const enqueue = (id: string, ...flags: string[]) =>
  ok(["enqueue", "--id", id, "--type", "t", "--payload", `{"goal":"${id}"}`, ...flags], around());

const drain = (...flags: string[]) =>
  cli(["work", "--worker-id", "w", "--drain", ...flags], around());

async function show(id: string) {
  return JSON.parse(await ok(["show", "--json", id], around()));
}

const linesOf = async (id: string, event: string) =>
  ((await show(id)).ledger as Record<string, unknown>[]).filter((line) => line.event === event);

const calls = () =>
  (existsSync(join(home, "calls")) ? readFileSync(join(home, "calls"), "utf8") : "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { argv: string[]; prompt: string });

describe("a model run", () => {
  test("its answer is the artifact; what it did and used is in the ledger", async () => {
    config(claude('model = "claude-sonnet-5"'));
    await enqueue("a");
    const said = await drain();
    expect(said.status, said.stderr).toBe(0);
    expect((await show("a")).state).toBe("done");
    expect(readFileSync(join(run, "artifacts/a.md"), "utf8").length).toBeGreaterThan(5);
    expect(calls()).toMatchObject([{ prompt: "Please do a. \n" }]);
    const steps = await linesOf("a", "step");
    expect(steps.some(({ kind, tool }) => kind === "tool" && tool)).toBe(true);
    expect(steps.every(({ worker, task }) => worker === "w" && task === "a")).toBe(true);
    const [usage] = await linesOf("a", "usage");
    expect(usage).toMatchObject({ engine: "claude", account: "claude", said: "done" });
    expect(usage?.usd).toBeGreaterThan(0);
    const log = await ok(["logs", "a"], around());
    expect(log).toMatch(/^▸ \w+/m);
    expect(log).not.toContain('{"type"');
    expect(readFileSync(join(run, "artifacts/a.stream.jsonl"), "utf8")).toContain(
      '"type":"result"',
    );
    const costs = JSON.parse(await ok(["costs", "--json"], around()));
    expect(costs.total).toMatchObject({ proven: 1 });
  });

  test("an attempt that was not proven is gone on with, with what the check said", async () => {
    config(
      claude('model = "claude-sonnet-5"'),
      `done_when = "test -e ${home}/ok || { echo nothing there; touch ${home}/ok; exit 1; }"
       max_attempts = 3
       backoff = "50ms"`,
    );
    await enqueue("a");
    await drain();
    expect((await show("a")).state).toBe("done");
    const [first, second] = calls();
    expect(first?.argv).not.toContain("--resume");
    expect(second?.argv).toContain("--resume");
    expect(second?.prompt).toContain("nothing there");
  });

  test("a session that is gone begins anew, in the same attempt", async () => {
    config(claude(), 'max_attempts = 2\nbackoff = "50ms"');
    writeFileSync(
      join(run, "artifacts/a.session.json"),
      '{"engine":"claude","session":"0c0ffee0-0000-4000-8000-000000000000","model":null}',
    );
    scenario = "session-lost";
    await enqueue("a");
    await drain();
    const tries = calls();
    // The first attempt has no earlier one, so it resumes nothing; the second does, and begins anew.
    expect(tries.map(({ argv }) => argv.includes("--resume"))).toEqual([false, true, false]);
    expect(tries[2]?.prompt).toContain("Please do a.");
  });

  test.each([
    ["model", /selected model/],
    ["turns", /turns/],
    ["crash", /rate_limits|exit 7|ended/],
    ["cut-off", /./],
  ])("%s: a failure with a reason", async (name, note) => {
    config(claude());
    scenario = name;
    await enqueue("a", "--max-attempts", "1");
    await drain();
    const view = await show("a");
    expect(view.state).toBe("failed");
    expect(view.history[0].note).toMatch(note);
  });

  test.each(["codex", "gemini", "opencode"])("%s works, too", async (name) => {
    config(`engine = "${name}"\nbinary = "${vendor(name)}"`);
    await enqueue("a");
    const said = await drain();
    expect(said.status, said.stderr).toBe(0);
    expect((await show("a")).state, said.stdout).toBe("done");
    const [usage] = await linesOf("a", "usage");
    expect(usage?.tokens).toBeGreaterThan(0);
  });
});

describe("limits of an account", () => {
  test("a rate limit closes it for everybody, and the attempt does not count", async () => {
    config(claude());
    scenario = "rate-limit";
    for (const id of ["a", "b"]) await enqueue(id, "--max-attempts", "1");
    await cli(["work", "--worker-id", "w", "--once"], around());
    expect(calls()).toHaveLength(1);
    const { accounts } = JSON.parse(await ok(["accounts", "--json"], around()));
    expect(accounts).toMatchObject([{ account: "claude", state: "closed" }]);
    expect((await show("a")).history).toMatchObject([{ outcome: "rate_limited" }]);
    expect((await show("a")).state).toBe("waiting");
    const ledger = await ok(["ledger", "show", "--event", "account_closed", "--json"], around());
    const { account, until } = accounts[0];
    expect(JSON.parse(ledger).lines).toMatchObject([
      { account, until, reason: "rate_limited", task: "a", agent: "w" },
    ]);
    const why = JSON.parse(await ok(["why", "--json", "b"], around()));
    expect(why.reasons[0]).toMatchObject({ code: "account_closed" });
    // Nobody else tries either, in this run or in another one.
    scenario = "";
    const stop = new AbortController();
    const onStdout = (text: string) => void (text.includes("claude") && stop.abort());
    const looked = await cli(["work", "--worker-id", "w2", "--max-iterations", "1"], {
      ...around(),
      signal: stop.signal,
      onStdout,
    });
    expect(looked.stdout).toContain("nothing was claimed");
    expect(calls()).toHaveLength(1);
    await ok(["accounts", "open", "claude"], around());
    await cli(["work", "--worker-id", "w2", "--once"], around());
    expect((await show("b")).state).toBe("done");
  });

  test.each([
    ["codex", "429", "rate_limited", { state: "closed", reason: "rate_limited" }, 59],
    ["gemini", "429", "rate_limited", { state: "closed", reason: "rate_limited" }, 1],
    ["opencode", "429", "rate_limited", { state: "closed", reason: "rate_limited" }, 59],
    ["claude", "401", "released", { state: "parked", reason: "unauthorized" }, 0],
    ["codex", "401", "released", { state: "parked", reason: "unauthorized" }, 0],
    ["codex", "402", "released", { state: "parked", reason: "quota" }, 0],
    ["opencode", "401", "released", { state: "parked", reason: "unauthorized" }, 0],
  ])(
    "%s would wait out a %s by itself: it is ended at once",
    async (name, trouble, outcome, account, minutes) => {
      config(`engine = "${name}"\nbinary = "${vendor(name)}"\n`);
      scenario = `waits-${trouble}`;
      await enqueue("a", "--max-attempts", "1");
      await cli(["work", "--worker-id", "w", "--once"], around());
      expect(calls()).toHaveLength(1);
      const { accounts } = JSON.parse(await ok(["accounts", "--json"], around()));
      expect(accounts).toMatchObject([{ account: name, ...account }]);
      const { history, state } = await show("a");
      expect(history).toMatchObject([{ outcome }]);
      expect(state).not.toBe("failed");
      const until = Date.parse(accounts[0].until ?? history[0].at);
      expect(until - Date.parse(history[0].at)).toBeGreaterThanOrEqual(minutes * 60_000);
      expect(await ok(["logs", "a"], around())).toContain("ended, because it would only wait");
    },
  );

  test("whose time is up while it waits for the vendor has burnt no attempt", async () => {
    config('engine = "codex"\nbinary = "'.concat(vendor("codex"), '"\ntimeout = "2s"\n'));
    scenario = "waits-529";
    await enqueue("a", "--max-attempts", "1");
    await cli(["work", "--worker-id", "w", "--once", "--kill-after", "100ms"], around());
    expect((await show("a")).history).toMatchObject([{ outcome: "rate_limited" }]);
    const { accounts } = JSON.parse(await ok(["accounts", "--json"], around()));
    expect(accounts).toMatchObject([{ state: "closed", reason: "unavailable" }]);
    expect(await ok(["why", "a"], around())).toContain("529");
  });

  test.each(["auth", "quota"])("%s parks it: no attempt is burnt", async (name) => {
    config(claude());
    scenario = name;
    for (const id of ["a", "b"]) await enqueue(id, "--max-attempts", "1");
    const said = await drain();
    expect(said.status, said.stderr).toBe(0);
    expect(calls()).toHaveLength(1);
    for (const id of ["a", "b"]) expect((await show(id)).state).toBe("pending");
    const list = await ok(["accounts"], around());
    expect(list).toContain("parked");
    expect(list).toContain("viv accounts open claude");
    scenario = "";
    await ok(["accounts", "open", "claude"], around());
    await drain();
    for (const id of ["a", "b"]) expect((await show(id)).state).toBe("done");
  });
});

describe("in a sandbox", () => {
  /** Where every sandbox shows it: /tmp and /dev/shm are empty in there. */
  const visibleCodex = () => {
    const folder = newFolder(".viv-test-", homedir());
    cpSync(dirname(vendor("codex")), folder, { recursive: true });
    return join(folder, basename(vendor("codex")));
  };

  test("an engine has a home of its own that it finds again, with the user's login in it", async () => {
    mkdirSync(join(home, ".codex"));
    writeFileSync(join(home, ".codex/auth.json"), "the login");
    const program = join(home, "codex.sh");
    const seen = [
      "cat $CODEX_HOME/auth.json",
      "ls $CODEX_HOME/state",
      "echo no > $CODEX_HOME/auth.json || echo read-only",
      'echo "$@"',
    ];
    const text = `{ ${seen.join("; ")}; } > seen.$VIV_ATTEMPT 2>/dev/null\necho 1 > $CODEX_HOME/state`;
    writeFileSync(
      program,
      `#!/bin/sh\n${text}\nunset VENDOR_RECORD\nexec ${visibleCodex()} "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const sandboxed = 'workspace = "dir"\nsandbox = "write-workspace"';
    config(`engine = "codex"\nbinary = "${program}"\n${sandboxed}\nbackoff = "1ms"
done_when = "test -e seen.2"\nmax_attempts = 2`);
    await enqueue("a");
    const said = await drain();
    expect((await show("a")).state, said.stdout).toBe("done");
    const [first = "", second = ""] = [1, 2].map((n) =>
      readFileSync(join(run, `workspaces/a/seen.${n}`), "utf8"),
    );
    expect(first).toMatch(/^the login/);
    expect(first).toContain("read-only\n");
    // Its own sandbox cannot be made inside of ours.
    expect(first).toContain("--sandbox danger-full-access");
    expect(first).not.toContain("state");
    expect(second).toContain("/state\n");
    expect(second).toContain(" resume ");
    expect(readFileSync(join(home, ".codex/auth.json"), "utf8")).toBe("the login");
    expect(readFileSync(join(run, "artifacts/.sessions/a/codex/auth.json"), "utf8")).toBe("");
  });

  const secretive = () => {
    const program = join(home, "codex.sh");
    const look = `grep -rl "secret of" ${run}/artifacts > seen.$VIV_ATTEMPT`;
    const text = `${look}\necho "secret of $VIV_TASK_ID" > $CODEX_HOME/state\nunset VENDOR_RECORD`;
    writeFileSync(program, `#!/bin/sh\n${text}\nexec ${visibleCodex()} "$@"\n`, { mode: 0o755 });
    return `engine = "codex"\nbinary = "${program}"\nworkspace = "dir"\nbackoff = "1ms"
done_when = "test -e seen.2"\nmax_attempts = 2`;
  };

  test("an engine sees its own home alone", async () => {
    config(`${secretive()}\nsandbox = "write-workspace"`);
    for (const id of ["old", "own"]) {
      mkdirSync(join(run, `artifacts/${id}.sessions/codex`), { recursive: true });
      writeFileSync(join(run, `artifacts/${id}.sessions/codex/state`), "secret of before");
    }
    for (const id of ["a", "b", "own"]) await enqueue(id);
    const said = await drain("--concurrency", "1");
    for (const id of ["a", "b", "own"]) expect((await show(id)).state, said.stdout).toBe("done");
    const seen = (id: string, n: number) =>
      readFileSync(join(run, `workspaces/${id}/seen.${n}`), "utf8");
    for (const id of ["a", "b"]) {
      expect(seen(id, 1)).toBe("");
      expect(seen(id, 2)).toBe(`${run}/artifacts/.sessions/${id}/codex/state\n`);
    }
    // One of an earlier version goes on where it was.
    for (const n of [1, 2])
      expect(seen("own", n)).toBe(`${run}/artifacts/own.sessions/codex/state\n`);
  });

  test("gc removes the homes of ended tasks, and says of none that there is a session to go on with", async () => {
    config(`${secretive()}\nsandbox = "write-workspace"`);
    await enqueue("a");
    await drain();
    await enqueue("b");
    for (const id of ["b", "c"])
      mkdirSync(join(run, `artifacts/.sessions/${id}/codex`), { recursive: true });
    mkdirSync(join(run, "artifacts/old.sessions"));
    const { homes } = JSON.parse(await ok(["workspaces", "gc", "--json"], around()));
    expect(homes).toEqual(["a", "c", "old"]);
    expect(readdirSync(join(run, "artifacts/.sessions"))).toEqual(["b"]);
    expect(existsSync(join(run, "artifacts/old.sessions"))).toBe(false);
    expect(existsSync(join(run, "artifacts/a.session.json"))).toBe(false);
    expect(await ok(["workspaces", "gc"], around())).toContain("kept a (it has files; remove it");
    expect(await ok(["workspaces", "gc", "a"], around())).toContain("removed a (patch in");
    expect(await ok(["workspaces", "gc"], around())).toContain("no workspaces");
  });

  test.each([
    ["claude", 'sandbox = "no-network"', /claude cannot reach its model/],
    ["llm", 'model = "m"\nurl = "http://localhost:1"\nsandbox = "no-network"', /llm cannot reach/],
    ["codex", 'mode = "plan"\nsandbox = "write-workspace"', /codex cannot be kept from writing/],
  ])("what cannot work is refused before the first claim: %s, %s", async (name, route, why) => {
    const binary = name === "llm" ? "" : `binary = "${vendor(name)}"\n`;
    config(`engine = "${name}"\n${binary}${route}`);
    await enqueue("a");
    const said = await drain();
    expect(said.status).toBe(2);
    expect(said.stderr).toMatch(why);
    expect((await show("a")).state).toBe("pending");
  });
});

test("a parked account is not waited for, though another one opens by itself", async () => {
  const other = `[handlers.other]\nprompt = "prompt.md"\n${claude('account = "second"')}\n`;
  config(claude(), other);
  await enqueue("a");
  scenario = "auth";
  await ok(["accounts", "close", "second", "--for", "1h"], around());
  const said = await drain();
  expect(said.stdout).toContain("account claude is parked");
  expect((await show("a")).state).toBe("pending");
});

test("exit 75 means later, with engines as with handlers", async () => {
  writeFileSync(join(home, "later.sh"), "#!/bin/sh\nexit 75\n", { mode: 0o755 });
  config('engine = "exec"\nhandler = "./later.sh"');
  await enqueue("a", "--max-attempts", "1");
  await cli(["work", "--worker-id", "w", "--once"], around());
  expect((await show("a")).history).toMatchObject([{ outcome: "rate_limited" }]);
});

describe("money", () => {
  const play = (cases: string) => writeFileSync(join(home, "play.toml"), cases);
  const script = (more: string) => `engine = "script"\nscenario = "play.toml"\n${more}`;

  test("a run that goes over its budget is ended before its next step", async () => {
    play(`[[case]]
step = [
  { say = "cheap", usage = { input = 10, usd = 0.041 } },
  { say = "dear", usage = { input = 10, usd = 0.02 } },
  { run = "sleep 60; touch too-late" },
]`);
    config(script('workspace = "dir"\nbudget = { usd = 0.05 }'));
    await enqueue("a", "--max-attempts", "1");
    await drain();
    const view = await show("a");
    expect(view.state).toBe("failed");
    expect(view.history[0].note).toContain(
      "the budget of this attempt is used up: $0.0610 of $0.0500",
    );
    expect(existsSync(join(run, "workspaces/a/too-late"))).toBe(false);
    const notices = (await linesOf("a", "step")).filter(({ kind }) => kind === "notice");
    expect(notices.some(({ text }) => String(text).includes("82 %"))).toBe(true);
    expect((await linesOf("a", "usage"))[0]).toMatchObject({ usd: 0.061 });
  });

  test("turns: for an engine without such a limit, a tool is one", async () => {
    play(`[[case]]\nstep = [${'{ run = "echo x >> turns" },'.repeat(6)} { run = "sleep 60" }]`);
    config(script('workspace = "dir"\nbudget = { turns = 3 }'));
    await enqueue("a", "--max-attempts", "1");
    await drain();
    expect((await show("a")).history[0].note).toContain("turns");
  });

  test("the budget of a task counts all its attempts", async () => {
    play(
      '[[case]]\nstep = [{ say = "x", usage = { input = 10, usd = 0.03 } }]\nend = { outcome = "failed" }',
    );
    config(script('task_budget = { usd = 0.05 }\nmax_attempts = 9\nbackoff = "20ms"'));
    await enqueue("a");
    await drain();
    const view = await show("a");
    expect(view.history).toHaveLength(2);
    expect(view.history.at(-1).note).toContain("the budget of this task");
  });

  test("the budget of a run: what is over is given back, and nothing more is begun", async () => {
    play(
      '[[case]]\nstep = [{ say = "x", usage = { input = 10, usd = 0.03 } }, { run = "sleep 0.2" }]',
    );
    config(script(""), "[budget]\nrun = { usd = 0.06 }\n");
    for (const id of ["a", "b", "c", "d"]) await enqueue(id, "--max-attempts", "1");
    const said = await drain();
    expect(said.status, said.stderr).toBe(0);
    const states = await Promise.all(
      ["a", "b", "c", "d"].map(async (id) => (await show(id)).state),
    );
    expect(states).toEqual(["done", "pending", "pending", "pending"]);
    const costs = JSON.parse(await ok(["costs", "--json"], around()));
    expect(costs.total.usd).toBeLessThanOrEqual(0.06 + 1e-9);
  });

  test("the budget of a run: no step is begun that may not fit", async () => {
    play(`[[case]]
step = [
  { say = "x", usage = { input = 10, usd = 0.03 } },
  { run = "sleep 60" },
  { say = "y", usage = { input = 10, usd = 0.03 } },
]`);
    config(script(""), "[budget]\nrun = { usd = 0.05 }\n");
    for (const id of ["a", "b"]) await enqueue(id);
    const said = await drain();
    const why =
      "the budget of this run is used up: $0.0300 of $0.0500, and a step may cost $0.0300";
    expect(said.stdout).toContain(why);
    const { state, history } = await show("a");
    expect([state, history[0].outcome, history[0].note]).toEqual(["pending", "released", why]);
    expect((await show("b")).history).toEqual([]);
    expect(await ok(["why", "b"], around())).toContain(why);
  });

  test("a run that is over is done, though no further step would fit", async () => {
    play('[[case]]\nstep = [{ say = "x", usage = { input = 10, usd = 0.03 } }]');
    config(script(""), "[budget]\nrun = { usd = 0.05 }\n");
    await enqueue("a");
    await drain();
    expect((await show("a")).state).toBe("done");
  });

  test.each(["0", "null", "-1", '"9"', "1e999", "0.5"])(
    "a total of %s at the end does not erase steps of $9",
    async (total) => {
      const usage = '{"input_tokens":0,"output_tokens":9}';
      const events = [
        '{"type":"system","subtype":"init","session_id":"0c0ffee0-1111-4222-8333-444455556666","model":"m"}',
        `{"type":"assistant","message":{"id":"m1","model":"m","content":[],"usage":${usage}}}`,
        `{"type":"result","subtype":"success","result":"ok","total_cost_usd":${total},"usage":${usage},"modelUsage":{"m":{"inputTokens":0,"outputTokens":9,"costUSD":${total}}}}`,
      ];
      const text = events.map((event) => `echo '${event}'`).join("\n");
      writeFileSync(join(home, "vendor.sh"), `#!/bin/sh\ncat > /dev/null\n${text}\n`, {
        mode: 0o755,
      });
      const prices = "[prices.m]\ninput = 1000000\noutput = 1000000\n";
      config('engine = "claude"\nbinary = "./vendor.sh"\ntask_budget = { usd = 20 }', prices);
      await enqueue("a");
      await drain();
      expect((await show("a")).state).toBe("done");
      expect((await linesOf("a", "usage"))[0]).toMatchObject({ usd: 9, tokens: 9 });
      const costs = JSON.parse(await ok(["costs", "--json"], around()));
      expect(costs.total.usd).toBe(9);
    },
  );

  test("a ledger line that is dated ahead does not hide what is spent after it", async () => {
    play('[[case]]\nstep = [{ say = "x", usage = { input = 10, usd = 0.3 } }]');
    for (const [budget, spentAhead] of [
      ["run = { usd = 1 }", 0],
      ["day = { usd = 1 }", 0],
      ["day = { usd = 1 }", 0.6],
    ] as const) {
      rmSync(run, { recursive: true, force: true });
      await (await openRun(run, { create: true, durability: "fast" })).close();
      config(script(""), `[budget]\n${budget}\n`);
      for (let i = 0; i < 8; i++) await enqueue(`t${i}`);
      const at = new Date(Date.now() + 2 * 86_400_000).toISOString();
      const models = [{ model: "m", input: 1, usd: spentAhead }];
      const line = { at, event: "usage", task: "other", token: "1", models };
      writeFileSync(join(run, `ledger/${at.slice(0, 10)}.jsonl`), `${JSON.stringify(line)}\n`);
      const stop = new AbortController();
      const isHeld = /the budget of this (run|day)/;
      const said = await cli(["work", "--worker-id", "w", "--drain"], {
        ...around(),
        signal: stop.signal,
        onStdout: (text) => isHeld.test(text) && stop.abort(), // that of a day comes back at midnight
      });
      expect(said.stdout).toMatch(isHeld);
      const costs = JSON.parse(await ok(["costs", "--json"], around()));
      expect(costs.total.usd).toBeGreaterThan(0.5);
      expect(costs.total.usd).toBeLessThanOrEqual(1.2 + 1e-9);
    }
  });

  test("a budget that could not be held is refused before anything begins", async () => {
    config(claude('model = "nobody-knows"\nbudget = { usd = 1 }'));
    await enqueue("a");
    const refused = await drain();
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain('[prices."nobody-knows"]');
    expect(calls()).toEqual([]);
    config(
      claude('model = "nobody-knows"\nbudget = { usd = 1 }'),
      '[prices."nobody-*"]\ninput = 3\noutput = 15\n[prices."claude-*"]\ninput = 3\noutput = 15\n',
    );
    await drain();
    expect((await show("a")).state).toBe("done");
  });

  test("a budget in dollars needs no [prices] for a model that the list has, or without a model", async () => {
    for (const [id, model] of [
      ["a", 'model = "claude-sonnet-5"\n'],
      ["b", ""],
    ] as const) {
      config(claude(`${model}budget = { usd = 1 }`));
      await enqueue(id);
      await drain();
      expect((await show(id)).state).toBe("done");
    }
  });

  test("an engine that never reports its usage takes no budget", async () => {
    writeFileSync(join(home, "answer.sh"), "#!/bin/sh\ncat\n", { mode: 0o755 });
    config('engine = "exec"\nhandler = "./answer.sh"\nbudget = { tokens = 1000 }');
    await enqueue("a");
    expect((await drain()).stderr).toContain("does not report its usage");
    expect((await show("a")).state).toBe("pending");
  });

  test("a program that ignores signals is ended all the same, before it spends more", async () => {
    const step = (usd: number) =>
      JSON.stringify({
        type: "step",
        kind: "notice",
        usage: { model: "m", input: 1, output: 0, cacheRead: 0, cacheWrite: 0, usd },
      });
    writeFileSync(
      join(home, "deaf.sh"),
      `#!/bin/sh
trap '' TERM
cat > /dev/null
echo '${step(2)}'
while :; do echo '${step(0.01)}'; sleep 0.01; done\n`,
      { mode: 0o755 },
    );
    config('engine = "script"\nscenario = "prompt.md"\nbinary = "./deaf.sh"\nbudget = { usd = 1 }');
    await enqueue("a", "--max-attempts", "1");
    await drain();
    expect((await show("a")).history[0].note).toContain("is used up");
    const costs = JSON.parse(await ok(["costs", "--json"], around()));
    expect(costs.total.usd).toBeLessThan(3);
  });
});

describe("what can go wrong in between", () => {
  test("a run that dies without a word about what it used fails closed, too", async () => {
    config(`engine = "codex"\nbinary = "${vendor("codex")}"\nbudget = { tokens = 100 }`);
    scenario = "crash";
    await enqueue("a", "--max-attempts", "5");
    await drain();
    const { history } = await show("a");
    expect(history).toHaveLength(1);
    expect(history[0].note).toContain("could not be read");
  });

  test("a model's text is not taken for its vendor's", async () => {
    const words = "Invalid API key. Please run /login. Rate limit reached, try again in 5 minutes.";
    const events = [
      { type: "system", subtype: "init", session_id: "0c0ffee0-1111-4222-8333-444455556666" },
      { type: "assistant", message: { id: "m", content: [{ type: "text", text: words }] } },
    ];
    const text = events.map((event) => `echo '${JSON.stringify(event)}'`).join("\n");
    writeFileSync(join(home, "vendor.sh"), `#!/bin/sh\ncat > /dev/null\n${text}\nexit 7\n`, {
      mode: 0o755,
    });
    config('engine = "claude"\nbinary = "./vendor.sh"');
    await enqueue("a", "--max-attempts", "1");
    await drain();
    expect((await show("a")).history).toMatchObject([{ outcome: "failed" }]);
    const { accounts } = JSON.parse(await ok(["accounts", "--json"], around()));
    expect(accounts).toMatchObject([{ state: "open" }]);
  });

  test("the session is known before the run ends", async () => {
    writeFileSync(
      join(home, "vendor.sh"),
      `#!/bin/sh
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"0c0ffee0-1111-4222-8333-444455556666"}'
until [ -e ${run}/artifacts/a.session.json ]; do sleep 0.02; done
exit 7\n`,
      { mode: 0o755 },
    );
    config('engine = "claude"\nbinary = "./vendor.sh"\ntimeout = "20s"');
    await enqueue("a", "--max-attempts", "1");
    await drain();
    expect((await show("a")).history).toMatchObject([{ outcome: "failed" }]);
  });

  test("a second answer replaces the first, unless the model has written the artifact itself", async () => {
    writeFileSync(
      join(home, "play.toml"),
      `[[case]]
when = { attempt = 1 }
end = { text = "first" }
[[case]]
when = { attempt = 2 }
end = { text = "second" }
[[case]]
step = [{ run = "echo mine > $VIV_ARTIFACT_PATH" }]
end = { text = "third" }`,
    );
    config(
      'engine = "script"\nscenario = "play.toml"\nmax_attempts = 3\nbackoff = "20ms"',
      'done_when = "grep -q mine $VIV_ARTIFACT_PATH"',
    );
    await enqueue("a");
    await drain();
    expect((await show("a")).state).toBe("done");
    const said = [1, 2].map((n) => join(run, `artifacts/a.evidence/${n}.json`));
    expect(said.every((path) => existsSync(path))).toBe(true);
    expect(readFileSync(join(run, "artifacts/a.md"), "utf8")).toBe("mine\n");
    config(
      'engine = "script"\nscenario = "play.toml"\nmax_attempts = 2\nbackoff = "20ms"',
      'done_when = "grep -q second $VIV_ARTIFACT_PATH"',
    );
    await enqueue("b");
    await drain();
    expect(readFileSync(join(run, "artifacts/b.md"), "utf8")).toBe("second\n");
  });

  test("money is counted without dust: ten times a tenth is one", async () => {
    writeFileSync(
      join(home, "play.toml"),
      `[[case]]\nstep = [${'{ say = "x", usage = { input = 1, usd = 0.1 } },'.repeat(10)}]\n`,
    );
    config('engine = "script"\nscenario = "play.toml"', "[budget]\nrun = { usd = 1.0 }\n");
    for (const id of ["a", "b"]) await enqueue(id);
    const said = await drain();
    expect(said.stdout).toContain("the budget of this run is used up");
    expect((await show("b")).history).toEqual([]);
  });
});

describe("bad input", () => {
  test("a field that the task does not have", async () => {
    writeFileSync(join(home, "prompt.md"), "Do {{payload.gaol}}");
    config(claude());
    await enqueue("a", "--max-attempts", "5");
    await enqueue("b", "--payload", '{"gaol":"x"}');
    await drain();
    const { history, state } = await show("a");
    expect(state).toBe("failed");
    expect(history).toHaveLength(1);
    expect(history[0].note).toContain("gaol");
    expect((await show("b")).state).toBe("done");
  });

  test("an unknown name in a template is refused before anything begins", async () => {
    writeFileSync(join(home, "prompt.md"), "one\nDo {{paylod.goal}}");
    config(claude());
    const said = await drain();
    expect(said.stderr).toMatch(/prompt\.md:2: .*payload/);
  });

  test("an engine that is not installed", async () => {
    config('engine = "codex"\nbinary = "./no-such-codex"');
    expect((await drain()).stderr).toContain("no-such-codex");
  });

  test("a stream of a hundred thousand lines, with colours and bytes that are no text", async () => {
    const noise = `#!/bin/sh
cat > /dev/null
i=0; while [ $i -lt 1000 ]; do printf '\\033[31m%0100d\\033[0m\\377\\n' $i; i=$((i+1)); done > ${home}/k
i=0; while [ $i -lt 100 ]; do cat ${home}/k; i=$((i+1)); done\n`;
    writeFileSync(join(home, "noise.sh"), noise, { mode: 0o755 });
    config('engine = "exec"\nhandler = "./noise.sh"', '[limits]\nlog = "100kB"\n');
    await enqueue("a");
    const said = await drain();
    expect((await show("a")).state, said.stdout).toBe("done");
    expect((await linesOf("a", "step")).length).toBeLessThan(2_100);
    expect(readFileSync(join(run, "artifacts/a.stream.jsonl")).length).toBeLessThan(110_000);
  });
});

test("supervision costs no tokens: one call for each attempt, whatever else happens", async () => {
  config(claude());
  for (let i = 0; i < 5; i++) await enqueue(`t.${i}`);
  await drain("--concurrency", "2");
  for (const command of [["ls"], ["status"], ["reap"], ["doctor"], ["why", "t.1"], ["costs"]]) {
    await ok(command, around());
  }
  await drain("--poll-interval", "0.05");
  expect(calls()).toHaveLength(5);
});
