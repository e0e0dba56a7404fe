// One set-up at a time in this checkout. The lock is a file that names its owner; it appears
// with its content in one step (link), so nobody ever reads an empty one. An owner that died
// leaves the file behind, and the next one who wants the lock clears it away.

import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { root } from "./run.mjs";

const path = `${root}.viv-setup.lock`;
const patience = 10 * 60_000;

/** Runs `work` while holding the lock; waits for another process that holds it. */
export function withLock(work) {
  acquire();
  try {
    return work();
  } finally {
    rmSync(path, { force: true });
  }
}

function acquire() {
  const me = `${process.pid} ${startTime(process.pid)}`;
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, me);
  try {
    const deadline = Date.now() + patience;
    while (!tryLink(draft)) {
      const owner = readOwner();
      if (owner !== undefined && !isAlive(owner)) clearAway(owner);
      else if (Date.now() < deadline) sleep(200);
      else
        throw new Error(`set-up is still held by process ${owner}: if that is wrong, rm ${path}`);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

function tryLink(draft) {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

function readOwner() {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined; // released a moment ago
    throw error;
  }
}

/**
 * Removes the lock of a dead owner, and never that of the one who came after it: only the
 * process that made the marker for this owner may remove its lock.
 */
function clearAway(owner) {
  const marker = `${path}.dead-${owner.replace(" ", "-")}`;
  try {
    mkdirSync(marker);
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    sleep(50); // another process is clearing it away
    return;
  }
  if (readOwner() === owner) rmSync(path);
  rmdirSync(marker);
}

function isAlive(owner) {
  const [pid, started] = owner.split(" ");
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return error.code === "EPERM"; // it is there, and another user's
  }
  return startTime(pid) === started;
}

/** Tells two processes with the same pid apart. Without /proc the pid alone must do. */
function startTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return "-";
  }
}

function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
