import type * as z from "zod/mini";
import type { ProcessIdentity } from "../base/clock.ts";
import type { AttemptRecord, FailureOutcome, HistoryRecord, Proof } from "./attempt.ts";
import type { LedgerLine, ToldEvent } from "./ledger.ts";
import type { bulkResult, finding } from "./schemas.ts";
import type { TaskSpec } from "./spec.ts";
import type { TaskState } from "./states.ts";
import type { Task } from "./task.ts";

/** `safe`: an acknowledged change survives power loss. `fast`: it survives the process only. */
export type Durability = "safe" | "fast";

export interface Enqueued {
  id: string;
  state: "pending" | "waiting";
  /** False when `ifAbsent` or `asSwarmLib` found the task there; `state` is then its state. */
  created: boolean;
  warnings?: Warnings;
}

export interface EnqueueOptions {
  durability?: Durability;
  /** An existing id is not an error. */
  ifAbsent?: boolean;
  /**
   * By swarm-lib's rules: always into pending/ (claims check the dependencies), any type, and an id
   * may be enqueued again. An equal task that has not ended is left as it is (`created: false`); an
   * ended one begins a new round, and its history stays.
   */
  asSwarmLib?: boolean;
}

export type BulkResult = z.output<typeof bulkResult>;

export interface Claim {
  id: string;
  type: string;
  /** As its file has it. */
  task: Task;
  worker: string;
  /** Identifies the claim: a later claim of the same task has another one. */
  token: string;
  /** 1 for the first claim of this task. */
  attempt: number;
}

export interface ClaimRequest {
  worker: string;
  types?: readonly string[];
  /** Skips tasks of these types, which keep their place. */
  exceptTypes?: readonly string[];
  max?: number;
  /** Write the worker's heartbeat with the claim (default). swarm-cli does not. */
  heartbeat?: boolean;
  /** Claims nothing while this many tasks, or more, are in review/. */
  reviewLimit?: number;
}

/**
 * Without a token the worker's name is enough, for one-shot commands in a shell; not for a claim of
 * another process's live worker (WORKER_TAKEN).
 */
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
  /** The task rests in waiting/ until then. */
  retryAt?: string;
  warnings?: Warnings;
}

/** The change was made, but a step after it failed: a sentence for each, with its remedy. */
export type Warnings = string[];

export interface CompletionOptions {
  note?: string;
  /**
   * The task's proof passed; `commit`: of its worktree, with what was proven. Without it, the end of a
   * task that has a `done_when` is recorded as unproven.
   */
  proof?: { commit?: string };
  /** Leaves the proof to a worker: the task goes to pending/, and the next worker runs only that. */
  handIn?: boolean;
  /** Moves it to review/ even if the task does not ask for that. */
  review?: boolean;
  /** Does not block the process while the disk syncs. As safe, and a bit later. */
  inBackground?: boolean;
}

export interface FailureReport {
  outcome?: FailureOutcome;
  note?: string;
  /** The third failure in a row with the same fingerprint is a choke: another worker gets the task. */
  fingerprint?: string;
  /** Moves it to failed/ at once, regardless of max_attempts. */
  final?: boolean;
  /** The earliest retry (a rate limit's reset). */
  retryAt?: string;
  /** For a task without a max_attempts of its own. */
  maxAttempts?: number;
  /** The first rest in milliseconds; doubles with each failure (default 1 s). */
  backoffMs?: number;
}

/** Nothing is claimed; work under way goes on. */
export interface Pause {
  by: string;
  at: string;
  note?: string;
}

export interface Approval {
  by?: string;
  note?: string;
  /** Approves also what has no valid proof, and records it; a text: the caller's own reason. */
  unproven?: boolean | string;
}

/** The process tree that a worker has started for a claim. */
export interface ClaimProcess {
  /** Of the leader; 0 before it is started, when only its mark can be searched for. */
  pid: number;
  started: string;
  /** VIV_CLAIM of its processes: see claimMark. */
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
  /** Claims left alone because their id is in pending/ as well (see doctor). */
  skipped: { worker: string; id: string }[];
  /** Claims left alone because these processes of theirs would not die. */
  stuck: { worker: string; id: string; pids: number[] }[];
  warnings?: Warnings;
}

export interface ReapOptions {
  staleAfterSeconds?: number;
  /** swarm-lib's rule: a worker without a fresh heartbeat is stale, even if its process lives. */
  heartbeatOnly?: boolean;
  /** Only claims of this worker. */
  worker?: string;
  /** The warden ended `worker`: its attempts that were cut short since then name the receipt. */
  execution?: { receipt: string; since: string };
}

