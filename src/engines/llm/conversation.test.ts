import { readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { ModelMessage } from "ai";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { Ended } from "./call-errors.ts";
import { loadSession, newSessionId, saveSession } from "./conversation.ts";

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

test("what was kept comes back as it was, and only we can read it", () => {
  const folder = join(newFolder(), "deep/er");
  const id = newSessionId();
  saveSession(folder, id, "m", TALK.slice(0, 1));
  saveSession(folder, id, "m", TALK);
  expect(loadSession(folder, id, "m")).toEqual(TALK);
  expect(readdirSync(folder)).toEqual([`${id}.json`]);
  expect(statSync(join(folder, `${id}.json`)).mode & 0o777).toBe(0o600);
});

test("another model does not get the thoughts of the first", () => {
  const folder = newFolder();
  const id = newSessionId();
  saveSession(folder, id, "m", TALK);
  expect(loadSession(folder, id, "dearer")[1]?.content).toEqual([{ type: "text", text: "Yes." }]);
});

test("what is not a session is lost", () => {
  const folder = newFolder();
  const damaged = newSessionId();
  writeFileSync(join(folder, `${damaged}.json`), '{"version":1,"model":"m","messages":[]}');
  const elsewhere = newFolder();
  const foreign = newSessionId();
  saveSession(elsewhere, foreign, "m", TALK);
  for (const [where, id] of [
    [folder, newSessionId()],
    [folder, damaged],
    [folder, `../${basename(elsewhere)}/${foreign}`],
    [null, newSessionId()],
  ] as const) {
    expect(() => loadSession(where, id, "m")).toThrow(Ended);
  }
});
