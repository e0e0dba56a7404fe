import { EventEmitter, once } from "node:events";
import fs, { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../../test/support/deadline.ts";
import { newRun as newOpenRun } from "../../../test/support/new-run.ts";
import type { Change, Store } from "../store.ts";
import { MOST_QUEUED } from "./watch-run.ts";

/** Watching when the kernel drops notifications, or has none to give. */

async function newRun() {
  const run = await newOpenRun();
  onTestFinished(() => run.store.close());
  return run;
}

/** Replaces fs.watch for the rest of the test. */
function watchWith(
  watch: (folder: string, options: object, act: (...event: string[]) => void) => unknown,
): void {
  const original = fs.watch;
  fs.watch = watch as typeof fs.watch;
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.watch = original;
    syncBuiltinESMExports();
  });
}

const SILENT = () => Object.assign(new EventEmitter(), { close: () => {} });
const EXHAUSTED = () => {
  throw Object.assign(new Error("ENOSPC: System limit for number of file watchers reached"), {
    code: "ENOSPC",
  });
};

/** The changes of one task, each as soon as it is reported. */
function follow(store: Store, id: string, rescanMs: number) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const changes = store.watch({ signal: stop.signal, rescanMs })[Symbol.asyncIterator]();
  return async (): Promise<Change> => {
    for (;;) {
      const { value, done } = await within(`a change of ${id}`, changes.next());
      if (done) throw new Error("the stream has ended");
      if (value.kind === "task" && value.id === id) return value;
    }
  };
}

describe.each([
  ["are lost", SILENT],
  ["cannot be had", EXHAUSTED],
])("when notifications %s", (_, watch) => {
  test("the rescan reports every change all the same", async () => {
    watchWith(watch);
    const { store } = await newRun();
    const next = follow(store, "a", 10);
    const first = next(); // the stream begins with the first question
    await store.enqueue({ id: "a", type: "t" });
    expect(await first).toMatchObject({ from: null, to: "pending" });
    const [claim] = await store.claim({ worker: "w" });
    expect(await next()).toMatchObject({ from: "pending", to: "claimed", worker: "w" });
    await store.complete({ id: "a", worker: "w", token: claim?.token ?? "" });
    expect(await next()).toMatchObject({ from: "claimed", to: "done" });
  });

  test("a claimer that waits finds the work when its time is over", async () => {
    watchWith(watch);
    const { store } = await newRun();
    const waiting = store.waitForWork({ timeoutMs: 50 });
    await store.enqueue({ id: "a", type: "t" });
    expect(await within("the wait is over", waiting)).toBe(true);
  });

  test("a task that a foreign worker unblocked is found when the time is over", async () => {
    watchWith(watch);
    const { store, path } = await newRun();
    await store.enqueue({ id: "a", type: "t" });
    await store.enqueue({ id: "b", type: "t", depends_on: ["a"] });
    await store.claim({ worker: "py" });
    const waiting = store.waitForWork({ timeoutMs: 50 });
    renameSync(join(path, "claimed/py/a.json"), join(path, "done/a.json"));
    expect(await within("the wait is over", waiting)).toBe(true);
    expect((await store.claim({ worker: "w" }))[0]?.task.task_id).toBe("b");
  });
});

describe("by notifications alone", () => {
  const NEVER = 1_000_000;

  test("reports moves made by hand as well", async () => {
    const { store, path } = await newRun();
    const next = follow(store, "a", NEVER);
    const rewrite = setInterval(() => {
      // Again and again, until the stream has begun.
      rmSync(join(path, "pending/a.json"), { force: true });
      writeFileSync(join(path, "pending/a.json"), '{"task_id":"a","task_type":"t"}');
    }, 20);
    onTestFinished(() => clearInterval(rewrite));
    expect(await next()).toMatchObject({ to: "pending" });
    clearInterval(rewrite);
    mkdirSync(join(path, "claimed/py"));
    renameSync(join(path, "pending/a.json"), join(path, "claimed/py/a.json"));
    let change = await next();
    while (change.kind === "task" && change.to !== "claimed") change = await next();
    expect(change).toMatchObject({ to: "claimed", worker: "py" });
    renameSync(join(path, "claimed/py/a.json"), join(path, "done/a.json"));
    expect(await next()).toMatchObject({ from: "claimed", to: "done" });
    rmSync(join(path, "done/a.json"));
    expect(await next()).toMatchObject({ from: "done", to: null });
  });

  test("a claimer is woken by a foreign task and by a foreign completion", async () => {
    const { store, path } = await newRun();
    let waiting = store.waitForWork({ timeoutMs: NEVER });
    writeFileSync(join(path, "pending/f.json"), '{"task_id":"f","task_type":"t"}');
    expect(await within("woken by a foreign task", waiting)).toBe(true);
    expect(await store.claim({ worker: "w" })).toHaveLength(1);

    await store.enqueue({ id: "b", type: "t", depends_on: ["f"] });
    waiting = store.waitForWork({ timeoutMs: NEVER });
    renameSync(join(path, "claimed/w/f.json"), join(path, "done/f.json"));
    expect(await within("woken by a foreign completion", waiting)).toBe(true);
    expect((await store.claim({ worker: "w" }))[0]?.task.task_id).toBe("b");
  });
});

