import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../support/folders.ts";
import { promptsIn, Running, resultsIn, run } from "./llm-run.ts";
import { LlmServer, MODEL, type Reply } from "./llm-server.ts";

const OVERLOADED: Reply = {
  status: 529,
  body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
};
const limited = (after?: string): Reply => ({
  status: 429,
  headers: after === undefined ? {} : { "retry-after": after },
  body: { type: "error", error: { type: "rate_limit_error", message: "slow down" } },
});
const BROKEN: Reply = { status: 500, body: "<html>oh no</html>" };

describe.each(["anthropic", "openai"] as const)("%s", (api) => {
  test("a short rate limit is waited for", async () => {
    const server = await LlmServer.start(limited("0"), limited("0"), { text: "Ok." });
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(ran.steps.filter((step) => step.kind === "notice")).toHaveLength(2);
    expect(server.asked[2]?.body).toEqual(server.asked[0]?.body);
  });

  test("the third in a row ends the run", async () => {
    const server = await LlmServer.start(limited("0"), limited("0"), limited("0"));
    const ran = await run(api, server);
    expect(ran.outcome).toMatchObject({ kind: "rate_limited", until: expect.any(String) });
    expect(server.asked).toHaveLength(3);
  });

  test("a long one is not waited for, and has its reset time", async () => {
    const server = await LlmServer.start(limited("3600"));
    const before = Date.now();
    const { outcome } = await run(api, server);
    if (outcome.kind !== "rate_limited") throw new Error(outcome.kind);
    expect(Date.parse(outcome.until ?? "")).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(Date.parse(outcome.until ?? "")).toBeLessThanOrEqual(Date.now() + 3_600_000);
    expect(outcome.message).toContain("slow down");
  });

  test("a limit without an end", async () => {
    for (const reply of [limited(), OVERLOADED]) {
      const ran = await run(api, await LlmServer.start(reply));
      expect(ran.outcome).toMatchObject({ kind: "rate_limited", until: null });
    }
  });

  test("a server that fails for a moment", async () => {
    const server = await LlmServer.start(BROKEN, BROKEN, BROKEN, { text: "Ok." });
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(ran.steps[0]?.text).toMatch(/^HTTP 500: .*trying again in 0 s \(1 of 3\)$/);
  });

  test("a server that keeps failing", async () => {
    const server = await LlmServer.start(BROKEN, BROKEN, BROKEN, BROKEN);
    const ran = await run(api, server);
    expect(ran.outcome).toMatchObject({ kind: "unavailable" });
    expect(ran.outcome).toHaveProperty("message", expect.stringContaining("tried 4 times"));
    expect(server.asked).toHaveLength(4);
  });

  test("an answer that is cut off is asked for again, and its calls are not run", async () => {
    const calls = [{ name: "shell", input: { command: "echo x >> ran" } }];
    const long = "words and words and words";
    const server = await LlmServer.start(
      { text: long, calls: [...calls, ...calls, ...calls], breaks: "cut", usage: { input: 77 } },
      { calls: [{ name: "shell", input: { command: "echo x >> ran; cat ran" } }] },
      { text: "Ok." },
    );
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(resultsIn(server.asked[2])).toEqual(["[exit 0]\nx\n"]);
    // The answer that was cut off is paid for: as reported, or else estimated.
    const [used] = ran.usage ?? [];
    if (api === "anthropic") expect(used?.input).toBe(77 + 10 + 10);
    else expect(used?.input).toBeGreaterThan(20);
    expect(used?.output).toBeGreaterThan(10);
  });

  test("an answer that is cut off every time", async () => {
    const server = await LlmServer.start();
    server.forever = () => ({ text: "words and words", breaks: "cut" });
    const ran = await run(api, server);
    expect(ran.outcome.kind).toBe("failed");
    expect(server.asked).toHaveLength(4);
  });

  test("an error in the middle of the stream", async () => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    const server = await LlmServer.start({ text: "words", error }, { text: "Ok." });
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(ran.text).toBe("Ok.");
  });

  test("a malformed call is returned to the model, which corrects it", async () => {
    const server = await LlmServer.start(
      { calls: [{ name: "shell", input: '{"command": "touch no' }] },
      { calls: [{ name: "shell", input: { cmd: "touch no" } }] },
      { calls: [{ name: "no_such_tool", input: {} }] },
      { calls: [{ name: "shell", input: { command: "ls" } }] },
      { text: "Ok." },
    );
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    const results = resultsIn(server.asked[4]);
    expect(results).toHaveLength(4);
    expect(results[0]).toMatch(/could not be read.*JSON/);
    expect(results[1]).toMatch(/could not be read.*command/);
    expect(results[2]).toMatch(/could not be read.*no_such_tool/);
    expect(results[3]).toBe("[exit 0]\n");
  });

  test("five malformed calls in a row end the run", async () => {
    const server = await LlmServer.start();
    const bad = { calls: [{ name: "shell", input: "{" }] };
    server.script.push(bad, bad, bad, bad);
    server.script.push({ calls: [{ name: "shell", input: { command: "true" } }] });
    server.forever = () => bad;
    const ran = await run(api, server);
    expect(ran.outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("5") });
    expect(server.asked).toHaveLength(10);
  });

  test("a key that is not accepted", async () => {
    const server = await LlmServer.start();
    server.key = "the right one";
    const env = { MY_KEY: "the wrong one" };
    const ran = await run(api, server, { env, settings: { keyEnv: "MY_KEY" } });
    expect(ran.outcome).toMatchObject({
      kind: "unauthorized",
      message: "HTTP 401: invalid x-api-key",
      todo: expect.stringContaining("MY_KEY"),
    });
    expect(server.asked).toHaveLength(1);
  });

  test("an unknown model", async () => {
    const server = await LlmServer.start();
    const ran = await run(api, server, { model: "gone-model" });
    expect(ran.outcome.kind).toBe("refused");
    expect(ran.outcome).toHaveProperty("message", expect.stringContaining("gone-model"));
    expect(server.asked).toHaveLength(1);
  });

  test("no credit left", async () => {
    const message = "Your credit balance is too low to access the API.";
    const said = { type: "invalid_request_error", message };
    const quota = {
      error: { message: "You exceeded your current quota", code: "insufficient_quota" },
    };
    const reply: Reply =
      api === "anthropic"
        ? { status: 400, body: { type: "error", error: said } }
        : { status: 429, headers: { "retry-after": "1" }, body: quota };
    const ran = await run(api, await LlmServer.start(reply));
    expect(ran.outcome).toMatchObject({ kind: "quota", todo: expect.stringContaining("credit") });
  });

  test("a port without a server", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const ran = await new Running(api, `http://127.0.0.1:${port}`).result;
    expect(ran.outcome.kind).toBe("unavailable");
    expect(ran.outcome).toHaveProperty("message", expect.stringContaining("Cannot connect"));
  });

  test("an answer that was cut by its own limit goes on", async () => {
    const finish = api === "anthropic" ? "max_tokens" : "length";
    const server = await LlmServer.start({ text: "The first half", finish }, { text: "the rest." });
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(promptsIn(server.asked[1])).toHaveLength(2);
  });

  test("many large results stay within the window, and the first prompt stays with them", async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "big"));
    for (let i = 0; i < 25; i++) {
      writeFileSync(join(cwd, `big/${i}`), `file ${i}: ${"lorem ipsum ".repeat(200)}`);
    }
    const contextTokens = 8_000;
    const count = (body: unknown) => Math.ceil(JSON.stringify(body).length / 2); // dearer than we think
    const server = await LlmServer.start();
    let next = 0;
    server.forever = ({ body }) => {
      const usage = { input: count(body.messages), output: 20 };
      if (next === 25) return { text: "Read.", usage };
      return { calls: [{ name: "read_file", input: { path: `big/${next++}` } }], usage };
    };
    const ran = await run(api, server, { cwd, prompt: "Read all.", settings: { contextTokens } });
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(server.asked).toHaveLength(26);
    for (const asked of server.asked.slice(3)) {
      expect(count(asked.body.messages)).toBeLessThan(contextTokens);
    }
    for (const asked of server.asked) expect(promptsIn(asked)[0]).toBe("Read all.");
    expect(resultsIn(server.asked.at(-1)).at(-1)).toContain("file 24");
    expect(ran.steps.some((step) => step.text?.startsWith("the window is full"))).toBe(true);
  });

  test("a window that is smaller than configured: the conversation is shortened", async () => {
    const server = await LlmServer.start();
    server.longest = 30_000;
    let next = 0;
    server.forever = () =>
      next++ === 6
        ? { text: "Ok." }
        : { calls: [{ name: "shell", input: { command: "seq 2000" } }] };
    const ran = await run(api, server);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(promptsIn(server.asked.at(-1))[0]).toBe("Do it.");
  });

  test("a prompt that cannot fit is refused without a call", async () => {
    const server = await LlmServer.start();
    const prompt = "word ".repeat(2_000);
    const ran = await run(api, server, { prompt, settings: { contextTokens: 2_000 } });
    expect(ran.outcome).toMatchObject({
      kind: "refused",
      message: expect.stringContaining("2000"),
    });
    expect(server.asked).toEqual([]);
  });
});

test("a run continues when its conversation cannot be saved", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  const ran = await run("openai", await LlmServer.start({ text: "Ok." }), { sessionDir: file });
  expect(ran).toMatchObject({ outcome: { kind: "done" }, session: null });
  expect(ran.steps[0]?.text).toMatch(/^the session is not kept/);
});

test("with a server that counts nothing, usage is unknown, not zero", async () => {
  const server = await LlmServer.start({ text: "Ok.", usage: null });
  const ran = await run("openai", server);
  expect(ran.outcome).toEqual({ kind: "done" });
  expect(ran.usage).toBeNull();
});

test("a rate limit in the stream of a good answer", async () => {
  const error = { type: "rate_limit_error", message: "slow down" };
  const ran = await run("anthropic", await LlmServer.start({ text: "words", error }));
  expect(ran.outcome).toEqual({ kind: "rate_limited", message: expect.any(String), until: null });
  expect(ran.usage).toEqual([expect.objectContaining({ model: MODEL, input: 10 })]);
});
