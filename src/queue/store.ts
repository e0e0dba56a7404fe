import type { ProcessIdentity } from "../base/clock.ts";
import type { AttemptRecord, FailureOutcome, HistoryRecord } from "./attempt.ts";
import type { LedgerLine } from "./ledger.ts";
import type { Proof } from "./proof.ts";
import type { TaskSpec } from "./spec.ts";
import type { TaskState } from "./states.ts";
import type { CheckpointUpdate, RunStatus } from "./status.ts";
import type { Task } from "./task.ts";

/** `safe`: an acknowledged change survives power loss. `fast`: it survives the process only. */
export type Durability = "safe" | "fast";

export interface Enqueued {
  id: string;
  state: "pending" | "waiting";
  /** False when `ifAbsent` found the id taken; `state` is then where it is. */
  created: boolean;
  warnings?: Warnings;
}

export interface EnqueueOptions {
  durability?: Durability;
  /** An id that is there already is not an error. */
  ifAbsent?: boolean;
  /** swarm-lib's way: always into pending/, dependencies are checked when it is claimed. */
  straightToPending?: boolean;
}

export interface BulkResult {
  enqueued: number;
  pending: number;
  waiting: number;
  existed: number;
  warnings?: Warnings;
}

export interface Claim {
  task: Task;
  worker: string;
  /** Proves which claim this is: a later claim of the same task has another one. */
  token: string;
  /** 1 for the first time anybody claimed this task. */
  attempt: number;
}

export interface ClaimRequest {
  worker: string;
  types?: readonly string[];
  /** Passes over tasks of these types, which keep their place. */
  exceptTypes?: readonly string[];
  max?: number;
  /** Write the worker's heartbeat with the claim (default). swarm-cli does not. */
  heartbeat?: boolean;
  /** Claim nothing while so many tasks, or more, wait in review/. */
  reviewLimit?: number;
}

/** Without a token the worker's name alone is the proof: for one-shot commands in a shell. */
export interface ClaimRef {
  id: string;
  worker: string;
  token?: string;
}

export interface Ended {
  id: string;
  from: TaskState;
  to: TaskState;
  attempt: number;
  /** When the task rests in waiting/ until a time. */
  retryAt?: string;
  warnings?: Warnings;
}

/**
 * It happened, and something that follows from it was left undone: a sentence each, with what makes up
 * for it. Not there when all went well.
 */
export type Warnings = string[];

export interface CompletionOptions {
  note?: string;
  /** To review/ even if the task does not ask for it. */
  review?: boolean;
  /** Let the disk work meanwhile: for a process that has more to do. As safe, and a bit later. */
  inBackground?: boolean;
}

export interface FailureReport {
  outcome?: FailureOutcome;
  note?: string;
  /** The third failure in a row with the same one is a choke: another worker gets the task. */
  fingerprint?: string;
  /** Straight to failed/, whatever max_attempts says. */
  final?: boolean;
  /** If it rests: not before this time (a rate limit's reset). */
  retryAt?: string;
  /** What the route allows, for a task without a max_attempts of its own. */
  maxAttempts?: number;
  /** The first rest in milliseconds; doubles with each failure (default 1 s). */
  backoffMs?: number;
}

/** The process tree that a worker has started for a claim. */
export interface ClaimProcess {
  /** Of the leader; 0 while it is not started yet, when only the mark can be looked for. */
  pid: number;
  started: string;
  /** What its processes have in VIV_CLAIM. */
  claim: string;
}

export interface Reaped {
  worker: string;
  id: string;
  /** Seconds since the last sign of life; -1 when there never was one. */
  ageSeconds: number;
  to: TaskState;
  reason: "gone" | "stale" | "finished";
}

export interface ReapReport {
  reaped: Reaped[];
  live: string[];
  /** Claims left alone because their id lies in pending/ as well (see doctor). */
  skipped: { worker: string; id: string }[];
  /** Claims left where they are because these processes of theirs would not die. */
  stuck: { worker: string; id: string; pids: number[] }[];
  warnings?: Warnings;
}

export interface ReapOptions {
  staleAfterSeconds?: number;
  /** swarm-lib's rule: a worker without a heartbeat is stale at once, a live process is no excuse. */
  heartbeatOnly?: boolean;
  /** Only the claims of this one. */
  worker?: string;
  /** With `worker`: why it is gone. The attempts that ended so since then name the receipt. */
  execution?: { receipt: string; since: string };
}

export interface TaskView {
  id: string;
  state: TaskState | "quarantined";
  task: Task | null;
  worker?: string;
  token?: string;
  /** When it came into this state, ISO. */
  since: string;
  history: HistoryRecord[];
  /** The quarantine's reason. */
  reason?: string;
  /** The process tree that works on the claim, if its worker has noted one. */
  process?: { pid: number; host: string; vitality: "alive" | "gone" | "unknown" };
}

