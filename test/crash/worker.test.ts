import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRun } from "../../src/main.ts";
import type { Store } from "../../src/queue/store.ts";
import { until } from "../support/deadline.ts";
import { newFolder } from "../support/folders.ts";
import { DIST, keepersOf, killWithKeeper, pidOf } from "../support/processes.ts";

/** Workers as processes: signals, kill -9, and what becomes of the handlers they had started. */

let home: string;
let run: string;
let store: Store;
const workers: ChildProcess[] = [];

beforeEach(async () => {
  home = newFolder();
  run = join(home, "run");
  store = await openRun(run, { create: true, durability: "fast" });
});

afterEach(async () => {
  for (const worker of workers.splice(0)) {
    if (worker.exitCode === null && worker.signalCode === null) {
      worker.kill("SIGKILL");
      await once(worker, "exit");
    }
  }
  // What a killed worker left is ended by the reaper: no test leaves a process behind.
  await store.reap();
  await store.close();
  rmSync(home, { recursive: true, force: true });
});

function script(text: string): string {
  const path = join(home, "handle.sh");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

function work(...flags: string[]): ChildProcess {
  const args = [join(DIST, "viv.cjs"), "work", "--run", run, "--poll-interval", "1", ...flags];
  const worker = spawn(process.execPath, args, { cwd: home, stdio: ["ignore", "pipe", "pipe"] });
  worker.stdout?.resume();
  worker.stderr?.pipe(process.stderr);
  workers.push(worker);
  return worker;
}

/** Resolves with the file's text when it is there and has a line. */
async function written(name: string): Promise<string> {
  const path = join(home, name);
  const watcher = watch(home);
  try {
    for (;;) {
      const text = existsSync(path) ? readFileSync(path, "utf8") : "";
      if (text.endsWith("\n")) return text.trim();
      await Promise.race([once(watcher, "change"), new Promise((go) => setTimeout(go, 200))]);
    }
  } finally {
    watcher.close();
  }
}

function linesOf(name: string): string[] {
  const path = join(home, name);
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}

function isAlive(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Ignores a polite request; its child has left the process group. Writes both pids. */
const STUBBORN = `trap '' TERM
setsid sleep 1000 &
echo "$$ $!" > "$HOME_OF_TEST/pids"
while :; do sleep 1; done`;

function stubborn(): string {
  return script(STUBBORN.replace("$HOME_OF_TEST", home));
}

describe("a worker that is killed", () => {
  test("leaves a tree that is gone before anybody else gets the task", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const worker = work("--handler", stubborn(), "--worker-id", "w1");
    const pids = (await written("pids")).split(" ");
    killWithKeeper(worker);
    await once(worker, "exit");
    expect(pids.map(isAlive)).toEqual([true, true]);
    const report = await store.reap();
    expect(report.reaped).toMatchObject([{ id: "t.1", worker: "w1", to: "pending" }]);
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect((await store.show("t.1"))?.state).toBe("pending");
  });

  test("leaves a daemon with nothing in its environment, which is gone before anybody else gets the task", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const handler = script(`${DAEMON(home)}\nexec sleep 1000`);
    const worker = work("--handler", handler, "--worker-id", "w1");
    const daemon = await written("pids");
    killWithKeeper(worker);
    await once(worker, "exit");
    expect(isAlive(daemon)).toBe(true);
    expect((await store.reap()).reaped).toMatchObject([{ id: "t.1", to: "pending" }]);
    expect(isAlive(daemon)).toBe(false);
  });

  test("in whose handler another worker ran: the handler of that one is gone, too", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const inner = join(home, "inner");
    await (await openRun(inner, { create: true, durability: "fast" })).close();
    const sleeper = join(home, "sleeper.sh");
    writeFileSync(sleeper, `#!/bin/sh\necho $$ > ${home}/pids\nexec sleep 1000\n`);
    chmodSync(sleeper, 0o755);
    const viv = `"${process.execPath}" "${join(DIST, "viv.cjs")}"`;
    const handler = script(
      `${viv} enqueue --run ${inner} --type t --id t.2\n${viv} work --run ${inner} --handler ${sleeper}`,
    );
    const worker = work("--handler", handler, "--worker-id", "w1");
    const pid = await written("pids");
    worker.kill("SIGKILL");
    await until("the inner handler is gone", () => !isAlive(pid));
  });

  test("is followed by one of the same name, which begins with what is left", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const first = work("--handler", stubborn(), "--worker-id", "w1");
    const pids = (await written("pids")).split(" ");
    killWithKeeper(first);
    await once(first, "exit");
    const second = work("--handler", "/bin/true", "--worker-id", "w1", "--drain");
    await once(second, "exit");
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect((await store.show("t.1"))?.state).toBe("done");
  });

  test("while another one works: that one takes over within seconds", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const first = work("--handler", stubborn(), "--worker-id", "w1");
    const pids = (await written("pids")).split(" ");
    const second = work("--handler", "/bin/true", "--worker-id", "w2", "--max-tasks", "1");
    first.kill("SIGKILL");
    await once(second, "exit");
    expect(pids.map(isAlive)).toEqual([false, false]);
    const history = (await store.show("t.1"))?.history;
    expect(history).toMatchObject([
      { outcome: "abandoned", worker: "w1" },
      { outcome: "done", worker: "w2", attempt: 2 },
    ]);
  });
});

