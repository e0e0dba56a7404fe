import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, onTestFinished, test } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { Outage } from "../../../test/support/outage.ts";
import { endProcesses } from "./end-processes.ts";
import { seenAs } from "./proc-fs.ts";
import { endTree, findTree, killTree, type TreeRef, treeOf } from "./process-tree.ts";

const PYTHON = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

let claims = 0;
const newClaim = () => `tree-test-${process.pid}-${++claims}`;

/** A leader with a group of its own, as a handler is. Each line it prints is a number, or a word. */
class Leader {
  readonly child: ChildProcess;
  readonly ref: TreeRef;
  readonly lines: string[] = [];

  constructor(argv: string[], options: { claim?: string; env?: Record<string, string> } = {}) {
    const [file = "", ...args] = argv;
    const claim = options.claim ?? newClaim();
    const env = options.env ?? { PATH: process.env.PATH ?? "", VIV_CLAIM: claim };
    this.child = spawn(file, args, { env, detached: true, stdio: ["pipe", "pipe", "ignore"] });
    this.ref = treeOf(this.child.pid ?? -1, claim);
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.lines.push(line);
    });
    this.child.stdin?.on("error", () => {});
    onTestFinished(() => {
      killMarked(claim);
      for (const pid of [-this.ref.pid, ...this.lines.map(Number)]) if (pid) killHard(pid);
      this.child.stdout?.destroy();
    });
  }

  get pid(): number {
    return this.ref.pid;
  }

  /** The numbers it has printed, as soon as there are so many. */
  async prints(count: number): Promise<number[]> {
    await until(`${count} lines`, () => this.lines.length >= count);
    return this.lines.map(Number);
  }

  async exits(): Promise<void> {
    this.child.stdin?.end();
    await until("the leader is gone", () => this.child.exitCode !== null);
  }
}

const shell = (script: string, options?: { claim?: string; env?: Record<string, string> }) =>
  new Leader(["/bin/sh", "-c", script], options);

function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it is gone already
  }
}

/** Apart from the code that is tested: a test that fails must not leave anything behind either. */
function killMarked(claim: string): void {
  spawnSync("/bin/sh", [
    "-c",
    `for i in 1 2 3 4 5; do
       found=$(grep -lsz "^VIV_CLAIM=${claim}$" /proc/[0-9]*/environ) || exit
       for p in $found; do p=\${p#/proc/}; kill -9 \${p%/environ}; done
     done 2>/dev/null`,
  ]);
}

function statOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

const isAlive = (pid: number) => !["Z", "X", undefined].includes(statOf(pid)?.[0]);

const sorted = (pids: readonly number[]) => [...pids].sort((a, b) => a - b);

async function isProgram(pid: number, name: string): Promise<void> {
  await until(`${pid} is ${name}`, () => {
    try {
      return readFileSync(`/proc/${pid}/comm`, "latin1").trim() === name;
    } catch {
      return false;
    }
  });
}

const end = (ref: TreeRef, killAfterMs = 60_000, reapedAtAgeMs?: number) =>
  within(
    "the tree is ended",
    endTree(ref, { killAfterMs, ...(reapedAtAgeMs !== undefined && { reapedAtAgeMs }) }),
  );

test("a tree is the group, what has left it, and what those have started", async () => {
  const leader = shell(
    `sleep 1000 & echo $!; setsid sleep 1000 & echo $!
     (setsid sh -c 'sleep 1000 & echo $!; exit' &) ; read wait`,
  );
  const pids = await leader.prints(3);
  for (const pid of pids) await isProgram(pid, "sleep");
  await until("the shell that started the last one has ended", () => {
    return findTree(leader.ref).length === 4;
  });
  expect(sorted(findTree(leader.ref))).toEqual(sorted([leader.pid, ...pids]));
  await leader.exits();
  await until("only they are left", () => findTree(leader.ref).length === 3);
  expect(await end(leader.ref)).toEqual([]);
  expect(pids.filter(isAlive)).toEqual([]);
});

test("it is the same when so many were started that all of /proc is read", async () => {
  const leader = shell(
    `i=0; while [ $i -lt 80 ]; do /bin/true; i=$((i+1)); done
     sleep 1000 & echo $!; setsid sleep 1000 & echo $!; read wait`,
  );
  const pids = await leader.prints(2);
  for (const pid of pids) await isProgram(pid, "sleep");
  expect(sorted(findTree(leader.ref))).toEqual(sorted([leader.pid, ...pids]));
  expect(await end(leader.ref)).toEqual([]);
  expect(pids.filter(isAlive)).toEqual([]);
});

