import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { until, within } from "../../test/support/deadline.ts";
import { serveActivity } from "./activity-server.ts";

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
  expect(await runAs(65534, script)).toContain("only for the user whose crew this is");
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
