import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { Outage } from "../../../test/support/outage.ts";
import { isAlive, pidsIn, textIn } from "../../../test/support/tmux.ts";
import { readProcess } from "../../platform/processes/proc-fs.ts";
import type { SeenProcess } from "../dance.ts";
import { sharedDaemons } from "./foreground-programs.ts";
import { endTargetTree, seeTree, type TreeOf, whyNotOurs } from "./target-tree.ts";

let marks = 0;

/** A leader with a session of its own; its mark finds what a failed test leaves behind. */
function start(script: string, program = "bash") {
  const mark = `VIV_TARGET_TEST=${process.pid}-${++marks}`;
  const [name = "", value] = mark.split("=");
  const env = { PATH: process.env.PATH, [name]: value };
  const child = spawn(program, ["-c", script], { env, detached: true, stdio: "ignore" });
  const pid = child.pid ?? -1;
  onTestFinished(() => {
    spawnSync("/bin/sh", [
      "-c",
      `for i in 1 2 3 4 5; do
         for f in $(grep -lsz "^${mark}$" /proc/[0-9]*/environ); do p=\${f#/proc/}; kill -9 \${p%/environ}; done
       done 2>/dev/null`,
    ]);
  });
  return { child, pid, mark };
}

function startOf(pid: number): string {
  const found = readProcess(pid);
  return typeof found === "string" ? "?" : String(found.started);
}

const treeFrom = (pid: number, ...entries: string[]): TreeOf => ({
  roots: [{ pid, started: startOf(pid) }],
  marks: entries.length > 0 ? [entries] : [],
});

const pidsOf = (tree: readonly SeenProcess[]) => tree.map(({ pid }) => pid);

const end = (of: TreeOf, known: readonly SeenProcess[], killAfterMs = 60_000) =>
  within(
    "the tree is ended",
    endTargetTree(() => of, known, { killAfterMs }),
  );

test("a tree is the root, its descendants, its session, and processes with all of a mark", async () => {
  const list = join(newFolder(), "pids");
  const { pid, mark } = start(`
    sleep 1000 & echo $! >> ${list}
    setsid env -i sleep 1000 & echo $! >> ${list}
    (env -i sleep 1000 & echo $! >> ${list})
    (set -m; env -i sleep 1000 & echo $! >> ${list})
    (setsid sh -c 'sleep 1000 & echo $! >> ${list}' &)
    wait; sleep 1000`);
  const pids = await pidsIn(list, 5);
  const all = () => pidsOf(seeTree(treeFrom(pid, mark), []));
  await until("they are all there", () => pids.every((each) => all().includes(each)));
  expect(all()).toContain(pid);
  // Without the mark, an orphan with a session of its own is lost.
  expect(pids.filter((each) => !pidsOf(seeTree(treeFrom(pid), [])).includes(each))).toHaveLength(1);
  expect(pidsOf(seeTree({ roots: [], marks: [[mark, "OTHER=1"]] }, []))).toEqual([]);
  const [first] = seeTree(treeFrom(pid), []);
  expect(first).toMatchObject({
    pid,
    parent: process.pid,
    command: expect.stringMatching(/^bash -c/),
  });
  expect(first?.command.length).toBeLessThanOrEqual(200);
  expect(first?.command).not.toMatch(/\p{Cc}/u);
});

test("a root with a reused pid is not of the tree, and is not signalled", async () => {
  const { pid } = start("sleep 1000; :");
  const of = { roots: [{ pid, started: "1" }], marks: [] };
  const seen = { pid, started: "1", parent: 1, command: "an older one" };
  expect(seeTree(of, [seen])).toEqual([]);
  const ended = await end(of, [seen], 0);
  expect(ended.survivors).toEqual([]);
  expect(ended.exit).toMatchObject([
    { pid, started: "1", signal: "none", gone_at: expect.any(String) },
  ]);
  expect(isAlive(pid)).toBe(true);
});

test("a process that was seen belongs to it, also without its parent and session", async () => {
  const list = join(newFolder(), "pids");
  const { pid } = start(`setsid env -i sh -c 'echo $$ >> ${list}; sleep 1000; :' & wait`);
  const [away = -1] = await pidsIn(list, 1);
  const of = treeFrom(pid);
  const known = seeTree(of, []);
  expect(pidsOf(known)).toContain(away);
  process.kill(pid, "SIGKILL");
  await until("it is gone", () => !isAlive(pid));
  expect(pidsOf(seeTree(of, []))).not.toContain(away);
  const ended = await end(of, known);
  expect(ended.survivors).toEqual([]);
  expect(isAlive(away)).toBe(false);
  expect(ended.exit.find((each) => each.pid === pid)).toMatchObject({ signal: "none" });
  expect(ended.exit.find((each) => each.pid === away)).toMatchObject({ signal: "SIGTERM" });
});

