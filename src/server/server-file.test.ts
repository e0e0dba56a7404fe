import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { newFolder } from "../../test/support/folders.ts";
import { readServer, removeServer, TRY_AGAIN_MS, untilDone, writeServer } from "./server-file.ts";

/** Servers of one run: each is a process that is there until it is taken from `alive`. */
function servers() {
  const run = newFolder();
  mkdirSync(join(run, ".viv"));
  const alive = new Set<number>();
  const machineOf = (pid: number) => ({
    clock: { now: () => 0 } as never,
    self: () => ({ pid, started: String(pid), boot: "boot", host: "here" }),
    vitality: (process: { pid: number }) => (alive.has(process.pid) ? "alive" : "gone") as never,
  });
  return {
    start(pid: number) {
      alive.add(pid);
      const before = writeServer(run, machineOf(pid), `http://127.0.0.1:${pid}`);
      const stop = () => {
        removeServer(run, machineOf(pid));
        alive.delete(pid);
      };
      return { before: before?.pid ?? null, stop };
    },
    end: (pid: number) => alive.delete(pid),
    found: () => readServer(run, machineOf(0))?.pid ?? null,
  };
}

it("gives the place back to the server that answered before", () => {
  const { start, found } = servers();
  const first = start(4747);
  const second = start(4748);
  expect([first.before, second.before, found()]).toEqual([null, 4747, 4748]);
  second.stop();
  expect(found()).toBe(4747);
  first.stop();
  expect(found()).toBeNull();
});

it("leaves the place to a later server, and does not bring back one that is gone", () => {
  const { start, end, found } = servers();
  const first = start(4747);
  const second = start(4748);
  first.stop();
  expect(found()).toBe(4748);
  const third = start(4749);
  end(4748);
  third.stop();
  expect(found()).toBeNull();
  second.stop();
});

it("gives the place back over one that has ended meanwhile", () => {
  const { start, end, found } = servers();
  const first = start(4747);
  start(4748);
  const third = start(4749);
  end(4748);
  third.stop();
  expect(found()).toBe(4747);
  first.stop();
  expect(found()).toBeNull();
});

it("is the one that answered before, when the last was killed", () => {
  const { start, end, found } = servers();
  start(4747);
  start(4748);
  end(4748);
  expect(found()).toBe(4747);
});

it("is written again until it could be, and says so: the disk was full", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const said: string[] = [];
  let isFull = true;
  const act = () => {
    said.push("tries");
    if (isFull) throw new Error("ENOSPC");
  };
  const begin = () =>
    untilDone(
      act,
      (error) => said.push((error as Error).message),
      () => said.push("is written"),
    );
  begin();
  vi.advanceTimersByTime(TRY_AGAIN_MS);
  expect(said.splice(0)).toEqual(["tries", "ENOSPC", "tries"]);
  isFull = false;
  vi.advanceTimersByTime(10 * TRY_AGAIN_MS);
  expect(said.splice(0)).toEqual(["tries", "is written"]);
  begin();
  expect(said.splice(0)).toEqual(["tries"]);
  isFull = true;
  const stop = begin();
  stop();
  vi.advanceTimersByTime(10 * TRY_AGAIN_MS);
  expect(said).toEqual(["tries", "ENOSPC"]);
});