export interface TaskSummary {
  id: string;
  type: string | null;
  state: TaskState;
  worker?: string;
  since: string;
  priority?: string;
}

export interface ListQuery {
  states?: readonly TaskState[];
  types?: readonly string[];
  limit?: number;
}

export type Counts = Record<TaskState, number> & { quarantined: number };

export interface WorkerView {
  name: string;
  claims: string[];
  /** Seconds since the last heartbeat; null when there is none. */
  heartbeatAge: number | null;
  /** Seconds since its last sign of life of any kind. */
  quiet: number;
  /** By the rule of `reap`. */
  alive: boolean;
  /** A registered long-lived process, as far as this machine can tell. */
  process: "alive" | "gone" | "unknown" | "none";
  /** Which one that is. */
  identity?: ProcessIdentity;
  types: string[] | null;
  note: string;
}

/** Lines of one file come in the order in which they were written; those of others may come later. */
export interface LedgerNews {
  news(): AsyncIterable<{ line: LedgerLine; file: string; offset: number }>;
}

export interface WatchOptions {
  signal?: AbortSignal;
  /** How often changes are looked for that no notification announced. */
  rescanMs?: number;
}

export type Change =
  | {
      kind: "task";
      id: string;
      from: TaskState | null;
      to: TaskState | null;
      worker?: string;
      at: string;
    }
  /** A `step` or a `usage`: what model runs do. */
  | { kind: "ledger"; line: LedgerLine }
  /**
   * The reader was too slow, and so many changes before the next one are lost. To resume: list the
   * tasks as they are now, and read `step` and `usage` lines of the ledger from `since` on.
   */
  | { kind: "missed"; count: number; since: string };

export interface Finding {
  code: FindingCode;
  /** Where it is: in a run directory, the path below it. */
  path: string;
  message: string;
  /** What --fix does, or did. */
  repair: string;
  fixed: boolean;
}

export const FINDING_CODES = [
  "two_states",
  "unreadable",
  "foreign_file",
  "stale_temporary",
  "missing_index",
  "vanished",
  "claim_without_worker",
  "unfinished_transition",
  "status_drift",
  "stuck_waiting",
  "dependency_cycle",
  "future_heartbeat",
  "torn_line",
  "same_number",
  "orphan_result",
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

export interface DoctorReport {
  findings: Finding[];
  checked: Record<string, number>;
}

export interface RegisterOptions {
  types?: readonly string[] | undefined;
  /** Milliseconds between heartbeats (default 30 s). */
  heartbeatMs?: number | undefined;
  /** A heartbeat could not be written; it is tried again every second. */
  onMissedBeat?: (() => void) | undefined;
}

/**
 * A long-lived worker's hold on its name, with heartbeats. They come from the event loop on purpose:
 * when the worker is stuck, they stop, and others may take its claims.
 */
export interface Registration {
  readonly worker: string;
  /** What the next heartbeat says this worker is doing. */
  note(text: string): void;
  release(): Promise<void>;
}

export interface WaitOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  types?: readonly string[];
  exceptTypes?: readonly string[];
  /** The worker that waits: lines that others of this process left to it count as work. */
  worker?: string;
  /** As for `claim`: while review/ is full there is no work. */
  reviewLimit?: number;
}

export interface SweepReport {
  promoted: number;
  adopted: number;
  recovered: number;
  warnings?: Warnings;
}

/** What is known about a dependency, for `why`. */
export interface DependencyFact {
  id: string;
  met: boolean;
  state: TaskState | "quarantined" | "unknown";
  worker?: string;
  since?: string;
}

/** The typed name of what some stores offer beyond the queue; the room that defines it exports it. */
export interface ExtensionKey<out T> {
  readonly name: string;
  /** Never there: it carries the type. */
  readonly offers?: T;
}

export function extensionKey<T>(name: string): ExtensionKey<T> {
  return { name };
}

/**
 * The queue. Only a store writes task state; everything above asks it to. Every method that names
 * a task or worker checks the name before it touches anything.
 */
export interface Queue {
  readonly runId: string;
  /** Types that are claimed only on request. */
  readonly reservedTypes: readonly string[];

  enqueue(spec: TaskSpec, options?: EnqueueOptions): Promise<Enqueued>;
  /** Any number of tasks; memory stays constant. `onProgress` gets the count so far. */
  enqueueMany(
    specs: Iterable<TaskSpec> | AsyncIterable<TaskSpec>,
    options?: EnqueueOptions & { onProgress?: (result: BulkResult) => void },
  ): Promise<BulkResult>;

