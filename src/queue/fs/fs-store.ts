import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { assertName } from "../../base/names.ts";
import { release } from "../../platform/files/beneath.ts";
import type { AttemptRecord, Proof } from "../attempt.ts";
import type { LedgerLine } from "../ledger.ts";
import type { TaskSpec } from "../spec.ts";
import type * as S from "../store.ts";
import type { Task } from "../task.ts";
import { claimTasks } from "./claims/claim.ts";
import { forgetProcess, noteProcess } from "./claims/process-notes.ts";
import { reapClaims } from "./claims/reap.ts";
import { registerWorker } from "./claims/register.ts";
import { writeHeartbeat } from "./claims/vital-signs.ts";
import { examineRun } from "./doctor/doctor.ts";
import { Afterwards } from "./ends/afterwards.ts";
import { approveTask, cancelTask, type Decision, rejectTask, retryTask } from "./ends/decide.ts";
import {
  completeInBackground,
  completeTask,
  failTask,
  releaseTask,
} from "./ends/finish-attempt.ts";
import { translate } from "./files/atomic.ts";
import {
  attemptsOf,
  countTasks,
  dependencyFacts,
  followLedger,
  ledgerLines,
  listTasks,
  readSource,
  showTask,
  viewWorkers,
} from "./read.ts";
import { artifactsOf, readProof } from "./record/artifacts.ts";
import { readLog } from "./record/log.ts";
import { project, projectAtClose } from "./record/project.ts";
import { initStatus, readStatusFile, updateStatus } from "./record/status.ts";
import { appendLine, type FsRun } from "./run.ts";
import { sweepRun } from "./sweep.ts";
import { waitForWork } from "./waiting/wait.ts";
import { watchRun } from "./watch.ts";

/** Only enqueueing needs the checks of a task's shape, and pays for loading them. */
let enqueueModule: Promise<typeof import("./enqueue/enqueue.ts")> | undefined;

function loadEnqueue(): Promise<typeof import("./enqueue/enqueue.ts")> {
  enqueueModule ??= import("./enqueue/enqueue.ts");
  return enqueueModule;
}

/** The Store on a run directory: one line per transition, each in a file of its own. */
export class FsStore implements S.Store {
  readonly runId: string;
  readonly location: string;
  readonly folder: string;
  readonly workspaces: string;
  readonly artifacts: S.Artifacts;
  readonly reservedTypes: readonly string[];
  readonly #run: FsRun;
  readonly #registrations = new Set<S.Registration>();
  readonly #extensions: ReadonlyMap<S.ExtensionKey<unknown>, unknown>;
  /** Calls that have not answered yet: `close` waits for them. */
  #underway = 0;
  #onQuiet: () => void = () => {};
  #closing: Promise<void> | undefined;

  constructor(run: FsRun) {
    this.#run = run;
    this.runId = run.runId;
    this.location = run.paths.root;
    this.folder = run.paths.root;
    this.workspaces = join(run.paths.root, "workspaces");
    this.artifacts = artifactsOf(run);
    this.reservedTypes = run.paths.layout.reservedTypes;
    const { extensions } = run.paths.layout;
    this.#extensions = new Map((extensions?.(run) ?? []).map(({ key, value }) => [key, value]));
  }

  extension<T>(key: S.ExtensionKey<T>): T | null {
    return (this.#extensions.get(key) as T | undefined) ?? null;
  }

  async enqueue(spec: TaskSpec, options: S.EnqueueOptions = {}): Promise<S.Enqueued> {
    const { enqueueOne } = await loadEnqueue();
    return this.#do(() => enqueueOne(this.#run, spec, options));
  }

  async enqueueMany(
    specs: Iterable<TaskSpec> | AsyncIterable<TaskSpec>,
    options: S.EnqueueOptions & { onProgress?: (result: S.BulkResult) => void } = {},
  ): Promise<S.BulkResult> {
    const { enqueueMany } = await loadEnqueue();
    try {
      return await enqueueMany(this.#run, specs, options);
    } catch (error) {
      throw translate(error, `enqueueing into ${this.location}`);
    }
  }

  async claim(request: S.ClaimRequest): Promise<S.Claim[]> {
    return this.#do(() => claimTasks(this.#run, request));
  }

  async complete(ref: S.ClaimRef, options: S.CompletionOptions = {}): Promise<S.Ended> {
    const complete = options.inBackground ? completeInBackground : completeTask;
    return this.#do(() => complete(this.#run, ref, options));
  }

  async fail(ref: S.ClaimRef, report: S.FailureReport = {}): Promise<S.Ended> {
    return this.#do(() => failTask(this.#run, ref, report));
  }

  async release(ref: S.ClaimRef, options: { note?: string } = {}): Promise<S.Ended> {
    return this.#do(() => releaseTask(this.#run, ref, options.note));
  }

  async cancel(id: string, decision: Decision = {}): Promise<S.Ended> {
    return this.#do(() => cancelTask(this.#run, id, decision));
  }

  async retry(id: string, decision: Decision = {}): Promise<S.Ended> {
    return this.#do(() => retryTask(this.#run, id, decision));
  }

  async approve(id: string, decision: Decision = {}): Promise<S.Ended> {
    return this.#do(() => approveTask(this.#run, id, decision));
  }

  async reject(id: string, decision: Decision = {}): Promise<S.Ended> {
    return this.#do(() => rejectTask(this.#run, id, decision));
  }

  claimMark({ id, token }: { id: string; token: string }): string {
    return `${id}.${token}@${this.location}`;
  }

  async noteProcess(ref: S.ClaimRef & { token: string }, process: S.ClaimProcess): Promise<void> {
    await this.#do(() => noteProcess(this.#run, ref, process));
  }

  async forgetProcess(id: string, token: string): Promise<void> {
    await this.#do(() => forgetProcess(this.#run, id, token));
  }

  async heartbeat(worker: string, options: { note?: string } = {}): Promise<void> {
    await this.#do(() =>
      writeHeartbeat(this.#run, assertName("worker name", worker), options.note ?? ""),
    );
  }

  async register(worker: string, options: S.RegisterOptions = {}): Promise<S.Registration> {
    return this.#do(async () => {
      const registration = await registerWorker(this.#run, worker, options);
      this.#registrations.add(registration);
      return registration;
    });
  }

