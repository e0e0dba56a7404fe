import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { type Answer, listening, service } from "../../test/support/services.ts";
import type { Target, Way } from "./config.ts";
import { deliver, waitOf } from "./deliver.ts";
import { newMessage, saidOf } from "./message.ts";
import { newsOf } from "./news.ts";

const NOW = Date.parse("2026-11-16T12:00:00.000Z");
const AT = new Date(NOW).toISOString();
const EVIL = "<!channel> <b>&amp; \u001b[31mred\u202e*x* [a](http://e)";

const said = (n = 1, text = EVIL) => {
  const news = Array.from({ length: n }, (_, i) =>
    newsOf({
      ...{ fact: `f${i}`, event: "review", at: AT, subject: `t.${i}`, type: "fix" },
      ...{ text: `t.${i} ${text}`, todo: `viv show t.${i}` },
    }),
  );
  const about = { id: "m1", target: "t", place: "night", entered: AT };
  return saidOf([newMessage(about, news)], undefined);
};
const to = (way: Way): Target => ({ name: "t", on: ["review"], way });
const send = (way: Way, env: Record<string, string> = {}, more = {}, what = said()) =>
  deliver(to(way), what, { env, folder: "/", now: () => NOW, postMs: 300, ...more });
const webhook = (url: string): Way => ({ kind: "webhook", url: { text: url } });

describe("a webhook", () => {
  it("gets the event as JSON, signed with its time and its id", async () => {
    const there = await service();
    const url = { env: "URL" };
    const env = { URL: `${there.url}/h?k=1`, KEY: "sesame" };
    const way: Way = { kind: "webhook", url, secret: { env: "KEY" } };
    expect(await send(way, env)).toEqual({ kind: "sent" });
    const [{ path, headers, body } = { path: "", headers: {}, body: "" }] = there.got;
    expect(path).toBe("/h?k=1");
    expect(JSON.parse(body)).toMatchObject({
      ...{ id: "m1", event: "review", run: "night", title: "viv night: review t.0", total: 1 },
      events: [{ event: "review", subject: "t.0", type: "fix", todo: "viv show t.0" }],
    });
    const time = String(NOW / 1000);
    const signature = createHmac("sha256", "sesame").update(`m1.${time}.${body}`).digest("base64");
    expect(headers).toMatchObject({
      ...{ "webhook-id": "m1", "webhook-timestamp": time },
      "webhook-signature": `v1,${signature}`,
    });
    expect(body).not.toContain("sesame");
    // A key as receivers' libraries write it.
    await send(way, { ...env, KEY: `whsec_${Buffer.from("sesame").toString("base64")}` });
    expect(there.got[1]?.headers["webhook-signature"]).toBe(`v1,${signature}`);
  });

  it.each<[string, Answer, string, number | undefined]>([
    ["500", { status: 500 }, "again status 500", undefined],
    ["503 with a time", { status: 503, headers: { "retry-after": "7" } }, "again status 503", 7000],
    ["429", { status: 429, headers: { "retry-after": "30" } }, "again status 429", 30_000],
    ["404", { status: 404, body: "no_service" }, "refused status 404: no_service", undefined],
    [
      "a redirect",
      { status: 302, headers: { location: "http://127.0.0.1:1/" } },
      "refused status 302 (a redirect is not followed)",
      undefined,
    ],
    ["silence", "hang", "unsure no answer within 0.3 s", undefined],
    ["a closed connection", "close", "unsure socket hang up", undefined],
  ])("that answers with %s", async (_, answer, expected, waitMs) => {
    const there = await service(answer);
    const ended = await send(webhook(there.url));
    if (ended.kind === "sent") throw new Error("it was sent");
    expect(`${ended.kind} ${ended.reason}`).toBe(expected);
    expect("waitMs" in ended ? ended.waitMs : undefined).toBe(waitMs);
    expect(there.got).toHaveLength(1);
  });

  it("that is not there, or has a certificate of its own, has got nothing", async () => {
    const gone = await service();
    const port = Number(new URL(gone.url).port);
    expect(await send(webhook("http://127.0.0.1:1/"))).toMatchObject({
      ...{ kind: "again", reason: "connect ECONNREFUSED 127.0.0.1:1" },
    });
    expect(await send(webhook("http://no-such-host.invalid/"))).toMatchObject({ kind: "again" });
    // Not TLS at all.
    expect(await send(webhook(`https://127.0.0.1:${port}/`))).toMatchObject({ kind: "again" });
    const folder = newFolder();
    const [key, cert] = [join(folder, "key"), join(folder, "cert")];
    const make = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -keyout ${key} -out ${cert}`;
    execFileSync("openssl", make.split(" "), { stdio: "ignore" });
    let requests = 0;
    const options = { key: readFileSync(key), cert: readFileSync(cert) };
    const strange = createServer(options, (_, response) => {
      requests++;
      response.end();
    });
    const strangePort = await listening(strange);
    const ended = await send(webhook(`https://127.0.0.1:${strangePort}/secret-path`));
    expect(ended).toEqual({ kind: "again", reason: "self-signed certificate" });
    expect(requests).toBe(0);
  });

  it("is not asked without its variable, and no secret is in a reason", async () => {
    const way: Way = { kind: "webhook", url: { env: "URL" }, secret: { env: "KEY" } };
    expect(await send(way, { URL: "http://x" })).toEqual({
      kind: "refused",
      reason: "the environment variable KEY is not set in the process that sends",
    });
    const there = await service({ status: 400, body: "bad key sesame\u0007 at http://h/token" });
    const ended = await send(way, { URL: there.url, KEY: "sesame" });
    expect(ended).toEqual({ kind: "refused", reason: "status 400: bad key …  at http://h/token" });
    expect(await send({ kind: "slack", url: { env: "URL" } }, { URL: "file:///x" })).toEqual({
      kind: "refused",
      reason: "the address of slack does not begin with http:// or https://",
    });
  });
});