  claim(request: ClaimRequest): Promise<Claim[]>;
  complete(ref: ClaimRef, options?: CompletionOptions): Promise<Ended>;
  fail(ref: ClaimRef, report?: FailureReport): Promise<Ended>;
  release(ref: ClaimRef, options?: { note?: string }): Promise<Ended>;
  cancel(id: string, options?: { by?: string; note?: string }): Promise<Ended>;
  retry(id: string, options?: { by?: string; note?: string }): Promise<Ended>;
  approve(id: string, options?: { by?: string; note?: string }): Promise<Ended>;
  reject(id: string, options?: { by?: string; note?: string }): Promise<Ended>;

  /** What the processes of a claim carry in VIV_CLAIM: no other claim of any run has the same. */
  claimMark(claim: { id: string; token: string }): string;
  /**
   * Notes which process tree works on a claim, so that a process that takes the claim away can end
   * it first. Call it before the handler begins. CLAIM_LOST: the claim is gone, end the tree.
   */
  noteProcess(ref: ClaimRef & { token: string }, process: ClaimProcess): Promise<void>;
  /** The tree of this claim is gone. Does nothing if the note is not that claim's. */
  forgetProcess(id: string, token: string): Promise<void>;

  heartbeat(worker: string, options?: { note?: string }): Promise<void>;
  register(worker: string, options?: RegisterOptions): Promise<Registration>;
  reap(options?: ReapOptions): Promise<ReapReport>;
  /** Promotes what is due or unblocked, adopts foreign tasks, finishes what a crash cut short. */
  sweep(options?: { thorough?: boolean }): Promise<SweepReport>;

  show(id: string): Promise<TaskView | null>;
  /** A task as it was written, where numbers have all their digits; null when it is gone. */
  source(id: string): Promise<string | null>;
  list(query?: ListQuery): AsyncIterable<TaskSummary>;
  counts(): Promise<Counts>;
  workers(): Promise<WorkerView[]>;
  dependencies(task: Task): Promise<DependencyFact[]>;
  attemptsOf(id: string): Promise<AttemptRecord[]>;

  /** Ledger lines, oldest first; of one task when `task` is given. */
  ledger(query?: { task?: string; since?: string }): AsyncIterable<LedgerLine>;
  /** All lines, and at each further look those that were written since: each once, whatever their dates. */
  followLedger(): LedgerNews;
  /** Adds a line about what a model run does (`step`), has used (`usage`) or may use next (`reserved`). */
  append(line: Omit<LedgerLine, "at"> & { event: "step" | "usage" | "reserved" }): Promise<void>;

  /** Resolves when there may be something to claim, or false after the time or the signal. */
  waitForWork(options: WaitOptions): Promise<boolean>;
  watch(options?: WatchOptions): AsyncIterable<Change>;
}

/** Named texts that handlers, proofs and people leave about tasks. */
export interface Artifacts {
  list(): Promise<string[]>;
  /** Null when there is none of that name. */
  read(name: string): Promise<string | null>;
  /** Whole or not at all; replaces what was there. */
  write(name: string, text: string): Promise<void>;
  /** For programs that read or write it themselves; null when this host has no file of it. */
  pathOnThisHost(name: string): string | null;
}

/** What a run keeps beside its tasks. */
export interface RunRecord {
  /** The run's address: what `--run` and VIV_RUN take, and messages name. Not to be joined onto. */
  readonly location: string;
  /** The folder of this host for files of the run: in a sandbox, all but a task's own is hidden. */
  readonly folder: string;
  /** The folder of this host below which workspaces are made. */
  readonly workspaces: string;
  readonly artifacts: Artifacts;
  /**
   * The task's log, in pieces. With `follow`, goes on until the task is no longer claimed (or
   * never was) or the signal comes. Nothing when there is no log.
   */
  log(id: string, options?: { follow?: boolean; signal?: AbortSignal }): AsyncIterable<string>;
  /** How the task's `done_when` ended the last time; null when it has not run. */
  proof(id: string): Promise<Proof | null>;

  readStatus(): Promise<RunStatus | null>;
  writeStatus(update: CheckpointUpdate): Promise<RunStatus>;
  /** Carries over what is done into the checkpoint now, instead of before long. */
  flushStatus(): Promise<void>;
  /** Starts the checkpoint afresh, as swarm-lib's status-init does. */
  initStatus(runId: string, update: CheckpointUpdate): Promise<RunStatus>;
}

/** A run: its queue, and what it keeps beside that. */
export interface Store extends Queue, RunRecord {
  /** What this store offers under that key; null when it does not. */
  extension<T>(key: ExtensionKey<T>): T | null;
  /** Checks, and repairs, what this kind of store can check. */
  doctor(options?: { fix?: boolean }): Promise<DoctorReport>;
  /** Waits for calls under way. `warn` gets a sentence for each step that failed; what was acknowledged is done all the same. */
  close(options?: { warn?: (sentence: string) => void }): Promise<void>;
}
