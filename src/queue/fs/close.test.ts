import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../../test/support/deadline.ts";
import { FakeHost } from "../../../test/support/machine.ts";
import { newRun } from "../../../test/support/new-run.ts";
import { openRun } from "../../main.ts";
import { withFileLock } from "../../platform/files/file-lock.ts";

/** Calls under way when a run is closed, and files left by a failed open. */

test("every close waits for a registration under way, and gives the name back", async () => {
  const { path, store } = await newRun();
  const order: string[] = [];
  const calls: Promise<unknown>[] = [];
  await withFileLock(join(path, ".viv/workers/.lock"), () => {
    calls.push(store.register("w").then(() => order.push("registered")));
    for (let n = 0; n < 2; n++) calls.push(store.close().then(() => order.push("closed")));
  });
  await Promise.all(calls);
  expect(order).toEqual(["registered", "closed", "closed"]);
  expect(existsSync(join(path, ".viv/workers/w.json"))).toBe(false);
  expect(existsSync(join(path, "claimed/w/.heartbeat"))).toBe(false);
});

test("a registration that fails halfway does not keep the name", async () => {
  const { path, store } = await newRun();
  writeFileSync(join(path, "claimed/w"), "");
  await expect(store.register("w")).rejects.toMatchObject({ code: "RUN_INVALID" });
  expect(existsSync(join(path, ".viv/workers/w.json"))).toBe(false);
  rmSync(join(path, "claimed/w"));
  await store.register("w");
  await store.close();
});

test("close carries over the tasks of a failed flush", async () => {
  const { path, store } = await newRun();
  await store.enqueue({ id: "a", type: "t" });
  const [claim] = await store.claim({ worker: "w" });
  await store.complete({ id: "a", worker: "w", token: claim?.token ?? "" });
  const file = join(path, "status.json");
  const whole = readFileSync(file, "utf8");
  writeFileSync(file, "{");
  await expect(store.flushStatus()).rejects.toMatchObject({ code: "CORRUPT" });
  writeFileSync(file, whole);
  await store.close();
  expect(JSON.parse(readFileSync(file, "utf8")).checkpoint.completed_tasks).toEqual(["a"]);
});

test("tasks are carried over although others write status.json all the time", async () => {
  const { path, store } = await newRun();
  const file = join(path, "status.json");
  const completed = () => JSON.parse(readFileSync(file, "utf8")).checkpoint.completed_tasks;
  let n = 0;
  await until("the first task is listed", async () => {
    const id = `t${n++}`;
    await store.enqueue({ id, type: "t" });
    const [claim] = await store.claim({ worker: "w" });
    await store.complete({ id, worker: "w", token: claim?.token ?? "" });
    await store.writeStatus({ summary: `${n} done` }); // as a foreign worker does
    return completed().includes("t0");
  });
  await store.close();
});

test("a run that cannot be opened leaves no open files", async () => {
  const { path, store } = await newRun();
  await store.close();
  const machine = new FakeHost().process();
  const bootId = () => {
    throw new Error("not today");
  };
  const open = openRun(path, { machine: { ...machine, bootId } });
  await expect(open).rejects.toThrow("not today");
  expect(openBelow(path)).toEqual([]);
});

function openBelow(path: string): string[] {
  return readdirSync("/proc/self/fd")
    .map(targetOf)
    .filter((target) => target.startsWith(path));
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return ""; // closed just now
  }
}
