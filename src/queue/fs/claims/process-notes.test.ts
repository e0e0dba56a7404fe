import fs, {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { newFolder } from "../../../../test/support/folders.ts";
import { FakeHost } from "../../../../test/support/machine.ts";
import { names, places } from "../../../../test/support/run-files.ts";
import type { Machine } from "../../../base/clock.ts";
import { openRun } from "../../../main.ts";
import { claimOne, refOf, refused } from "../../conformance/harness.ts";
import { tokenOf } from "../files/atomic.ts";

/** `.viv/processes/<id>.json`: its content, its readers and its end. */

const HOUR = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

/** The notes' ages follow the files' own clock. */
const later = () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });

/** A registered worker with a claim on `a` and a tree that works on it, and another process. */
async function scene() {
  const run = join(newFolder(), "run");
  const host = new FakeHost();
  const open = (machine: Machine = host.process()) =>
    openRun(run, { create: true, durability: "fast", machine });
  const machine = host.process();
  const worker = await open(machine);
  await worker.enqueue({ id: "a", type: "t", max_attempts: 3 });
  await worker.register("w");
  const ref = refOf(await claimOne(worker));
  const tree = host.tree();
  await worker.noteProcess(ref, tree);
  const path = join(run, ".viv/processes/a.json");
  const ended: number[] = [];
  host.onEnd = ({ pid }) => void ended.push(pid);
  return {
    ...{ run, host, open, machine, worker, ref, tree, path, ended },
    other: await open(),
    note: (more: object) => {
      const note = JSON.parse(readFileSync(path, "utf8")) as object;
      writeFileSync(path, JSON.stringify({ ...note, ...more }));
    },
    notes: () => names(join(run, ".viv/processes")).filter((name) => !name.startsWith("~")),
  };
}

test("names the claim's worker and tree, readable by its owner only", async () => {
  const { run, path, machine, ref, tree, worker, notes } = await scene();
  const { host, boot } = machine.self();
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
    ...{ host, boot, ...tree, token: ref.token, worker: "w" },
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(names(join(run, ".viv/tmp"))).toEqual([]);
  await worker.forgetProcess("a", ref.token);
  expect(notes()).toEqual([]);
});

describe("notes about trees of other hosts, boots and claims", () => {
  test.each([
    ["of another host", { host: "elsewhere" }],
    ["of an earlier boot", { boot: "boot-0" }],
    ["of another worker", { worker: "w9" }],
    ["with the pid that kill applies to every process", { pid: -1 }],
    ["with a pid that is none", { pid: "12" }],
    ["without a claim", { claim: "" }],
    ["that lead out of the run", { worker: "../../x" }],
  ])("%s: ignored, and the claim is handled as without it", async (_, more) => {
    const { machine, other, ended, note } = await scene();
    note(more);
    machine.die();
    expect((await other.reap()).reaped).toMatchObject([{ id: "a", to: "pending" }]);
    expect(ended).toEqual([]);
  });

  test.each([
    ["half a file", (path: string) => writeFileSync(path, '{"pid": 12')],
    ["an empty one", (path: string) => writeFileSync(path, "")],
    ["null", (path: string) => writeFileSync(path, "null")],
    ["a link", (path: string) => symlinkSync("/etc/hostname", path)],
    ["a folder", (path: string) => mkdirSync(path)],
  ])("%s: ignored", async (_, put) => {
    const { machine, other, path, ended } = await scene();
    rmSync(path);
    put(path);
    machine.die();
    expect((await other.reap()).reaped).toHaveLength(1);
    await other.cancel("a");
    await other.retry("a");
    expect(ended).toEqual([]);
    later();
    await other.sweep();
    expect(places(other.location).get("a")).toEqual([{ state: "pending" }]);
  });

  test("after a reboot, no tree is ended", async () => {
    const { host, open, ended, notes } = await scene();
    host.reboot();
    const next = await open();
    expect((await next.reap()).reaped).toMatchObject([{ id: "a", reason: "gone" }]);
    expect(ended).toEqual([]);
    expect(notes()).toEqual([]);
  });

  test("the note of another host stays for that one", async () => {
    const { machine, other, note, notes } = await scene();
    note({ host: "elsewhere" });
    machine.die();
    await other.reap();
    later();
    await other.sweep();
    expect(notes()).toEqual(["a.json"]);
    expect((await other.doctor()).findings).toEqual([]);
  });
});

test("a machine that cannot end trees leaves the note for one that can", async () => {
  const { host, open, machine, ended, notes, tree } = await scene();
  const { leftovers: _, ...unable } = host.process();
  const weak = await open(unable);
  machine.die();
  expect((await weak.reap()).reaped).toHaveLength(1);
  expect(ended).toEqual([]);
  expect(notes()).toEqual(["a.json"]);
  later();
  await (await open()).sweep();
  expect(ended).toEqual([tree.pid]);
  expect(notes()).toEqual([]);
});