describe("Slack", () => {
  it("gets text in which no word is read as a mention or a link", async () => {
    const there = await service();
    const way: Way = { kind: "slack", url: { text: `${there.url}/services/T/B/x` } };
    expect(await send(way)).toEqual({ kind: "sent" });
    const { text, mrkdwn } = JSON.parse(there.got[0]?.body ?? "");
    expect(text).toBe(
      "viv night: review t.0\nt.0 &lt;!channel&gt; &lt;b&gt;&amp;amp;  [31mred *x* [a](http://e) (viv show t.0)",
    );
    expect(mrkdwn).toBe(false);
  });

  it("gets a long list cut", async () => {
    const there = await service();
    const way: Way = { kind: "slack", url: { text: there.url } };
    await send(way, {}, {}, said(500, "x".repeat(490)));
    const { text } = JSON.parse(there.got[0]?.body ?? "");
    expect(text.length).toBeLessThanOrEqual(3_900);
    expect(text).toMatch(/^viv night: 500 review\n/);
  });
});

describe("Telegram", () => {
  const way = (server: string): Way => ({
    ...{ kind: "telegram", token: { env: "TG" }, chat: "-100", server },
  });

  it("gets plain text, and no more of it than it takes", async () => {
    const there = await service({ status: 200, body: '{"ok":true}' });
    expect(await send(way(`${there.url}/`), { TG: "1:AA" })).toEqual({ kind: "sent" });
    await send(way(there.url), { TG: "1:AA" }, {}, said(30, "🦎".repeat(240)));
    const [one, two] = there.got.map(({ body }) => JSON.parse(body));
    expect(there.got[0]?.path).toBe("/bot1:AA/sendMessage");
    expect(one).toMatchObject({ chat_id: "-100" });
    expect(one).not.toHaveProperty("parse_mode");
    expect(two.text.length).toBeLessThanOrEqual(4096);
    expect(two.text.isWellFormed()).toBe(true);
  });

  it("is waited for as long as it asks, and its token is in no reason", async () => {
    const busy = { ok: false, error_code: 429, description: "Too Many Requests: retry after 31" };
    const body = JSON.stringify({ ...busy, parameters: { retry_after: 31 } });
    const there = await service({ status: 429, body }, { status: 401, body: "no bot 1:AA" });
    expect(await send(way(there.url), { TG: "1:AA" })).toEqual({
      kind: "again",
      ...{ reason: "status 429: Too Many Requests: retry after 31", waitMs: 31_000 },
    });
    expect(await send(way(there.url), { TG: "1:AA" })).toEqual({
      ...{ kind: "refused", reason: "status 401: no bot …" },
    });
  });
});