/** Cleans its environment, closes its files, leaves its session and its parent. Writes its pid. */
const DAEMON = (home: string) =>
  `env -i /usr/bin/setsid /bin/sh -c '(exec </dev/null >/dev/null 2>&1; exec sleep 1000) & echo $! >> ${home}/pids' &
while [ ! -s ${home}/pids ]; do sleep 0.01; done`;

describe("what a killed worker had started ends with it, though nobody reaps", () => {
  test("a handler that ignores what it is asked, and its child in another session", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const worker = work("--handler", stubborn(), "--worker-id", "w1");
    const pids = (await written("pids")).split(" ");
    worker.kill("SIGKILL");
    await until("they are gone", () => !pids.some(isAlive));
    expect((await store.show("t.1"))?.state).toBe("claimed");
  });

  test("several handlers, and the daemons that they made", async () => {
    for (let i = 0; i < 4; i++) await store.enqueue({ id: `t.${i}`, type: "t" });
    const handler = script(`${DAEMON(home)}\necho $$ >> ${home}/pids\nexec sleep 1000`);
    const worker = work("--handler", handler, "--worker-id", "w1", "--concurrency", "4");
    await until("all run", () => linesOf("pids").length === 8);
    worker.kill("SIGKILL");
    await until("they are gone", () => !linesOf("pids").some(isAlive));
  });

  test("also when what watches over them had died before, and was started again", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const worker = work("--handler", stubborn(), "--worker-id", "w1");
    const pids = (await written("pids")).split(" ");
    const [first] = keepersOf(pidOf(worker));
    process.kill(pidOf({ pid: first }), "SIGKILL");
    await until("there is another", () => {
      return keepersOf(pidOf(worker)).some((pid) => pid !== first && isAlive(String(pid)));
    });
    worker.kill("SIGKILL");
    await until("they are gone", () => !pids.some(isAlive));
  });

  test("what belongs to nobody stays", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    const other = spawn("sleep", ["1000"], { env: { VIV_CLAIM: `t.1.0@${run}` } });
    const worker = work("--handler", stubborn(), "--worker-id", "w1");
    const pids = (await written("pids")).split(" ");
    const [keeper = 0] = keepersOf(pidOf(worker));
    worker.kill("SIGKILL");
    await until("it has done its work", () => !isAlive(String(keeper)));
    expect([...pids.map(isAlive), isAlive(String(other.pid))]).toEqual([false, false, true]);
    other.kill("SIGKILL");
  });
});

test("a daemon with nothing in its environment ends with its handler, every time", async () => {
  for (let i = 0; i < 50; i++) await store.enqueue({ id: `t.${i}`, type: "t" });
  const handler = script(DAEMON(home));
  const worker = work("--handler", handler, "--worker-id", "w1", "--concurrency", "4", "--drain");
  await once(worker, "exit");
  expect((await store.counts()).done).toBe(50);
  expect(linesOf("pids")).toHaveLength(50);
  expect(linesOf("pids").filter(isAlive)).toEqual([]);
});

test("a worker that ends leaves nothing beside it", async () => {
  await store.enqueue({ id: "t.1", type: "t" });
  const worker = work("--handler", script(`echo $$ > ${home}/pids; sleep 0.2`), "--once");
  await written("pids");
  const keepers = keepersOf(pidOf(worker)).map(String);
  expect(keepers).toHaveLength(1);
  await once(worker, "exit");
  await until("it ends", () => !keepers.some(isAlive));
});

