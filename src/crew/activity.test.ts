import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { until, within } from "../../test/support/deadline.ts";
import { crewActivity, keeperActivity, serveActivity } from "./activity.ts";
import { isOrigin } from "./config.ts";
import type { CrewLine, MemberStatus } from "./member-status.ts";

function status(name: string, more: Partial<MemberStatus> = {}): MemberStatus {
  return {
    ...{ name, state: "waiting", since: "", run: null, outcome: null, note: "", last_run: null },
    ...{ next_tick: null, streak: 0, crashes: 0, lifecycle: null, saved: 0, cost_today: 0 },
    ...{ day: "", thought: null, engine: "exec", mode: "plan", ...more },
  };
}

const step = (agent: string, ts: number): CrewLine => ({
  ...{ tool: "fetch", target: `https://arxiv.org/abs/${ts}`, ts, agent },
});
const stamps = (steps: readonly { ts: number }[]) => steps.map(({ ts }) => ts);

describe("the crew shape", () => {
  it("has the seed's keys in the seed's order", () => {
    const moss = status("moss", { state: "running", thought: "reading the primary source" });
    const lines: CrewLine[] = [
      step("moss", 1_760_000_000),
      { run: "done", ts: 1_760_000_001, agent: "wren", seconds: 1, usd: null, note: "" },
    ];
    const text = JSON.stringify(crewActivity([moss, status("wren")], lines));
    const one =
      '{"tool":"fetch","target":"https://arxiv.org/abs/1760000000","ts":1760000000,"agent":"moss"}';
    const agent = `{"name":"moss","running":true,"lifecycle":null,"steps":[${one}],"thought":"reading the primary source"}`;
    const wren = '{"name":"wren","running":false,"lifecycle":null,"steps":[],"thought":null}';
    expect(text).toBe(`{"agents":[${agent},${wren}],"wire":[${one}],"agent":${agent}}`);
  });

  it("shows 5 of each and 10 of all, out of the last 60 steps", () => {
    const lines = [
      ...Array.from({ length: 3 }, (_, i) => step("old", i)),
      ...Array.from({ length: 60 }, (_, i) => step(i % 2 ? "wren" : "moss", 100 + i)),
    ];
    const { agents, wire } = crewActivity(
      ["old", "moss", "wren"].map((name) => status(name)),
      lines,
    );
    expect(agents.map(({ steps }) => stamps(steps))).toEqual([
      [],
      [150, 152, 154, 156, 158],
      [151, 153, 155, 157, 159],
    ]);
    expect(stamps(wire)).toEqual([150, 151, 152, 153, 154, 155, 156, 157, 158, 159]);
  });

  it("counts steps only: thoughts and ends between them take no place", () => {
    const thoughts = Array.from({ length: 100 }, (_, i): CrewLine => {
      return { thought: `${i}`, ts: i, agent: "wren" };
    });
    const { agents } = crewActivity([status("moss")], [step("moss", 1), ...thoughts]);
    expect(stamps(agents[0]?.steps ?? [])).toEqual([1]);
  });

  it("shows the thought of the current run, and none of an earlier one", () => {
    const lines: CrewLine[] = [
      { thought: "long ago", ts: 1, agent: "moss" },
      { run: "done", ts: 2, agent: "moss", seconds: 1, usd: null, note: "" },
    ];
    const thought = (more: Partial<MemberStatus>) =>
      crewActivity([status("moss", more)], lines).agents[0]?.thought;
    expect(thought({ state: "running", thought: null })).toBe(null);
    expect(thought({ state: "running", thought: "now" })).toBe("now");
    for (const state of ["waiting", "backing_off", "checking", "queued", "held"] as const) {
      expect(thought({ state, thought: "long ago" })).toBe(null);
    }
    const keeper = keeperActivity(status("moss", { thought: "long ago" }), lines);
    expect(keeper.thought).toBe(null);
  });

  it.each<[string, string[], string[], string]>([
    ["the busiest that runs", ["moss", "wren"], ["wren", "wren", "moss", "desk"], "wren"],
    ["of two as busy the latest", ["moss", "wren"], ["moss", "wren", "desk"], "wren"],
    ["one that runs, though others did more", ["moss"], ["wren", "wren"], "moss"],
    ["the first that runs, when none has done anything", ["moss", "wren"], [], "moss"],
    ["that did the latest step, when none runs", [], ["desk", "desk", "wren"], "wren"],
    ["the first, when none has done anything", [], [], "desk"],
  ])("names as the agent %s", (_, running, did, expected) => {
    const all = ["desk", "moss", "wren"].map((name) =>
      status(name, { state: running.includes(name) ? "running" : "waiting" }),
    );
    const lines = did.map((name, ts) => step(name, ts));
    expect(crewActivity(all, lines).agent?.name).toBe(expected);
  });

  it("of a crew without members is empty", () => {
    expect(crewActivity([], [step("gone", 1)])).toMatchObject({ agents: [], agent: null });
  });
});