test("a claim that was moved by mistake and put back has another token, but is the same", async () => {
  const { run, machine, other, ref, ended, tree } = await scene();
  const file = join(run, "claimed/w/a.json");
  utimesSync(file, 1, 1);
  const now = tokenOf(statSync(file));
  expect(now).not.toBe(ref.token);
  const line = { at: new Date().toISOString(), event: "void", task: "a", worker: "w" };
  const [day = ""] = names(join(run, "ledger"));
  appendFileSync(
    join(run, "ledger", day),
    `${JSON.stringify({ ...line, token: "1", outcome: "done", was: ref.token, now })}\n`,
  );
  machine.die();
  expect((await other.reap()).reaped).toHaveLength(1);
  expect(ended).toEqual([tree.pid]);
});

describe("between two steps", () => {
  /** Runs `act` right after the note was put in its place. */
  function afterNote(act: () => void): () => void {
    const original = fs.renameSync;
    fs.renameSync = (from, to) => {
      original(from, to);
      if (!String(to).endsWith(".viv/processes/a.json")) return;
      fs.renameSync = original;
      syncBuiltinESMExports();
      act();
    };
    syncBuiltinESMExports();
    return () => {
      fs.renameSync = original;
      syncBuiltinESMExports();
    };
  }

  test("taken away just when it is noted: the worker gets CLAIM_LOST, and the note is gone", async () => {
    const { run, worker, other, ref, host, notes } = await scene();
    await worker.forgetProcess("a", ref.token);
    const heal = afterNote(() => {
      // The process that took it away looked for a note a moment too early.
      rmSync(join(run, ".viv/processes/a.json"));
      void other.cancel("a");
      const file = join(run, ".viv/processes/a.json");
      writeFileSync(file, JSON.stringify({ ...ref, ...host.tree(), host: "fake", boot: "boot-1" }));
    });
    try {
      await refused(worker.noteProcess(ref, host.tree()), "CLAIM_LOST");
    } finally {
      heal();
    }
    expect(notes()).toEqual([]);
    expect(names(join(run, ".viv/tmp"))).toEqual([]);
  });

  test("a cancel that dies before it has ended the tree: the sweep does", async () => {
    const { host, machine, other, open, ended, notes, tree, worker, ref } = await scene();
    const onEnd = host.onEnd;
    host.onEnd = () => {
      throw new Error("killed in the middle");
    };
    expect((await other.cancel("a")).warnings).toEqual([
      expect.stringMatching("killed in the middle"),
    ]);
    host.onEnd = onEnd;
    expect(places(other.location).get("a")).toEqual([{ state: "failed" }]);
    later();
    const sweeper = await open();
    // While its worker lives, the tree is that one's to end: it finds its claim gone.
    await sweeper.sweep();
    await refused(worker.fail(ref), "CLAIM_LOST");
    expect(ended).toEqual([]);
    expect((await sweeper.doctor()).findings).toEqual([]);
    machine.die();
    await sweeper.sweep();
    expect(ended).toEqual([tree.pid]);
    expect(notes()).toEqual([]);
  });

  test("a reaper that dies before it has moved the task: the next one does it all again", async () => {
    const { host, machine, other, open, tree } = await scene();
    machine.die();
    host.onEnd = () => {
      throw new Error("killed in the middle");
    };
    await expect(other.reap()).rejects.toThrow("killed in the middle");
    host.onEnd = undefined;
    expect(places(other.location).get("a")).toEqual([{ state: "claimed", worker: "w" }]);
    const next = await open();
    expect((await next.reap()).reaped).toMatchObject([{ id: "a", to: "pending" }]);
    expect(host.isAlive(tree.pid)).toBe(false);
  });

  test("a worker that wakes up and ends its attempt while its tree is being ended", async () => {
    const { host, other, worker, ref } = await scene();
    host.advance(HOUR);
    host.onEnd = () => void worker.fail(ref);
    const report = await other.reap();
    expect(report).toMatchObject({ reaped: [], stuck: [] });
    expect(places(other.location).get("a")).toEqual([{ state: "waiting" }]);
    expect(await other.attemptsOf("a")).toMatchObject([{ outcome: "failed" }]);
  });

  test("an end that was recorded: its tree is ended too, before the task moves on", async () => {
    const { run, host, machine, other, ref } = await scene();
    const line = { at: new Date().toISOString(), event: "ended", task: "a", attempt: 1 };
    const [day = ""] = names(join(run, "ledger"));
    const end = { worker: "w", token: ref.token, outcome: "done", from: "claimed", to: "done" };
    appendFileSync(join(run, "ledger", day), `${JSON.stringify({ ...line, ...end })}\n`);
    machine.die();
    const seen: unknown[] = [];
    host.onEnd = () => void seen.push(places(run).get("a"));
    expect((await other.reap()).reaped).toMatchObject([{ reason: "finished", to: "done" }]);
    expect(seen).toEqual([[{ state: "claimed", worker: "w" }]]);
  });
});