test("threads are not processes", async () => {
  const leader = new Leader([process.execPath, "-e", "console.log(0); setInterval(() => {}, 1e6)"]);
  await leader.prints(1);
  expect(findTree(leader.ref)).toEqual([leader.pid]);
});

test.skipIf(!PYTHON)("a process whose first thread has ended is not dead", async () => {
  const leader = new Leader([
    PYTHON ?? "",
    "-c",
    `import ctypes, threading
threading.Thread(target=threading.Event().wait).start()
print(0, flush=True)
ctypes.CDLL(None).pthread_exit(None)`,
  ]);
  await until("its first thread has ended", () => statOf(leader.pid)?.[0] === "Z");
  expect(findTree(leader.ref)).toEqual([leader.pid]);
  expect(await end(leader.ref)).toEqual([]);
});

test("the marker is compared as a whole entry, wherever it stands", async () => {
  const claim = newClaim();
  const alone = (env: Record<string, string>) => new Leader(["/bin/sleep", "1000"], { env });
  const others = [
    alone({ VIV_CLAIM: `${claim}0` }),
    alone({ VIV_CLAIM: claim.slice(0, -1) }),
    alone({ MY_VIV_CLAIM: claim }),
    alone({ NOTE: `VIV_CLAIM=${claim}` }),
    new Leader(["/bin/sh", "-c", "read wait", `VIV_CLAIM=${claim}`], { env: {} }),
  ];
  const ours = [
    alone({ VIV_CLAIM: claim }),
    alone({ A: "1", VIV_CLAIM: claim, B: "2" }),
    alone({ A: "x".repeat(100_000), B: "x".repeat(32 * 1024), VIV_CLAIM: claim }),
  ];
  // A leader whose start is not known proves nothing by its group, and hides nothing either.
  for (const started of ["?", "0"]) {
    for (const leader of [others[0], ours[0]]) {
      const found = findTree({ pid: leader?.pid ?? -1, started, claim });
      expect(sorted(found)).toEqual(sorted(ours.map(({ pid }) => pid)));
    }
  }
  expect(await end({ pid: 0, started: "?", claim })).toEqual([]);
  expect(ours.filter(({ pid }) => isAlive(pid))).toEqual([]);
  expect(others.every(({ pid }) => isAlive(pid))).toBe(true);
});

test("an empty claim is no marker", async () => {
  const leader = new Leader(["/bin/sleep", "1000"], { env: { VIV_CLAIM: "" } });
  expect(findTree({ pid: 0, started: "?", claim: "" })).toEqual([]);
  expect(isAlive(leader.pid)).toBe(true);
});

test("a later process with the leader's pid is left alone, and so is its group", async () => {
  const stranger = shell("sleep 1000 & echo $!; read wait", { env: {} });
  const [child = 0] = await stranger.prints(1);
  const started = String(Number(stranger.ref.started) - 1);
  const ref = { ...stranger.ref, started };
  expect(findTree(ref)).toEqual([]);
  expect(await end(ref, 0)).toEqual([]);
  expect(await end(ref, 0, 1e9)).toEqual([]);
  expect(await killTree(ref)).toEqual([]);
  expect(isAlive(stranger.pid) && isAlive(child)).toBe(true);
});

test("a group whose leader is gone is left alone without a proof", async () => {
  const leader = shell("sleep 1000 & echo $!; read wait", { env: {} });
  const [child = 0] = await leader.prints(1);
  await leader.exits();
  expect(findTree(leader.ref)).toEqual([]);
  expect(await end(leader.ref, 0)).toEqual([]);
  expect(await killTree(leader.ref)).toEqual([]);
  // Younger than the leader's end: it could be of another group that got the number.
  expect(await end({ ...leader.ref, started: "0" }, 0, 1)).toEqual([]);
  expect(isAlive(child)).toBe(true);
});

