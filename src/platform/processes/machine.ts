import { openSync, readFileSync, readSync } from "node:fs";
import { hostname, uptime } from "node:os";
import type { Clock, Machine, ProcessIdentity } from "../../base/clock.ts";

/** This machine: its clock, and which of its processes are alive (exact on Linux). */
export function localMachine(): Machine {
  const host = hostname();
  const boot = readBootId();
  const clock: Clock = { now: () => Date.now(), uptime: readUptime };
  let self: ProcessIdentity | undefined;
  return {
    clock,
    bootId: () => boot,
    self: () => {
      self ??= { host, boot, pid: process.pid, started: startOf(process.pid) ?? "?" };
      return self;
    },
    vitality: (other) => {
      if (other.host !== host) return "unknown";
      if (other.boot !== boot) return "gone";
      const started = startOf(other.pid);
      if (started !== null) return started === other.started ? "alive" : "gone";
      return hasProcFs() ? "gone" : signalable(other.pid) ? "alive" : "gone";
    },
  };
}

function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `${hostname()}-boot`; // no /proc (macOS): one boot looks like another
  }
}

let uptimeFile: number | undefined;
const uptimeText = Buffer.alloc(64);

/** The file stays open, so it is one call: a crew asks at each tick. */
function readUptime(): number {
  try {
    uptimeFile ??= openSync("/proc/uptime", "r");
    const length = readSync(uptimeFile, uptimeText, 0, uptimeText.length, 0);
    return Number(uptimeText.toString("latin1", 0, length).split(" ")[0]);
  } catch {
    return uptime();
  }
}

/** Field 22 of /proc/<pid>/stat: ticks since boot. The name before it may contain anything. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null; // a zombie does no work
    return fields[19] ?? null;
  } catch {
    return null;
  }
}

function hasProcFs(): boolean {
  return startOf(process.pid) !== null;
}

function signalable(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