describe("left behind", () => {
  test("a note without a claim is removed when its process is gone, and not before", async () => {
    const { worker, other, ref, host, tree, notes } = await scene();
    host.endProcess(tree.pid);
    await worker.release(ref);
    // Its worker may be about to remove it.
    await other.sweep();
    expect(notes()).toEqual(["a.json"]);
    expect((await other.doctor()).findings).toEqual([]);
    later();
    await worker.heartbeat("w");
    const findings = [{ code: "stale_temporary", path: ".viv/processes/a.json" }];
    expect((await other.doctor()).findings).toMatchObject(findings);
    expect((await other.doctor({ fix: true })).findings).toMatchObject([{ fixed: true }]);
    expect(notes()).toEqual([]);
    expect((await other.doctor()).findings).toEqual([]);
  });

  test("the sweep removes it too", async () => {
    const { worker, other, ref, host, tree, notes, ended } = await scene();
    host.endProcess(tree.pid);
    await worker.release(ref);
    later();
    await worker.heartbeat("w");
    await other.sweep();
    expect(notes()).toEqual([]);
    expect(ended).toEqual([]);
  });

  test("while it is claimed, or its process and its worker live, it stays", async () => {
    const { worker, other, ref, notes, ended } = await scene();
    later();
    await worker.heartbeat("w");
    await other.sweep();
    expect((await other.doctor()).findings).toEqual([]);
    expect(notes()).toEqual(["a.json"]);
    await worker.release(ref);
    later();
    await worker.heartbeat("w");
    await other.sweep();
    expect((await other.doctor()).findings).toEqual([]);
    expect(notes()).toEqual(["a.json"]);
    expect(ended).toEqual([]);
  });

  test("nor is it removed after the handler has ended, while the attempt has not", async () => {
    const { worker, other, host, tree, notes } = await scene();
    host.endProcess(tree.pid);
    later();
    await worker.heartbeat("w");
    await other.sweep();
    expect((await other.doctor()).findings).toEqual([]);
    expect(notes()).toEqual(["a.json"]);
  });

  test("an unreadable note is ignored and removed", async () => {
    const { worker, other, ref, path, notes } = await scene();
    await worker.release(ref);
    writeFileSync(path, '{"pid": 12');
    later();
    await worker.heartbeat("w");
    expect((await other.doctor()).findings).toMatchObject([{ code: "stale_temporary" }]);
    await other.sweep();
    expect(notes()).toEqual([]);
  });

  test("a file between two notes is used again, goes with its process, and is never read", async () => {
    const { run, worker, ref, tree, path, host } = await scene();
    const files = () => names(join(run, ".viv/processes"));
    const inode = statSync(path).ino;
    await worker.forgetProcess("a", ref.token);
    expect(files()).toEqual([expect.stringMatching(/^~/)]);
    await worker.noteProcess(ref, { ...tree, pid: 0, started: "0", claim: "c" });
    await worker.noteProcess(ref, host.tree());
    expect(statSync(path).ino).toBe(inode);
    expect(readFileSync(path, "utf8").trimEnd().split("\n")).toHaveLength(2);
    await worker.forgetProcess("a", ref.token);
    await worker.close();
    expect(files()).toEqual([]);
  });

  test("a shorter note leaves nothing of the longer one before", async () => {
    const { worker, ref, tree, path } = await scene();
    await worker.noteProcess(ref, { ...tree, claim: "c".repeat(300) });
    await worker.forgetProcess("a", ref.token);
    await worker.noteProcess(ref, tree);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject(tree);
  });

  test("a line that is being added does not count yet", async () => {
    const { path, other, machine, ended, tree } = await scene();
    appendFileSync(path, '{"pid":12,"host"');
    machine.die();
    await other.reap();
    expect(ended).toEqual([tree.pid]);
  });

  test("a removed file is made anew", async () => {
    const { run, worker, ref, tree, path } = await scene();
    await worker.forgetProcess("a", ref.token);
    for (const name of names(join(run, ".viv/processes")))
      rmSync(join(run, ".viv/processes", name));
    await worker.noteProcess(ref, tree);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject(tree);
  });

  test("a file that a killed worker has left goes after a day", async () => {
    const { run, worker, other, ref } = await scene();
    await worker.complete(ref);
    await worker.forgetProcess("a", ref.token);
    later();
    expect((await other.doctor()).findings).toEqual([]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 25 * HOUR });
    await worker.heartbeat("w");
    expect((await other.doctor()).findings).toMatchObject([{ code: "stale_temporary" }]);
    await other.sweep();
    expect(names(join(run, ".viv/processes"))).toEqual([]);
  });
});
