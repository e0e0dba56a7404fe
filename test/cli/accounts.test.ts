import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { AccountState } from "../../src/engines/accounts/account.ts";
import type { Accounts } from "../../src/engines/accounts/accounts.ts";
import { accounts } from "../../src/engines/operations.ts";
import { accountsHere, openRun } from "../../src/main.ts";
import { ls } from "../../src/overview/operations.ts";
import { within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { cli, environment, json, ok, type Surroundings, VIV } from "./support.ts";

/** `viv accounts`, which needs no run, and accounts in the output of other commands. */

let folder: string;
let state: string;
let host: FakeHost;
let around: Surroundings;
let gates: Accounts;

beforeEach(async () => {
  folder = newFolder();
  state = join(folder, "state");
  host = new FakeHost();
  const env = { VIV_STATE: state, USER: "pia" };
  around = { cwd: folder, env, machine: host.process() };
  gates = await accountsHere(env, folder, around.machine?.clock.now);
});

const say = (...args: string[]) => ok(args, around);
const now = () => around.machine?.clock.now() ?? 0;
const iso = (ms: number) => new Date(now() + ms).toISOString();

async function listed(...args: string[]): Promise<AccountState[]> {
  const output = await json(["accounts", ...args], around);
  expect(accounts.output.parse(output)).toEqual(output);
  return (output as { accounts: AccountState[] }).accounts;
}

async function refused(...args: string[]) {
  const { status, stderr } = await cli(["accounts", ...args], around);
  return { status, stderr };
}

const by = { run: "/r", worker: "w", task: "t" };
const limited = (ms: number) => ({
  reason: "rate_limited" as const,
  until: iso(ms),
  message: "429\u001b[31m slow down",
  todo: "",
  by,
  began: now(),
});
const unauthorized = () => ({
  ...limited(0),
  reason: "unauthorized" as const,
  message: "invalid key",
  todo: "log in with: claude /login",
});

describe("viv accounts", () => {
  it("needs no run, and there may be none", async () => {
    expect(await say("accounts")).toBe("no accounts\n");
    expect(await listed()).toEqual([]);
    expect(existsSync(state)).toBe(false);
  });

  it("lists closed ones with time, reason and next step", async () => {
    await gates.close("main", limited(12 * 60_000));
    await gates.close("spare", unauthorized());
    await gates.close("well", limited(1000));
    await gates.open("well", "pia");
    const text = await say("accounts");
    const at = iso(12 * 60_000).slice(11, 16);
    const lines = text.split("\n");
    expect(lines[0]).toMatch(/^main +closed +until /);
    expect(lines[0]).toContain(`until ${at} UTC (in 12m)`);
    expect(lines[0]).toContain("slow down");
    expect(text).not.toContain("\u001b");
    expect(lines[1]).toMatch(/^spare +parked +until you open it +invalid key$/);
    expect(lines[2]).toMatch(/^well +open$/);
    expect(lines.slice(3)).toEqual([
      "spare: log in with: claude /login, then:",
      "  viv accounts open spare",
      "",
    ]);
    expect((await listed()).map(({ account }) => account)).toEqual(["main", "spare", "well"]);
    expect(await listed("ls", "spare")).toMatchObject([{ state: "parked", by }]);
  });

  it("lists those of the viv.toml here, too", async () => {
    const route = 'engine = "claude"\nprompt = "p.md"\naccount = "acme"';
    writeFileSync(join(folder, "p.md"), "do it");
    writeFileSync(join(folder, "viv.toml"), `[handlers.default]\n${route}\n`);
    expect(await say("accounts")).toMatch(/^acme +open\n$/);
    expect(await listed("open", "acme")).toMatchObject([{ account: "acme", state: "open" }]);
  });

  it("opens one, and records the person", async () => {
    await gates.close("main", unauthorized());
    expect(await listed("open", "main")).toMatchObject([{ state: "open", by: { person: "pia" } }]);
    expect(gates.read("main").state).toBe("open");
    expect(await listed("open", "main", "--by", "rob")).toMatchObject([
      { by: { person: "rob" }, failures: 0 },
    ]);
  });

  it("closes one for a time, by hand", async () => {
    const [closed] = await listed("close", "main", "--for", "2h", "--note", "for myself");
    expect(closed).toMatchObject({ state: "closed", reason: "by_hand", until: iso(7_200_000) });
    expect(await say("accounts")).toContain("by hand (for myself)");
    // Shorter does not make it shorter, and a success does not open it.
    await listed("close", "main", "--for", "1h");
    await gates.succeeded("main", now() + 1);
    expect(gates.read("main")).toMatchObject({ until: iso(7_200_000), failures: 0 });
    host.advance(7_200_000);
    expect(await listed()).toMatchObject([{ state: "open" }]);
  });

  it("reports a file that cannot be read, and goes on", async () => {
    await gates.close("main", limited(60_000));
    writeFileSync(join(state, "accounts/main.json"), "{");
    const text = await say("accounts");
    expect(text).toMatch(/^main +open\n/);
    expect(text).toContain("viv accounts open main");
    await say("accounts", "open", "main");
    expect(await say("accounts")).toMatch(/^main +open\n$/);
  });

  it("reports an unwritable folder", async () => {
    mkdirSync(state);
    writeFileSync(join(state, "accounts"), "a file");
    const { status, stderr } = await refused("close", "a", "--for", "1h");
    expect([status, stderr]).toEqual([5, expect.stringContaining(join(state, "accounts"))]);
  });
});

const TOML = `run = "run"
[handlers.slow]
engine = "exec"
prompt = "p.md"
handler = "./handle.sh"
account = "acme"
[handlers.other]
engine = "exec"
prompt = "p.md"
handler = "./handle.sh"
account = "spare"
[handlers.default]
handler = "./handle.sh"
`;

/** A run with a task of each type. */
async function project(toml = TOML): Promise<void> {
  writeFileSync(join(folder, "handle.sh"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(folder, "p.md"), "do it");
  writeFileSync(join(folder, "viv.toml"), toml);
  await say("init", "run");
  for (const type of ["slow", "other", "quick"]) await say("enqueue", "--id", type, "--type", type);
}

interface Listed {
  tasks: { id: string; account_closed_until?: string | null }[];
  closed_accounts?: AccountState[];
}

describe("a closed account in other outputs", () => {
  it("is not mentioned while all are open", async () => {
    await project();
    const { tasks, closed_accounts } = await json<Listed>(["ls"], around);
    expect(tasks.map((task) => "account_closed_until" in task)).toEqual([false, false, false]);
    expect(closed_accounts).toBeUndefined();
    expect(await json(["status"], around)).not.toHaveProperty("closed_accounts");
    for (const command of ["ls", "status"]) expect(await say(command)).not.toContain("account");
  });

  it("has its time on each pending task of its type and for the run", async () => {
    await project();
    await gates.close("acme", limited(12 * 60_000));
    await gates.close("spare", unauthorized());
    await gates.close("elsewhere", limited(60_000));
    const output = await json<Listed>(["ls"], around);
    expect(ls.output.parse(output)).toEqual(output);
    const until = new Map(output.tasks.map((task) => [task.id, task.account_closed_until]));
    expect([until.get("slow"), until.get("other"), until.get("quick")]).toEqual([
      iso(12 * 60_000),
      null,
      undefined,
    ]);
    expect(output.closed_accounts?.map(({ account }) => account)).toEqual(["acme", "spare"]);
    const at = `${iso(12 * 60_000).slice(11, 16)} UTC (in 12m)`;
    for (const command of ["ls", "status"]) {
      const text = await say(command);
      expect(text).toContain(`account acme is closed until ${at}: rate limit`);
      expect(text).toContain("account spare is parked: invalid key");
      expect(text).not.toContain("elsewhere");
    }
    expect((await json<Listed>(["status"], around)).closed_accounts).toHaveLength(2);
    const why = await json<{ reasons: { code: string; text: string }[] }>(["why", "slow"], around);
    expect(why.reasons.map(({ code }) => code)).toEqual(["account_closed", "no_worker"]);
    expect(why.reasons[0]?.text).toBe(`account acme is closed until ${at}: rate limit`);
    const parked = await say("why", "other");
    expect(parked).toContain("is parked: invalid key; log in with: claude /login; then:");
    expect(parked).toContain("viv accounts open spare");
    expect(await say("why", "quick")).not.toContain("account");
  });

  it("the route of all other types may have one, too", async () => {
    await project(`${TOML}engine = "exec"\nprompt = "p.md"\naccount = "acme"\n`);
    await gates.close("acme", limited(60_000));
    const { tasks } = await json<Listed>(["ls"], around);
    const closed = tasks.filter((task) => task.account_closed_until).map(({ id }) => id);
    expect(closed.sort()).toEqual(["quick", "slow"]);
  });
});

/** These wait for times to come, so their clock is the real one. */
describe("a worker", () => {
  beforeEach(async () => {
    around = { cwd: folder, env: around.env ?? {} };
    gates = await accountsHere(around.env ?? {}, folder);
  });
  const later = (ms: number) => ({
    ...limited(0),
    began: Date.now(),
    until: new Date(Date.now() + ms).toISOString(),
  });
  const done = () => readdirSync(join(folder, "run/done")).sort();
  const work = (...args: string[]) => say("work", "--poll-interval", "60", ...args);

  it("skips tasks with a closed account, and takes the rest", async () => {
    await project();
    await gates.close("acme", later(3_600_000));
    await gates.close("spare", later(3_600_000));
    await work("--max-tasks", "1");
    expect(done()).toEqual(["quick.json"]);
    await gates.open("spare", "pia");
    await work("--max-tasks", "1");
    expect(done()).toEqual(["other.json", "quick.json"]);
    await gates.open("acme", "pia");
    await work("--drain");
    expect(done()).toEqual(["other.json", "quick.json", "slow.json"]);
  });

  it("takes only types with a route of their own while the default's account is closed", async () => {
    await project(`${TOML}engine = "exec"\nprompt = "p.md"\naccount = "acme"\n`);
    await gates.close("acme", later(3_600_000));
    await work("--max-tasks", "1");
    expect(done()).toEqual(["other.json"]);
  });

  it("continues when the time has come, without a wake-up", async () => {
    await project();
    await gates.close("acme", later(1_500));
    await gates.close("spare", later(1_000));
    const begin = Date.now();
    await within("the accounts are open again", work("--drain"));
    expect(Date.now() - begin).toBeGreaterThan(1_000);
    expect(done()).toEqual(["other.json", "quick.json", "slow.json"]);
  });

  it("sleeps when all its types are closed, and stops on a signal", async () => {
    await project();
    await gates.close("acme", later(3_600_000));
    const stop = new AbortController();
    const args = ["work", "--types", "slow", "--drain", "--worker-id", "w1"];
    const working = ok(args, { ...around, signal: stop.signal });
    await work("--types", "quick", "--worker-id", "w2", "--max-tasks", "1"); // all that while
    stop.abort();
    expect(await within("it stops", working)).toContain("nothing was claimed");
    expect(done()).toEqual(["quick.json"]);
  });

  it("does not spin on tasks that it must not take, of any type", async () => {
    await project(
      'run = "run"\n[handlers.default]\nengine = "exec"\nprompt = "p.md"\nhandler = "./handle.sh"\naccount = "acme"\n',
    );
    await gates.close("acme", later(1_000));
    const asked: string[] = [];
    const open: Surroundings["open"] = async (path, options) => {
      const store = await openRun(path, options);
      for (const name of ["claim", "waitForWork"] as const) {
        const real = store[name].bind(store) as (request: never) => Promise<never>;
        Object.assign(store, {
          [name]: (request: never) => {
            if (gates.read("acme").state !== "open") asked.push(name);
            return real(request);
          },
        });
      }
      return store;
    };
    await within("it is open again", ok(["work", "--drain"], { ...around, open }));
    expect(asked).toEqual([]);
    expect(done()).toHaveLength(3);
  });

  it("warns once about an unusable file, and works", async () => {
    await project();
    mkdirSync(join(state, "accounts"), { recursive: true });
    writeFileSync(join(state, "accounts/acme.json"), "{");
    const text = await work("--drain");
    expect(text.match(/acme\.json cannot be used/g)).toHaveLength(1);
    expect(done()).toHaveLength(3);
  });
});

describe("many processes at once", () => {
  const start = (args: readonly string[]) =>
    new Promise<number | null>((resolve, reject) => {
      const env = environment({ VIV_STATE: state });
      const child = spawn(process.execPath, [VIV, "accounts", ...args], { env, stdio: "ignore" });
      child.on("error", reject).on("close", resolve);
    });

  it("the latest time wins, and every reader sees a whole file", async () => {
    const hours = [3, 9, 1, 7, 5, 2, 8, 4];
    const before = Date.now();
    const all = Promise.all(hours.map((h) => start(["close", "main", "--for", `${h}h`])));
    let isOver = false;
    const path = join(state, "accounts/main.json");
    const torn: string[] = [];
    void all.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      if (existsSync(path)) {
        const text = readFileSync(path, "utf8");
        if (!text.endsWith("}\n")) torn.push(text);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await within("all have closed it", all)).toEqual(hours.map(() => 0));
    expect(torn).toEqual([]);
    const { until } = JSON.parse(readFileSync(path, "utf8")) as { until: string };
    expect(Date.parse(until) - before).toBeGreaterThanOrEqual(9 * 3_600_000);
    expect(readdirSync(join(state, "accounts")).sort()).toEqual([".main.lock", "main.json"]);
  });
});