it("the singleton's shape has three keys", () => {
  const desk = status("desk", { state: "running", lifecycle: "wake" });
  const lines = Array.from({ length: 7 }, (_, i) => step("desk", i));
  const { steps, ...rest } = keeperActivity({ ...desk, thought: "hm" }, lines);
  expect(stamps(steps)).toEqual([2, 3, 4, 5, 6]);
  expect(rest).toEqual({
    agent: { name: "desk", running: true, lifecycle: "wake" },
    thought: "hm",
  });
  expect(Object.keys(keeperActivity(desk, lines))).toEqual(["agent", "steps", "thought"]);
});

async function serve(activity: () => unknown = () => ({ agents: [] }), origins: string[] = []) {
  const server = await serveActivity(0, activity, origins);
  onTestFinished(() => server.close());
  return server;
}

interface Answer {
  status: number;
  body: string;
  type: string;
  headers: Record<string, unknown>;
}

function ask(
  port: number,
  { path = "/_activity", method = "GET", headers = {} }: Record<string, unknown> = {},
): Promise<Answer> {
  const options = { host: "127.0.0.1", port, path, method, headers } as object;
  const answered = new Promise<Answer>((resolve, reject) => {
    request(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      const type = response.headers["content-type"] ?? "";
      const { statusCode: status = 0, headers } = response;
      response.on("end", () => resolve({ status, body, type, headers }));
    })
      .on("error", reject)
      .end();
  });
  return within("an answer", answered);
}

