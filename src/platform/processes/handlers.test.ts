import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import {
  type Finished,
  type HandlerCommand,
  localHandlers,
  type RunningHandler,
} from "./handlers.ts";

const BASH = existsSync("/bin/bash") ? "/bin/bash" : undefined;

const handlers = localHandlers();
let claims = 0;

beforeAll(async () => {
  expect(await handlers.ready?.()).toBe(null);
});

/** A handler in a folder of its own. Each pid it writes to the file `pids` is killed after the test. */
class Handler {
  readonly folder = newFolder();
  readonly logPath = join(this.folder, "a.log");
  readonly running: RunningHandler;

  constructor(
    argv: readonly string[],
    options: Partial<HandlerCommand> = {},
    start = handlers.start,
  ) {
    this.running = start({
      argv,
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? "" },
      stdin: "",
      claim: `handlers-test-${process.pid}-${++claims}`,
      logPath: this.logPath,
      logBytes: 1_000_000,
      killAfterMs: 60_000,
      ...options,
    });
    onTestFinished(() => {
      const leader = this.running.ref?.pid;
      for (const pid of [...(leader ? [-leader] : []), ...this.pids()]) killHard(pid);
    });
  }

  get finished(): Promise<Finished> {
    return within("the handler ends", this.running.finished);
  }

  stop(why: string): Promise<Finished> {
    return within("the handler is stopped", this.running.stop(why));
  }

  read(name: string): string {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** Waits until it has written so many lines to this file. */
  async writes(name: string, lines = 1): Promise<void> {
    await until(`${lines} lines in ${name}`, () => this.read(name).split("\n").length > lines);
  }

  touch(name: string): void {
    writeFileSync(join(this.folder, name), "");
  }

  pids(): number[] {
    return this.read("pids").split("\n").filter(Boolean).map(Number);
  }
}

const shell = (script: string, options?: Partial<HandlerCommand>) =>
  new Handler(["/bin/sh", "-c", script], options);

function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it is gone already
  }
}

function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** Runs on without any mark and outside the group: nothing proves any more that it is ours. */
const UNMARKED = "ulimit -S -m unlimited; exec env -i setsid";
const ESCAPE = `(${UNMARKED} sleep 1000) & echo $! >> pids; until grep -q sleep /proc/$!/comm; do :; done`;

test("a handler that succeeds", async () => {
  const handler = shell('cat; echo " on stderr" >&2; pwd; echo "$A $VIV_CLAIM"', {
    stdin: '{"id":"a"}',
    env: { PATH: process.env.PATH ?? "", A: "1" },
    claim: "c-1",
  });
  const finished = await handler.finished;
  expect(finished).toMatchObject({ cause: "exit", exit: 0, signal: null, dropped: 0 });
  expect(finished.survivors).toEqual([]);
  expect(finished).not.toHaveProperty("why");
  expect(finished).not.toHaveProperty("error");
  expect(finished.durationMs).toBeGreaterThan(0);
  for (const word of ['{"id":"a"}', " on stderr\n", `${handler.folder}\n`, "1 c-1\n"]) {
    expect(handler.read("a.log")).toContain(word);
    expect(finished.tail).toContain(word);
  }
});

test("it leads a group and a session of its own", async () => {
  const handler = shell("cut -d' ' -f1,5,6 /proc/$$/stat; echo $$");
  const { ref } = handler.running;
  const { tail } = await handler.finished;
  expect(tail).toBe(`${ref?.pid} ${ref?.pid} ${ref?.pid}\n${ref?.pid}\n`);
  expect(Number(ref?.started)).toBeGreaterThan(0);
});

test("stdin, stdout and stderr can be opened by name, and keep the order of what is written", async () => {
  const handler = shell(
    "cat /dev/stdin; for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; echo oops > /dev/stderr",
    { stdin: "task\n" },
  );
  const lines = [1, 2, 3, 4, 5].flatMap((i) => [`out ${i}`, `err ${i}`]);
  expect((await handler.finished).tail).toBe(["task", ...lines, "oops", ""].join("\n"));
});

test("where there are no pipes to be had, sockets do", async () => {
  vi.resetModules();
  const fresh = (await import("./handlers.ts")).localHandlers();
  const start = (command: HandlerCommand) => {
    vi.stubEnv("TMPDIR", "/no/such/folder");
    const { openSync } = fs;
    fs.openSync = (path, ...more) => openSync(path === "/dev/shm" ? "/no/such" : path, ...more);
    syncBuiltinESMExports();
    try {
      return fresh.start(command);
    } finally {
      vi.unstubAllEnvs();
      fs.openSync = openSync;
      syncBuiltinESMExports();
    }
  };
  const stdin = "x".repeat(5_000_000);
  const run = (script: string, options: Partial<HandlerCommand> = {}) =>
    new Handler(["/bin/sh", "-c", script], { stdin, ...options }, start);
  const names = run("readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 | grep -c socket; wc -c");
  expect(await names.finished).toMatchObject({ exit: 0, tail: "3\n5000000\n" });
  expect(await run("echo oops >&2; exit 2").finished).toMatchObject({ exit: 2, tail: "oops\n" });
  expect(await run(`${ESCAPE}; echo done`).finished).toMatchObject({ exit: 0, tail: "done\n" });
  expect(await run("", { cwd: "/no/such" }).finished).toMatchObject({ cause: "unstartable" });
});

