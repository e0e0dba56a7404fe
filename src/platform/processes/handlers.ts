import { type ChildProcess, spawn } from "node:child_process";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { errno } from "../../base/errno.ts";
import { CappedLog } from "../files/capped-log.ts";
import { assertTrusted } from "../files/owned.ts";
import { type Channels, openChannels } from "./channels.ts";
import { explainStart } from "./explain-start.ts";
import { Keeper, type KeptTree } from "./keeper.ts";
import { marked, probeMarks } from "./limit-mark.ts";
import { withoutLines } from "./line-filter.ts";
import { type Pace, readPaced } from "./paced.ts";
import { type EndOptions, endTree, type TreeRef, treeOf } from "./process-tree.ts";

/**
 * Running handlers. Whatever comes first decides how one ends:
 *
 * - "exit": its first process ended by itself. What it left in the background is ended as well.
 * - "timed_out", "stopped": its time was up, or stop() was called. Its whole tree is ended, and
 *   the cause stays even if it then exits with 0.
 * - "unstartable": it never ran.
 */
export type EndCause = "exit" | "timed_out" | "stopped" | "unstartable";

export interface HandlerCommand {
  /** The first is a path, or a name in the PATH of `env`. */
  argv: readonly string[];
  cwd: string;
  /** All it gets, but for VIV_CLAIM. */
  env: Readonly<Record<string, string>>;
  stdin: string;
  /** Can be read only once then: what else it starts cannot read it again. */
  isSecret?: boolean;
  /** Marks every process of its tree. */
  claim: string;
  logPath: string;
  logBytes: number;
  timeoutMs?: number;
  /** From SIGTERM to SIGKILL. */
  killAfterMs: number;
  /** Gets stdout instead of the log, which then has only stderr and what `note` adds. */
  onStdout?: (chunk: Buffer) => void;
  /** Gets stderr, too, which the log still has. Only where stdout goes elsewhere. */
  onStderr?: (chunk: Buffer) => void;
  /** Where stdout is kept then, with the same limit. */
  stdoutPath?: string;
  /** How lines of it begin that are not kept there. */
  noise?: string;
  /** How fast what it says is read, of stdout and stderr each; without it: as fast as it comes. */
  pace?: Pace;
}

export interface Finished {
  cause: EndCause;
  /** What was given to stop(). */
  why?: string;
  /** The time limit that struck, when the cause is "timed_out". */
  limitMs?: number;
  /** Null when it ended by a signal, was never started, or could not be ended. */
  exit: number | null;
  signal: string | null;
  /** Why it could not be started, and what to do. */
  error?: string;
  /** The system's name for that. */
  code?: string;
  /** Why its log is not complete. */
  logError?: string;
  /** Of its first process. */
  durationMs: number;
  /** The last it said. */
  tail: string;
  /** Bytes that it said and that are not in its log. */
  dropped: number;
  /** What of its tree could not be ended. */
  survivors: number[];
}

export interface RunningHandler {
  /** Null when it could not be started. */
  readonly ref: TreeRef | null;
  /** Never rejects. */
  readonly finished: Promise<Finished>;
  /** `atOnce`: without asking first. */
  stop(why: string, atOnce?: boolean): Promise<Finished>;
  /** Adds to its log. */
  note(text: string): void;
}

export interface Handlers {
  /**
   * What `start` needs to know of the machine is found out, once. Null, or one sentence: which
   * processes cannot be ended here, and why.
   */
  ready?(): Promise<string | null>;
  start(command: HandlerCommand): RunningHandler;
  endTree: typeof endTree;
}

export function localHandlers(): Handlers {
  const running: Running = { leaders: new Set(), keeper: new Keeper() };
  return { ready: probeMarks, start: (command) => start(command, running), endTree };
}

/** All that run. */
interface Running {
  leaders: Set<number>;
  keeper: Keeper;
}

/** Time to read the pipes after the end; a process that inherited them may hold them open for ever. */
const DRAIN_MS = 100;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function start(command: HandlerCommand, running: Running): RunningHandler {
  const begin = performance.now();
  let log: CappedLog | undefined;
  let raw: CappedLog | undefined;
  let channels: Channels | undefined;
  let kept: KeptTree | undefined;
  try {
    log = new CappedLog(command.logPath, command.logBytes);
    if (command.stdoutPath) raw = new CappedLog(command.stdoutPath, command.logBytes);
    channels = openChannels(command.stdin, command.onStdout !== undefined, command.isSecret);
    void probeMarks(); // for the next one, if ready() was not awaited
    // By a path; what PATH finds is the user's own choice.
    const [program = ""] = command.argv;
    if (program.includes("/")) assertTrusted(resolve(command.cwd, program));
    const [file = "", ...args] = marked(command.argv, command);
    const env = { ...command.env, VIV_CLAIM: command.claim };
    const { stdio } = channels;
    kept = running.keeper.keep(command.claim);
    const child = spawn(file, args, { cwd: command.cwd, env, detached: true, stdio });
    const { pid } = child;
    if (pid !== undefined) {
      kept.started(pid);
      const { leaders } = running;
      return follow({ command, log, raw, channels, child, pid, begin, leaders, kept });
    }
    // Some failures are thrown here, the others are emitted later.
    kept.letGo();
    raw?.close();
    return neverRan(command, log, channels, new Promise((resolve) => child.once("error", resolve)));
  } catch (error) {
    kept?.letGo();
    raw?.close();
    return neverRan(command, log, channels, error);
  }
}

