import { execFile } from "node:child_process";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { until, within } from "../support/deadline.ts";
import { rawAsk, type Served, serveRun } from "./support.ts";

/** Everything that a page, another user or a broken client might try. */

const BODY = '{"type":"t","id":"evil"}';
const JSON_TYPE = { "content-type": "application/json" };

async function tasks(served: Served): Promise<unknown[]> {
  return (await served.json<{ tasks: unknown[] }>("/api/ls")).tasks;
}

/** Bytes as they are, and what comes back until the server closes. */
function bytes(served: Served, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(served.server.port, "127.0.0.1", () => socket.write(text));
    let said = "";
    socket.setEncoding("latin1").on("data", (more) => {
      said += more;
    });
    socket.on("close", () => resolve(said));
    socket.on("error", reject);
  });
}

const statuses = (said: string) =>
  [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);

describe("the login", () => {
  it("sets a strict cookie once, which changes only from our own page", async () => {
    const served = await serveRun();
    const code = served.secrets.newCode(Date.now());
    for (const wrong of [
      "",
      "?code=",
      "?code=x",
      `?code=${code.slice(0, -1)}_`,
      `?code[]=${code}`,
    ]) {
      const refused = await rawAsk(served, `/login${wrong}`);
      expect(refused.status, wrong).toBe(403);
      expect(refused.headers["set-cookie"]).toBeUndefined();
    }
    const look = await rawAsk(served, `/login?code=${code}`, {}, { method: "HEAD" });
    expect([look.status, look.headers["set-cookie"]]).toEqual([200, undefined]);
    const login = await rawAsk(served, `/login?code=${code}`);
    expect([login.status, login.headers.location]).toEqual([303, "/"]);
    const [cookie = ""] = login.headers["set-cookie"] as string[];
    expect(cookie).toMatch(/^viv-\d+=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect((await rawAsk(served, `/login?code=${code}`)).status).toBe(403);

    const own = `http://127.0.0.1:${served.server.port}`;
    const session = { cookie: cookie.split(";")[0] ?? "" };
    expect(JSON.parse((await rawAsk(served, "/api/session", session)).text)).toMatchObject({
      can_change: true,
    });
    expect(JSON.parse((await rawAsk(served, "/api/session")).text)).toMatchObject({
      can_change: false,
    });
    const post = (headers: Record<string, string>) =>
      rawAsk(
        served,
        "/api/enqueue",
        { ...session, ...JSON_TYPE, ...headers },
        { method: "POST", body: BODY },
      );
    expect((await post({})).status).toBe(403);
    for (const origin of [
      "http://evil.example",
      "null",
      "http://127.0.0.1:1",
      "http://localhost:4747",
    ]) {
      expect((await post({ origin })).status, origin).toBe(403);
    }
    expect((await post({ origin: own, cookie: `${session.cookie}x` })).status).toBe(401);
    // A form of a foreign page, in each of the ways that need no preflight.
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      const form = { ...session, "content-type": type, origin: "http://evil.example" };
      expect(
        (await rawAsk(served, "/api/enqueue", form, { method: "POST", body: BODY })).status,
      ).toBe(403);
      const without = {
        ...session,
        "content-type": type,
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
      };
      expect(
        (await rawAsk(served, "/api/enqueue", without, { method: "POST", body: BODY })).status,
      ).toBe(403);
      const typed = await rawAsk(
        served,
        "/api/enqueue",
        { ...session, "content-type": type, origin: own },
        { method: "POST", body: BODY },
      );
      expect(typed.status).toBe(415);
    }
    expect(await tasks(served)).toEqual([]);
    expect((await post({ origin: own })).status).toBe(200);
    const [name] = session.cookie.split("=");
    const both = { origin: own, cookie: `${name}=of-another-port; ${session.cookie}` };
    expect((await post(both)).status).toBe(409); // let in: the task is there already
    served.secrets.renew();
    expect((await post({ origin: own })).status).toBe(401);
  });
});

