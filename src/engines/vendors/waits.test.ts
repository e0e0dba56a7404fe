import { describe, expect, test } from "vitest";
import { NOW, now, request } from "../../../test/engines/vendors/run.ts";
import { WAITS } from "../../../test/engines/vendors/waits.mjs";
import type { StreamReader } from "../engine.ts";
import { claudeEngine } from "./claude.ts";
import { codexEngine } from "./codex.ts";
import { geminiEngine } from "./gemini.ts";
import { opencodeEngine } from "./opencode.ts";

const engines = {
  claude: claudeEngine(now),
  codex: codexEngine(now),
  gemini: geminiEngine(now),
  opencode: opencodeEngine(now),
};
type Name = keyof typeof engines;

function feed(name: Name, lines: readonly string[][], reader = engines[name].reader(request())) {
  for (const [stream, line = ""] of lines) {
    if (stream === "out") reader.line(line);
    else reader.stderr?.(line);
  }
  return reader;
}

const waits = (name: Name, failure: string) =>
  feed(name, (WAITS[name] as Record<string, string[][]>)[failure] ?? []).waitsFor;

const inSeconds = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();

describe("a program that tries again by itself waits for", () => {
  test.each([
    ["codex", inSeconds(3599.999)],
    ["gemini", inSeconds(120)],
    ["opencode", inSeconds(3600)],
  ] as const)("a limit with its end: %s", (name, until) => {
    expect(waits(name, "429")).toMatchObject({
      isFinal: false,
      outcome: { kind: "rate_limited", until },
    });
  });

  test("a limit without an end: opencode", () => {
    expect(waits("opencode", "unified")?.outcome).toMatchObject({
      kind: "rate_limited",
      until: null,
    });
  });

  test.each([
    ["claude", "401", "unauthorized"],
    ["codex", "401", "unauthorized"],
    ["codex", "402", "quota"],
    ["codex", "403", "unauthorized"],
    ["opencode", "401", "unauthorized"],
  ] as const)("a person, which is final: %s %s", (name, failure, kind) => {
    expect(waits(name, failure)).toMatchObject({ isFinal: true, outcome: { kind } });
  });

  test("a first refusal of claude is not final: it may renew its login", () => {
    const [first = []] = WAITS.claude[401];
    expect(feed("claude", [first]).waitsFor?.isFinal).toBe(false);
  });

  test.each(
    (Object.keys(engines) as Name[]).flatMap((name) =>
      ["500", "503", "529", "refused"]
        .filter((failure) => failure in WAITS[name])
        .map((failure) => [name, failure] as const),
    ),
  )("the vendor's own failure: %s %s", (name, failure) => {
    expect(waits(name, failure)).toMatchObject({
      isFinal: false,
      outcome: { kind: "unavailable" },
    });
  });

  test("codex without its count of retries", () => {
    expect(waits("codex", "529")?.outcome).toMatchObject({
      message: expect.stringMatching(/^codex: unexpected status 529 /),
    });
  });

  test("a waiting codex is reported once, however often it is read", () => {
    const reader = feed("codex", WAITS.codex[429]);
    const { waitsFor } = reader;
    reader.stderr?.("a line about something else");
    expect(reader.waitsFor).toBe(waitsFor);
  });

  test("no title that opencode could not make", () => {
    expect(waits("opencode", "title")).toBeNull();
  });

  test.each([
    ["claude", '{"type":"assistant","message":{"content":[{"type":"text","text":"Go on."}]}}'],
    ["codex", '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Go on."}}'],
    ["gemini", '{"type":"message","role":"assistant","content":"Go on.","delta":true}'],
    ["opencode", '{"type":"text","sessionID":"s","part":{"text":"Go on."}}'],
  ] as const)("nothing, once it goes on: %s", (name, line) => {
    const reader: StreamReader = feed(name, WAITS[name].refused);
    expect(reader.waitsFor).not.toBeNull();
    reader.line(line);
    expect(reader.waitsFor).toBeNull();
  });

  test("other programs' lines on stderr are not the vendor's", () => {
    for (const name of Object.keys(engines) as Name[]) {
      const line = "MCP server docs: 401 Unauthorized, rate limit, ECONNREFUSED";
      expect(feed(name, [["err", line]]).waitsFor ?? null).toBeNull();
    }
  });
});
