import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { uptime } from "node:os";
import { machineErrorOf } from "../../base/errno.ts";

/** Processes in Linux's /proc. Any of them may vanish between two lines of this file. */

export const TICKS_PER_SECOND = 100; // as /proc counts, whatever the kernel was built with

export interface Process {
  readonly pid: number;
  /** A thread has a number, too, and is found under it, but it is no process. */
  readonly isThread: boolean;
  readonly isDead: boolean;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Ticks since boot. */
  readonly started: number;
  /** CPU time in ticks, its own and that of children it has waited for. */
  readonly ticks: number;
  /** Not so for threads of the kernel, and for one that is just dying. */
  readonly hasMemory: boolean;
  /** Not so for an instant while it becomes another program. */
  readonly hasEnvironment: boolean;
}

/** The fields of /proc/<pid>/stat. The name among them may contain anything. */
export function readProcess(pid: number): Process | "gone" | "hidden" {
  const found = lookAt(pid);
  return found === "blind" ? "hidden" : found;
}

/** A process, its parent, and so on up to the first that can be seen. */
export function ancestorsOf(pid: number): { pid: number; started: string }[] {
  const chain: { pid: number; started: string }[] = [];
  for (let next = pid; next > 0 && chain.length < 1000; ) {
    const found = readProcess(next);
    if (typeof found === "string") break;
    chain.push({ pid: next, started: String(found.started) });
    next = found.parent;
  }
  return chain;
}

/** "blind": we could not look (no free file descriptor), which says nothing about the process. */
export function lookAt(pid: number): Process | "gone" | "hidden" | "blind" {
  let stat: string;
  try {
    stat = readFast(`/proc/${pid}/stat`).toString("latin1");
  } catch (error) {
    if (isBlind(error)) return "blind";
    return isGone(error) ? "gone" : "hidden";
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const hasEnded = fields[0] === "Z" || fields[0] === "X";
  return {
    pid,
    isThread: fields[35] === "-1", // it sends no signal to a parent when it ends
    isDead: hasEnded && Number(fields[17]) <= 1, // its other threads may live on
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    started: Number(fields[19]),
    ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
    hasMemory: fields[20] !== "0",
    hasEnvironment: fields[48] !== "0",
  };
}

/** EXHAUSTED, for callers that must not take an unseen process for a dead one. */
export function blind(): Error {
  const message = "processes cannot be looked at: no file descriptor is free";
  return Object.assign(new Error(message), { code: "EMFILE" });
}

/** Null when it is gone, or hidden from us. Throws when we cannot look: that says nothing of it. */
export function seenAs(pid: number): Process | null {
  const found = lookAt(pid);
  if (found === "blind") throw blind();
  return typeof found === "string" ? null : found;
}

/** Whether it carries this entry in its environment. What we may not read does not. */
export function carries(found: Process, entry: string): "yes" | "no" | "unsure" | "blind" {
  if (!found.hasMemory) return "no";
  try {
    const environment = readFast(`/proc/${found.pid}/environ`);
    if (environment.length > 0) {
      const isAmong =
        environment.includes(`\0${entry}\0`) || environment.indexOf(`${entry}\0`) === 0;
      return isAmong ? "yes" : "no";
    }
  } catch (error) {
    if (isBlind(error)) return "blind";
    return "no"; // gone, or of another user
  }
  const again = readProcess(found.pid);
  if (typeof again === "string" || !again.hasMemory || again.hasEnvironment) return "no";
  return "unsure";
}

/** Whether its limit for resident memory, which has no effect, is this one. */
export function hasLimit(pid: number, limit: string): boolean | "blind" {
  try {
    return readFast(`/proc/${pid}/limits`).includes(` ${limit} `);
  } catch (error) {
    return isBlind(error) ? "blind" : false;
  }
}

let procFs: boolean | undefined;

export function hasProcFs(): boolean {
  procFs ??= existsSync("/proc/self/stat");
  return procFs;
}

const YOUNG_S = 1;
const CLOCKS_DIFFER_BY_S = 0.1;
const MOST_PROBED = 50;

/**
 * The numbers of all that can be a descendant of this process, and of many others.
 *
 * Numbers are given out in ascending order, and all of them cannot be used up within a second. So
 * whatever a young process has started has a higher number than itself, and few have. To try these
 * takes a tenth of reading all of /proc, just where processes are short and many.
 *
 * A child is not missed when its parent vanishes before it is looked at: the child was there by
 * then, and is either in the list already or has a number that is tried at the end.
 */
export function* pidsSince(pid: number, started: number): Generator<number> {
  const last = lastPid();
  const isYoung = last >= pid && ageOf(started) < YOUNG_S;
  if (isYoung && last - pid <= MOST_PROBED) return yield* tryFrom(pid, last);
  const listed = readdirSync("/proc").map(Number); // NaN, for what is no process, is not above any
  for (const each of listed) if (each >= (isYoung ? pid : 1)) yield each;
  for (const each of tryFrom(last + 1, lastPid())) if (!listed.includes(each)) yield each;
}

let bootedAt = Number.POSITIVE_INFINITY;

/** In seconds that this machine was awake: nothing is started while it sleeps. */
function ageOf(started: number): number {
  const now = performance.now() / 1000;
  const age = () => now - bootedAt - started / TICKS_PER_SECOND;
  if (!(age() > -CLOCKS_DIFFER_BY_S)) bootedAt = now - uptime(); // it slept, or this is the first
  return age() > -CLOCKS_DIFFER_BY_S ? age() : Number.POSITIVE_INFINITY;
}

function* tryFrom(from: number, last: number): Generator<number> {
  let next = from;
  for (let end = last, rounds = 0; next <= end && rounds < 20; end = lastPid(), rounds++) {
    for (; next <= end; next++) if (existsSync(`/proc/${next}`)) yield next;
  }
}

export function tellsLastPid(): boolean {
  return lastPid() >= 0;
}

let lastPidFile: number | undefined;

/** The last pid given out; -1 where the kernel has no such file. The file is kept open. */
function lastPid(): number {
  try {
    lastPidFile ??= openSync("/proc/sys/kernel/ns_last_pid", "r");
    return Number(shared.toString("latin1", 0, readSync(lastPidFile, shared, 0, 16, 0)));
  } catch {
    return -1;
  }
}

function isBlind(error: unknown): boolean {
  return machineErrorOf(error) === "EXHAUSTED";
}

function isGone(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "ENOENT" || code === "ESRCH";
}

const shared = Buffer.allocUnsafe(32 * 1024);

/** A file of /proc, at a third of what readFileSync takes. The next call overwrites the result. */
function readFast(path: string): Buffer {
  const fd = openSync(path, "r");
  try {
    const length = readSync(fd, shared);
    return length < shared.length ? shared.subarray(0, length) : readFileSync(path);
  } finally {
    closeSync(fd);
  }
}
