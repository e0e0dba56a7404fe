import type { EngineName, EngineSettings } from "./config-engine.ts";
import type { ModelUsage, SessionUsed } from "./costs/usage.ts";

export type { EngineName, EngineSettings } from "./config-engine.ts";

/**
 * An engine is a command to start, and a reader of what it prints. Its process, time limit, budget and
 * log are the same for all engines: see run-model.ts.
 */
export interface Engine {
  readonly name: EngineName;
  /** The program in PATH when the configuration names no binary. */
  readonly binary: string;
  /** When it reports dollars. */
  readonly reportsDollars: "each step" | "at the end" | "never";
  /** It reports its model, in a run that did not ask for one. */
  readonly namesModel?: boolean;
  /** The exact command line. Throws INVALID for what this engine cannot do. */
  command(request: EngineRequest): EngineCommand;
  /** A reader for one run. */
  reader(request: EngineRequest): StreamReader;
  /** The beginning of lines of stdout that are many and say nothing: they are not kept. */
  readonly noise?: string;
  /** Where it writes its usage while it runs; null when that is turned off. */
  logs?(of: LogsOf): SessionLogs | null;
  /** Where it keeps its state in a sandbox; missing: it keeps none in the user's home. */
  readonly home?: HomeOf;
}

export interface LogsOf {
  session: string;
  /** What the program runs with. Its HOME is where we find it: that of a sandbox may lie elsewhere. */
  env: Readonly<Record<string, string | undefined>>;
  settings: EngineSettings;
}

/** Files of a vendor's own about one session, which it writes line by line. */
export interface SessionLogs {
  root: string;
  /** The name on each level below it, down to the session's own file. */
  path: readonly (string | RegExp)[];
  /** Further files of the session are in the folder of this name, beside that file. */
  beside?: readonly string[];
  /** The only source of its usage while it runs: without them no budget can be held. */
  isOnlySource: boolean;
}

/** `root`: the task's own folder. `env`: what the program would run with. */
export type HomeOf = (
  root: string,
  env: Readonly<Record<string, string | undefined>>,
) => PrivateHome;

export interface PrivateHome {
  /** Points the program there, instead of to the user's home. */
  env: Record<string, string>;
  /** Their ways from the task's own folder, parents first; to be made. */
  folders: string[][];
  shows: Shown[];
}

/** A file or folder of the user's, as it is seen elsewhere in a sandbox; it need not exist. */
export interface Shown {
  from: string;
  to: string;
}

export interface EngineRequest {
  prompt: string;
  /** Absolute: where the work is done. */
  cwd: string;
  /** Null: whatever the engine itself uses. */
  model: string | null;
  /** plan: it must not be able to change anything. */
  mode: "plan" | "edit";
  /** The vendor's session to go on with, of an earlier attempt. */
  resume: string | null;
  /** What that session has used so far, for a vendor that counts on where it left off. */
  resumeUsed?: SessionUsed;
  turns: number | null;
  /** What is left of the tightest budget in dollars, for a program that takes a limit. */
  budgetUsd?: number;
  /** Dollars or tokens are limited: a program may start nothing whose usage it does not report. */
  isBudgeted?: boolean;
  /** Our own sandbox is around it: none of the vendor's can be made inside. */
  isConfined?: boolean;
  /** Keys, by the names of their variables: for an engine that takes them other than in the environment. */
  keys?: Readonly<Record<string, string>> | undefined;
  /** Where an engine that keeps conversations itself may keep this task's. */
  sessionDir?: string;
  settings: EngineSettings;
}

export interface EngineCommand {
  /** The first is a path, or a name in PATH. */
  argv: string[];
  stdin: string;
  /** It holds a key: it can be read once only. */
  isSecret?: boolean;
  env?: Record<string, string>;
  /** Files and folders that it must be able to read, wherever they are: also in a sandbox. */
  reads?: readonly string[];
}

/** Reads one run's stdout. It never throws, whatever it is given. */
export interface StreamReader {
  /** As soon as it is known: a run that dies before its end can be resumed. */
  readonly session: string | null;
  /** No further line can change anything. */
  readonly isFull?: boolean;
  /** One line, without its end. What is no event of the vendor is kept as text or passed over. */
  line(text: string): Step[];
  /** One line of the files that `logs` names. `isPast`: it was there before this run began. */
  logLine?(text: string, isPast: boolean): Step[];
  /** One line of stderr, of a vendor that reports there what it waits for. */
  stderr?(text: string): void;
  /** What it waits for: a vendor tries again by itself, for minutes or hours. Null: nothing. */
  readonly waitsFor?: Waiting | null;
  /** It has printed its last event; all that is left is to exit. */
  readonly isOver?: boolean;
  /** When the process is gone. */
  end(exit: EngineExit): EngineResult;
}

/** The outcome it would have if it were ended now; `isFinal`: to wait for it is of no use. */
export interface Waiting {
  outcome: EngineOutcome;
  isFinal: boolean;
}

export interface EngineExit {
  exit: number | null;
  signal: string | null;
  /** The end of its stderr. */
  stderr: string;
  /** Its time or its budget was used up, or it was stopped: not its own fault. */
  wasEnded: boolean;
}

export type EngineOutcome =
  | { kind: "done" }
  | { kind: "failed"; message: string }
  /** The stream ended without its last event. */
  | { kind: "cut_off"; message: string }
  | { kind: "turn_limit"; message: string }
  /** `until`: when it may be tried again, ISO; null when the vendor did not say. */
  | { kind: "rate_limited"; message: string; until: string | null }
  /** The vendor is down, or cannot be reached: it passes. */
  | { kind: "unavailable"; message: string; until: string | null }
  /** Not logged in, a wrong key, no credit left: nothing will work until a person acts on `todo`. */
  | { kind: "unauthorized" | "quota"; message: string; todo: string }
  /** The session to go on with is not there any more. */
  | { kind: "session_lost"; message: string }
  /** The vendor refuses the request itself: an unknown model, a flag. No retry helps. */
  | { kind: "refused"; message: string };

export interface EngineResult {
  outcome: EngineOutcome;
  /** The answer: its last message. */
  text: string;
  session: string | null;
  /** One for each model that was used; null when it could not be read. */
  usage: ModelUsage[] | null;
  /** The session's total by the vendor, earlier runs included. */
  sessionTotal?: ModelUsage[];
  /** Lines that were no events, or unknown events. */
  unknown: number;
}

/**
 * One thing a model run did, as it happens: a tool call, a text, a thought, or a notice about the run itself
 * (a line that could not be read, a budget that is nearly used up).
 */
export interface Step {
  kind: "tool" | "text" | "thought" | "notice";
  /** Of a tool: its name, and what it was called on (a path, a command). */
  tool?: string;
  target?: string;
  /** Short: a line or two, without control characters. */
  text?: string;
  /** Used since the step before, where the vendor reports it. */
  usage?: ModelUsage;
  /** The usage is that of an answer which has only begun: a further step has the rest. */
  isBegun?: true;
  /** The usage is that of so many steps. */
  of?: number;
}
