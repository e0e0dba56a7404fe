import { execFileSync } from "node:child_process";
import { on } from "node:events";
import { existsSync, readFileSync, renameSync, watch, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, it, onTestFinished, vi } from "vitest";
import { type TlsPair, tlsFiles } from "../../src/server/tls-files.ts";
import { serveRun } from "../server/support.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { Running, viv } from "./support.ts";

it("viv serve says where it is, is found by viv token, refuses a second one, and ends with its parent", async () => {
  const folder = newFolder();
  const env = { VIV_STATE: join(folder, "state"), VIV_RUN: join(folder, "run") };
  const around = { cwd: folder, env };
  expect(viv(["init", "run"], around).status).toBe(0);
  const missing = viv(["token", "--link"], around);
  expect(missing).toMatchObject({ status: 3, stderr: expect.stringContaining("viv serve") });
  const day = join(folder, "run/ledger/2020-01-01");
  writeFileSync(
    `${day}.jsonl`,
    '{"at":"2020-01-01T00:00:00.000Z","event":"enqueued","task":"t"}\n',
  );
  const server = new Running(["serve", "--port", "0", "--json", "--until-stdin-closes"], around);
  await server.says('"kind":"up"');
  const { address, pid } = JSON.parse(server.stdout) as { address: string; pid: number };
  expect(pid).toBe(server.pid);
  const file = join(folder, "run/.viv/server.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ pid, address });

  const link = viv(["token", "--link"], around).stdout.trim();
  expect(link.startsWith(`${address}/login?code=`)).toBe(true);
  const login = await fetch(link, { redirect: "manual" });
  expect([login.status, login.headers.get("set-cookie")]).toEqual([
    303,
    expect.stringContaining("HttpOnly"),
  ]);
  const token = viv(["token"], around).stdout.trim();
  const enqueued = await fetch(`${address}/api/enqueue`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"type":"t","id":"a"}',
  });
  expect(await enqueued.json()).toMatchObject({ id: "a", created: true });

  const { port } = new URL(address);
  const second = viv(["serve", "--port", port], around);
  expect(second.status).toBe(5);
  expect(second.stderr).toContain(`port ${port} is taken, perhaps by another viv serve`);
  expect(second.stderr).toContain("port in [server] of viv.toml"); // viv up has no --port
  expect(existsSync(file)).toBe(true);
  server.child.stdin?.end();
  expect(await server.end()).toMatchObject({ status: 0 });
  expect(
    server.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).kind),
  ).toEqual(["up", "stopping", "finished"]);
  expect(existsSync(file)).toBe(false);
  expect(existsSync(`${day}.seal`)).toBe(true);
  for (const [bind, why] of [
    ["0.0.0.0", "tls_cert"],
    ["127.example.org", "is no address"],
    ["localhost", "is no address"],
  ] as const) {
    expect(viv(["serve", "--bind", bind], around)).toMatchObject({
      ...{ status: 2, stderr: expect.stringContaining(why) },
    });
  }
});

/** False where there is no openssl. */
function makePair(cert: string, key: string, name: string): boolean {
  const subject = ["-subj", `/CN=${name}`, "-days", "2", "-keyout", key, "-out", cert];
  try {
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...subject], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

it("on another interface everything needs the token, and the cookie is secure", async (context) => {
  const folder = newFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  if (!makePair(cert, key, "localhost")) return context.skip("no openssl on this machine");
  const broken = serveRun({ bind: "0.0.0.0", tls: { cert: key, key } });
  await expect(broken).rejects.toMatchObject({ code: "INVALID" });
  const named = await serveRun({ bind: "0.0.0.0", tls: { cert, key }, hosts: ["a.example"] });
  expect(named.warnings).toEqual([]);
  const served = await serveRun({ bind: "0.0.0.0", tls: { cert, key } });
  expect(served.warnings).toMatchObject([
    expect.stringContaining("only names in hosts of [server] in viv.toml are answered"),
  ]);
  const ask = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; cookie: string }>((resolve, reject) => {
      const options = { host: "127.0.0.1", port: served.server.port, path, headers };
      request({ ...options, rejectUnauthorized: false, agent: false }, (answer) => {
        const { statusCode: status = 0, headers } = answer;
        answer
          .resume()
          .on("end", () => resolve({ status, cookie: headers["set-cookie"]?.[0] ?? "" }));
      })
        .on("error", reject)
        .end();
    });
  expect(served.server.address).toMatch(/^https:/);
  for (const path of ["/", "/api/ls", "/events", "/metrics", "/docs"]) {
    expect((await ask(path)).status, path).toBe(401);
  }
  expect((await ask("/healthz")).status).toBe(200);
  const authorization = `Bearer ${served.secrets.token()}`;
  expect((await ask("/api/ls", { authorization })).status).toBe(200);
  const { status, cookie } = await ask(`/login?code=${served.secrets.newCode(Date.now())}`);
  expect(status).toBe(303);
  expect(cookie).toMatch(/^__Host-viv-\d+=.*; Secure$/);
  expect((await ask("/api/ls", { cookie: cookie.split(";")[0] ?? "" })).status).toBe(200);
});

it("takes a renewed certificate from a folder that is never at rest", async (context) => {
  const folder = newFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  if (!makePair(cert, key, "old")) return context.skip("no openssl on this machine");
  expect(makePair(`${cert}.new`, `${key}.new`, "new")).toBe(true);
  const { first, follow } = tlsFiles({ cert, key }, folder);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const taken: TlsPair[] = [];
  onTestFinished(follow((pair) => taken.push(pair), expect.fail));
  const watcher = watch(folder); // hears of a change after the other
  onTestFinished(() => watcher.close());
  for (const path of [cert, key]) renameSync(`${path}.new`, path);
  for (let n = 0; n < 10; n++) {
    writeFileSync(join(folder, `log.${n}`), "");
    for await (const [, name] of on(watcher, "change")) if (name === `log.${n}`) break;
    vi.advanceTimersByTime(60);
  }
  expect(taken.map(({ cert }) => cert.equals(first.cert))).toEqual([false]);
});

it("takes a renewed certificate without a restart, and keeps the last good one", async (context) => {
  const folder = newFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  if (!makePair(cert, key, "old")) return context.skip("no openssl on this machine");
  const { server, warnings } = await serveRun({ tls: { cert, key } });
  const nameNow = () =>
    new Promise<unknown>((resolve, reject) => {
      const at = { host: "127.0.0.1", port: server.port, rejectUnauthorized: false };
      const socket = connect(at, () => {
        resolve(socket.getPeerCertificate().subject.CN);
        socket.destroy();
      }).on("error", reject);
    });
  expect(await nameNow()).toBe("old");
  makePair(`${cert}.new`, `${key}.new`, "new");
  renameSync(`${cert}.new`, cert); // for a moment the pair does not fit
  renameSync(`${key}.new`, key);
  await until("the new one counts", async () => (await nameNow()) === "new");
  expect(warnings).toEqual([`${cert} was read anew`]); // viv ps shows no older warning from then on
  writeFileSync(key, "nonsense");
  await until("it is told", () => warnings.length > 1);
  expect(warnings.slice(1)).toEqual([expect.stringContaining("the last good pair is still used")]);
  expect(await nameNow()).toBe("new");
});

it("takes the next free port where nobody chose one", async () => {
  const { server: first } = await serveRun();
  const { server: second, ask } = await serveRun({ port: first.port, isDefaultPort: true });
  expect(second.port).toBeGreaterThan(first.port);
  expect(second.port).toBeLessThan(first.port + 20);
  expect((await ask("/healthz")).status).toBe(200);
});
