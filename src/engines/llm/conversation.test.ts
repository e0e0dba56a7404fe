import { randomUUID } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { ModelMessage } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { Ended } from "./call-failures.ts";
import { fitContext, Gauge, loadSession, saveSession, sizeOf } from "./conversation.ts";

const TALK: ModelMessage[] = [
  { role: "user", content: "Do it." },
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "Hm.",
        providerOptions: { anthropic: { signature: "c2lnbmVk" } },
      },
      { type: "text", text: "Yes." },
    ],
  },
];

test("a session is loaded as it was saved, and only its user can read it", () => {
  const folder = join(newFolder(), "deep/er");
  const id = randomUUID();
  saveSession(folder, id, "m", TALK.slice(0, 1));
  saveSession(folder, id, "m", TALK);
  expect(loadSession(folder, id, "m")).toEqual(TALK);
  expect(readdirSync(folder)).toEqual([`${id}.json`]);
  expect(statSync(join(folder, `${id}.json`)).mode & 0o777).toBe(0o600);
});

test("another model does not get the thoughts of the first", () => {
  const folder = newFolder();
  const id = randomUUID();
  saveSession(folder, id, "m", TALK);
  expect(loadSession(folder, id, "dearer")[1]?.content).toEqual([{ type: "text", text: "Yes." }]);
});

test("a missing or damaged session is lost", () => {
  const folder = newFolder();
  const damaged = randomUUID();
  writeFileSync(join(folder, `${damaged}.json`), '{"version":1,"model":"m","messages":[]}');
  const elsewhere = newFolder();
  const foreign = randomUUID();
  saveSession(elsewhere, foreign, "m", TALK);
  for (const [where, id] of [
    [folder, randomUUID()],
    [folder, damaged],
    [folder, `../${basename(elsewhere)}/${foreign}`],
    [null, randomUUID()],
  ] as const) {
    expect(() => loadSession(where, id, "m")).toThrow(Ended);
  }
});

const prompt = (content: string): ModelMessage => ({ role: "user", content });
const turn = (id: string, result: string): ModelMessage[] => [
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: id, toolName: "shell", input: {} }],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: id,
        toolName: "shell",
        output: { type: "text", value: result },
      },
    ],
  },
];
const talk = (turns: number, size: number) => [
  prompt("first"),
  ...Array.from({ length: turns }, (_, i) => turn(`call-${i}`, `${i}${"x".repeat(size)}`)).flat(),
];

describe("fitting the window", () => {
  test("a conversation that fits stays as it is", () => {
    const messages = talk(3, 1_000);
    expect(fitContext(messages, sizeOf(messages))).toEqual({ messages, shortened: 0, dropped: 0 });
  });

  test("old results are shortened before anything is dropped; the last three stay", () => {
    const messages = talk(6, 1_000);
    const fit = fitContext(messages, sizeOf(messages) - 1);
    expect(fit).toMatchObject({ shortened: 3, dropped: 0 });
    expect(fit.messages).toHaveLength(messages.length);
    expect(fit.messages.slice(-6)).toEqual(messages.slice(-6));
    expect(fitContext(fit.messages, sizeOf(fit.messages))).toMatchObject({ shortened: 0 });
  });

  test("then the oldest turns go, whole, with a note", () => {
    const messages = talk(20, 1_000);
    const fit = fitContext(messages, 6_000);
    expect(fit.dropped).toBeGreaterThan(5);
    expect(fit.messages[0]).toEqual(prompt("first"));
    expect(fit.messages[1]?.content).toMatch(/left out/);
    expect(fit.messages.slice(-6)).toEqual(messages.slice(-6));
    expect(sizeOf(fit.messages)).toBeLessThanOrEqual(6_000);
    const again = fitContext([...fit.messages, ...turn("new", "y".repeat(3_000))], 6_000);
    const notes = again.messages.filter((one) => String(one.content).includes("left out"));
    expect(notes).toHaveLength(1);
  });

  test("at last the recent results are shortened too", () => {
    const fit = fitContext(talk(2, 50_000), 5_000);
    expect(sizeOf(fit.messages)).toBeLessThan(5_000);
    expect(fit.messages.at(-1)?.role).toBe("tool");
  });

  test("the first prompt and the last stay, and every result has its call", () => {
    const part = fc.oneof(
      fc.integer({ min: 0, max: 5_000 }).map((size) => turn("t", "x".repeat(size))),
      fc.integer({ min: 1, max: 500 }).map((size) => [prompt("p".repeat(size))]),
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 20 }),
        fc.integer({ min: 0, max: 30_000 }),
        (parts, limit) => {
          const last = [prompt("the last prompt"), ...turn("end", "r")];
          const messages = [prompt("first"), ...parts.flat(), ...last];
          const fit = fitContext(messages, limit);
          expect(fit.messages[0]).toEqual(prompt("first"));
          expect(fit.messages).toContainEqual(prompt("the last prompt"));
          for (const [i, message] of fit.messages.entries()) {
            const before = fit.messages[i - 1]?.role;
            if (message.role === "tool") expect(before).toBe("assistant");
            if (before === "assistant") expect(message.role).toBe("tool");
          }
        },
      ),
    );
  });
});

test("the gauge learns from the counts of the API, within limits", () => {
  const gauge = new Gauge();
  expect(gauge.tokens(400)).toBe(100);
  gauge.learn(1_000, 500);
  expect(gauge.tokens(400)).toBe(200);
  expect(gauge.chars(200)).toBe(400);
  gauge.learn(100_000, 1); // a server that counts only what is new
  expect(gauge.tokens(400)).toBe(80);
  gauge.learn(0, 0);
  expect(gauge.tokens(400)).toBe(80);
});
