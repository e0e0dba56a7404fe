import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { accountsHere } from "../../src/main.ts";
import type { AccountState } from "../../src/model/account.ts";
import { accounts } from "../../src/ops/accounts.ts";
import type { Accounts } from "../../src/services/accounts.ts";
import { within } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { FakeHost } from "../support/machine.ts";
import { cli, environment, json, ok, type Surroundings, VIV } from "./support.ts";

/** `viv accounts`, and what the other commands say about accounts. No run is needed for the first. */

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

  it("says which are closed, until when, in how long, why, and what to do", async () => {
    gates.close("main", limited(12 * 60_000));
    gates.close("spare", unauthorized());
    gates.close("well", limited(1000));
    gates.open("well", "pia");
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

  it("lists what the viv.toml here names, too", async () => {
    const route = 'engine = "claude"\nprompt = "p.md"\naccount = "acme"';
    writeFileSync(join(folder, "p.md"), "do it");
    writeFileSync(join(folder, "viv.toml"), `[handlers.default]\n${route}\n`);
    expect(await say("accounts")).toMatch(/^acme +open\n$/);
    expect(await listed("open", "acme")).toMatchObject([{ account: "acme", state: "open" }]);
  });

  it("opens one, and says who did", async () => {
    gates.close("main", unauthorized());
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
    gates.succeeded("main", now() + 1);
    expect(gates.read("main")).toMatchObject({ until: iso(7_200_000), failures: 0 });
    host.advance(7_200_000);
    expect(await listed()).toMatchObject([{ state: "open" }]);
  });

  it("reports a file that cannot be read, and goes on", async () => {
    gates.close("main", limited(60_000));
    writeFileSync(join(state, "accounts/main.json"), "{");
    const text = await say("accounts");
    expect(text).toMatch(/^main +open\n/);
    expect(text).toContain("viv accounts open main");
    await say("accounts", "open", "main");
    expect(await say("accounts")).toMatch(/^main +open\n$/);
  });

  it("refuses what makes no sense", async () => {
    gates.close("anthropic-main", limited(60_000));
    const bad: [string[], RegExp][] = [
      [["open"], /which account\? viv accounts open NAME/],
      [["close"], /which account/],
      [["close", "a"], /for how long\? viv accounts close a --for 2h/],
      [["close", "a", "--for", "soon"], /not a duration/],
      [["close", "a", "--for", "0s"], /more than nothing/],
      [["close", "a", "--for", "9999d"], /at most 365d/],
      [["close", "../a", "--for", "1h"], /may contain only|must not begin/],
      [["open", "../a"], /account/],
      [["open", "antropic-main"], /did you mean anthropic-main\?/],
      [["frob"], /action/],
    ];
    for (const [args, message] of bad) {
      const { status, stderr } = await refused(...args);
      expect(stderr, args.join(" ")).toMatch(message);
      expect(status).toBe(2);
    }
  });

  it("says so when nothing can be written", async () => {
    mkdirSync(state);
    writeFileSync(join(state, "accounts"), "a file");
    const { status, stderr } = await refused("close", "a", "--for", "1h");
    expect([status, stderr]).toEqual([5, expect.stringContaining(join(state, "accounts"))]);
  });
});

describe("many processes at once", () => {
  const start = (args: readonly string[]) =>
    new Promise<number | null>((resolve, reject) => {
      const env = environment({ VIV_STATE: state });
      const child = spawn(process.execPath, [VIV, "accounts", ...args], { env, stdio: "ignore" });
      child.on("error", reject).on("close", resolve);
    });

  it("the latest time wins, and everybody sees a whole file", async () => {
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
