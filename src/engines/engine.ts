import type { EngineName, EngineSettings } from "./config-engine.ts";
import type { ModelUsage, SessionUsed } from "./costs/usage.ts";

export type { EngineName, EngineSettings } from "./config-engine.ts";

/**
 * An engine is a command, and a reader of its output. Process, time limit, budget and log are the same for
 * all engines: see run-model.ts.
 */
export interface Engine {
  readonly name: EngineName;
  /** The program in PATH when the configuration names no binary. */
  readonly binary: string;
  readonly reportsDollars: "each step" | "at the end" | "never";
  /** It reports its model, in a run that did not ask for one. */
  readonly namesModel?: boolean;
  /** The exact command line. Throws INVALID for a request that this engine cannot serve. */
  command(request: EngineRequest): EngineCommand;
  reader(request: EngineRequest): StreamReader;
  /** Lines of stdout that begin with this are many and useless: they are not kept. */
  readonly noise?: string;
  /** The files with its usage while it runs; null when they are turned off. */
  logs?(of: LogsOf): SessionLogs | null;
  /** The place of its state in a sandbox; missing: it has none in the user's home. */
  readonly home?: HomeOf;
}

export interface LogsOf {
  session: string;
  /** The program's, with the HOME as seen from outside of a sandbox. */
  env: Readonly<Record<string, string | undefined>>;
  settings: EngineSettings;
}

/** A vendor's own files about one session, written line by line. */
export interface SessionLogs {
  root: string;
  /** The name on each level below it, down to the session's own file. */
  path: readonly (string | RegExp)[];
  /** The path of a folder beside that file, with further files of the session. */
  beside?: readonly string[];
  /** The only source of its usage while it runs: without it no budget can be held. */
  isOnlySource: boolean;
}

/** `root`: the task's own folder. `env`: the program's, outside of the sandbox. */
export type HomeOf = (
  root: string,
  env: Readonly<Record<string, string | undefined>>,
) => PrivateHome;

export interface PrivateHome {
  /** Points the program there, instead of the user's home. */
  env: Record<string, string>;
  /** To be created, parents first: paths from the task's own folder. */
  folders: string[][];
  shows: Shown[];
}

/** A file or folder of the user, mounted elsewhere in a sandbox; it need not exist. */
export interface Shown {
  from: string;
  to: string;
}

export interface EngineRequest {
  prompt: string;
  /** The absolute path of the workspace. */
  cwd: string;
  /** Null: the engine's default. */
  model: string | null;
  /** plan: it cannot change anything. */
  mode: "plan" | "edit";
  /** The vendor's session of an earlier attempt. */
  resume: string | null;
  /** The usage of that session so far, for a vendor whose counters continue. */
  resumeUsed?: SessionUsed;
  turns: number | null;
  /** The rest of the tightest budget in dollars, for a program that takes a limit. */
  budgetUsd?: number;
  /** Dollars or tokens are limited: the program may start no subagents with unreported usage. */
  isBudgeted?: boolean;
  /** It runs in our sandbox, where the vendor's own does not work. */
  isConfined?: boolean;
  /** llm: keys by the names of their variables, kept out of the environment. */
  keys?: Readonly<Record<string, string>>;
  /** llm: the folder of this task's conversations. */
  sessionDir?: string;
  settings: EngineSettings;
}

export interface EngineCommand {
  /** The first is a path, or a name in PATH. */
  argv: string[];
  stdin: string;
  /** stdin holds a key: it can be read once only. */
  isSecret?: boolean;
  env?: Record<string, string>;
  /** Files and folders that it must be able to read, also in a sandbox. */
  reads?: readonly string[];
}

/** Reads one run's output. It never throws. */
export interface StreamReader {
  /** As soon as it is known: a killed run can be resumed. */
  readonly session: string | null;
  /** Further lines change nothing. */
  readonly isFull?: boolean;
  line(text: string): Step[];
  /** One line of the files that `logs` names. `isPast`: it is older than this run. */
  logLine?(text: string, isPast: boolean): Step[];
  /** One line of stderr, of a vendor that reports its waits there. */
  stderr?(text: string): void;
  /** A vendor's program tries again by itself, for minutes or hours. Null: it does not wait. */
  readonly waitsFor?: Waiting | null;
  /** It has printed its last event, and is about to exit. */
  readonly isOver?: boolean;
  end(exit: EngineExit): EngineResult;
}

/** The outcome if it were ended now; `isFinal`: waiting is of no use. */
export interface Waiting {
  outcome: EngineOutcome;
  isFinal: boolean;
}

export interface EngineExit {
  exit: number | null;
  signal: string | null;
  stderr: string;
  /** By a time-out, a budget or a stop: not its own fault. */
  wasEnded: boolean;
}

export type EngineOutcome =
  | { kind: "done" }
  | { kind: "failed"; message: string }
  /** The stream ended without its last event. */
  | { kind: "cut_off"; message: string }
  | { kind: "turn_limit"; message: string }
  /** `until`: the time of the next try, ISO; null when unknown. */
  | { kind: "rate_limited"; message: string; until: string | null }
  | { kind: "unavailable"; message: string; until: string | null }
  /** Not logged in, a wrong key, no credit left: a person has to act on `todo`. */
  | { kind: "unauthorized" | "quota"; message: string; todo: string }
  | { kind: "session_lost"; message: string }
  /** The vendor refuses the request: an unknown model, a flag. No retry helps. */
  | { kind: "refused"; message: string };

export interface EngineResult {
  outcome: EngineOutcome;
  /** The answer: its last message. */
  text: string;
  session: string | null;
  /** By model; null when it could not be read. */
  usage: ModelUsage[] | null;
  /** The session's total by the vendor, earlier runs included. */
  sessionTotal?: ModelUsage[];
  /** Lines that were no events, or unknown events. */
  unknown: number;
}

/** A step of a model run. A notice is about the run itself: an unknown line, a budget nearly used up. */
export interface Step {
  kind: "tool" | "text" | "thought" | "notice";
  /** Of a tool: its name, and its target (a path, a command). */
  tool?: string;
  target?: string;
  /** One short line, without control characters. */
  text?: string;
  /** Used since the step before, where the vendor reports it. */
  usage?: ModelUsage;
  /** The usage of an answer that has only begun: a further step has the rest. */
  isBegun?: true;
  of?: number;
}
