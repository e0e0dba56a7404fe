import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { addTokens, NO_TOKENS } from "../../src/engines/costs/usage.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { promptsIn, Running, resultsIn, run, toolsIn } from "./llm-run.ts";
import { LlmServer, MODEL } from "./llm-server.ts";

const KEY = "sk-test-0123456789";
const usage = (input: number, output: number, cacheRead = 0, cacheWrite = 0) => [
  { model: MODEL, input, output, cacheRead, cacheWrite, usd: null },
];

describe.each(["anthropic", "openai"] as const)("%s", (api) => {
  test("an answer without tools is the result", async () => {
    const server = await LlmServer.start({ text: "Fertig: schöne Grüße 🎉" });
    const ran = await run(api, server);
    expect(ran).toMatchObject({
      outcome: { kind: "done" },
      text: "Fertig: schöne Grüße 🎉",
      usage: usage(10, 5),
      session: null,
      unknown: 0,
      exit: 0,
      stderr: "",
    });
    expect(promptsIn(server.asked[0])).toEqual(["Do it."]);
  });

  test("tools really run in the workspace, and the model gets their results", async () => {
    const server = await LlmServer.start(
      {
        thought: "Hm.",
        text: "First I look.",
        calls: [
          { name: "write_file", input: { path: "src/a.txt", content: "one\ntwo\n" } },
          { name: "shell", input: { command: "cat src/a.txt; echo oops >&2; exit 3" } },
        ],
      },
      { calls: [{ name: "edit_file", input: { path: "src/a.txt", old: "two", new: "$& drei" } }] },
      { calls: [{ name: "read_file", input: { path: "src/a.txt", from: 2, lines: 1 } }] },
      { calls: [{ name: "list_files", input: { recursive: true } }] },
      { text: "Done." },
    );
    const loop = new Running(api, server.url);
    const ran = await loop.result;
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(ran.text).toBe("Done.");
    expect(readFileSync(join(loop.cwd, "src/a.txt"), "utf8")).toBe("one\n$& drei\n");
    const results = resultsIn(server.asked.at(-1));
    expect(results[1]).toMatch(/^\[exit 3\]\n/);
    expect(results[1]).toContain("one\ntwo\n");
    expect(results[1]).toContain("oops");
    expect(results.slice(3)).toEqual(["$& drei", "src/\nsrc/a.txt"]);
    expect(ran.steps.map(({ kind, tool, target }) => [kind, tool, target])).toEqual([
      ["thought", undefined, undefined],
      ["text", undefined, undefined],
      ["tool", "write_file", "src/a.txt"],
      ["tool", "shell", "cat src/a.txt; echo oops >&2; exit 3"],
      ["notice", "shell", "cat src/a.txt; echo oops >&2; exit 3"],
      ["tool", "edit_file", "src/a.txt"],
      ["tool", "read_file", "src/a.txt"],
      ["tool", "list_files", "."],
      ["text", undefined, undefined],
    ]);
    expect(ran.steps[4]?.text).toMatch(/^exit 3: /);
    expect(ran.usage).toEqual(usage(50, 25));
  });

  test("the usage of the steps adds up to the whole; the cache is counted apart", async () => {
    const isBoth = api === "anthropic"; // OpenAI's protocol does not report writes
    const server = await LlmServer.start(
      {
        calls: [{ name: "list_files", input: {} }],
        usage: { input: 7, output: 3, cacheRead: 0, cacheWrite: isBoth ? 900 : 0 },
      },
      { text: "Done.", usage: { input: 11, output: 2, cacheRead: 900, cacheWrite: 0 } },
    );
    const ran = await run(api, server);
    expect(ran.usage).toEqual(usage(18, 5, 900, isBoth ? 900 : 0));
    const sum = ran.steps.reduce(
      (tokens, step) => addTokens(tokens, step.usage ?? NO_TOKENS),
      NO_TOKENS,
    );
    expect([{ model: MODEL, ...sum, usd: null }]).toEqual(ran.usage);
    expect(ran.steps[0]).toMatchObject({ kind: "tool", usage: { input: 7, output: 3 } });
  });

  test("plan mode has no way to write", async () => {
    const server = await LlmServer.start(
      {
        calls: [
          { name: "shell", input: { command: "touch from-shell" } },
          { name: "write_file", input: { path: "written", content: "x" } },
          { name: "edit_file", input: { path: "there", old: "a", new: "b" } },
          { name: "read_file", input: { path: "there" } },
        ],
      },
      { text: "The plan." },
    );
    const cwd = newFolder();
    writeFileSync(join(cwd, "there"), "a");
    const ran = await run(api, server, { cwd, mode: "plan" });
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(toolsIn(server.asked[0])).toEqual(["list_files", "read_file"]);
    expect(readdirSync(cwd)).toEqual(["there"]);
    expect(resultsIn(server.asked[1]).at(-1)).toBe("a");
    expect(readFileSync(join(cwd, "there"), "utf8")).toBe("a");
  });

  test("edit mode has all five", async () => {
    const server = await LlmServer.start({ text: "Ok." });
    await run(api, server);
    const all = ["edit_file", "list_files", "read_file", "shell", "write_file"];
    expect(toolsIn(server.asked[0])).toEqual(all);
  });

  test("commands do not get the key, and no output shows it", async () => {
    const server = await LlmServer.start(
      { calls: [{ name: "shell", input: { command: "env; echo still $OTHER" } }] },
      { text: `The key is ${KEY}.` },
    );
    server.key = KEY;
    const env = { MY_KEY: KEY, OTHER: "here" };
    const ran = await run(api, server, { env, settings: { keyEnv: "MY_KEY" } });
    expect(ran.outcome).toEqual({ kind: "done" });
    const [result] = resultsIn(server.asked[1]);
    expect(result).toContain("still here");
    expect(result).not.toContain("MY_KEY");
    expect(ran.stdout).not.toContain(KEY);
  });

  test("without the key nothing is asked", async () => {
    const server = await LlmServer.start();
    const ran = await run(api, server, { settings: { keyEnv: "MY_KEY" }, env: { MY_KEY: " " } });
    expect(ran.outcome).toMatchObject({ kind: "unauthorized", message: "MY_KEY is not set" });
    expect(ran.outcome).toHaveProperty("todo", expect.stringContaining("MY_KEY"));
    expect(ran.usage).toEqual([]);
    expect(server.asked).toEqual([]);
  });

  test("a server on this machine needs none, and gets none of the vendors'", async () => {
    const server = await LlmServer.start({ text: "Ok." });
    const ran = await run(api, server, { env: { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY } });
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(JSON.stringify(server.asked[0]?.headers)).not.toContain(KEY);
  });

  test("a model that never stops is stopped after sixty steps", async () => {
    const server = await LlmServer.start();
    server.forever = () => ({ calls: [{ name: "list_files", input: {} }] });
    const ran = await run(api, server);
    expect(ran.outcome).toMatchObject({ kind: "turn_limit" });
    expect(server.asked).toHaveLength(60);
    expect(ran.usage).toEqual(usage(600, 300));
    expect(ran.exit).toBe(1);
  });

  test("or after fewer, where the route sets them", async () => {
    const server = await LlmServer.start();
    server.forever = () => ({ text: "More!", calls: [{ name: "list_files", input: {} }] });
    const ran = await run(api, server, { turns: 3 });
    expect(ran.outcome).toEqual({ kind: "turn_limit", message: "it was not done after 3 steps" });
    expect(ran.text).toBe("More!");
    expect(server.asked).toHaveLength(3);
  });

  test("a later attempt resumes the conversation", async () => {
    const sessionDir = join(newFolder(), "sessions");
    const first = await LlmServer.start(
      { thought: "Hm.", calls: [{ name: "shell", input: { command: "echo first" } }] },
      { text: "The first answer." },
    );
    const before = await run(api, first, { sessionDir });
    expect(before.session).toMatch(/^[0-9a-f-]{36}$/);
    const second = await LlmServer.start({ text: "Better." });
    const again = { sessionDir, resume: before.session, prompt: "It is not proven." };
    const ran = await run(api, second, again);
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(ran.session).toBe(before.session);
    expect(promptsIn(second.asked[0])).toEqual(["Do it.", "It is not proven."]);
    expect(resultsIn(second.asked[0])).toEqual(["[exit 0]\nfirst\n"]);
    expect(JSON.stringify(second.asked[0]?.body)).toContain("The first answer.");
    expect(ran.usage).toEqual(usage(10, 5)); // of this attempt only
  });

  test("also after it was killed in the middle", async () => {
    const sessionDir = newFolder();
    const first = await LlmServer.start(
      { calls: [{ name: "shell", input: { command: "echo first" } }] },
      { text: "never", breaks: "hang" },
    );
    const loop = new Running(api, first.url, { sessionDir });
    await first.askedTimes(2);
    loop.child.kill("SIGKILL");
    const cut = await loop.result;
    expect(cut.outcome.kind).toBe("cut_off");
    expect(cut.usage).toEqual(usage(10, 5));
    const second = await LlmServer.start({ text: "Better." });
    const ran = await run(api, second, { sessionDir, resume: cut.session });
    expect(ran.outcome).toEqual({ kind: "done" });
    expect(resultsIn(second.asked[0])).toEqual(["[exit 0]\nfirst\n"]);
  });

  test.each([
    ["gone", "0b4f9d1e-0000-4000-8000-000000000000", null],
    [
      "damaged",
      "0b4f9d1e-0000-4000-8000-000000000001",
      '{"version":1,"model":"x","messages":[{"ro',
    ],
    ["of another kind", "0b4f9d1e-0000-4000-8000-000000000002", '{"version":2}'],
    ["a path out of the folder", "../../etc/passwd", null],
  ])("a session that is %s is lost, and nothing is asked", async (_, resume, content) => {
    const sessionDir = newFolder();
    if (content !== null) writeFileSync(join(sessionDir, `${resume}.json`), content);
    const server = await LlmServer.start();
    const ran = await run(api, server, { sessionDir, resume });
    expect(ran.outcome.kind).toBe("session_lost");
    expect(server.asked).toEqual([]);
  });

  test("SIGTERM in the middle of an answer: the result so far", async () => {
    const server = await LlmServer.start(
      { text: "Looking.", calls: [{ name: "list_files", input: {} }] },
      { text: "never said to the end", breaks: "hang" },
    );
    const loop = new Running(api, server.url);
    await server.askedTimes(2);
    loop.child.kill("SIGTERM");
    const ran = await loop.result;
    expect(ran.outcome).toEqual({ kind: "failed", message: "it was stopped by a signal" });
    expect(ran.text).toBe("Looking.");
    expect(ran.exit).toBe(143);
    const [used] = ran.usage ?? [];
    expect(used?.input).toBeGreaterThanOrEqual(10); // and its part of the second
  });

  test("SIGTERM in the middle of a command ends that too", async () => {
    const server = await LlmServer.start({
      calls: [{ name: "shell", input: { command: "sleep 1000 & echo $! > pid; wait" } }],
    });
    const loop = new Running(api, server.url);
    const pidFile = join(loop.cwd, "pid");
    const isNoted = () => existsSync(pidFile) && readFileSync(pidFile, "utf8").endsWith("\n");
    await until("the command runs", isNoted);
    loop.child.kill("SIGTERM");
    expect((await loop.result).exit).toBe(143);
    const pid = Number(readFileSync(pidFile, "utf8"));
    await until("it is gone", () => isGone(pid));
  });

  test("a command that takes too long is ended, with all it started", async () => {
    const command = "trap '' TERM; sleep 1000 & echo $!; wait";
    const server = await LlmServer.start(
      { calls: [{ name: "shell", input: { command } }] },
      { text: "Ok." },
    );
    const ran = await run(api, server, { limits: { commandMs: 300 } });
    expect(ran.outcome).toEqual({ kind: "done" });
    const [result = ""] = resultsIn(server.asked[1]);
    expect(result).toMatch(/^\[ended after 0.3 s, its time limit\]\n\d+\n$/);
    const sleeper = Number(result.split("\n")[1]);
    await until("what it started is gone", () => isGone(sleeper));
  });
});

test("Anthropic gets two marks for its cache: instructions with tools, and the conversation so far", async () => {
  const server = await LlmServer.start(
    { calls: [{ name: "list_files", input: {} }] },
    { text: "Ok." },
  );
  await run("anthropic", server);
  const marks = (body: unknown) => JSON.stringify(body).match(/"cache_control":/g)?.length;
  for (const { body } of server.asked) {
    expect(marks(body)).toBe(2);
    expect(marks(body.system)).toBe(1);
    expect(marks(body.messages.at(-1))).toBe(1);
  }
});

test("refuses an invalid request", async () => {
  const server = await LlmServer.start();
  const ran = await run("openai", server, { turns: -1 });
  expect(ran.outcome).toMatchObject({ kind: "refused", message: expect.stringContaining("turns") });
  expect(ran.exit).toBe(2);
});

/** Also when it is a zombie: its parent need not have waited for it. */
const isGone = (pid: number) => !existsSync(`/proc/${pid}/exe`);