describe("a stream", () => {
  it("ends with the token that it began with", async () => {
    const served = await serveRun({}, {}, { admitAgainMs: 5 });
    const open = (headers: Record<string, string>) =>
      served.ask("/events", { headers }).then(({ body }) => body as ReadableStream<Uint8Array>);
    const withToken = await open({ authorization: `Bearer ${served.secrets.token()}` });
    const ofThisUser = (await open({})).getReader();
    const isOver = (async () => {
      for await (const _ of withToken);
    })().catch(() => {});
    await ofThisUser.read();
    served.secrets.renew();
    await isOver; // or the test runs into its time limit
    await served.post("/api/enqueue", { type: "t", id: "a" });
    let text = "";
    while (!text.includes("enqueued")) {
      text += new TextDecoder().decode((await ofThisUser.read()).value);
    }
    await ofThisUser.cancel();
  });
});

describe("a foreign page", () => {
  it("gets nothing, by whichever name and header", async () => {
    const served = await serveRun({ origins: ["https://a.example"] });
    const host = `127.0.0.1:${served.server.port}`;
    const token = { authorization: `Bearer ${served.secrets.token()}` };
    for (const path of [
      "/",
      "/api/ls",
      "/events",
      "/metrics",
      "/openapi.json",
      "/_activity",
      "/healthz",
    ]) {
      expect((await rawAsk(served, path, { host: "evil.example" })).status, path).toBe(403);
      expect((await rawAsk(served, path, { origin: "http://evil.example" })).status, path).toBe(
        403,
      );
      const image = { host, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
      const answer = await rawAsk(served, path, image);
      expect(answer.status, path).toBe(403);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
    }
    expect((await rawAsk(served, "/api/ls", { host: "evil.example", ...token })).status).toBe(403);
    const origin = "https://a.example";
    const activity = await rawAsk(served, "/_activity", { origin });
    expect([activity.status, activity.headers["access-control-allow-origin"]]).toEqual([
      200,
      origin,
    ]);
    const preflight = await rawAsk(served, "/_activity", { origin }, { method: "OPTIONS" });
    expect([preflight.status, preflight.headers["access-control-allow-methods"]]).toEqual([
      204,
      "GET, HEAD",
    ]);
    expect((await rawAsk(served, "/api/ls", { origin })).status).toBe(403);
    expect((await rawAsk(served, "/api/enqueue", { origin }, { method: "OPTIONS" })).status).toBe(
      403,
    );
  });
});

describe("another user of this machine", () => {
  it("reads nothing without the token", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can act as another user");
    const served = await serveRun();
    const script = `fetch(process.argv[1]).then(async (r) => console.log(r.status, await r.text()))`;
    const as = (uid: number, ...args: string[]) =>
      promisify(execFile)(process.execPath, ["-e", script, ...args], { uid, env: {} });
    const { stdout } = await as(65_534, `${served.server.address}/api/ls`);
    expect(stdout).toMatch(/^401 .*only programs of the user/);
    expect((await as(65_534, `${served.server.address}/healthz`)).stdout).toMatch(/^200/);
    expect((await as(0, `${served.server.address}/api/ls`)).stdout).toMatch(/^200/);
  });
});