test("SIGKILL goes to a process that ignores SIGTERM; a stopped one can end by SIGTERM", async () => {
  const list = join(newFolder(), "pids");
  const { pid } = start(`
    bash -c 'trap "" TERM; echo $$ >> ${list}; while :; do sleep 0.1; done' &
    sleep 1000 & kill -STOP $!; echo $! >> ${list}
    wait`);
  const pids = await pidsIn(list, 2);
  const ended = await end(treeFrom(pid), [], 400);
  expect(ended.survivors).toEqual([]);
  expect(pids.filter(isAlive)).toEqual([]);
  const signals = ended.exit.filter((each) => pids.includes(each.pid)).map(({ signal }) => signal);
  expect(signals.sort()).toEqual(["SIGKILL", "SIGTERM"]);
  expect(ended.exit.every(({ gone_at }) => gone_at !== null)).toBe(true);
});

test("processes that start others at SIGTERM are ended with them", async () => {
  const list = join(newFolder(), "pids");
  // Two that start each other again, each in a session of its own.
  const script = `
    again() { trap 'setsid bash -c "$code" & exit' TERM; while :; do sleep 0.05; done; }
    code="$(declare -f again); again"; export code
    echo $$ >> ${list}; setsid bash -c "$code" & again`;
  const { pid, mark } = start(script);
  await pidsIn(list, 1);
  const of = treeFrom(pid, mark);
  await until("it has grown", () => seeTree(of, []).length >= 3);
  const ended = await end(of, [], 300);
  expect(ended.survivors).toEqual([]);
  expect(seeTree(of, ended.exit)).toEqual([]);
});

test("a tree that forks without end is ended", async () => {
  const { pid, mark } = start("trap '' TERM; while :; do (sleep 0.02; :) & sleep 0.005; done");
  const of = treeFrom(pid, mark);
  await until("it forks", () => seeTree(of, []).length > 3);
  const ended = await end(of, [], 100);
  expect(ended.survivors).toEqual([]);
  expect(seeTree(of, ended.exit)).toEqual([]);
});

test("a spared process is not of the tree, nor are its children", async () => {
  const list = join(newFolder(), "pids");
  const { pid, mark } = start(
    `setsid sh -c 'echo $$ >> ${list}; setsid env -i sleep 1000 & wait' & wait`,
  );
  const [spared = -1] = await pidsIn(list, 1);
  await until("it has started one", () => seeTree(treeFrom(pid, mark), []).length === 3);
  const tree = seeTree({ ...treeFrom(pid, mark), spare: [spared] }, []);
  expect(pidsOf(tree)).toEqual([pid]);
});

test("a tree with the warden or an ancestor of it must not be ended", async () => {
  const { pid } = start("sleep 1000; :");
  expect(whyNotOurs(seeTree(treeFrom(pid), []))).toBeNull();
  expect(whyNotOurs(seeTree(treeFrom(process.pid), []))).toMatch(/warden itself/);
  expect(whyNotOurs(seeTree(treeFrom(process.ppid), []))).toMatch(/warden/);
  const parent: SeenProcess = { pid: process.ppid, started: "1", parent: 1, command: "x" };
  expect(whyNotOurs([parent])).toMatch(/was started by it/);
});

test("the warden is not ended even then", async () => {
  const { pid } = start("sleep 1000; :");
  const of: TreeOf = { roots: [...treeFrom(pid).roots, ...treeFrom(process.pid).roots], marks: [] };
  const mine = spawn("sleep", ["1000"], { stdio: "ignore" });
  onTestFinished(() => void mine.kill("SIGKILL"));
  const ended = await end(of, [], 0);
  expect(isAlive(pid)).toBe(false);
  expect(ended.survivors).toEqual([]);
  expect(isAlive(process.pid)).toBe(true);
});

test("`first` is killed before the others get SIGTERM, and sees nothing of their end", async () => {
  const list = join(newFolder(), "seen");
  const { pid } = start(
    `trap "echo asked >> ${list}" TERM; sleep 1000; echo $? >> ${list}; sleep 1000`,
  );
  await until("it has a child", () => seeTree(treeFrom(pid), []).length === 2);
  const of = treeFrom(pid);
  const ended = await end({ ...of, first: of.roots }, seeTree(of, []));
  expect(ended.survivors).toEqual([]);
  expect(ended.exit.map((one) => [one.pid === pid, one.signal]).sort()).toEqual([
    [false, "SIGTERM"],
    [true, "SIGKILL"],
  ]);
  expect(textIn(list)).toBe("");
});