export interface TaskView {
  id: string;
  /** Null when its file cannot be read as a task. */
  type: string | null;
  state: TaskState | "quarantined";
  /** It is in failed/ because a person stopped it. */
  cancelled?: true;
  task: Task | null;
  worker?: string;
  token?: string;
  /** When it entered this state, ISO. */
  since: string;
  history: HistoryRecord[];
  /** The quarantine's reason. */
  reason?: string;
  /** The process tree of the claim, if its worker has noted one. */
  process?: { pid: number; host: string; vitality: "alive" | "gone" | "unknown" };
}

export interface TaskSummary {
  id: string;
  type: string | null;
  state: TaskState;
  /** It is in failed/ because a person stopped it. */
  cancelled?: true;
  worker?: string;
  since: string;
  priority?: string;
  /** With `asksProof`: why it is unproven. */
  unproven?: string;
  /** With `tasks`: as its file has it; null when that cannot be read. */
  task?: Task | null;
}

export interface ListQuery {
  states?: readonly TaskState[];
  types?: readonly string[];
  limit?: number;
  /**
   * In the order of `states`, and within one the oldest first by `since`; of done and failed the
   * newest first. `limit` then keeps the first ones. Otherwise any order, in constant memory.
   */
  sorted?: boolean;
  /** Of the failed: only those that a person stopped, or only the others. */
  cancelled?: boolean;
  /** Tasks of these types need a proof besides those with a `done_when`: the summaries have `unproven`. */
  asksProof?: (type: string) => boolean;
  /** Does not open their files: `type` is null, `priority` missing. Not with `types`. */
  unopened?: boolean;
  /** The summaries have their files, as `task`. */
  tasks?: boolean;
}

/** `cancelled`: those of `failed` that a person stopped. */
export type Counts = Record<TaskState, number> & { quarantined: number; cancelled: number };

export interface WorkerView {
  name: string;
  claims: string[];
  /** Seconds since the last heartbeat; null when there is none. */
  heartbeatAge: number | null;
  /** Seconds since its last heartbeat or claim; null when it has neither. */
  quiet: number | null;
  /** By the rule of `reap`. */
  alive: boolean;
  /** Of a registered long-lived worker; unknown: of another host. */
  process: "alive" | "gone" | "unknown" | "none";
  identity?: ProcessIdentity;
  types: string[] | null;
  note: string;
  /** It claims nothing. A worker that is gone is listed as long as it is paused. */
  paused: Pause | null;
}

export interface LedgerQuery {
  task?: string;
  since?: string;
  /** A line that cannot be read was left out; not called where `task` is given. */
  onTorn?: () => void;
}

/** Lines of one file come in the order of writing; those of others may come later. */
export interface LedgerNews {
  news(): AsyncIterable<{ line: LedgerLine; file: string; offset: number }>;
  /** Where the next look begins: for going on in another process. */
  position(): LedgerPosition;
  /** Calls back when there may be news; several at once are one call. Returns what ends that. */
  onNews(act: () => void): () => void;
}

/** How much of each file of the ledger is read, in bytes. */
export type LedgerPosition = Record<string, number>;

export interface WatchOptions {
  signal?: AbortSignal;
  /** Milliseconds between scans for changes that no notification announced. */
  rescanMs?: number;
}

export type Change =
  | {
      kind: "task";
      id: string;
      from: TaskState | null;
      to: TaskState | null;
      /** It came to failed/ because a person stopped it. */
      cancelled?: true;
      worker?: string;
      at: string;
    }
  /** A `step` or a `usage` of a model run. */
  | { kind: "ledger"; line: LedgerLine }
  /**
   * The reader was too slow, and `count` changes before the next one are lost. To resume: list the
   * tasks, and read `step` and `usage` lines of the ledger from `since` on.
   */
  | { kind: "missed"; count: number; since: string };

export type Finding = z.output<typeof finding>;

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
  "changed_record",
  "same_number",
  "orphan_result",
  "left_over_worker",
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

export interface DoctorReport {
  findings: Finding[];
  checked: Record<string, number>;
}

