import { describe, expect, it } from "vitest";
import { parseConfig } from "../app/config.ts";
import { isVivError } from "../base/errors.ts";
import { parsePool, parseTimeouts, WARDEN_DEFAULTS, wardenSection } from "./config.ts";

const FILE = "/home/pia/fleet/viv.toml";
const warden = async (text: string) => (await parseConfig(text, FILE)).section(wardenSection);

async function problems(text: string): Promise<string[]> {
  try {
    await parseConfig(text, FILE);
    return [];
  } catch (error) {
    if (!isVivError(error, "INVALID")) throw error;
    return error.message.split("\n").map((line) => line.replace(FILE, ""));
  }
}

describe("[warden]", () => {
  it("is undefined when missing, and has the defaults when empty", async () => {
    expect(await warden("")).toBeUndefined();
    expect(await warden("[warden]")).toEqual(WARDEN_DEFAULTS);
  });

  it("is read", async () => {
    expect(
      await warden(`[warden]
pool = 3
timeouts = ["6s", 12]
kill_after = "1s"
state = ".warden"
tmux_socket = "/tmp/t"
hook = "cat >> told"
webhook = "https://example.org/told"
runs = ["./run"]
crews = [".crew"]
sessions = ["agent-*"]
[warden.breaker]
executions = 9
within = "1h"
[warden.rules]
no_output = "10m"
stale_heartbeat = { after = "5m", action = "file", patience = "10m" }
repeated_tool = 5
over_budget = true
past_deadline = "0s"
`),
    ).toEqual({
      pool: 3,
      timeoutsMs: [6_000, 12_000],
      killAfterMs: 1_000,
      unasked: "spare",
      patienceMs: 1_800_000,
      state: ".warden",
      tmuxSocket: "/tmp/t",
      hook: "cat >> told",
      webhook: "https://example.org/told",
      runs: ["./run"],
      crews: [".crew"],
      sessions: ["agent-*"],
      ask: [],
      breaker: { executions: 9, withinMs: 3_600_000 },
      rules: {
        no_output: { afterMs: 600_000, action: "observe" },
        stale_heartbeat: { afterMs: 300_000, action: "file", patienceMs: 600_000 },
        repeated_tool: { times: 5, action: "observe" },
        over_budget: { action: "observe" },
        past_deadline: { afterMs: 0, action: "observe" },
      },
    });
  });

  it("accepts rules as tables, and a rule that is off", async () => {
    const text = `[warden.rules]
over_budget = { action = "file" }
past_deadline = { action = "file" }
[warden.rules.repeated_tool]
times = 2
action = "file"
`;
    expect((await warden(text))?.rules).toEqual({
      over_budget: { action: "file" },
      past_deadline: { afterMs: 0, action: "file" },
      repeated_tool: { times: 2, action: "file" },
    });
    expect((await warden("[warden.rules]\nover_budget = false"))?.rules).toEqual({});
  });

  it("notes each mistake at its line", async () => {
    expect(
      await problems(`[warden]
pol = 5
pool = 21
timeouts = ["60s", "soon"]
kill_after = "0s"
webhook = "ftp://example.org"
runs = "run"
executions = 3
[warden.breaker]
executions = 0
[warden.rules]
no_ouput = "10m"
no_output = "0s"
stale_heartbeat = { action = "file" }
repeated_tool = 1
over_budget = "yes"
past_deadline = { after = "1m", action = "kill" }
`),
    ).toEqual([
      ':2: unknown key "pol" in [warden]; did you mean "pool"?',
      ":3: pool must be a whole number from 1 to 20.",
      ':4: timeouts "soon" is not a duration; write it like 90s, 10m, 2h or 1d.',
      ":5: kill_after must be more than zero.",
      ":6: webhook must be an address that begins with http:// or https://.",
      ":7: runs must be a list of run directories.",
      ':8: unknown key "executions" in [warden]; it belongs in [warden.breaker].',
      ":10: executions must be a whole number, at least 1.",
      ':12: unknown key "no_ouput" in [warden.rules]; did you mean "no_output"?',
      ":13: no_output must be more than zero.",
      ':14: stale_heartbeat needs after, like { after = "10m", action = "file" }.',
      ":15: repeated_tool must be a whole number, at least 2.",
      ':16: over_budget must be true, false or { action = "file" }.',
      ':17: action must be "observe" or "file".',
    ]);
    expect(await problems("warden = 3")).toEqual([":1: warden must be a table: [warden]."]);
    expect(await problems("[warden]\nrules = 3\nbreaker = 1")).toEqual([
      ":2: rules must be a table: [warden.rules].",
      ":3: breaker must be a table: [warden.breaker].",
    ]);
  });

  it("limits the number of timeouts and the size of the pool", () => {
    expect(parseTimeouts(["1s"], "--timeouts")).toEqual([1_000]);
    expect(() => parseTimeouts([], "--timeouts")).toThrow("from one to five");
    expect(() => parseTimeouts(Array(6).fill("1s"), "--timeouts")).toThrow("these are 6");
    expect(() => parseTimeouts(["0s"], "--timeouts")).toThrow("not between");
    expect(parsePool("20", "GT_DOG_POOL_SIZE")).toBe(20);
    for (const bad of ["0", "21", "-1", "2.5", "many", ""]) {
      expect(() => parsePool(bad, "GT_DOG_POOL_SIZE")).toThrow("whole number from 1 to 20");
    }
  });
});