test("what is left of one handler does not write into the log of the next", async () => {
  const left = shell(
    `echo 'trap "" PIPE; echo $$ >> pids; while :; do echo noise; done' > noise
     (${UNMARKED} sh noise) & until [ -s pids ]; do :; done`,
  );
  await left.finished;
  for (let i = 0; i < 20; i++) {
    expect((await shell("cat", { stdin: `task ${i}` }).finished).tail).toBe(`task ${i}`);
  }
});

test("its exit status is reported", async () => {
  expect(await shell("exit 75").finished).toMatchObject({ cause: "exit", exit: 75, signal: null });
});

test("its signal is reported", async () => {
  const finished = await shell("kill -SEGV $$").finished;
  expect(finished).toMatchObject({ cause: "exit", exit: null, signal: "SIGSEGV" });
});

test("its output can be followed while it runs", async () => {
  const handler = shell("echo begun; while [ ! -e go ]; do sleep 0.01; done; echo over");
  await handler.writes("a.log");
  expect(handler.read("a.log")).toBe("begun\n");
  handler.touch("go");
  expect((await handler.finished).tail).toBe("begun\nover\n");
});

/** Lets the time of a handler be up as soon as it has written the file `up`. */
async function overtime(script: string, killAfterMs: number): Promise<Handler> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const handler = shell(script, { timeoutMs: 3_600_000, killAfterMs });
    while (handler.read("up") === "") await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(3_600_000);
    return handler;
  } finally {
    vi.useRealTimers();
  }
}

test.each([
  ["a handler that ignores SIGTERM", "while :; do sleep 1000; done"],
  ["its children and theirs", "sh -c 'sleep 1000 & echo $! >> pids; wait' & echo $! >> pids; wait"],
  ["what has left its group", "setsid sleep 1000 & echo $! >> pids; wait"],
  ["what it left behind twice", "(setsid sh -c 'sleep 1000 & echo $! >> pids' &); sleep 1000"],
])("when its time is up, %s is ended", async (_, script) => {
  const handler = await overtime(`trap "" TERM; echo $$ > up; ${script}`, 50);
  expect(await handler.finished).toMatchObject({
    cause: "timed_out",
    exit: null,
    signal: "SIGKILL",
    survivors: [],
  });
  expect(handler.pids().filter(isAlive)).toEqual([]);
});

test("a time that is up stays the cause when it then exits with 0", async () => {
  const handler = await overtime(
    "trap 'echo bye; exit 0' TERM; echo $$ > up; while :; do sleep 0.01; done",
    60_000,
  );
  const finished = await handler.finished;
  expect(finished).toMatchObject({ cause: "timed_out", exit: 0, signal: null });
  expect(finished.tail).toMatch(/bye\n$/);
});

test("a time limit of years is not over at once", async () => {
  const handler = shell("echo begun; while [ ! -e go ]; do sleep 0.01; done", {
    timeoutMs: 2 ** 40,
  });
  await handler.writes("a.log");
  handler.touch("go");
  expect(await handler.finished).toMatchObject({ cause: "exit", exit: 0 });
});

test("stopping ends it, says why, and may be said again", async () => {
  const handler = shell("echo begun; setsid sleep 1000 & echo $! >> pids; wait");
  await handler.writes("pids");
  const [first, second] = await Promise.all([handler.stop("cancelled"), handler.stop("again")]);
  expect(first).toMatchObject({ cause: "stopped", why: "cancelled", signal: "SIGTERM" });
  expect(second).toBe(first);
  expect(await handler.stop("once more")).toBe(first);
  expect(await handler.finished).toBe(first);
  expect(handler.pids().filter(isAlive)).toEqual([]);
});

test("stopping what has ended changes nothing", async () => {
  const handler = shell("exit 3");
  const finished = await handler.finished;
  expect(await handler.stop("late")).toBe(finished);
  expect(finished).toMatchObject({ cause: "exit", exit: 3 });
});

