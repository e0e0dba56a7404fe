import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "../../../test/support/folders.ts";
import { names } from "../../../test/support/run-files.ts";
import { openRun } from "../../main.ts";
import { isDrained } from "../../work/drained.ts";
import { TASK_STATES } from "../states.ts";

/** Foreign names that ours could not be: reported, and never in the way. */

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));
const LONG = Date.now() / 1000 - 3600;

const NAMES: Record<string, Buffer> = {
  "of 250 characters": bytes("x".repeat(250)),
  "of 243 characters, to which .reason fits": bytes("x".repeat(243)),
  "of 244 characters, to which it does not": bytes("x".repeat(244)),
  "of 83 signs of three bytes": bytes("€".repeat(83)),
  "that is no UTF-8": bytes("a", [0xff, 0xfe, 0x80], "b"),
  "with control characters": bytes("a\u001b[31m\nb"),
  "that turns the line": bytes("a\u202Egnp"),
  "of 129 characters": bytes("x".repeat(129)),
};

const CONTENTS: Record<string, (name: Buffer) => string> = {
  "a sound task": (name) => JSON.stringify({ task_id: name.toString(), task_type: "t" }),
  "no task": () => "{",
};

async function open(path: string) {
  return openRun(path, { create: true, durability: "fast" });
}

async function looks(path: string) {
  const store = await open(path);
  await store.counts();
  for await (const _ of store.list()) void _;
  await store.workers();
  await store.reap({ staleAfterSeconds: 0 });
  await store.sweep({ thorough: true });
  const controller = new AbortController();
  controller.abort();
  for await (const _ of store.watch({ signal: controller.signal })) void _;
  await store.waitForWork({ timeoutMs: 1 });
  await store.flushStatus();
  return store;
}

for (const [kind, name] of Object.entries(NAMES)) {
  for (const [what, text] of Object.entries(CONTENTS)) {
    test.each([...TASK_STATES])(`a name ${kind} (${what}) in %s`, async (state) => {
      const path = join(newFolder(), "run");
      const first = await open(path);
      await first.enqueue({ id: "ok", type: "t" });
      await first.close();
      const folder = join(path, state === "claimed" ? "claimed/foreign" : state);
      mkdirSync(folder, { recursive: true });
      const file = bytes(`${folder}/`, [...name], ".json");
      writeFileSync(file, text(name));
      utimesSync(file, LONG, LONG);
      const store = await looks(path);
      const [claim] = await store.claim({ worker: "w" });
      expect(claim?.task.task_id).toBe("ok");
      await store.complete({ id: "ok", worker: "w" });
      if (state !== "claimed") expect(await isDrained(store, null)).toBe(true);
      await store.doctor({ fix: true });
      expect((await store.doctor()).findings).toEqual([]);
      expect(await isDrained(store, null)).toBe(true);
      for (const one of names(join(path, "quarantine"))) {
        expect(Buffer.byteLength(one)).toBeLessThanOrEqual(255);
      }
      await store.close();
    });
  }

  test(`a worker with a name ${kind}`, async () => {
    const path = join(newFolder(), "run");
    const first = await open(path);
    await first.enqueue({ id: "ok", type: "t" });
    await first.close();
    for (const folder of [name, bytes([...name], "y".repeat(Math.max(0, 255 - name.length)))]) {
      const at = bytes(`${path}/claimed/`, [...folder]);
      mkdirSync(at);
      const file = bytes([...at], "/", `z${folder.length}.json`);
      writeFileSync(file, JSON.stringify({ task_id: `z${folder.length}`, task_type: "t" }));
      utimesSync(file, LONG, LONG);
    }
    const store = await looks(path);
    expect(await store.claim({ worker: "w", max: 9 })).not.toEqual([]);
    await store.doctor({ fix: true });
    expect((await store.doctor()).findings).toEqual([]);
    await store.close();
  });
}

test("two long names that begin alike are both kept", async () => {
  const path = join(newFolder(), "run");
  const store = await open(path);
  for (const end of ["a", "b"]) {
    const file = join(path, "pending", `${"x".repeat(249)}${end}.json`);
    writeFileSync(file, `{${end}`);
    utimesSync(file, LONG, LONG);
  }
  await store.doctor({ fix: true });
  expect(names(join(path, "pending"))).toEqual([]);
  expect(names(join(path, "quarantine"))).toHaveLength(4);
});