describe("a broken or hostile client", () => {
  it("is refused: too large, too long, torn, smuggled", async () => {
    const served = await serveRun();
    const token = `Authorization: Bearer ${served.secrets.token()}`;
    const host = `Host: 127.0.0.1:${served.server.port}`;
    const post = `POST /api/enqueue HTTP/1.1\r\n${host}\r\n${token}\r\nContent-Type: application/json\r\n`;
    const said = async (text: string) => statuses(await within("an answer", bytes(served, text)));
    expect(await said(`${post}Content-Length: 99000000\r\n\r\n{`)).toEqual(["413"]);
    expect(
      await said(
        `GET /api/ls?x=${"a".repeat(9_000)} HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`,
      ),
    ).toEqual(["413"]);
    expect(await said(`GET / HTTP/1.1\r\n${host}\r\nX: ${"a".repeat(20_000)}\r\n\r\n`)).toEqual([
      "431",
    ]);
    expect(await said("GET / HTTP/1.1\r\n\r\n")).toEqual(["400"]); // no Host
    expect(
      await said(`GET / HTTP/1.1\r\n${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`),
    ).not.toContain("200");
    // Two lengths; a length and chunks; a chunk that is no number; line breaks that are none.
    const inner = `GET /api/pause HTTP/1.1\r\n${host}\r\n\r\n`;
    expect(await said(`${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}${inner}`)).toEqual([
      "400",
    ]);
    expect(
      await said(`${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`),
    ).toEqual(["400"]);
    expect(await said(`${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`)).not.toContain("200");
    expect(await said(`${post}Transfer-Encoding: xchunked\r\n\r\n${inner}`)).not.toContain("200");
    expect(await said("\0\0\0\0\r\n\r\n")).toEqual(["400"]);
    expect(
      await said(`GET http://evil.example/api/ls HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`),
    ).toHaveLength(1);
    expect(await tasks(served)).toEqual([]);
  });

  it("finds no file beside the page's, and no folder listed", async () => {
    const served = await serveRun();
    for (const path of [
      "/../package.json",
      "/..%2f..%2fpackage.json",
      "/assets/",
      "/assets/..%2f..%2frun",
      "/.viv/",
      "//etc/passwd",
      "/%00",
      "/assets/%2e%2e/%2e%2e/state/server/token",
      "/state/server/token",
    ]) {
      const { status, text } = await rawAsk(served, path);
      expect([400, 404], path).toContain(status);
      expect(text).not.toContain("viv_");
    }
  });

  it("cannot put headers into an answer by the names that it gives", async () => {
    const served = await serveRun();
    for (const id of ["a%0d%0aset-cookie:%20x=1", "a%0aset-cookie:x", "%e2%80%a8x"]) {
      const answer = await rawAsk(served, `/api/show?id=${id}`);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers["set-cookie"]).toBeUndefined();
      const events = await rawAsk(served, `/api/logs?id=${id}`, { accept: "text/event-stream" });
      expect(events.headers["set-cookie"]).toBeUndefined();
    }
  });

  it("takes no more than its share: connections are counted, the rest is closed", async () => {
    const served = await serveRun();
    const open = [...Array(150).keys()].map(
      () =>
        new Promise<ReturnType<typeof connect>>((resolve, reject) => {
          const socket = connect(served.server.port, "127.0.0.1", () => resolve(socket));
          socket.on("error", reject);
        }),
    );
    const sockets = await Promise.all(open);
    for (const socket of sockets) socket.write("GET /healthz HTTP/1.1\r\n"); // and never goes on
    expect((await served.ask("/healthz")).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it("gives the place of a client that is too slow to another, also if that never closes", async () => {
    const served = await serveRun({}, {}, { connections: 3, headersMs: 50, checkMs: 10 });
    const sockets = await Promise.all(
      [1, 2, 3].map(
        () =>
          new Promise<Socket>((resolve, reject) => {
            const at = { host: "127.0.0.1", port: served.server.port, allowHalfOpen: true };
            const socket = connect(at, () => resolve(socket)).on("error", reject);
          }),
      ),
    );
    const said = sockets.map(
      (socket) =>
        new Promise<string>((resolve) => socket.once("data", (text) => resolve(`${text}`))),
    );
    for (const socket of sockets) socket.write("GET /healthz HTTP/1.1\r\n");
    expect(await Promise.all(said)).toEqual(
      Array(3).fill(expect.stringMatching(/^HTTP\/1.1 408 /)),
    );
    await until("another is answered", async () => {
      const answer = await rawAsk(served, "/healthz", { connection: "close" }).catch(() => null);
      return answer?.status === 200;
    });
    for (const socket of sockets) socket.destroy();
  });
});
