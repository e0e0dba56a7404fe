import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ModelServer, start } from "./server.mjs";

/** The model server by itself, without the vendors' programs. */

let server: ModelServer;
beforeEach(async () => {
  server = await start();
});
afterEach(() => server.stop());

/** One request in each protocol, with a tool and this prompt. */
const ASKS: Record<string, (prompt: string) => { path: string; body: object }> = {
  anthropic: (content) => ({
    path: "/v1/messages",
    body: { stream: true, tools: [{ name: "Bash" }], messages: [{ role: "user", content }] },
  }),
  responses: (content) => ({
    path: "/v1/responses",
    body: { stream: true, tools: [{ name: "exec_command" }], input: [{ role: "user", content }] },
  }),
  chat: (content) => ({
    path: "/v1/chat/completions",
    body: {
      stream: true,
      tools: [{ function: { name: "bash" } }],
      messages: [{ role: "user", content }],
    },
  }),
  gemini: (text) => ({
    path: "/v1beta/models/g:streamGenerateContent",
    body: {
      tools: [{ functionDeclarations: [{ name: "run_shell_command" }] }],
      contents: [{ role: "user", parts: [{ text }] }],
    },
  }),
};

function ask(protocol: string, mode: string, prompt = "please"): Promise<Response> {
  const { path, body } = (ASKS[protocol] as (typeof ASKS)[string])(prompt);
  return fetch(`${server.url(mode)}${path}`, { method: "POST", body: JSON.stringify(body) });
}

describe.each(Object.keys(ASKS))("%s", (protocol) => {
  test("a tool call, with its true usage at the end", async () => {
    const text = await (await ask(protocol, "ok+out=1234")).text();
    // An argument's JSON may be streamed in pieces.
    expect(text).toMatch(/run_shell_command|exec_command|"Bash"|"bash"/);
    expect(text.slice(text.length / 2)).toMatch(/\b12[34]4\b/); // with or without ten of thinking
    expect(server.told("ok+out=1234")).toMatchObject({ input: 1000, output: 1234 });
    expect(server.requests()).toMatchObject([
      { protocol, prompt: "please", results: 0, next: { shell: "echo fixed > report.txt" } },
    ]);
  });

  test.each([
    ["exact", "ALIVE Qk7xPa"],
    ["word", "ALIVE"],
    ["code", "Qk7xPa"],
    ["wrong", "ALIVE aPx7kQ"],
    ["json", '{"status":"ALIVE","nonce":"Qk7xPa"}'],
  ])("a health check is answered (%s)", async (wording, answer) => {
    const mode = `alive=${wording}`;
    await ask(protocol, mode, "Health check: type ALIVE Qk7xPa on a line by itself.");
    expect(server.requests(mode).at(-1)?.next).toEqual({ text: answer });
  });

  test.each([401, 402, 403, 404, 429, 500, 503, 529])("refuses with %s", async (status) => {
    const response = await ask(protocol, `${status}+retry=60`);
    expect(response.status).toBe(protocol === "gemini" && status === 401 ? 400 : status);
    expect(await response.json()).toHaveProperty("error");
    expect(server.requests()).toMatchObject([{ next: { refuse: status }, used: null }]);
  });

  test("is whole again after as many bad days as it was told", async () => {
    const seen = [];
    for (let n = 0; n < 3; n++) seen.push((await ask(protocol, "503+times=2")).status);
    expect(seen).toEqual([503, 503, 200]);
  });

  test("a stream breaks, or is cut within its JSON", async () => {
    await expect((async () => (await ask(protocol, "reset")).text())()).rejects.toThrow();
    const cut =
      (await (await ask(protocol, "truncated")).text()).trimEnd().split("\n").at(-1) ?? "";
    expect(() => JSON.parse(cut.replace(/^data: /, ""))).toThrow();
  });

  test("a stream stalls, and a request hangs, until the client gives up", async () => {
    const client = new AbortController();
    const { path, body } = (ASKS[protocol] as (typeof ASKS)[string])("please");
    const how = { method: "POST", body: JSON.stringify(body), signal: client.signal };
    const stalled = await fetch(`${server.url("stall")}${path}`, how);
    const reader = stalled.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    const hung = fetch(`${server.url("hang")}${path}`, how);
    client.abort();
    await expect(hung).rejects.toThrow("aborted");
    await expect(reader?.read()).rejects.toThrow("aborted");
  });
});

test("the code is found in any wording", async () => {
  const questions = {
    "[DOG] HEALTH CHECK: respond ALIVE within 60s\nNonce: k3x9Qz (say the word)": "k3x9Qz",
    "Please answer this health check with ALIVE and the code abQkZr now": "abQkZr",
    "health check: reply with exactly: ALIVE 7kq2mz": "7kq2mz",
  };
  for (const [question, code] of Object.entries(questions)) {
    await ask("chat", "alive=code", question);
    expect(server.requests().at(-1)?.next).toEqual({ text: code });
  }
});

test("a model changes its ways, and a mode that is none is refused", async () => {
  server.become("ok", "talk");
  await ask("chat", "ok");
  expect(server.requests("ok").at(-1)?.next).toHaveProperty("text");
  expect(() => server.url("slepp=3")).toThrow("no such mode: slepp");
});

test("429 says when, and how a subscription says it", async () => {
  const plain = await ask("anthropic", "429+retry=60");
  expect(plain.headers.get("retry-after")).toBe("60");
  const unified = await ask("anthropic", "429+unified");
  expect(unified.headers.get("anthropic-ratelimit-unified-status")).toBe("rejected");
  const codex = (await (await ask("responses", "429+unified")).json()) as { error: object };
  expect(codex.error).toMatchObject({ type: "usage_limit_reached", resets_in_seconds: 3600 });
});