  async reap(options: S.ReapOptions = {}): Promise<S.ReapReport> {
    return this.#do(() => reapClaims(this.#run, options));
  }

  async sweep(options: { thorough?: boolean } = {}): Promise<S.SweepReport> {
    return this.#do(() => sweepRun(this.#run, options));
  }

  async show(id: string): Promise<S.TaskView | null> {
    return this.#do(() => showTask(this.#run, id));
  }

  async source(id: string): Promise<string | null> {
    return this.#do(() => readSource(this.#run, id));
  }

  async *list(query: S.ListQuery = {}): AsyncIterable<S.TaskSummary> {
    yield* listTasks(this.#run, query);
  }

  async counts(): Promise<S.Counts> {
    return this.#do(() => countTasks(this.#run));
  }

  async workers(): Promise<S.WorkerView[]> {
    return this.#do(() => viewWorkers(this.#run));
  }

  async dependencies(task: Task): Promise<S.DependencyFact[]> {
    return this.#do(() => dependencyFacts(this.#run, task));
  }

  async *ledger(query: { task?: string; since?: string } = {}): AsyncIterable<LedgerLine> {
    yield* ledgerLines(this.#run, query);
  }

  followLedger(): S.LedgerNews {
    return followLedger(this.#run);
  }

  async append(
    line: Omit<LedgerLine, "at"> & { event: "step" | "usage" | "reserved" },
  ): Promise<void> {
    await this.#do(() => appendLine(this.#run, line));
  }

  log(id: string, options: { follow?: boolean; signal?: AbortSignal } = {}): AsyncIterable<string> {
    return readLog(this.#run, id, options);
  }

  async proof(id: string): Promise<Proof | null> {
    return this.#do(() => readProof(this.#run, id));
  }

  async attemptsOf(id: string): Promise<AttemptRecord[]> {
    return this.#do(() => attemptsOf(this.#run, id));
  }

  waitForWork(options: S.WaitOptions): Promise<boolean> {
    return waitForWork(this.#run, options);
  }

  watch(options: S.WatchOptions = {}): AsyncIterable<S.Change> {
    return watchRun(this.#run, options);
  }

  async readStatus(): Promise<S.RunStatus | null> {
    return this.#do(() => readStatusFile(this.#run.paths));
  }

  async writeStatus(update: S.CheckpointUpdate): Promise<S.RunStatus> {
    return this.#do(() => updateStatus(this.#run, update));
  }

  async flushStatus(): Promise<void> {
    await this.#do(() => project(this.#run));
  }

  async initStatus(runId: string, update: S.CheckpointUpdate): Promise<S.RunStatus> {
    return this.#do(() => initStatus(this.#run, runId, update));
  }

  async doctor(options: { fix?: boolean } = {}): Promise<S.DoctorReport> {
    return this.#do(() => examineRun(this.#run, options.fix === true));
  }

  close(options: { warn?: (sentence: string) => void } = {}): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async #close(options: { warn?: (sentence: string) => void }): Promise<void> {
    await this.#quiet();
    const run = this.#run;
    const after = new Afterwards();
    for (const registration of this.#registrations) {
      const { worker } = registration;
      try {
        await registration.release();
      } catch (error) {
        after.add(`the name ${worker} stays taken until the next reap`, error);
      }
    }
    await projectAtClose(run, after);
    const readers = [...run.memo.readers.values()];
    after.try("how far the lanes were read is not kept; the next worker reads them again", () => {
      for (const reader of readers) reader.saveCursors();
    });
    after.try("the ledger lacks lines about claims; they are held all the same", () =>
      run.ledger.flush(),
    );
    after.try("not all files could be closed", () => {
      for (const reader of readers) reader.close();
      run.notes.close();
      run.lanes.close();
      run.ledger.close();
      release(run.paths.root, run.links);
    });
    for (const warning of after.warnings) options.warn?.(warning);
  }

  /** What they register, record and open after our end would stay behind. */
  async #quiet(): Promise<void> {
    if (this.#underway === 0) return;
    await new Promise<void>((resolve) => {
      this.#onQuiet = resolve;
    });
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new VivError("INVALID", "this run was closed; open it again with openRun().");
  }

  /** Errors of the filesystem leave the store as errors that say what to do. */
  async #do<T>(action: () => T | Promise<T>): Promise<T> {
    this.#assertOpen();
    this.#underway++;
    try {
      return await action();
    } catch (error) {
      throw translate(error, `working on ${this.location}`);
    } finally {
      this.#underway--;
      if (this.#underway === 0) this.#onQuiet();
    }
  }
}
