import childProcess, { type ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setImmediate, setTimeout } from "node:timers";

/**
 * flock(1) without a process, for files of tests that repeat a transition for each of its system calls
 * with all its processes played by this one: otherwise half of their time goes into starting it. A lock
 * is held as with flock(2), until its descriptor is closed. Returns what takes it back. What two real
 * processes do with a lock is tested in file-lock.test.ts, and with whole processes.
 */
export function useQuickLocks(): () => void {
  const original = childProcess.spawn as (...all: unknown[]) => ChildProcess;
  const quick = (command: string, args: string[], options?: { stdio?: unknown[] }) => {
    const fd = options?.stdio?.[3];
    if (command !== "flock" || typeof fd !== "number") return original(command, args, options);
    return answered(fd, args);
  };
  const use = (spawn: unknown) => {
    childProcess.spawn = spawn as typeof childProcess.spawn;
    syncBuiltinESMExports();
  };
  use(quick);
  return () => use(original);
}

/** Which descriptor has the lock of a file. */
const holders = new Map<string, number>();
/** As they are without the faults of a test. */
const { fstatSync } = fs;

const LOCKED = 0;
const BUSY = 1;

function answered(fd: number, args: readonly string[]): ChildProcess {
  const child = new EventEmitter();
  let isEnded = false;
  const end = (status: number | null) => {
    if (isEnded) return;
    isEnded = true;
    child.emit("exit", status, status === null ? "SIGTERM" : null);
  };
  const giveUpAt = performance.now() + (args.includes("-w") ? Number(args[2]) * 1000 : 0);
  const attempt = () => {
    if (isEnded) return;
    const status = tryLock(fd);
    if (status === LOCKED || performance.now() >= giveUpAt) return end(status);
    setTimeout(attempt, 1);
  };
  setImmediate(attempt);
  const kill = () => {
    setImmediate(end, null);
    return true;
  };
  return Object.assign(child, { kill }) as unknown as ChildProcess;
}

function tryLock(fd: number): number {
  const file = fileOf(fd) ?? "";
  const holder = holders.get(file);
  if (holder !== undefined && holder !== fd && fileOf(holder) === file) return BUSY;
  holders.set(file, fd);
  return LOCKED;
}

/** Null when it is closed. */
function fileOf(fd: number): string | null {
  try {
    const { dev, ino } = fstatSync(fd);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
