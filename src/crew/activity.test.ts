import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { until, within } from "../../test/support/deadline.ts";
import { crewActivity, keeperActivity, serveActivity } from "./activity.ts";
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
    const { agents } = crewActivity(
      [status("moss"), status("wren")],
      [step("moss", 1), ...thoughts],
    );
    expect(stamps(agents[0]?.steps ?? [])).toEqual([1]);
    expect(agents[1]?.thought).toBe("99");
  });

  it.each<[string, string[], string | null, string]>([
    ["the first that runs", ["moss", "wren"], "wren", "moss"],
    ["that did the latest step, when none runs", [], "wren", "wren"],
    ["the first, when none has done anything", [], null, "desk"],
  ])("names as the agent %s", (_, running, latest, expected) => {
    const all = ["desk", "moss", "wren"].map((name) =>
      status(name, { state: running.includes(name) ? "running" : "waiting" }),
    );
    const lines = latest === null ? [] : [step("desk", 1), step(latest, 2)];
    expect(crewActivity(all, lines).agent?.name).toBe(expected);
  });

  it("of a crew without members is empty", () => {
    expect(crewActivity([], [step("gone", 1)])).toMatchObject({ agents: [], agent: null });
  });
});

it("the singleton's shape has three keys", () => {
  const desk = status("desk", { state: "running", lifecycle: "wake" });
  const lines = Array.from({ length: 7 }, (_, i) => step("desk", i));
  const { steps, ...rest } = keeperActivity(desk, [
    ...lines,
    { thought: "hm", ts: 8, agent: "desk" },
  ]);
  expect(stamps(steps)).toEqual([2, 3, 4, 5, 6]);
  expect(rest).toEqual({
    agent: { name: "desk", running: true, lifecycle: "wake" },
    thought: "hm",
  });
  expect(Object.keys(keeperActivity(desk, lines))).toEqual(["agent", "steps", "thought"]);
});

async function serve(activity: () => unknown = () => ({ agents: [] }), port = 0) {
  const server = await serveActivity(port, activity);
  onTestFinished(() => server.close());
  return server;
}

interface Answer {
  status: number;
  body: string;
  type: string;
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
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body, type }));
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
  expect(await ask(port)).toEqual({
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
