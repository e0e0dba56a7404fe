import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import type { Machine, ProcessIdentity } from "../../base/clock.ts";
import { RotatingLog } from "../files/rotating-log.ts";
import { afterOutput } from "./after-output.ts";
import { explainStart } from "./explain-start.ts";
import { LineSplitter } from "./line-splitter.ts";
import { treeOf } from "./process-tree.ts";

/**
 * Programs that run beside us for long, each in a process group of its own. Their stdin is a pipe
 * that stays empty: it closes when this process ends, however it ends, and they end themselves.
 */
export interface Children {
  start(command: ChildCommand): Child;
}

export interface ChildCommand {
  /** The first is a path. */
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Gets all it says; when it has grown large it is renamed to `<path>.1`, and begun anew. */
  logPath: string;
  onLine?: (line: string) => void;
}

export interface ChildEnd {
  /** Null when it ended by a signal, or never ran. */
  exit: number | null;
  signal: string | null;
  /** Why it could not be started. */
  error?: string;
  /** The end of what it wrote to stderr. */
  lastWords: string;
}

export interface Child {
  /** Null when it could not be started. */
  readonly process: ProcessIdentity | null;
  /** Never rejects. */
  readonly ended: Promise<ChildEnd>;
  /** SIGTERM, to it alone: what it has started is its own to end. */
  ask(): void;
  /** SIGINT, to it alone: a second SIGTERM would be one with a first that is not yet delivered. */
  askAgain(): void;
  /** SIGKILL, to its whole group. */
  kill(): void;
}

export interface Timers {
  /** Returns what cancels it. */
  after(ms: number, act: () => void): () => void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Of any length: node's own end at once when they are longer than 24 days. */
export const timers: Timers = {
  after: (ms, act) => {
    const end = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const arm = () => {
      const left = Math.max(0, end - performance.now());
      timer = left > LONGEST_TIMER_MS ? setTimeout(arm, LONGEST_TIMER_MS) : setTimeout(act, left);
    };
    arm();
    return () => clearTimeout(timer);
  },
};

const LOG_BYTES = 5 * 1024 * 1024;
const LAST_WORDS = 4 * 1024;
const LONGEST_LINE = 256 * 1024;

export function localChildren(machine: Machine): Children {
  return {
    start: (command) => {
      const log = new RotatingLog(command.logPath, LOG_BYTES);
      const [file = "", ...args] = command.argv;
      const { cwd, env } = command;
      try {
        const child = spawn(file, args, { cwd, env, detached: true, stdio: "pipe" });
        const { pid } = child;
        if (pid !== undefined) return follow(child, pid, command, log, machine);
        return neverRan(command, log, new Promise((resolve) => child.once("error", resolve)));
      } catch (error) {
        return neverRan(command, log, error);
      }
    },
  };
}

function neverRan(command: ChildCommand, log: RotatingLog, reason: unknown): Child {
  const finish = async (): Promise<ChildEnd> => {
    const error = explainStart((await reason) as NodeJS.ErrnoException, command);
    log.close();
    return { exit: null, signal: null, error, lastWords: "" };
  };
  return { process: null, ended: finish(), ask: () => {}, askAgain: () => {}, kill: () => {} };
}

function follow(
  child: ChildProcess,
  pid: number,
  command: ChildCommand,
  log: RotatingLog,
  machine: Machine,
): Child {
  const { host, boot } = machine.self();
  const identity = { host, boot, pid, started: treeOf(pid, "").started };
  let isOver = false;
  let lastWords = "";
  // A character may come in two pieces.
  const lines = new LineSplitter(LONGEST_LINE, {
    line: command.onLine ?? (() => {}),
    tooLong: () => {},
  });
  const errors = new StringDecoder("utf8");
  child.stdin?.on("error", () => {}); // it ended: the exit event follows
  child.stdout?.on("data", (chunk: Buffer) => {
    log.write(chunk);
    lines.push(chunk);
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    log.write(chunk);
    lastWords = (lastWords + errors.write(chunk)).slice(-LAST_WORDS);
  });
  const ended = new Promise<ChildEnd>((resolve) => {
    child.once("exit", (exit, signal) => {
      isOver = true;
      afterOutput(child, () => {
        log.close();
        resolve({ exit, signal, lastWords: lastWords + errors.end() });
      });
    });
  });
  const send = (to: number, signal: NodeJS.Signals) => {
    if (isOver) return; // the pid may belong to another process by now
    try {
      process.kill(to, signal);
    } catch {
      // it is just ending
    }
  };
  return {
    process: identity,
    ended,
    ask: () => send(pid, "SIGTERM"),
    askAgain: () => send(pid, "SIGINT"),
    kill: () => send(-pid, "SIGKILL"),
  };
}
