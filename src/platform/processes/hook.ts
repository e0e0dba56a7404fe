import { spawn } from "node:child_process";
import { messageOf } from "../../base/errors.ts";
import { afterOutput } from "./after-output.ts";

/** A program of the user's that is told something, and ends soon. */
export interface HookCommand {
  argv: readonly string[];
  stdin: string;
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  timeoutMs: number;
}

export type HookEnd =
  | { kind: "done" }
  /** It never ran. */
  | { kind: "unstartable"; why: string }
  /** It ended by itself, and says that it failed. */
  | { kind: "failed"; why: string }
  /** It was killed when its time was up. */
  | { kind: "late"; why: string };

const MAX_STDERR = 2_000;

/** Runs it to its end, then kills what it left behind. Never rejects. */
export function runHook({ argv, stdin, cwd, env, timeoutMs }: HookCommand): Promise<HookEnd> {
  const [program = "", ...args] = argv;
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...(env ?? process.env) },
      cwd,
    });
    let stderr = "";
    let isLate = false;
    const killAll = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // its group is empty
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      killAll();
    }, timeoutMs);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-MAX_STDERR);
    });
    child.stdin.on("error", () => {}); // it need not read it
    child.stdin.end(stdin);
    child.on("error", (error) => {
      clearTimeout(timer);
      resolve({ kind: "unstartable", why: messageOf(error) });
    });
    child.on("exit", (status, signal) => {
      clearTimeout(timer);
      killAll(); // processes that it left behind
      afterOutput(child, () => {
        child.stderr.destroy();
        if (status === 0 && !isLate) return resolve({ kind: "done" });
        const late = isLate && `it did not end within ${timeoutMs / 1000} s`;
        const how = late || (signal ? `ended by ${signal}` : `exit ${status}`);
        const why = stderr.trim() === "" ? how : `${how}: ${stderr.trim()}`;
        resolve({ kind: isLate ? "late" : "failed", why });
      });
    });
  });
}