test("each process gets SIGTERM once, also later ones", async () => {
  const folder = newFolder();
  const [said, more] = [join(folder, "said"), join(folder, "more")];
  const { pid } = start(
    `trap 'echo asked >> ${said}' TERM; echo begun >> ${said}
     while [ ! -e ${more} ]; do sleep 0.01; done
     sleep 1000 & wait $!; echo over >> ${said}`,
  );
  await until("it has begun", () => textIn(said) === "begun\n");
  const ended = end(treeFrom(pid), []);
  await until("it is asked", () => textIn(said).includes("asked"));
  writeFileSync(more, "");
  expect((await ended).survivors).toEqual([]);
  expect(textIn(said)).toBe("begun\nasked\nover\n");
});

test("a group that has a stranger in it is not signalled as one", async () => {
  const list = join(newFolder(), "pids");
  const { pid } = start(`sleep 1000 & echo $! >> ${list}; sleep 1000; :`);
  const [child = -1] = await pidsIn(list, 1);
  const ended = await end(treeFrom(child), [], 0);
  expect(ended.survivors).toEqual([]);
  expect(ended.exit.map((one) => one.pid)).toEqual([child]);
  expect([isAlive(child), isAlive(pid)]).toEqual([false, true]);
});

test("a shared daemon survives with all that it has started, also in the group of a member", async () => {
  const list = join(newFolder(), "pids");
  const { pid, mark } = start(
    `sh -c 'echo $$ >> ${list}; sleep 1000 & echo $! >> ${list}; wait' & sleep 1000 & wait`,
  );
  const [daemon = -1, served = -1] = await pidsIn(list, 2);
  await until("all are there", () => seeTree(treeFrom(pid, mark), []).length === 4);
  const of = { ...treeFrom(pid, mark), shared: [daemon] };
  const ended = await end(of, seeTree(of, []), 0);
  expect(ended.survivors).toEqual([]);
  expect(ended.exit).toHaveLength(2);
  expect([pid, daemon, served].map(isAlive)).toEqual([false, true, true]);
});

test("a zombie that its parent does not reap is not waited for", async () => {
  const list = join(newFolder(), "pids");
  const keeper = start(`setsid sleep 1000 & echo $! >> ${list}; exec sleep 1000`);
  const [pid = -1] = await pidsIn(list, 1);
  await until("it sleeps", () => seeTree(treeFrom(pid), [])[0]?.command === "sleep 1000");
  const ended = await end(treeFrom(pid), []);
  expect(ended.survivors).toEqual([]);
  expect(readProcess(pid)).toMatchObject({ isDead: true });
  expect(isAlive(keeper.pid)).toBe(true);
});

test("while no process can be looked at, nothing counts as gone", async () => {
  const { pid } = start("sleep 1000; :");
  const of = treeFrom(pid);
  const outage = new Outage("EMFILE", (name) => name === "openSync", 1e6);
  let isOver = false;
  let looks = 0;
  const counted = () => {
    looks++;
    return of;
  };
  outage.begin();
  const ended = endTargetTree(counted, [], { killAfterMs: 60_000 }).then((result) => {
    isOver = true;
    return result;
  });
  try {
    await until("it looked", () => isOver || looks > 8);
    expect(isOver).toBe(false);
  } finally {
    outage.close();
  }
  const { exit, survivors } = await within("it is ended", ended);
  expect(exit[0]).toMatchObject({ pid, signal: "SIGTERM" });
  expect(survivors).toEqual([]);
  expect(isAlive(pid)).toBe(false);
});

test("a shared daemon that cannot be looked at for a while is not ended", async () => {
  const folder = newFolder();
  const list = join(folder, "pids");
  const program = join(folder, "codex");
  writeFileSync(program, `echo $$ >> ${list}; sleep 1000; :\n`);
  const { pid } = start(`
    setsid bash -c 'exec -a codex bash "${program}" app-server' &
    sleep 1000; :`);
  const [daemon = -1] = await pidsIn(list, 1);
  await until("it serves", () => sharedDaemons().includes(daemon));
  const { roots, marks } = treeFrom(pid);
  const isDaemon = (_: string, path: string | null) =>
    path?.startsWith(`/proc/${daemon}/`) ?? false;
  const outage = new Outage(
    "ENFILE",
    (name, path) => name === "readFileSync" && isDaemon(name, path),
    4,
  );
  outage.begin();
  try {
    const of = () => ({ roots, marks, shared: sharedDaemons() });
    const { survivors } = await within("it ends", endTargetTree(of, [], { killAfterMs: 60_000 }));
    expect(survivors).toEqual([]);
    expect(outage.failures).toBeGreaterThan(3);
  } finally {
    outage.close();
  }
  expect([pid, daemon].map(isAlive)).toEqual([false, true]);
});
