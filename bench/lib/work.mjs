// `viv work` as a process, watched through its JSON lines.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** `said(kind)` resolves with the next line of that kind. */
export function startWorker(bench, run, flags, options = {}) {
  const args = [join(bench.dist, "viv.cjs"), "work", "--run", run, "--json", ...flags];
  const stdio = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, args, { ...options, stdio });
  const lines = createInterface({ input: child.stdout });
  const waiting = [];
  const seen = [];
  lines.on("line", (line) => {
    const event = JSON.parse(line);
    seen.push(event);
    for (const one of waiting.splice(0)) {
      if (one.kind === event.kind) one.resolve(event);
      else waiting.push(one);
    }
  });
  const exited = once(child, "exit");
  return {
    pid: child.pid,
    seen,
    said: (kind) => new Promise((resolve) => waiting.push({ kind, resolve })),
    exited,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Milliseconds of CPU that a process has used so far. */
export function cpuMs(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10; // 100 ticks a second
}

export function memoryMb(pid, field) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)[1]) / 1024;
}