/** A check of files in the run that another room keeps. */
export type RunCheck = (examination: {
  /** Reports a finding; with `fix`, runs `repair` (true: repaired) before going on. */
  find(finding: Omit<Finding, "fixed">, repair?: () => boolean | Promise<boolean>): Promise<void>;
  /** Moves a file to the quarantine; false when it is gone. */
  quarantine(path: string, reason: string): boolean;
}) => Promise<void>;

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
  /** The note of the next heartbeat; `atOnce`: which is written now. */
  note(text: string, when?: { atOnce?: boolean }): void;
  /** It takes other types from now on; null: any. */
  take(types: readonly string[] | null): void;
  release(): Promise<void>;
}

export interface WaitOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  types?: readonly string[];
  exceptTypes?: readonly string[];
  /** The waiting worker: tasks that others of this process left to it count as work. */
  worker?: string;
  /** As for `claim`. */
  reviewLimit?: number;
}

export interface SweepReport {
  promoted: number;
  adopted: number;
  recovered: number;
  warnings?: Warnings;
}

/** A dependency, for `why`. */
export interface DependencyFact {
  id: string;
  met: boolean;
  state: TaskState | "quarantined" | "unknown";
  cancelled?: true | undefined;
  worker?: string;
  since?: string;
}

/** The typed name of an extension that some stores offer; the room that defines it exports it. */
export interface ExtensionKey<out T> {
  readonly name: string;
  /** Never set: it carries the type. */
  readonly offers?: T;
}

export function extensionKey<T>(name: string): ExtensionKey<T> {
  return { name };
}

/** Only a store writes task state. Every method checks names before it touches anything. */
export interface Queue {
  readonly runId: string;
  /** Types that are claimed only on request. */
  readonly reservedTypes: readonly string[];

  enqueue(spec: TaskSpec, options?: EnqueueOptions): Promise<Enqueued>;
  /** Any number of tasks in constant memory. `onProgress` gets the counts so far. */
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
  /** UNPROVEN: the task has a `done_when`, and its last attempt no proof that passed. */
  approve(id: string, options?: Approval): Promise<Ended>;
  reject(id: string, options?: { by?: string; note?: string }): Promise<Ended>;
  /**
   * Sends a done task back for another attempt; earlier ones no longer count against it. Tasks that
   * ran because it was done are left as they are. `why`: one word for the ledger.
   */
  rework(id: string, options?: { by?: string; note?: string; why?: string }): Promise<Ended>;
  /** A failed task is done: a person has done its work. What has no proof is recorded as unproven. */
  resolve(id: string, options?: { by?: string; note?: string }): Promise<Ended>;

  /**
   * No more claims, by whatever program; attempts under way end as usual. `worker`: none by that worker,
   * in whichever process, also after a restart. The two kinds are told apart everywhere.
   */
  pause(options?: { by?: string; note?: string; worker?: string }): Promise<Pause>;
  /** Null when it was not paused. */
  resume(options?: { by?: string; worker?: string }): Promise<Pause | null>;
  /** The run's own pause, or that of one worker. */
  paused(worker?: string): Promise<Pause | null>;

  /** The token of the claim that is meant, which is another one once its file was touched. */
  currentToken(ref: ClaimRef): Promise<string | null>;
  /** The text in VIV_CLAIM of a claim's processes; no other claim of any run has the same. */
  claimMark(claim: { id: string; token: string }): string;
  /**
   * Notes the process tree of a claim, so that a process that takes the claim away can end the tree
   * first. Call it before the handler begins. CLAIM_LOST: the claim is gone, end the tree.
   */
  noteProcess(ref: ClaimRef & { token: string }, process: ClaimProcess): Promise<void>;
  /** Removes the note of a tree that is gone, if it is that claim's. */
  forgetProcess(id: string, token: string): Promise<void>;

  /** The name of another process's live worker needs the token of one of its claims. */
  heartbeat(worker: string, options?: { note?: string; token?: string }): Promise<void>;
  register(worker: string, options?: RegisterOptions): Promise<Registration>;
  reap(options?: ReapOptions): Promise<ReapReport>;
  /** Promotes due or unblocked tasks, adopts foreign ones, finishes steps that a crash cut short. */
  sweep(options?: { thorough?: boolean }): Promise<SweepReport>;

  show(id: string): Promise<TaskView | null>;
  /** A task's own text, in which numbers have all their digits; null when it is gone. */
  source(id: string): Promise<string | null>;
  list(query?: ListQuery): AsyncIterable<TaskSummary>;
  /** The tasks of a state, in any order, at a twentieth of the cost of a list. */
  ids(state: TaskState): Promise<string[]>;
  counts(): Promise<Counts>;
  workers(): Promise<WorkerView[]>;
  dependencies(task: Pick<Task, "depends_on">): Promise<DependencyFact[]>;
  attemptsOf(id: string): Promise<AttemptRecord[]>;

