import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Receipt } from "./dance.ts";
import { inboxName, requesterNotifier } from "./notify-requester.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "viv-requester-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const receipt = (requester = "deacon", dog = "dog-1") =>
  ({ dog, verdict: "executed", warrant: { id: "w1", requester } }) as Receipt;
const inbox = () => join(folder, "inbox");
const notify = (options = {}, one = receipt()) =>
  requesterNotifier({ inbox: inbox(), pausesMs: [1, 2], ...options })(one);

describe("the inbox", () => {
  it("has the receipt once, however often it is delivered", async () => {
    expect(await notify()).toEqual([{ by: "inbox", trouble: null }]);
    expect(await notify()).toEqual([{ by: "inbox", trouble: null }]);
    expect(readdirSync(join(inbox(), "deacon"))).toEqual(["w1.json"]);
    const text = readFileSync(join(inbox(), "deacon/w1.json"), "utf8");
    expect(JSON.parse(text)).toEqual(receipt());
  });

  it("is not written over", async () => {
    await notify();
    writeFileSync(join(inbox(), "deacon/w1.json"), "mine");
    expect(await notify()).toEqual([{ by: "inbox", trouble: null }]);
    expect(readFileSync(join(inbox(), "deacon/w1.json"), "utf8")).toBe("mine");
    expect(readdirSync(join(inbox(), "deacon")).sort()).toEqual(["w1-dog-1.json", "w1.json"]);
    writeFileSync(join(inbox(), "deacon/w1-dog-1.json"), "mine too");
    expect((await notify())[0]?.trouble).toContain("has another w1.json");
  });

  it("lies in a folder whose name leads nowhere else", async () => {
    expect(inboxName("warden:no_output")).toBe("warden_no_output");
    expect(inboxName("../../etc")).toBe("__.._etc");
    for (const name of ["..", ".", "", "/", "a/../../b", "\0", "x".repeat(500), "ä ö"]) {
      expect(inboxName(name)).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/);
      await notify({}, receipt(name));
    }
    expect(readdirSync(folder)).toEqual(["inbox"]);
  });

  it("that cannot be written is an error in the result", async () => {
    writeFileSync(inbox(), "a file");
    expect((await notify())[0]).toMatchObject({ by: "inbox", trouble: expect.any(String) });
  });
});

describe("an execution that is held", () => {
  it("is sent by inbox and hook, the last pause's notice beside the receipt", async () => {
    const heard = join(folder, "heard");
    const held = requesterNotifier({ inbox: inbox(), hook: `cat >>'${heard}'` });
    const { dog, warrant } = receipt();
    const notice = { event: "held" as const, dog, warrant, since: "1", by: "breaker", why: "3" };
    await held({ ...notice, todo: "viv warden resume" });
    const told = await held({ ...notice, since: "2", todo: "viv warden resume" });
    expect(told).toEqual([
      { by: "inbox", trouble: null },
      { by: "hook", trouble: null },
    ]);
    await notify();
    expect(readdirSync(join(inbox(), "deacon")).sort()).toEqual(["w1.held.json", "w1.json"]);
    const left = JSON.parse(readFileSync(join(inbox(), "deacon/w1.held.json"), "utf8"));
    expect(left).toEqual({ ...notice, since: "2", todo: "viv warden resume" });
    expect(readFileSync(heard, "utf8").trim().split("\n")).toHaveLength(2);
  });
});

describe("the hook", () => {
  const hook = async (command: string, more = {}) => (await notify({ hook: command, ...more }))[1];

  it("gets the receipt on its stdin", async () => {
    expect(await hook("cat > told", { cwd: folder })).toEqual({ by: "hook", trouble: null });
    expect(JSON.parse(readFileSync(join(folder, "told"), "utf8"))).toEqual(receipt());
    expect(await hook("true")).toEqual({ by: "hook", trouble: null });
  });

  it("that fails is an error with its stderr", async () => {
    expect((await hook("echo no such room >&2; exit 3"))?.trouble).toBe("exit 3: no such room");
    expect((await hook("kill -9 $$"))?.trouble).toBe("ended by SIGKILL");
    expect((await hook("true", { cwd: "/nowhere/at/all" }))?.trouble).toContain("ENOENT");
  });

  it("that does not end is killed, with all that it started", async () => {
    const command = `sleep 600 & echo $! > ${folder}/pid; wait`;
    const late = await hook(command, { hookMs: 300 });
    expect(late?.trouble).toBe("it did not end within 0.3 s");
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it("that leaves something behind is not waited for", async () => {
    expect(await hook(`sleep 600 & echo $! > ${folder}/pid`)).toMatchObject({ trouble: null });
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("the webhook", () => {
  let server: Server;
  let bodies: string[];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  beforeEach(async () => {
    bodies = [];
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        bodies.push(`${request.method} ${body}`);
        answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const post = async (more = {}) => {
    const { port } = server.address() as AddressInfo;
    return (await notify({ webhook: `http://127.0.0.1:${port}/told`, ...more }))[1];
  };
  const says = (status: number) => (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status).end("words");
  };

  it("gets the receipt", async () => {
    answer = says(204);
    expect(await post()).toEqual({ by: "webhook", trouble: null });
    expect(bodies).toEqual([`POST ${JSON.stringify(receipt())}`]);
  });

  it("gets the secret of its address as a header, and nowhere else", async () => {
    let said: string | undefined;
    answer = (request, response) => {
      said = request.headers.authorization;
      says(200)(request, response);
    };
    const { port } = server.address() as AddressInfo;
    const webhook = `http://me:s3%20cret@127.0.0.1:${port}/told`;
    expect(await post({ webhook })).toEqual({ by: "webhook", trouble: null });
    expect(said).toBe(`Basic ${Buffer.from("me:s3 cret").toString("base64")}`);
    const trouble = (await post({ webhook: "http://me:s3cret@127.0.0.1:1/" }))?.trouble;
    expect(trouble).toMatch(/^3 tries: /);
    expect(trouble).not.toContain("s3cret");
  });

  it("that fails is tried three times in all", async () => {
    answer = (request, response) => says(bodies.length < 3 ? 500 : 200)(request, response);
    expect(await post()).toMatchObject({ trouble: null });
    expect(bodies).toHaveLength(3);
    bodies.length = 0;
    answer = says(500);
    expect((await post())?.trouble).toBe("3 tries: status 500");
    expect(bodies).toHaveLength(3);
  });

  it("that refuses is not tried again, and no redirect is followed", async () => {
    answer = says(404);
    expect((await post())?.trouble).toBe("status 404");
    answer = (_, response) => response.writeHead(302, { location: "/elsewhere" }).end();
    expect((await post())?.trouble).toBe("status 302");
    expect(bodies).toHaveLength(2);
  });

  it("that hangs, or hangs up, is an error", async () => {
    answer = () => {};
    expect((await post({ webhookMs: 50 }))?.trouble).toMatch(/^3 tries: .*timeout/);
    answer = (request) => request.socket.destroy();
    expect((await post())?.trouble).toMatch(/^3 tries: fetch failed: /);
    expect((await notify({ webhook: "http://127.0.0.1:1/" }))[1]?.trouble).toContain("3 tries");
    expect((await notify({ webhook: "file:///etc/passwd" }))[1]?.trouble).toContain("no http");
    expect((await notify({ webhook: "http://" }))[1]?.trouble).toContain("3 tries");
  });
});