describe("a worker that is told to stop", () => {
  const HANDLER = (home: string) =>
    `echo $$ > ${home}/pids; while [ ! -e ${home}/go ]; do sleep 0.05; done; echo finished`;

  test("finishes its task first", async () => {
    await store.enqueue({ id: "t.1", type: "t" });
    await store.enqueue({ id: "t.2", type: "t" });
    const worker = work("--handler", script(HANDLER(home)), "--worker-id", "w1");
    await written("pids");
    worker.kill("SIGTERM");
    writeFileSync(join(home, "go"), "");
    const [status] = await once(worker, "exit");
    expect(status).toBe(0);
    expect((await store.show("t.1"))?.state).toBe("done");
    expect((await store.show("t.2"))?.state).toBe("pending");
    expect((await store.workers()).filter(({ process }) => process === "alive")).toEqual([]);
  });

  test.each([["twice"], ["once, with a grace that ends"]])(
    "%s: ends it and releases the task",
    async (how) => {
      await store.enqueue({ id: "t.1", type: "t" });
      const grace = how === "twice" ? [] : ["--grace", "100ms"];
      const handler = stubborn();
      const worker = work(
        "--handler",
        handler,
        "--worker-id",
        "w1",
        "--kill-after",
        "100ms",
        ...grace,
      );
      const pids = (await written("pids")).split(" ");
      worker.kill("SIGTERM");
      if (how === "twice") {
        // Signals that come together are one: the second is sent when the first was heard.
        await once(worker.stdout as NodeJS.ReadableStream, "data");
        worker.kill("SIGTERM");
      }
      const [status] = await once(worker, "exit");
      expect(status).toBe(0);
      expect(pids.map(isAlive)).toEqual([false, false]);
      const view = await store.show("t.1");
      expect(view?.state).toBe("pending");
      expect(view?.history).toMatchObject([{ outcome: "released" }]);
    },
  );
});

test("viv cancel reaches a running handler, and the worker goes on with the next task", async () => {
  await store.enqueue({ id: "t.1", type: "t" });
  const worker = work("--handler", stubborn(), "--worker-id", "w1", "--max-tasks", "2");
  const pids = (await written("pids")).split(" ");
  await store.cancel("t.1", { by: "me", note: "not needed" });
  expect(pids.map(isAlive)).toEqual([false, false]);
  expect((await store.show("t.1"))?.state).toBe("failed");
  script("true");
  await store.enqueue({ id: "t.2", type: "t" });
  await once(worker, "exit");
  expect((await store.show("t.2"))?.state).toBe("done");
  expect((await store.show("t.1"))?.history).toMatchObject([{ outcome: "cancelled" }]);
});

test("a claim that is taken away by hand: its handler is ended, and then somebody gets the task", async () => {
  const pids = join(home, "pids");
  work("--handler", script(`echo $$ >> ${pids}; exec sleep 1000`), "--worker-id", "w");
  await store.enqueue({ id: "a", type: "t" });
  const first = await written("pids");
  renameSync(join(run, "claimed/w/a.json"), join(run, "pending/a.json"));
  await until("a second attempt", () => readFileSync(pids, "utf8").trim().includes("\n"));
  expect(isAlive(first)).toBe(false);
});

test("a handler that ends its own task may finish", async () => {
  const viv = `${process.execPath} ${join(DIST, "viv.cjs")}`;
  const handler = script(
    `${viv} complete "$VIV_TASK_ID" --worker "$VIV_WORKER_ID" && sleep 3 && echo over > ${home}/end`,
  );
  work("--handler", handler, "--worker-id", "w", "--once");
  await store.enqueue({ id: "a", type: "t" });
  expect(await written("end")).toBe("over");
  expect(await store.show("a")).toMatchObject({ state: "done" });
});

test("a terminal that is closed ends a worker in order", async () => {
  const handler = script(`echo $$ > ${home}/pid; while [ ! -e ${home}/go ]; do sleep 0.05; done`);
  const worker = work("--handler", handler, "--worker-id", "w");
  for (const id of ["a", "b"]) await store.enqueue({ id, type: "t" });
  await written("pid");
  worker.kill("SIGHUP");
  writeFileSync(join(home, "go"), "");
  await once(worker, "exit");
  expect(await store.show("a")).toMatchObject({ state: "done" });
  expect(await store.show("b")).toMatchObject({ state: "pending" });
});

test("when nobody reads what a worker says, it finishes its task", async () => {
  const handler = script(`echo $$ > ${home}/pid; while [ ! -e ${home}/go ]; do sleep 0.05; done`);
  const worker = work("--handler", handler, "--worker-id", "w", "--concurrency", "2");
  await store.enqueue({ id: "a", type: "t" });
  await written("pid");
  worker.stdout?.destroy();
  await store.enqueue({ id: "b", type: "t" }); // it says that it has claimed this one
  await until("b is begun", async () => (await store.show("b"))?.state === "claimed");
  writeFileSync(join(home, "go"), "");
  await once(worker, "exit");
  for (const id of ["a", "b"]) expect(await store.show(id)).toMatchObject({ state: "done" });
});
