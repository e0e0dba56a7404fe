import { type ChildProcess, spawn } from "node:child_process";
import { CappedText } from "./capped-text.ts";

export interface ShellOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  limitBytes: number;
  signal: AbortSignal;
}

export interface ShellEnd {
  exit: number | null;
  signal: string | null;
  isTimedOut: boolean;
  output: string;
}

/** What a command left in the background may hold the pipes open: we wait for it no longer. */
const DRAIN_MS = 250;

/**
 * Runs a command in a process group of its own, so that ending it ends what it has started. What it
 * left running in the background when it ended by itself is left alone: that may be a server it
 * needs for the next command, and the worker ends our whole tree.
 */
export function runShell(command: string, options: ShellOptions): Promise<ShellEnd> {
  const { cwd, env, timeoutMs, limitBytes, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", command], {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = new CappedText(limitBytes);
    child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    let isTimedOut = false;
    const timer = setTimeout(() => {
      isTimedOut = true;
      killGroup(child);
    }, timeoutMs);
    const onAbort = () => killGroup(child);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    child.on("error", (error) => {
      over();
      reject(error);
    });
    child.on("exit", (exit, exitSignal) => {
      over();
      const settle = () => {
        clearTimeout(drain);
        child.stdout.destroy();
        child.stderr.destroy();
        resolve({ exit, signal: exitSignal, isTimedOut, output: said.toString() });
      };
      const drain = setTimeout(settle, DRAIN_MS);
      child.on("close", settle);
    });
  });
}

/**
 * At once, and not after asking: when the leader has ended on being asked, the number of its group
 * may have been given to another, and processes that ignored the signal would stay.
 */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // gone a moment ago: its exit is on the way
  }
}
