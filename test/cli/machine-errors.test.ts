import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openRun } from "../../src/main.ts";
import { OneCallFails } from "../support/call-faults.ts";
import { newFolder } from "../support/folders.ts";
import { useQuickLocks } from "../support/quick-locks.ts";
import { places } from "../support/run-files.ts";
import { cli, json, ok, type Surroundings, VIV } from "./support.ts";

/**
 * The machine fails a command at any of its system calls. Its exit status says what happened: 0, it has
 * moved; 5, it has not, and the same command works later. A fault of the disk is never "a bug".
 */

let folder: string;
let run: string;
let around: Surroundings;

beforeEach(() => {
  folder = newFolder();
  run = join(folder, "run");
  around = { cwd: folder, env: { VIV_RUN: run } };
});

const say = (...args: string[]) => ok(args, around);

async function claimed(): Promise<void> {
  await say("enqueue", "--type", "t", "--id", "a", "--review");
  await say("claim", "--worker", "w");
}

const inReview = async () => {
  await claimed();
  await say("complete", "a", "--worker", "w");
};

const COMMANDS: [string, () => Promise<unknown>, string[], string][] = [
  [
    "enqueue",
    () => say("enqueue", "--type", "t", "--id", "x"),
    ["enqueue", "--type", "t", "--id", "a"],
    "pending",
  ],
  ["complete", claimed, ["complete", "a", "--worker", "w"], "review"],
  ["fail", claimed, ["fail", "a", "--worker", "w"], "failed"],
  ["release", claimed, ["release", "a", "--worker", "w"], "pending"],
  ["cancel", claimed, ["cancel", "a"], "failed"],
  ["approve", inReview, ["approve", "a"], "done"],
  ["reject", inReview, ["reject", "a", "--note", "no"], "pending"],
];

describe("a disk that fails once", () => {
  beforeAll(useQuickLocks);

  it.each(COMMANDS)("%s: exit 0 and moved, or exit 5 and not", async (_, setUp, args, to) => {
    for (let at = 1; ; at++) {
      run = join(newFolder(), "run");
      around = { cwd: folder, env: { VIV_RUN: run } };
      await setUp();
      const before = places(run).get("a");
      const fault = new OneCallFails("EIO", at);
      const said = await cli(args, around);
      fault.heal();
      const story = `EIO at call ${at} of:\n${fault.log.join("\n")}\n${JSON.stringify(said)}\n`;
      const moved = places(run).get("a");
      if (said.status === 0) expect(moved, story).toMatchObject([{ state: to }]);
      else {
        expect(said, story).toMatchObject({ status: 5, stdout: "" });
        expect(said.stderr, story).toMatch(/^viv: .*EIO.*\n$/);
        expect(moved, story).toEqual(before);
        await say(...args);
        expect(places(run).get("a")).toMatchObject([{ state: to }]);
      }
      if (!fault.happened) return;
    }
  });

  it("a whole process: what could not be synced is told, on stderr and with --json", async () => {
    await say("enqueue", "--type", "t", "--id", "a");
    await say("claim", "--worker", "w");
    const hook = join(folder, "hook.cjs");
    writeFileSync(
      hook,
      `const fs = require("node:fs");
       const { renameSync } = fs;
       fs.renameSync = (from, to) => {
         const [handle] = /^\\/proc\\/[^/]+\\/fd\\/\\d+/.exec(String(from)) ?? [];
         const source = handle ? fs.readlinkSync(handle) + "/" : String(from);
         renameSync(from, to);
         if (!source.includes("/claimed/")) return;
         fs.fsyncSync = () => {
           throw Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO", errno: -5 });
         };
       };`,
    );
    const env = { ...process.env, VIV_RUN: run, NODE_OPTIONS: `--require ${hook}` };
    const said = await runViv(["complete", "a", "--worker", "w", "--json"], env);
    expect(said).toMatchObject({ status: 0 });
    const warning = expect.stringMatching(/could not be synced: a power cut may undo it.*EIO/);
    expect(JSON.parse(said.stdout)).toMatchObject({ to: "done", warnings: [warning] });
    expect(said.stderr).toMatch(/^viv: warning: that a has moved could not be synced.*\n$/);
    expect(places(run).get("a")).toEqual([{ state: "done" }]);
  });

  it("a whole process: refused before the move is 5, not 70", async () => {
    await say("enqueue", "--type", "t", "--id", "a");
    await say("claim", "--worker", "w");
    const hook = join(folder, "hook.cjs");
    writeFileSync(
      hook,
      `const fs = require("node:fs");
       fs.renameSync = () => {
         throw Object.assign(new Error("EIO: i/o error, rename"), { code: "EIO", errno: -5 });
       };`,
    );
    const env = { ...process.env, VIV_RUN: run, NODE_OPTIONS: `--require ${hook}` };
    const said = await runViv(["complete", "a", "--worker", "w", "--json"], env);
    expect(said).toMatchObject({ status: 5, stdout: "" });
    expect(JSON.parse(said.stderr)).toMatchObject({ error: { code: "DISK_FAULT" } });
    await say("complete", "a", "--worker", "w");
    expect((await json(["show", "a"], around)).state).toBe("done");
  });
});

describe("status.json", () => {
  it("whose lock somebody holds: done, with a warning, and carried over by the next", async () => {
    for (const id of ["a", "b"]) await say("enqueue", "--type", "t", "--id", id);
    await say("claim", "--worker", "w", "--max", "2");
    const holder = spawn("/bin/sh", [
      "-c",
      `exec flock -x '${run}/.status.lock' sh -c 'echo; cat'`,
    ]);
    onTestFinished(() => void holder.kill("SIGKILL"));
    await once(holder.stdout, "data");
    const said = await cli(["complete", "a", "--worker", "w", "--json"], around);
    expect(said.status).toBe(0);
    expect(JSON.parse(said.stdout)).toMatchObject({
      to: "done",
      warnings: [expect.stringMatching(/^completed_tasks in status\.json is not .*\.status\.lock/)],
    });
    expect(said.stderr).toMatch(/^viv: warning: completed_tasks .*\n$/);
    holder.stdin.end();
    await once(holder, "exit");
    await say("complete", "b", "--worker", "w");
    const store = await openRun(run);
    expect((await store.readStatus())?.checkpoint.completed_tasks.sort()).toEqual(["a", "b"]);
    await store.close();
  });

  it("that is broken: the same, until doctor --fix", async () => {
    await say("enqueue", "--type", "t", "--id", "a");
    await say("claim", "--worker", "w");
    writeFileSync(join(run, "status.json"), "{");
    const said = await cli(["complete", "a", "--worker", "w"], around);
    expect(said).toMatchObject({ status: 0 });
    expect(said.stderr).toMatch(
      /^viv: warning: completed_tasks .*viv doctor --fix updates it.*\n$/,
    );
    await cli(["doctor", "--fix"], around);
    const store = await openRun(run);
    expect((await store.readStatus())?.checkpoint.completed_tasks).toEqual(["a"]);
    await store.close();
  });
});

async function runViv(args: string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [VIV, ...args], { env, cwd: folder });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (data) => {
    said.stdout += data;
  });
  child.stderr.on("data", (data) => {
    said.stderr += data;
  });
  const [status] = await once(child, "close");
  return { status, ...said };
}
