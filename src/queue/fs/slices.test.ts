import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { turnsDuring } from "../../../test/support/turns.ts";
import { openRun } from "../../main.ts";

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

it("other work of a process goes on while it reads the ledger, lists tasks, examines the run", async () => {
  const store = await openRun(join(newFolder(), "run"), { create: true, durability: "fast" });
  onTestFinished(() => store.close());
  const ids = Array.from({ length: 20 }, (_, i) => `t.${i}`);
  await store.enqueueMany(ids.map((id) => ({ id, type: "fix" })));
  const line = `${JSON.stringify({ at: "2026-01-01T00:00:00.000Z", event: "step", task: "x", note: "n".repeat(1_000) })}\n`;
  writeFileSync(join(store.ledgerFolder, "2026-01-01.jsonl"), line.repeat(4_000));
  const acts = {
    "lines of a task": () => drain(store.ledger({ task: "t.1" })),
    "lines of a period": () => drain(store.ledger({ since: "2026-01-01T12:00:00.000Z" })),
    "tasks of a type": () => drain(store.list({ types: ["other"] })),
    "the oldest tasks": () => drain(store.list({ sorted: true, limit: 1 })),
    doctor: () => store.doctor(),
  };
  for (const [name, act] of Object.entries(acts)) {
    expect([name, await turnsDuring(act)]).toEqual([name, expect.toSatisfy((n) => n >= 4)]);
  }
});