test("the parent that took the leader's exit knows whose group it was", async () => {
  const begin = performance.now();
  const leader = shell("sleep 1000 & echo $!; read wait", { env: {} });
  const [child = 0] = await leader.prints(1);
  await leader.exits();
  expect(await end(leader.ref, 60_000, performance.now() - begin)).toEqual([]);
  expect(isAlive(child)).toBe(false);
});

test("one marked member proves that the group is ours", async () => {
  const leader = shell("sleep 1000 & echo $!; env -i sleep 1000 & echo $!; read wait");
  const pids = await leader.prints(2);
  for (const pid of pids) await isProgram(pid, "sleep");
  await leader.exits();
  expect(sorted(findTree(leader.ref))).toEqual(sorted(pids));
  expect(await end(leader.ref)).toEqual([]);
  expect(pids.filter(isAlive)).toEqual([]);
});

test("a member that outlives its leader and has no marker is not forgotten", async () => {
  const leader = shell(
    `env -i sh -c 'trap "" TERM; echo $$; while :; do sleep 1000; done' & read wait`,
  );
  const [child = 0] = await leader.prints(1);
  expect(await end(leader.ref, 300)).toEqual([]);
  expect(isAlive(child)).toBe(false);
});

test("a stray that has cleaned its environment meanwhile is not forgotten", async () => {
  const stray = join(newFolder(), "stray.sh");
  writeFileSync(stray, `trap 'exec env -i sleep 1000' TERM; echo $$; while :; do sleep 0.01; done`);
  const leader = shell(`setsid sh ${stray} & read wait`);
  const [pid = 0] = await leader.prints(1);
  expect(await end(leader.ref, 1000)).toEqual([]);
  expect(isAlive(pid)).toBe(false);
});

test("what is stopped is woken up to end", async () => {
  const file = join(newFolder(), "said");
  const leader = shell(`trap 'echo bye > ${file}; exit' TERM; echo 0; kill -STOP $$; read wait`);
  await until("it is stopped", () => statOf(leader.pid)?.[0] === "T");
  expect(await end(leader.ref)).toEqual([]);
  expect(readFileSync(file, "utf8")).toBe("bye\n");
});

test("what ignores SIGTERM is killed", async () => {
  const leader = shell(
    `trap "" TERM; setsid sh -c 'echo $$; while :; do sleep 1000; done' & read wait; read wait`,
  );
  const [stray = 0] = await leader.prints(1);
  expect(await end(leader.ref, 50)).toEqual([]);
  expect([leader.pid, stray].filter(isAlive)).toEqual([]);
});

test("each process is asked once, also those that come later", async () => {
  const folder = newFolder();
  const [said, more] = [join(folder, "said"), join(folder, "more")];
  // Not a shell: its children lose a signal that comes between their fork and their exec.
  const program = `
    const { appendFileSync, existsSync } = require("node:fs");
    process.on("SIGTERM", () => appendFileSync("${said}", "asked\\n"));
    const timer = setInterval(() => {
      if (!existsSync("${more}")) return;
      clearInterval(timer);
      require("node:child_process").spawn("sleep", ["1000"]).on("exit", () => {
        appendFileSync("${said}", "over\\n");
        process.exit();
      });
    }, 10);
    console.log(0);`;
  const leader = shell(`exec '${process.execPath}' -e '${program}'`);
  await leader.prints(1);
  const ended = end(leader.ref);
  await until("it is asked", () => existsSync(said));
  writeFileSync(more, "");
  expect(await ended).toEqual([]);
  expect(readFileSync(said, "utf8")).toBe("asked\nover\n");
});

test.each([
  ["in the group", "sleep 1000 &"],
  ["that leave the group", "setsid sleep 1000 &"],
])("a tree that grows while it is ended, by children %s", async (_, more) => {
  const leader = shell(
    `trap "" TERM; i=0
     while [ $i -lt 1000 ]; do ${more} i=$((i+1)); [ $i = 5 ] && echo 0; done; read wait`,
  );
  await leader.prints(1);
  expect(await end(leader.ref, 50)).toEqual([]);
  expect(findTree(leader.ref)).toEqual([]);
});

test("a zombie whose parent does not reap it is not waited for", async () => {
  const claim = newClaim();
  const keeper = shell(`VIV_CLAIM=${claim} setsid sleep 1000 & echo $!; exec sleep 1000`);
  const [pid = 0] = await keeper.prints(1);
  await isProgram(pid, "sleep");
  await isProgram(keeper.pid, "sleep");
  expect(await end(treeOf(pid, claim))).toEqual([]);
  expect(statOf(pid)?.[0]).toBe("Z");
  expect(isAlive(keeper.pid)).toBe(true);
});

