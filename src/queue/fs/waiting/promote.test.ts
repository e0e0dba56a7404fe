import fs, { existsSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { knownPath } from "../../../../test/support/handle-paths.ts";
import { openRun } from "../../../main.ts";

async function openWaiting() {
  const path = join(newFolder(), "run");
  const store = await openRun(path, { create: true });
  onTestFinished(() => store.close());
  await store.enqueue({ id: "a", type: "t" });
  await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
  const finish = async (id: string) => {
    expect(await store.claim({ worker: "w" })).toMatchObject([{ task: { task_id: id } }]);
    await store.complete({ id, worker: "w" });
  };
  return { path, store, finish };
}

/** Calls `act` when this file is opened next. */
function onceOpened(name: string, act: () => void): void {
  const { openSync } = fs;
  const restore = () => {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  };
  fs.openSync = (...args) => {
    if (knownPath(args[0]).endsWith(name)) {
      restore();
      act();
    }
    return openSync(...args);
  };
  syncBuiltinESMExports();
  onTestFinished(restore);
}

test("a task is woken though its dependency left done/ while its notes were read", async () => {
  const { path, finish } = await openWaiting();
  const [done, pending] = ["done", "pending"].map((state) => join(path, state, "a.json"));
  onceOpened("waiting/b.json", () => renameSync(done as string, pending as string));
  await finish("a");
  expect(existsSync(join(path, "waiting/b.json"))).toBe(true);
  // Else a look through all of waiting/ would have to find it.
  expect(readdirSync(join(path, ".viv/dependents"))).toEqual(["a"]);
  await finish("a");
  expect(existsSync(join(path, "pending/b.json"))).toBe(true);
});

test("notes that a process has taken and not acted on are acted on by the next", async () => {
  const { path, finish } = await openWaiting();
  const notes = join(path, ".viv/dependents");
  renameSync(join(notes, "a"), join(notes, "a~gone.1"));
  await finish("a");
  await finish("b");
  writeFileSync(join(notes, "a~gone.2"), "");
  const other = await openRun(path);
  onTestFinished(() => other.close());
  await other.sweep();
  expect(readdirSync(notes)).toEqual([]);
});
