import type { ClaimTree, Machine } from "../base/clock.ts";
import type { Accounts } from "../engines/accounts/accounts.ts";
import type { Engine } from "../engines/engine.ts";
import type { LogPort } from "../engines/session-logs.ts";
import type { Gate } from "../gate/gate.ts";
import { definePort } from "../operation/operation.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Handlers } from "../platform/processes/handlers.ts";
import type { ActivityServer } from "./activity.ts";
import type { CrewFiles } from "./crew-files.ts";
import type { RanFiles } from "./lifecycle.ts";
import type { Member } from "./manifest.ts";
import type { CrewLine, TickOutcome } from "./member-status.ts";

/** The machine, for crews. */
export interface CrewPorts {
  machine: Machine;
  timers: Timers;
  handlers: Handlers;
  accounts: Accounts;
  /** Of the whole machine: needed besides the crew's own slot. */
  machineGate: Pick<Gate, "acquire">;
  engine(name: Engine["name"], state: string): Promise<Engine>;
  /** Why a program, by its path or its name in PATH, cannot be started; null when it can. */
  whyNotInstalled(program: string): string | null;
  filesIn(state: string): CrewFiles;
  /** Locks a state folder. Null when another process has it, else a check whether it is still ours. */
  take(state: string): Promise<(() => boolean) | null>;
  /** Throws the system error. */
  readText(path: string): string;
  isThere(path: string): boolean;
  /** The nearest of that name, from there upwards; throws INVALID when it belongs to another user. */
  findUp(name: string, from: string): string | null;
  isFolder(path: string): boolean;
  /** Files that a vendor's program writes about its session. */
  followLogs: LogPort["follow"];
  /** Another text when the file was changed, created or removed. */
  stampOf(path: string): string;
  /** Calls back when something in one of these folders has changed. */
  watch(folders: readonly string[], act: () => void): () => void;
  /** Kills it. Returns the pids that are still there. */
  endTree(tree: ClaimTree): Promise<number[]>;
  serve(port: number, activity: () => unknown, origins: readonly string[]): Promise<ActivityServer>;
  /** Has git ignore a folder. The line that was added and the file it is in; null: no need. */
  excludeFromGit(folder: string): Promise<{ file: string; line: string } | null>;
  newMark(): string;
}

export const crewPort = definePort<CrewPorts>("crew");

/** The surroundings of a member. Tests and benches bring their own. */
export interface MemberContext {
  machine: Machine;
  timers: Timers;
  files: CrewFiles;
  /** Null for the singleton, which is alone. */
  gate: Pick<Gate, "acquire"> | null;
  runner: Runner;
  /** Of the whole crew. */
  ranFiles: RanFiles;
  /** Differs when one of these files was changed, created or removed; paths as in the manifest. */
  stampOf(files: readonly string[]): string;
  emit(event: CrewEvent): void;
}

/** How a run happens: with engines and processes, or with nothing at all in a bench. */
export interface Runner {
  /** Whether there is anything to do, by its RUN-IF. */
  isDue(
    member: Member,
    hooks: Pick<RunHooks, "signal" | "onProcess">,
  ): Promise<{ due: boolean; note: string }>;
  /** Throws INVALID for mistakes that a person has to correct: the member is parked. */
  prepare(member: Member): Prepared;
  run(prepared: Prepared, hooks: RunHooks): Promise<RunEnd>;
  /** Why it may not run now (its account, its budget), and until when; null when it may. */
  heldBy(member: Member, costToday: number): { note: string; until: number | null } | null;
}

/** A tick, read from the files as they are now. */
export interface Prepared {
  member: Member;
  lifecycle: LifecycleTick | null;
  /** The prompt of this run. */
  prompt(): string;
}

export interface LifecycleTick {
  /** All states of the spec. */
  states: readonly string[];
  state: string;
  isClosed(lastRan: number | null, now: number): boolean;
  /** The position to persist after that outcome. */
  after(outcome: TickOutcome): string;
}

export interface RunHooks {
  prompt: string;
  logPath: string;
  costToday: number;
  lifecycle: string | null;
  signal: AbortSignal;
  /** Before the engine begins, and again when its pid is known. */
  onProcess(tree: ClaimTree): void;
  onLine(line: CrewLine): void;
  /** Dollars of this run so far. */
  onSpent(usd: number): void;
  /** For people. */
  warn(message: string): void;
}

export type RunEnd =
  | { kind: "ended"; outcome: TickOutcome; note: string; usd: number | null }
  /** By its account or its budget: not a failure. */
  | { kind: "held"; note: string; until: number | null; usd: number | null };

export type CrewEvent =
  | {
      kind: "up";
      pid: number;
      manifest: string;
      state: string;
      members: string[];
      port?: number;
    }
  | { kind: "log"; text: string }
  | { kind: "leftover"; name: string; pid: number; survivors: number[] }
  | { kind: "next"; name: string; after_ms: number; why: string }
  | { kind: "runs"; name: string; lifecycle: string | null }
  | {
      kind: "ran";
      name: string;
      outcome: TickOutcome;
      seconds: number;
      note: string;
      usd: number | null;
    }
  /** Its RUN-IF has begun to fail; emitted once, until there is a tick again. */
  | { kind: "saved"; name: string; saved: number; note: string }
  /** Its RUN-IF succeeds again: ticks saved meanwhile, and in all. */
  | { kind: "due"; name: string; meanwhile: number; saved: number }
  | { kind: "held"; name: string; note: string; until: string | null }
  | {
      kind: "parked" | "paused" | "resumed" | "added" | "changed" | "removed" | "reloaded";
      name: string;
      note: string;
    }
  | { kind: "trouble"; name: string; message: string }
  | { kind: "stopping"; running: string[] }
  | { kind: "finished" };