test("while no process can be looked at, nothing counts as gone", async () => {
  const leader = shell("echo 0; read wait");
  await leader.prints(1);
  const outage = new Outage("EMFILE", (name) => name === "openSync");
  let isOver = false;
  outage.begin();
  const ended = end(leader.ref).then((left) => {
    isOver = true;
    return left;
  });
  try {
    await until("it looked", () => outage.failures > 4);
    expect(isOver).toBe(false);
  } finally {
    outage.close();
  }
  expect(await ended).toEqual([]);
  expect(isAlive(leader.pid)).toBe(false);
});

test("killTree rejects while no process can be looked at, and nothing is killed", async () => {
  const leader = shell("echo 0; read wait");
  await leader.prints(1);
  const outage = new Outage("EMFILE", (name) => name === "openSync");
  outage.begin();
  try {
    await expect(killTree(leader.ref)).rejects.toMatchObject({ code: "EMFILE" });
  } finally {
    outage.close();
  }
  expect(isAlive(leader.pid)).toBe(true);
  expect(await killTree(leader.ref)).toEqual([]);
});

test("killTree has ended everything when it returns", async () => {
  const leader = shell(
    `trap "" TERM; sleep 1000 & echo $!
     setsid sh -c 'echo $$; i=0; while [ $i -lt 1000 ]; do sleep 1000 & i=$((i+1)); done' &
     read wait; read wait`,
  );
  const pids = await leader.prints(2);
  expect(await killTree(leader.ref)).toEqual([]);
  expect([leader.pid, ...pids].filter(isAlive)).toEqual([]);
  expect(findTree(leader.ref)).toEqual([]);
});

test("one that ends the tree it belongs to survives itself", async () => {
  const folder = newFolder();
  const bundle = await rolldown({
    input: fileURLToPath(new URL("./process-tree.ts", import.meta.url)),
    platform: "node",
  });
  await bundle.write({ file: join(folder, "tree.mjs"), format: "esm" });
  const program = join(folder, "inside.mjs");
  writeFileSync(
    program,
    `import { endTree, treeOf } from "./tree.mjs";
     const ref = treeOf(process.ppid, process.env.VIV_CLAIM);
     const left = await endTree(ref, { killAfterMs: 60_000 });
     console.log("left " + left.length);
     setInterval(() => {}, 1e6);`,
  );
  const leader = shell(`sleep 1000 & echo $!; "${process.execPath}" "${program}"; read wait`);
  await leader.prints(2);
  expect(leader.lines[1]).toBe("left 0");
  expect(isAlive(leader.pid) || isAlive(Number(leader.lines[0]))).toBe(false);
  expect(findTree(leader.ref)).toHaveLength(1);
});

test("a child that has left both the group and its environment is found by its parent", async () => {
  const leader = shell(
    "env -i setsid sh -c 'echo $$; env -i setsid sleep 1000 & echo $!; wait' & wait",
  );
  const [middle = 0, last = 0] = await leader.prints(2);
  await isProgram(last, "sleep");
  expect(sorted(findTree(leader.ref))).toEqual(expect.arrayContaining(sorted([middle, last])));
  expect(await endTree(leader.ref, { killAfterMs: 60_000 })).toEqual([]);
  expect([isAlive(middle), isAlive(last)]).toEqual([false, false]);
});

test.skipIf(!existsSync("/proc/self/stat"))(
  "one that leaves the group between the look and the signal is asked as well",
  async () => {
    const leader = shell("setsid sleep 1000 & echo $!; exec sleep 1000");
    const [left = 0] = await leader.prints(1);
    await until("it has left", () => seenAs(left)?.group === left);
    const living = () => [leader.pid, left].flatMap((pid) => seenAs(pid) ?? []);
    const look = () => ({
      // As it was a moment before.
      members: living().flatMap((one) => (one.isDead ? [] : [{ ...one, group: leader.pid }])),
      wholeGroups: [leader.pid],
      isUnsure: false,
    });
    const end = endProcesses({ look, asksWholeGroups: true }, 3_600_000);
    expect(await within("both end", end)).toEqual([]);
  },
);