describe("ntfy", () => {
  it("gets topic, title and text, with its token as a header", async () => {
    const there = await service();
    const way: Way = { kind: "ntfy", topic: "top", server: there.url, token: { env: "N" } };
    expect(await send(way, { N: "tk_1" })).toEqual({ kind: "sent" });
    await send(way, { N: "tk_1" }, {}, said(20, "ü".repeat(490)));
    expect(JSON.parse(there.got[0]?.body ?? "")).toMatchObject({
      ...{ topic: "top", title: "viv night: review t.0" },
    });
    expect(there.got[0]?.headers.authorization).toBe("Bearer tk_1");
    const { message } = JSON.parse(there.got[1]?.body ?? "");
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4096);
  });
});

describe("a command", () => {
  const script = (text: string) => {
    const path = join(newFolder(), "tell.sh");
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  };

  it("gets the event on stdin and in its environment, below the folder of viv.toml", async () => {
    const path = script(
      'cat > got.json; printf "%s %s" "$VIV_EVENT" "$VIV_EVENT_SUBJECT" > got.env',
    );
    const folder = join(path, "..");
    const env = { PATH: process.env.PATH ?? "" };
    const way: Way = { kind: "command", argv: ["./tell.sh"] };
    expect(await send(way, env, { folder })).toEqual({ kind: "sent" });
    expect(JSON.parse(readFileSync(join(folder, "got.json"), "utf8"))).toMatchObject({ id: "m1" });
    expect(readFileSync(join(folder, "got.env"), "utf8")).toBe("review t.0");
  });

  it("that fails is tried again, that hangs is not, that is not there neither", async () => {
    const env = { PATH: process.env.PATH ?? "" };
    const run = (argv: string[], more = {}) => send({ kind: "command", argv }, env, more);
    expect(await run([script("echo no >&2; exit 3")])).toEqual({
      ...{ kind: "again", reason: "exit 3: no" },
    });
    expect(await run([script("sleep 60")], { commandMs: 50 })).toEqual({
      ...{ kind: "unsure", reason: "it did not end within 0.05 s" },
    });
    expect(await run(["/no/such/program"])).toMatchObject({ kind: "refused" });
  });

  it("shows it on a desktop: notify-send, or osascript", async () => {
    const notifySend = script('printf "%s|" "$@" > "$OUT"');
    const folder = join(notifySend, "..");
    execFileSync("cp", [notifySend, join(folder, "notify-send")]);
    execFileSync("cp", [notifySend, join(folder, "osascript")]);
    const out = join(folder, "out");
    const env = { PATH: `${folder}:${process.env.PATH}`, OUT: out };
    expect(await send({ kind: "desktop" }, env, { platform: "linux" })).toEqual({ kind: "sent" });
    expect(readFileSync(out, "utf8")).toMatch(
      /^--app-name=viv\|--\|viv night: review t.0\|t.0 &lt;!channel&gt;/,
    );
    expect(await send({ kind: "desktop" }, env, { platform: "darwin" })).toEqual({ kind: "sent" });
    expect(readFileSync(out, "utf8")).toMatch(/^-e\|on run argv.*\|viv night: review t.0\|t.0 </s);
  });
});

it("the time that a server asks for is in seconds, or a date", () => {
  expect(waitOf("1.5", NOW)).toBe(1500);
  expect(waitOf(new Date(NOW + 9000).toUTCString(), NOW)).toBe(9000);
  expect(waitOf(new Date(NOW - 9000).toUTCString(), NOW)).toBe(0);
  expect(waitOf("soon", NOW)).toBeUndefined();
  expect(waitOf(null, NOW)).toBeUndefined();
});