test("stopping wakes up what is stopped", async () => {
  const handler = shell("trap 'echo bye; exit 0' TERM; echo $$ >> pids; kill -STOP $$; sleep 1000");
  const pid = handler.running.ref?.pid;
  await until("it is stopped", () => /\) T /.test(readFileSync(`/proc/${pid}/stat`, "latin1")));
  const finished = await handler.stop("enough");
  expect(finished).toMatchObject({ cause: "stopped", exit: 0, tail: "bye\n" });
});

test.each([
  ["a child", "sleep 1000 & echo $! >> pids"],
  ["a child with nothing in its environment", "env -i sleep 1000 & echo $! >> pids"],
  ["a child in a session of its own", "setsid sleep 1000 & echo $! >> pids"],
  ["a grandchild", "(sh -c 'sleep 1000 & echo $! >> pids' &); while [ ! -s pids ]; do :; done"],
  [
    "a daemon",
    "(setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >> pids' &); while [ ! -s pids ]; do :; done",
  ],
  [
    "a daemon with nothing in its environment, and all its files closed",
    "env -i /usr/bin/setsid /bin/sh -c '(exec </dev/null >/dev/null 2>&1; exec sleep 1000) & echo $! >> pids' & while [ ! -s pids ]; do :; done",
  ],
])("what it leaves in the background is ended: %s", async (_, script) => {
  const handler = shell(`${script}; echo done`);
  const finished = await handler.finished;
  expect(finished).toMatchObject({ cause: "exit", exit: 0, tail: "done\n", survivors: [] });
  expect(handler.pids()).toHaveLength(1);
  expect(handler.pids().filter(isAlive)).toEqual([]);
});

test("a pipe that another process holds open is not waited for", async () => {
  const handler = shell(`${ESCAPE}; echo done`);
  expect(await handler.finished).toMatchObject({ exit: 0, tail: "done\n", survivors: [] });
  expect(handler.pids().filter(isAlive)).toHaveLength(1);
});

test.skipIf(!BASH)("what still goes through a child of it is not cut off", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }); // however long it takes
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const handler = new Handler([
    BASH ?? "",
    "-c",
    "exec > >(cat; sleep 0.05; echo end); echo hello",
  ]);
  expect((await handler.running.finished).tail).toBe("hello\nend\n");
});

test("a flood is capped, counted, and does not fill our memory", async () => {
  let most = 0;
  const sample = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }, 2);
  onTestFinished(() => clearInterval(sample));
  const before = process.memoryUsage().arrayBuffers;
  const handler = shell("echo begin; head -c 200000000 /dev/zero; echo end >&2");
  const finished = await handler.finished;
  expect(finished.exit).toBe(0);
  expect(finished.dropped).toBe(200_000_000 + "begin\nend\n".length - 1_000_000);
  const log = handler.read("a.log");
  expect(log.startsWith("begin\n\0")).toBe(true);
  expect(log).toContain(`\n[viv: ${finished.dropped} bytes dropped]\n`);
  expect(finished.tail).toHaveLength(8 * 1024);
  expect(statSync(handler.logPath).size).toBeLessThan(1_000_200);
  // Garbage that is not collected yet counts too; all of it would be 200 MB.
  expect(most - before).toBeLessThan(120e6);
});

test("all that it said before it ended is in the log", async () => {
  const handler = shell("head -c 300000 /dev/zero | tr '\\0' x; echo end");
  const { tail } = await handler.finished;
  expect(handler.read("a.log")).toHaveLength(300_004);
  expect(tail.endsWith("xend\n")).toBe(true);
});

test.each([
  ["exits without reading it", "exit 0", 0],
  ["closes it", "exec <&-; echo $$ > closed; while [ ! -e go ]; do sleep 0.01; done; exit 4", 4],
  ["reads it all", "wc -c", 0],
])("a handler with 5 MB on stdin that %s", async (_, script, exit) => {
  const handler = shell(script, { stdin: "x".repeat(5_000_000) });
  if (exit === 4) {
    await handler.writes("closed");
    handler.touch("go");
  }
  const finished = await handler.finished;
  expect(finished).toMatchObject({ cause: "exit", exit, signal: null });
  if (script === "wc -c") expect(finished.tail.trim()).toBe("5000000");
});

test("a tree that grows while it is ended", async () => {
  const handler = shell(
    `trap "" TERM; i=0
     while [ $i -lt 1000 ]; do setsid sleep 1000 & echo $! >> pids; i=$((i+1)); done; wait`,
    { killAfterMs: 50 },
  );
  await handler.writes("pids", 3);
  expect(await handler.stop("enough")).toMatchObject({ signal: "SIGKILL", survivors: [] });
  expect(handler.pids().filter(isAlive)).toEqual([]);
});

/** A folder with what cannot be run. */
function brokenFolder(): string {
  const folder = newFolder();
  const write = (name: string, text: string, mode: number) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  };
  write("plain.sh", "#!/bin/sh\n", 0o644);
  write("lost.sh", "#!/no/such/interpreter\n", 0o755);
  write("file", "", 0o644);
  mkdirSync(join(folder, "folder"));
  return folder;
}

