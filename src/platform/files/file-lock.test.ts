import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { until, within } from "../../../test/support/deadline.ts";
import { newFolder } from "../../../test/support/folders.ts";
import { acquireProcessLock, tryFileLock, withFileLock } from "./file-lock.ts";

const holders: { release(): Promise<void> }[] = [];
afterEach(async () => {
  for (const holder of holders.splice(0)) await holder.release();
});

/** Another process that holds the lock until it is released. */
async function heldByAnother(path: string) {
  const child = spawn("flock", ["-x", path, "-c", "echo held; read line"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await within("the lock is held", once(child.stdout, "data"));
  const ended = once(child, "exit");
  const release = async () => {
    child.stdin.end();
    await within("the holder ends", ended);
  };
  holders.push({ release });
  return { release };
}

function flocksOfOurs(): number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim();
  return children
    .split(" ")
    .filter((pid) => pid !== "" && nameOf(pid) === "flock")
    .map(Number);
}

function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return ""; // it ended just now
  }
}

const lockFile = () => join(newFolder(), "a.lock");

it("waits for another process, and does not block meanwhile", async () => {
  const path = lockFile();
  const other = await heldByAnother(path);
  const order: string[] = [];
  const ours = withFileLock(path, () => order.push("ours"));
  await new Promise(setImmediate);
  setTimeout(() => {
    order.push("timer");
    void other.release();
  }, 1);
  await within("the lock is ours", ours);
  expect(order).toEqual(["timer", "ours"]);
});

it("excludes callers in this process, in the order in which they asked", async () => {
  const path = lockFile();
  const order: string[] = [];
  const calls = [1, 2, 3].map((n) =>
    withFileLock(path, async () => {
      order.push(`${n} in`);
      await new Promise(setImmediate);
      order.push(`${n} out`);
      if (n === 1) throw new Error("failed");
      return n;
    }),
  );
  const results = await within("all are over", Promise.allSettled(calls));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(order).toEqual(["1 in", "1 out", "2 in", "2 out", "3 in", "3 out"]);
});

it("waits on after a signal has ended flock(1)", async () => {
  const path = lockFile();
  const other = await heldByAnother(path);
  const before = new Set(flocksOfOurs());
  const ours = withFileLock(path, () => "ours");
  const waiting = () => flocksOfOurs().filter((pid) => !before.has(pid));
  await until("flock(1) waits", () => waiting().length === 1);
  const [first = 0] = waiting();
  process.kill(first, "SIGINT");
  await until("another one waits", () => waiting().length === 1 && !waiting().includes(first));
  await other.release();
  expect(await within("the lock is ours", ours)).toBe("ours");
});

it("is LOCKED when time is up and flock(1) never comes to an answer", async () => {
  const bin = newFolder();
  writeFileSync(join(bin, "flock"), "#!/bin/sh\nkill -KILL $$\n", { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = `${bin}:${PATH}`;
  try {
    const locked = withFileLock(lockFile(), () => 1, { waitMs: 0 });
    await expect(within("it gives up", locked)).rejects.toMatchObject({ code: "LOCKED" });
  } finally {
    process.env.PATH = PATH;
  }
});

it("is LOCKED when time is up, and names the file", async () => {
  const path = lockFile();
  await heldByAnother(path);
  await expect(withFileLock(path, () => 1, { waitMs: 0 })).rejects.toMatchObject({
    code: "LOCKED",
    message: `another process holds ${path}; find it with: fuser ${path}`,
  });
  await expect(withFileLock(path, () => 1, { waitMs: 1 })).rejects.toMatchObject({
    code: "LOCKED",
  });
  expect(await tryFileLock(path)).toBeNull();
});

it("locks the file that is there now, when the one it waited for was replaced", async () => {
  const path = lockFile();
  const other = await heldByAnother(path);
  const waiting = withFileLock(path, async () => {
    expect(await tryFileLock(path)).toBeNull();
    return "ours";
  });
  await new Promise(setImmediate);
  rmSync(path);
  writeFileSync(path, "");
  await other.release();
  expect(await within("the lock is ours", waiting)).toBe("ours");
});

it("is released once, and then free for others", async () => {
  const path = lockFile();
  const lock = await tryFileLock(path);
  expect(await tryFileLock(path)).toBeNull();
  expect(lock?.isStillOurs()).toBe(true);
  lock?.release();
  lock?.release();
  expect(lock?.isStillOurs()).toBe(false);
  expect(await withFileLock(path, () => "free", { waitMs: 0 })).toBe("free");
});

it("holds a process lock for good, and sees when its file is removed", async () => {
  const path = lockFile();
  const isStillOurs = await acquireProcessLock(path);
  expect(isStillOurs?.()).toBe(true);
  expect(await acquireProcessLock(path)).toBeNull();
  rmSync(path);
  expect(isStillOurs?.()).toBe(false);
  expect(await acquireProcessLock(path)).not.toBeNull();
});

it("refuses what is no plain file", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, "folder"));
  symlinkSync("elsewhere", join(folder, "link"));
  for (const name of ["folder", "link"]) {
    await expect(withFileLock(join(folder, name), () => 1)).rejects.toMatchObject({
      code: "CORRUPT",
      message: `${join(folder, name)} is no plain file; remove it.`,
    });
  }
});

it("opens the lock file as the caller specifies", async () => {
  const open = () => {
    throw new Error("not today");
  };
  await expect(withFileLock("/anywhere", () => 1, { open })).rejects.toThrow("not today");
});
