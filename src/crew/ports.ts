import type { ClaimTree, Machine } from "../base/clock.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { CrewFiles } from "./files.ts";
import type { Member } from "./manifest.ts";
import type { RanFiles } from "./ran-files.ts";
import type { CrewLine, TickOutcome } from "./status.ts";

/** What a member needs of its surroundings. Tests and benches bring their own. */
export interface MemberContext {
  machine: Machine;
  timers: Timers;
  files: CrewFiles;
  /** Null for the singleton: it contends with nobody. */
  gate: GatePort | null;
  runner: Runner;
  /** Of the whole crew. */
  ranFiles: RanFiles;
  /** Another text when one of these was changed, or came, or went; paths as the manifest has them. */
  stampOf(files: readonly string[]): string;
  tell(event: CrewEvent): void;
}

export interface GatePort {
  /** Resolves when it may run; what it returns gives the slot back. Rejects when the signal comes. */
  acquire(request: {
    name: string;
    priority: Member["priority"];
    signal: AbortSignal;
  }): Promise<() => void>;
}

/** How a run happens: main.ts hands in engines and processes, a bench nothing at all. */
export interface Runner {
  /** Whether there is anything to do, by its RUN-IF. */
  isDue(
    member: Member,
    hooks: Pick<RunHooks, "signal" | "onProcess">,
  ): Promise<{ due: boolean; note: string }>;
  /** Throws INVALID for what a person has to put right: the member is parked. */
  prepare(member: Member): Prepared;
  run(prepared: Prepared, hooks: RunHooks): Promise<RunEnd>;
  /** Why it may not run now (its account, its budget), and until when; null when it may. */
  heldBy(member: Member, costToday: number): { note: string; until: number | null } | null;
}

/** What a tick is about, read from the files as they are now. */
export interface Prepared {
  member: Member;
  /** The lifecycle's spec, if it has one. */
  lifecycle: LifecycleTick | null;
  promptFor(lifecycle: { state: string; isReflection: boolean } | null): string;
}

export interface LifecycleTick {
  /** All that the spec has. */
  states: readonly string[];
  position: string;
  state: string;
  isReflection: boolean;
  isClosed(lastRan: number | null, now: number): boolean;
  /** What is to be persisted after that outcome. */
  after(outcome: TickOutcome): string;
}

export interface RunHooks {
  prompt: string;
  logPath: string;
  costToday: number;
  lifecycle: string | null;
  signal: AbortSignal;
  /** Before the engine begins, and again when it has a number. */
  onProcess(tree: ClaimTree): void;
  onLine(line: CrewLine): void;
  /** Dollars of this run so far. */
  onSpent(usd: number): void;
  /** What is odd about the run, for people. */
  warn(message: string): void;
}

export type RunEnd =
  | { kind: "ended"; outcome: TickOutcome; note: string; usd: number | null }
  /** Its account or its budget: not a failure. */
  | { kind: "held"; note: string; until: number | null; usd: number | null };

export type CrewEvent =
  | { kind: "up"; pid: number; manifest: string; members: string[]; port?: number }
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
  /** Its RUN-IF has begun to say no; that is told once, until there is a tick again. */
  | { kind: "saved"; name: string; saved: number; note: string }
  /** There is: so many were saved meanwhile, and so many in all. */
  | { kind: "due"; name: string; meanwhile: number; saved: number }
  | { kind: "held"; name: string; note: string; until: string | null }
  | {
      kind: "parked" | "paused" | "resumed" | "added" | "changed" | "removed";
      name: string;
      note: string;
    }
  | { kind: "trouble"; name: string; message: string }
  | { kind: "stopping"; running: string[] }
  | { kind: "finished" };