test.each([
  ["./missing", /^there is no handler \.\/missing$/, "ENOENT"],
  ["missing-in-path", /^there is no handler missing-in-path$/, "ENOENT"],
  ["./file/x", /^there is no handler \.\/file\/x$/, "ENOTDIR"],
  ["./plain.sh", /^handler \.\/plain\.sh is not executable; chmod \+x it$/, "EACCES"],
  ["./folder", /^handler \.\/folder is a folder/, "EACCES"],
  ["./lost.sh", /^handler \.\/lost\.sh needs a program that is not there; .*#!/, "ENOENT"],
  ["/bin/sh\0", /^handler \/bin\/sh\0 cannot be started: /, "ERR_INVALID_ARG_VALUE"],
  ["", /cannot be started/, "ERR_INVALID_ARG_VALUE"],
])("a handler that cannot be started: %j", async (file, sentence, code) => {
  const handler = new Handler([file], { cwd: brokenFolder() });
  expect(handler.running.ref).toBeNull();
  const finished = await handler.finished;
  expect(finished).toMatchObject({ cause: "unstartable", exit: null, signal: null, code });
  expect(finished.error).toMatch(sentence);
  expect(await handler.stop("late")).toBe(finished);
});

test.each([
  ["missing", /^the folder .*missing the handler should run in is not there/],
  ["file", /^.*file, where the handler should run, is not a folder$/],
])("a folder it cannot run in: %s", async (name, sentence) => {
  const handler = new Handler(["/bin/true"], { cwd: join(brokenFolder(), name) });
  const finished = await handler.finished;
  expect(finished.cause).toBe("unstartable");
  expect(finished.error).toMatch(sentence);
});

test("an environment that is too long", async () => {
  const env = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`A${i}`, "x".repeat(1e5)]));
  const finished = await new Handler(["/bin/true"], { env }).finished;
  expect(finished).toMatchObject({ cause: "unstartable", code: "E2BIG" });
  expect(finished.error).toMatch(/pass on less/);
});

test("a script without #! runs where the system has a shell for it, or the error explains it", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "bare"), "echo ran\n");
  chmodSync(join(folder, "bare"), 0o755);
  const finished = await new Handler(["./bare"], { cwd: folder }).finished;
  if (finished.cause === "exit") expect(finished.tail).toBe("ran\n");
  else expect(finished.error).toMatch(/no #! line/);
});

test("a log that would be written elsewhere", async () => {
  const folder = newFolder();
  symlinkSync(join(folder, "target"), join(folder, "a.log"));
  const handler = new Handler(["/bin/true"], { logPath: join(folder, "a.log") });
  const finished = await handler.finished;
  expect(finished.cause).toBe("unstartable");
  expect(finished.error).toMatch(/^its log cannot be written: ELOOP/);
  expect(existsSync(join(folder, "target"))).toBe(false);
});

/** How much of each kind keeps this process busy. */
function held(): Record<string, number> {
  const held: Record<string, number> = { file: readdirSync("/proc/self/fd").length };
  for (const kind of process.getActiveResourcesInfo()) held[kind] = (held[kind] ?? 0) + 1;
  return held;
}

test("nothing is left open when a handler has finished", async () => {
  const cwd = brokenFolder();
  await shell("exit 0").finished; // the first one opens what serves them all
  const before = held();
  for (const script of ["exit 1", "sleep 1000 & exit 0", ESCAPE]) {
    await shell(script, { timeoutMs: 1e9, stdin: "x".repeat(1e6) }).finished;
  }
  await shell("sleep 1000", { timeoutMs: 1 }).finished;
  await shell("sleep 1000").stop("at once");
  for (const file of ["./missing", "./plain.sh", "./lost.sh", "\0"]) {
    await new Handler([file], { cwd }).finished;
  }
  await until(
    "all is closed",
    () => Object.entries(held()).every(([kind, count]) => count <= (before[kind] ?? 0)),
    10,
  );
});

test("a reader of stdout gets all of it, and the log has the rest and what was added", async () => {
  const chunks: Buffer[] = [];
  const handler = shell("echo out; echo err >&2; cat; exit 3", {
    stdin: "task",
    onStdout: (chunk) => void chunks.push(chunk),
  });
  handler.running.note("noted\n");
  const finished = await handler.finished;
  expect(Buffer.concat(chunks).toString()).toBe("out\ntask");
  expect(finished).toMatchObject({ exit: 3, tail: expect.stringContaining("err\n") });
  expect(finished.tail).toBe("err\n"); // what we add is not what it said
  expect(handler.read("a.log")).toContain("noted\n");
  expect(handler.read("a.log")).not.toContain("out");
});