it("serves the current activity", async () => {
  let count = 0;
  const { port } = await serve(() => ({ count: ++count }));
  expect(port).toBeGreaterThan(0);
  expect(await ask(port)).toMatchObject({
    ...{ status: 200, body: '{"count":1}\n', type: "application/json; charset=utf-8" },
  });
  expect((await ask(port, { path: "/_activity?since=1" })).body).toBe('{"count":2}\n');
  expect(await ask(port, { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
});

it.each([
  [404, { path: "/" }],
  [404, { path: "/_activity/.." }],
  [405, { method: "POST" }],
  [405, { method: "DELETE" }],
  [405, { method: "OPTIONS" }],
  [403, { headers: { host: "evil.example" } }],
  [403, { headers: { host: "localhost.evil.example" } }],
  [403, { headers: { host: "127.0.0.1.evil.example:80" } }],
  [403, { headers: { origin: "https://evil.example" } }],
  [403, { headers: { origin: "null" } }],
  [403, { headers: { origin: "http://localhost@evil.example" } }],
  [200, { headers: { host: "localhost" } }],
  [200, { headers: { host: "[::1]:8080" } }],
  [200, { headers: { origin: "http://localhost:3000" } }],
])("answers %i to %j", async (status, how) => {
  let looks = 0;
  const { port } = await serve(() => ++looks);
  expect((await ask(port, how)).status).toBe(status);
  expect(looks).toBe(status === 200 ? 1 : 0);
});

describe("a web page", () => {
  const PAGE = "https://news.example";
  const allowed = ({ headers }: Answer) =>
    Object.entries(headers).filter(([name]) => name.startsWith("access-control-"));

  it("may read it if its exact origin is named", async () => {
    const { port } = await serve(() => ({}), [PAGE, "http://[::1]:3000"]);
    const answer = await ask(port, { headers: { origin: PAGE } });
    expect(answer).toMatchObject({ status: 200, headers: { vary: "Origin" } });
    expect(allowed(answer)).toEqual([["access-control-allow-origin", PAGE]]);
    expect(allowed(await ask(port))).toEqual([]);
    expect(await ask(port, { path: "/x", headers: { origin: PAGE } })).toMatchObject({
      status: 404,
    });
    const host = { host: "evil.example", origin: PAGE };
    expect(await ask(port, { headers: host })).toMatchObject({ status: 403 });
  });

  it.each([
    "https://news.example.evil.example",
    "http://news.example",
    "https://news.example:8443",
    "https://sub.news.example",
    "https://NEWS.example",
    "https://evil.example",
    "null",
  ])("may not with the origin %s", async (origin) => {
    const { port } = await serve(() => ({}), [PAGE]);
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await ask(port, { method, headers: { origin } });
      expect(answer.status).toBe(403);
      expect(allowed(answer)).toEqual([]);
    }
  });

  it("may not if none is named, and a page of this machine gets no right to read", async () => {
    const { port } = await serve();
    expect(await ask(port, { headers: { origin: PAGE } })).toMatchObject({ status: 403 });
    const local = await ask(port, { headers: { origin: "http://localhost:3000" } });
    expect(local.status).toBe(200);
    expect(allowed(local)).toEqual([]);
  });

  it("gets an answer to its preflight, without a look at the crew", async () => {
    let looks = 0;
    const { port } = await serve(() => ++looks, [PAGE]);
    const asks = { origin: PAGE, "access-control-request-method": "GET" };
    const answer = await ask(port, { method: "OPTIONS", headers: asks });
    expect(answer).toMatchObject({
      ...{ status: 204, body: "" },
      headers: {
        "access-control-allow-origin": PAGE,
        "access-control-allow-methods": "GET, HEAD",
        vary: "Origin",
      },
    });
    expect(answer.headers).not.toHaveProperty("access-control-allow-private-network");
    const reach = { ...asks, "access-control-request-private-network": "true" };
    expect((await ask(port, { method: "OPTIONS", headers: reach })).headers).toHaveProperty(
      "access-control-allow-private-network",
      "true",
    );
    const write = await ask(port, { method: "POST", headers: { origin: PAGE } });
    expect(write.status).toBe(405);
    expect(looks).toBe(0);
  });
});

it.each([
  ["https://news.example", true],
  ["http://localhost:3000", true],
  ["https://news.example/", false],
  ["https://news.example/page", false],
  ["https://news.example:443", false],
  ["https://user@news.example", false],
  ["*", false],
  ["https://*.news.example", false],
  ["null", false],
  ["news.example", false],
  ["ftp://news.example", false],
])("%s is an origin: %s", (text, expected) => expect(isOrigin(text)).toBe(expected));

it("survives an unreadable state and malformed requests", async () => {
  let isBroken = true;
  const { port } = await serve(() => {
    if (isBroken) throw new Error("the disk is gone");
    return {};
  });
  expect(await ask(port)).toMatchObject({ status: 500, body: '{"error":"the disk is gone"}\n' });
  const socket = connect(port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.on("close", resolve).on("error", () => {}));
  socket.resume().write("nonsense\r\n\r\n");
  await within("it is hung up", closed);
  isBroken = false;
  expect((await ask(port)).status).toBe(200);
});

it("reports a taken port, and closes with a client connected", async () => {
  const server = await serve();
  await expect(serveActivity(server.port, () => ({}))).rejects.toThrow(
    `port ${server.port} is taken; choose another, or 0`,
  );
  const socket = connect(server.port, "127.0.0.1");
  await within("connected", new Promise((resolve) => socket.on("connect", resolve)));
  const closed = new Promise((resolve) => socket.on("close", resolve).on("error", () => {}));
  socket.resume();
  await within("it closes", server.close());
  await within("they are hung up", closed);
});

/** The output of this script, run as that user. */
async function runAs(user: number | null, script: string): Promise<string> {
  const node = [process.execPath, "-e", script];
  const argv = user === null ? node : ["setpriv", `--reuid=${user}`, "--clear-groups", ...node];
  const [command = "", ...args] = argv;
  const child = spawn(command, args, { cwd: "/", stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  await within("it ends", once(child, "close"));
  return said;
}

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log("not root: not tried as another user");

it.skipIf(!isRoot)("refuses other users of this machine", async () => {
  let looks = 0;
  const { port } = await serve(() => ++looks);
  const script = `fetch("http://127.0.0.1:${port}/_activity").then(async (r) => console.log(r.status, await r.text()), (e) => console.log(String(e.cause)))`;
  expect(await runAs(null, script)).toBe("200 1\n\n");
  expect(await runAs(65534, script)).toContain("only for the user who runs this crew");
  expect(looks).toBe(1);
});

it("keeps a few connections open at most, and answers all the same", async () => {
  const { port } = await serve();
  const sockets = () =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:");
      } catch {
        return false; // the listing itself
      }
    }).length;
  const before = sockets();
  const flood = `
    const { connect } = require("node:net");
    let open = 0;
    for (let i = 0; i < 1000; i++) {
      const socket = connect(${port}, "127.0.0.1", () => { socket.write("GET /_act"); if (++open === 1000) console.log("all"); });
      socket.on("error", () => {});
    }
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", flood], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await within("all are there", once(child.stdout, "data"));
  await until("the others were hung up on", () => sockets() <= before + 17);
  expect((await ask(port)).status).toBe(200);
});