  /** Ledger lines, oldest first; of one task when `task` is given. */
  ledger(query?: LedgerQuery): AsyncIterable<LedgerLine>;
  /**
   * All lines, then at each further look the new ones: each once, whatever their dates. `from`: the
   * lines after that position, or after the present end.
   */
  followLedger(options?: { from?: LedgerPosition | "end" }): LedgerNews;
  /** Adds a line about a model run or a landing. */
  append(line: Omit<LedgerLine, "at"> & { event: ToldEvent }): Promise<void>;

  /** True when there may be a task to claim; false after the time-out or the signal, and when a pause begins or ends without one. */
  waitForWork(options: WaitOptions): Promise<boolean>;
  watch(options?: WatchOptions): AsyncIterable<Change>;
}

/** Named texts that handlers, proofs and people leave about tasks. */
export interface Artifacts {
  list(): Promise<string[]>;
  /** Null when there is none of that name. */
  read(name: string): Promise<string | null>;
  /** Replaces the whole text, or nothing. */
  write(name: string, text: string): Promise<void>;
  /** For programs that read or write it themselves; null when this host has no file of it. */
  pathOnThisHost(name: string): string | null;
}

/** `status.json`, swarm-lib's schema 0.1. Unknown keys are kept when it is rewritten. */
export interface Checkpoint {
  summary: string;
  next_step: string;
  next_task_id: string | null;
  risk: string;
  completed_tasks: string[];
  current_worker: string | null;
  timestamp: string;
  resume_command: string | null;
  [key: string]: unknown;
}

export interface RunStatus {
  schema_version: string;
  run_id: string;
  checkpoint: Checkpoint;
  metadata: Record<string, unknown>;
  [key: string]: unknown;
}

export interface CheckpointUpdate {
  summary?: string;
  next_step?: string;
  next_task_id?: string | null;
  risk?: string;
  current_worker?: string | null;
  resume_command?: string | null;
  metadata?: Record<string, unknown>;
}

/** A log that is read as it grows; what an attempt begins anew is read from there. */
export interface LogTail {
  /** The next piece; null: none for now. */
  read(): string | null;
  close(): void;
}

/** The parts of a run beside its tasks. */
export interface RunRecord {
  /** The run's address, as `--run` and VIV_RUN take it. Not a path to join onto. */
  readonly location: string;
  /** This host's folder for files of the run: a sandbox hides all of it but the task's own. */
  readonly folder: string;
  /** This host's folder of the ledger's daily files (§31). */
  readonly ledgerFolder: string;
  /** This host's folder for workspaces. */
  readonly workspaces: string;
  readonly artifacts: Artifacts;
  /**
   * The task's log, in pieces; none when there is no log. With `follow`, goes on until the task is
   * done, failed, in review or gone, or the signal comes. `setup`: that of its workspace's set-up.
   */
  log(
    id: string,
    options?: { follow?: boolean; setup?: boolean; signal?: AbortSignal },
  ): AsyncIterable<string>;
  /** The end of the log as it is now, at most about `bytes` of it, and all that comes. */
  tailLog(id: string, options: { bytes: number }): LogTail;
  /** The last run of the task's `done_when`; null when it has not run. */
  proof(id: string): Promise<Proof | null>;

  readStatus(): Promise<RunStatus | null>;
  writeStatus(update: CheckpointUpdate): Promise<RunStatus>;
  /** Adds finished tasks to the checkpoint now, instead of soon. */
  flushStatus(): Promise<void>;
  /** Replaces the checkpoint by a new one, as swarm-lib's status-init does. */
  initStatus(runId: string, update: CheckpointUpdate): Promise<RunStatus>;
}

/** A run: its queue and its record. */
export interface Store extends Queue, RunRecord {
  /** Null when this store does not offer it. */
  extension<T>(key: ExtensionKey<T>): T | null;
  /** Checks, and with `fix` repairs, the invariants of this kind of store; then `more`. */
  doctor(options?: { fix?: boolean; more?: RunCheck }): Promise<DoctorReport>;
  /** Waits for calls under way. `warn` gets a sentence for each step that failed; acknowledged changes stay. */
  close(options?: { warn?: (sentence: string) => void }): Promise<void>;
}