function neverRan(
  command: HandlerCommand,
  log: CappedLog | undefined,
  channels: Channels | undefined,
  reason: unknown,
): RunningHandler {
  const finish = async (): Promise<Finished> => {
    const error = (await reason) as NodeJS.ErrnoException;
    const code = errno(error);
    channels?.close();
    log?.close();
    return {
      cause: "unstartable",
      exit: null,
      signal: null,
      error: log ? explainStart(error, command) : `its log cannot be written: ${error.message}`,
      code,
      durationMs: 0,
      tail: "",
      dropped: 0,
      survivors: [],
    };
  };
  const finished = finish();
  return { ref: null, finished, stop: () => finished, note: () => {} };
}

interface Started {
  command: HandlerCommand;
  log: CappedLog;
  raw: CappedLog | undefined;
  channels: Channels;
  child: ChildProcess;
  pid: number;
  begin: number;
  /** Of all that run. */
  leaders: Set<number>;
  kept: KeptTree;
}

function follow(started: Started): RunningHandler {
  const { command, log, raw, channels, child, pid, begin, leaders } = started;
  const ref = treeOf(pid, command.claim);
  leaders.add(pid);
  const { first, decide } = firstCause();
  let isHasty = false;
  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (exit, signal) => {
      leaders.delete(pid);
      decide({ cause: "exit" });
      resolve({ exit, signal, ageMs: performance.now() - begin });
    });
  });
  const { timeoutMs } = command;
  const cancelTimeout = after(timeoutMs, () => decide({ cause: "timed_out", limitMs: timeoutMs }));
  const outputs = channels.connect(child);
  const quiet =
    command.noise === undefined ? (chunk: Buffer) => chunk : withoutLines(command.noise);
  const readers = outputs.map((output, i) => {
    const onStdout = i === 0 ? command.onStdout : undefined;
    const onStderr = i === 1 ? command.onStderr : undefined;
    output.on("error", () => {}); // nothing more can be read from a broken pipe
    // Written before more is read, so that memory does not grow with the output.
    return readPaced(output, command.pace, (chunk) => {
      onStderr?.(chunk);
      if (onStdout === undefined) return log.write(chunk);
      raw?.write(quiet(chunk));
      onStdout(chunk);
    });
  });
  const closed = allClosed(outputs);

  const finish = async (): Promise<Finished> => {
    const cause = await first;
    cancelTimeout();
    leaders.delete(pid);
    for (const readTheRest of readers) readTheRest();
    const killAfterMs = isHasty ? 0 : command.killAfterMs;
    const options: EndOptions = { killAfterMs, others: leaders };
    if (cause.cause === "exit") {
      await atMost(DRAIN_MS, closed); // not at once: a `tee` behind it may still have to write
      options.reapedAtAgeMs = (await exited).ageMs;
    }
    const survivors = await endTree(ref, options);
    if (survivors.length === 0) started.kept.letGo();
    const isStuck = survivors.includes(pid);
    const { ageMs, ...end } = isStuck ? stuckSince(begin) : await exited;
    if (!outputs.every((output) => output.closed)) await atMost(DRAIN_MS, closed);
    channels.close();
    child.unref(); // one that cannot be ended must not keep us from ending
    raw?.close();
    log.close();
    return {
      ...cause,
      ...end,
      logError: log.error?.message,
      durationMs: ageMs,
      tail: log.tail(),
      dropped: log.dropped,
      survivors,
    };
  };
  const finished = finish();
  const stop = (why: string, atOnce = false) => {
    isHasty ||= atOnce;
    decide({ cause: "stopped", why });
    return finished;
  };
  return { ref, finished, stop, note: (text) => log.add(Buffer.from(text)) };
}

type Cause = Pick<Finished, "cause" | "why" | "limitMs">;

/** The first cause is kept: a promise takes no second one. */
function firstCause(): { first: Promise<Cause>; decide: (cause: Cause) => void } {
  let decide: (cause: Cause) => void = () => {};
  const first = new Promise<Cause>((resolve) => {
    decide = resolve;
  });
  return { first, decide };
}

type Exit = Pick<Finished, "exit" | "signal"> & { ageMs: number };

function stuckSince(begin: number): Exit {
  return { exit: null, signal: null, ageMs: performance.now() - begin };
}

/** A timer of any length: node's own end at once when they are longer than 24 days. */
function after(ms: number | undefined, action: () => void): () => void {
  if (ms === undefined) return () => {};
  const end = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const arm = () => {
    const left = end - performance.now();
    timer = left > LONGEST_TIMER_MS ? setTimeout(arm, LONGEST_TIMER_MS) : setTimeout(action, left);
  };
  arm();
  return () => clearTimeout(timer);
}

async function allClosed(streams: readonly Readable[]): Promise<void> {
  for (const stream of streams) {
    if (!stream.closed) await new Promise((resolve) => stream.once("close", resolve));
  }
}

function atMost(ms: number, promise: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void promise.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
