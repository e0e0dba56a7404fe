import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import { resultsIn } from "../engines/llm-run.ts";
import { LlmServer, MODEL } from "../engines/llm-server.ts";
import { newFolder } from "../support/folders.ts";
import { cli, ok } from "./support.ts";

/** The built-in loop as a worker runs it: in a sandbox, with a key, over two attempts. */

const KEY = "sk-secret-0123456789";
let home: string;

beforeEach(async () => {
  home = newFolder();
  await (await openRun(join(home, "run"), { create: true, durability: "fast" })).close();
  writeFileSync(join(home, "prompt.md"), "Please do {{payload.goal}}.");
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

const around = (key = KEY) => ({
  cwd: home,
  env: { PATH: process.env.PATH ?? "", HOME: home, VIV_STATE: join(home, "state"), MY_KEY: key },
});

function route(server: LlmServer, more: string): void {
  writeFileSync(
    join(home, "viv.toml"),
    `run = "run"
[handlers.default]
engine = "llm"
model = "${MODEL}"
api = "openai"
url = "${server.url}"
key_env = "MY_KEY"
prompt = "prompt.md"
workspace = "dir"
${more}`,
  );
}

/** Whatever a command could try to get at the key. */
const SPY =
  "env; cat /proc/$PPID/environ /proc/[0-9]*/environ | tr '\\0' '\\n'; cat /proc/$PPID/fd/0; cat /proc/[0-9]*/fd/0";

test("in a sandbox it works, keeps its session, and nothing that it runs finds the key", async () => {
  const server = await LlmServer.start(
    { calls: [{ name: "shell", input: { command: SPY } }] },
    { text: "first" },
    { calls: [{ name: "write_file", input: { path: "ok", content: "yes" } }] },
    { text: "second" },
  );
  server.key = KEY;
  route(
    server,
    'sandbox = "write-workspace"\ndone_when = "test -s ok"\nmax_attempts = 2\nbackoff = "20ms"',
  );
  await ok(["enqueue", "--id", "a", "--type", "t", "--payload", '{"goal":"it"}'], around());
  const said = await cli(["work", "--worker-id", "w", "--drain"], around());
  expect(said.status, said.stderr).toBe(0);
  const view = JSON.parse(await ok(["show", "--json", "a"], around()));
  expect(view.state, said.stdout).toBe("done");
  const [spied = ""] = resultsIn(server.asked[1]);
  expect(spied).toContain("VIV_TASK_ID=a");
  expect(spied).not.toContain(KEY);
  // The second attempt has heard the first: it is one conversation.
  expect(JSON.stringify(server.asked.at(-1)?.body)).toContain("Please do it.");
  expect(JSON.stringify(server.asked.at(-1)?.body)).toContain("did not count");
  const artifacts = join(home, "run/artifacts");
  for (const name of readdirSync(artifacts, { recursive: true }).map(String)) {
    if (statSync(join(artifacts, name)).isDirectory()) continue;
    const text = readFileSync(join(artifacts, name), "utf8");
    expect(text, name).not.toContain(KEY);
  }
  expect(JSON.stringify(view.ledger)).not.toContain(KEY);
});

test("without its key it is told before anything begins", async () => {
  const server = await LlmServer.start();
  route(server, "");
  const said = await cli(["work", "--worker-id", "w", "--drain"], around(""));
  expect(said.status).not.toBe(0);
  expect(said.stderr).toContain("MY_KEY");
  expect(server.asked).toEqual([]);
});