describe("while a folder cannot be read", () => {
  /** Every look into it fails with ELOOP. Returns what puts it right. */
  function spoil(folder: string): () => void {
    renameSync(folder, `${folder}.aside`);
    symlinkSync(folder, folder);
    return () => {
      rmSync(folder);
      renameSync(`${folder}.aside`, folder);
    };
  }

  test("notifications neither end the process nor cost a change", async () => {
    const notify = new Map<string, (...event: string[]) => void>();
    watchWith((folder, _, act) => {
      notify.set(folder, act);
      return SILENT();
    });
    const { path, store } = await newRun();
    const [pending, claimed] = [join(path, "pending"), join(path, "claimed")];
    const change = follow(store, "a", 1_000_000)();
    const repairs = [spoil(pending), spoil(claimed)];
    notify.get(claimed)?.("rename", "w");
    notify.get(pending)?.("rename", "a.json");
    await new Promise(setImmediate);
    for (const repair of repairs) repair();
    writeFileSync(join(pending, "a.json"), '{"task_id":"a","task_type":"t"}');
    notify.get(pending)?.("rename", "other.json");
    expect(await change).toMatchObject({ from: null, to: "pending" });
  });

  test("a watch fails to begin, and the next one begins anew", async () => {
    const { path, store } = await newRun();
    await store.enqueue({ id: "a", type: "t" });
    const repair = spoil(join(path, "claimed"));
    await expect(follow(store, "a", 10)()).rejects.toMatchObject({ code: "ELOOP" });
    repair();
    const change = follow(store, "a", 10)();
    await store.claim({ worker: "w" });
    expect(await change).toMatchObject({ from: "pending", to: "claimed" });
  });
});

describe("many tasks and subscribers", () => {
  test("a slow reader gets the number of changes that it missed, and when they began", async () => {
    const { store } = await newRun();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const slow = store.watch({ signal: stop.signal })[Symbol.asyncIterator]();
    const first = slow.next(); // the stream begins with the first question
    const quick = follow(store, "last", 1_000_000);
    const over = quick();
    await store.enqueue({ id: "first", type: "t" });
    expect((await within("the first change", first)).value).toMatchObject({ id: "first" });
    const count = MOST_QUEUED + 5;
    const ids = Array.from({ length: count }, (_, n) => ({ id: `t${n}`, type: "t" }));
    await store.enqueueMany(ids);
    await store.enqueue({ id: "last", type: "t" });
    await over;
    const { value: missed } = await slow.next();
    expect(missed).toMatchObject({ kind: "missed", count: MOST_QUEUED, since: expect.any(String) });
    expect(await store.counts()).toMatchObject({ pending: count + 2 });
    const rest = [];
    while (rest.at(-1) !== "last") rest.push((await slow.next()).value.id);
    expect(rest).toHaveLength(6);
    await slow.return?.();
  });

  test("subscribers share one watch, and a rescan lists no folder that has not changed", async () => {
    const { path, store } = await newRun();
    for (let n = 0; n < 3; n++) writeFileSync(join(path, `done/d${n}.json`), "{}");
    const watched: string[] = [];
    const { watch } = fs;
    watchWith(((folder: string, ...more: []) => {
      watched.push(folder);
      return watch(folder, ...more);
    }) as never);
    const listed: string[] = [];
    const { readdir } = fs.promises;
    fs.promises.readdir = ((folder: string) => {
      listed.push(folder);
      return readdir(folder);
    }) as typeof readdir;
    syncBuiltinESMExports();
    onTestFinished(() => {
      fs.promises.readdir = readdir;
      syncBuiltinESMExports();
    });
    const streams = [follow(store, "a", 10), follow(store, "a", 10), follow(store, "a", 10)];
    const changes = streams.map((next) => next());
    await store.enqueue({ id: "a", type: "t" });
    for (const change of await Promise.all(changes))
      expect(change).toMatchObject({ to: "pending" });
    expect(watched.filter((folder) => folder === join(path, "pending"))).toHaveLength(1);
    expect(listed.filter((folder) => folder.endsWith("/done"))).toEqual([]);
  });

  test("a reader that leaves during a rescan leaves no watch behind", async () => {
    const notify = new Map<string, (...event: string[]) => void>();
    const open = new Set<string>();
    watchWith((folder, _, act) => {
      notify.set(folder, act);
      open.add(folder);
      return Object.assign(new EventEmitter(), { close: () => open.delete(folder) });
    });
    const { path, store } = await newRun();
    const rescan = new EventEmitter();
    const begun = once(rescan, "begun");
    const released = once(rescan, "released");
    const { readdir } = fs.promises;
    fs.promises.readdir = (async (folder: string) => {
      if (!folder.startsWith(path)) return []; // a watch of an earlier test
      rescan.emit("begun");
      await released;
      return fs.readdirSync(folder);
    }) as typeof readdir;
    syncBuiltinESMExports();
    onTestFinished(() => {
      fs.promises.readdir = readdir;
      syncBuiltinESMExports();
    });
    const reader = store.watch({ rescanMs: 10 })[Symbol.asyncIterator]();
    const change = reader.next();
    await store.enqueue({ id: "a", type: "t" });
    notify.get(join(path, "pending"))?.("rename", "a.json");
    expect(await within("a change", change)).toMatchObject({ value: { id: "a" } });
    await within("a rescan", begun);
    mkdirSync(join(path, "claimed/w"));
    notify.get(join(path, "claimed"))?.("rename", "w");
    await reader.return?.();
    rescan.emit("released");
    for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    expect([...open].filter((folder) => folder.startsWith(path))).toEqual([]);
  });
});
