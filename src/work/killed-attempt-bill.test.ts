import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import type { Engine } from "../engines/engine.ts";
import { followLogs } from "../engines/session-logs.ts";
import { claudeEngine } from "../engines/vendors/claude.ts";
import { geminiEngine } from "../engines/vendors/gemini.ts";
import { readEnd } from "../platform/files/texts.ts";
import type { LedgerLine } from "../queue/ledger.ts";
import { artifactsIn } from "./artifacts.ts";
import { settleAbandoned } from "./killed-attempt-bill.ts";

const SESSION = "0c0ffee0-1111-4222-8333-444455556666";
const OPEN = { token: "1", attempt: 1, worker: "w", resume: null, logs: {} };
const PRICES = new Map([["m", { input: 1_000_000, output: 1_000_000 }]]);

function scene(engine: Engine) {
  const home = newFolder();
  mkdirSync(join(home, "artifacts"));
  const artifacts = artifactsIn(join(home, "artifacts"));
  const lines: LedgerLine[] = [];
  const settings = { binary: null, flags: [], permission: null, url: null, api: null };
  const route = {
    ...{ name: engine.name, mode: "edit", account: null },
    settings: { ...settings, keyEnv: null, contextTokens: null, scenario: null },
  } as unknown as EngineRoute;
  const settle = (isOver = true) =>
    settleAbandoned(
      { id: "a", type: "t", route, prices: PRICES, env: { HOME: home } },
      { artifacts, engine: async () => engine, followLogs, readEnd },
      { append: async (line) => void lines.push(line as LedgerLine) },
      () => isOver,
    );
  const save = (more: object = {}) => {
    const open = { ...OPEN, ...more };
    artifacts.writeSession("a", { engine: engine.name, session: SESSION, model: "m", open });
  };
  return { home, artifacts, lines, settle, save };
}

const said = (id: string, output: number) => ({
  ...{ type: "assistant", session_id: SESSION },
  message: { id, model: "m", content: [], usage: { input_tokens: 0, output_tokens: output } },
});
const text = (events: readonly object[]) =>
  `${events.map((event) => JSON.stringify(event)).join("\n")}\n`;

test("the stream and the transcripts of claude, each answer once, and only once", async () => {
  const { home, artifacts, lines, settle, save } = scene(claudeEngine());
  save();
  writeFileSync(artifacts.streamOf("a"), `${text([said("m1", 3), said("m2", 4)])}{"type":"assi`);
  const project = join(home, ".claude/projects/p");
  mkdirSync(join(project, SESSION, "subagents"), { recursive: true });
  writeFileSync(join(project, `${SESSION}.jsonl`), text([said("m2", 4), said("m3", 5)]));
  writeFileSync(join(project, SESSION, "subagents/x.jsonl"), text([said("m4", 6)]));
  expect(await settle(false)).toBe(false); // it runs
  expect(await settle()).toBe(true);
  expect(await settle()).toBe(false);
  expect(lines).toMatchObject([{ event: "usage", token: "1", worker: "w", usd: 18, tokens: 18 }]);
  const { used, open } = artifacts.readSession("a") ?? {};
  expect([used?.since.map(({ output }) => output), open]).toEqual([[18], undefined]);
});

test("what was there before the attempt began is not its own", async () => {
  for (const name of ["jsonl", "json"]) {
    const { home, lines, settle, save } = scene(geminiEngine());
    const chats = join(home, ".gemini/tmp/p/chats");
    mkdirSync(chats, { recursive: true });
    const path = join(chats, `session-2026-11-15T10-00-${SESSION.slice(0, 8)}.${name}`);
    const message = (id: string, output: number) => ({
      ...{ id, type: "gemini", model: "m", sessionId: SESSION },
      tokens: { input: 0, output, total: output },
    });
    const before = [message("1", 100)];
    const all = [...before, message("2", 7)];
    const isWhole = name === "json";
    writeFileSync(path, isWhole ? JSON.stringify({ messages: all }) : text(all));
    save({ resume: SESSION, logs: { [path]: isWhole ? 1 : Buffer.byteLength(text(before)) } });
    await settle();
    expect(lines, name).toMatchObject([{ event: "usage", usd: 7 }]);
  }
});

test("a session file that is no such file settles nothing", async () => {
  const { artifacts, lines, settle } = scene(claudeEngine());
  const path = artifacts.streamOf("a").replace("stream.jsonl", "session.json");
  for (const content of ["", "null", '{"engine":"claude","open":{"token":1}}', '{"open":7}']) {
    writeFileSync(path, content);
    expect(await settle()).toBe(false);
  }
  expect(lines).toEqual([]);
});
