import { join } from "node:path";
import { VivError } from "../../base/errors.ts";
import { release } from "../../platform/files/beneath.ts";
import { inSlices } from "../../platform/slices.ts";
import { claimMark } from "../claim-mark.ts";
import type * as S from "../store.ts";
import { claimTasks } from "./claims/claim.ts";
import { forgetProcess, noteProcess } from "./claims/process-notes.ts";
import { reapClaims } from "./claims/reap.ts";
import { beat, registerWorker } from "./claims/register.ts";
import { examineRun } from "./doctor/examination.ts";
import { Afterwards } from "./ends/afterwards.ts";
import {
  approveTask,
  cancelTask,
  rejectTask,
  resolveTask,
  retryTask,
  reworkTask,
} from "./ends/decide.ts";
import {
  completeInBackground,
  completeTask,
  currentToken,
  failTask,
  releaseTask,
} from "./ends/finish-attempt.ts";
import { translate } from "./files/atomic.ts";
import { type FsRun, recordTold } from "./fs-run.ts";
import { isSurelyGone, removeRemains } from "./gone.ts";
import { pauseRun, readPause, resumeRun } from "./pause.ts";
import * as read from "./read.ts";
import { artifactsOf, readLog, readProof } from "./record/artifact-files.ts";
import { tailLog } from "./record/log-tail.ts";
import { project, projectAtClose } from "./record/project.ts";
import { initStatus, readStatusFile, updateStatus } from "./record/status-file.ts";
import { sweepRun } from "./sweep.ts";
import { waitForWork } from "./waiting/wait.ts";
import { watchRun } from "./watch-run.ts";

/** Only enqueueing needs the checks of a task's shape, and pays for loading them. */
let enqueueModule: Promise<typeof import("./enqueue/enqueue.ts")> | undefined;

/** Kept: each `import()` costs as much as a fifth of an enqueue. */
function loadEnqueue() {
  enqueueModule ??= import("./enqueue/enqueue.ts");
  return enqueueModule;
}

/** The Store on a run directory: one line per transition, each in a file of its own. */
export function fsStore(run: FsRun): S.Store {
  const location = run.paths.root;
  const { extensions, reservedTypes } = run.paths.layout;
  const offered = new Map<S.ExtensionKey<unknown>, unknown>(
    (extensions?.(run) ?? []).map(({ key, value }) => [key, value]),
  );
  const registrations = new Set<S.Registration>();
  /** Calls that have not answered yet: `close` waits for them. */
  let underway = 0;
  let onQuiet = () => {};
  let closing: Promise<void> | undefined;

  /** Counts a call, and turns errors of the filesystem into errors with a next step. */
  function call<A extends unknown[], R>(act: (run: FsRun, ...args: A) => R | Promise<R>) {
    return async (...args: A): Promise<R> => {
      if (closing !== undefined) {
        throw new VivError("INVALID", "this run was closed; open it again with openRun().");
      }
      underway++;
      try {
        return await act(run, ...args);
      } catch (error) {
        throw translate(error, `working on ${location}`);
      } finally {
        underway--;
        if (underway === 0) onQuiet();
      }
    };
  }

  return {
    runId: run.runId,
    location,
    folder: location,
    ledgerFolder: run.paths.ledger,
    workspaces: join(location, "workspaces"),
    artifacts: artifactsOf(run),
    reservedTypes,
    extension: <T>(key: S.ExtensionKey<T>) => (offered.get(key) as T | undefined) ?? null,

    enqueue: call(async (_, spec, options = {}) =>
      (await loadEnqueue()).enqueueOne(run, spec, options),
    ),
    enqueueMany: async (specs, options = {}) => {
      const { enqueueMany } = await loadEnqueue();
      try {
        return await enqueueMany(run, specs, options);
      } catch (error) {
        throw translate(error, `enqueueing into ${location}`);
      }
    },
    claim: call(claimTasks),
    complete: call((_, ref, options = {}) =>
      (options.inBackground ? completeInBackground : completeTask)(run, ref, options),
    ),
    fail: call((_, ref, report = {}) => failTask(run, ref, report)),
    release: call((_, ref, options = {}) => releaseTask(run, ref, options.note)),
    cancel: call((_, id, decision = {}) => cancelTask(run, id, decision)),
    retry: call((_, id, decision = {}) => retryTask(run, id, decision)),
    approve: call((_, id, decision = {}) => approveTask(run, id, decision)),
    reject: call((_, id, decision = {}) => rejectTask(run, id, decision)),
    rework: call((_, id, decision = {}) => reworkTask(run, id, decision)),
    resolve: call((_, id, decision = {}) => resolveTask(run, id, decision)),

    pause: call((_, options = {}) => pauseRun(run, options)),
    resume: call((_, options = {}) => resumeRun(run, options)),
    paused: call(readPause),

    currentToken: call(currentToken),
    claimMark: (claim) => claimMark(claim, location),
    noteProcess: call(noteProcess),
    forgetProcess: call(forgetProcess),
    heartbeat: call((_, worker, options = {}) => beat(run, worker, options)),
    register: call(async (_, worker, options = {}) => {
      const registration = await registerWorker(run, worker, options);
      registrations.add(registration);
      return registration;
    }),
    reap: call((_, options = {}) => reapClaims(run, options)),
    sweep: call(sweepRun),

    show: call(read.showTask),
    source: call(read.readSource),
    async *list(query = {}) {
      yield* inSlices(read.listTasks(run, query));
    },
    ids: call(read.idsIn),
    counts: call(read.countTasks),
    workers: call(read.viewWorkers),
    dependencies: call(read.dependencyFacts),
    attemptsOf: call(read.attemptsOf),
    async *ledger(query = {}) {
      yield* inSlices(read.ledgerLines(run, query));
    },
    followLedger: (options) => read.followLedger(run, options),
    append: call(recordTold),
    log: (id, options = {}) => readLog(run, id, options),
    tailLog: (id, { bytes }) => tailLog(run, id, bytes),
    proof: call(readProof),
    waitForWork: (options) => waitForWork(run, options),
    watch: (options = {}) => watchRun(run, options),

    readStatus: call(() => readStatusFile(run.paths)),
    writeStatus: call(updateStatus),
    flushStatus: call(() => project(run)),
    initStatus: call(initStatus),
    doctor: call((_, { fix = false, more } = {}) => examineRun(run, fix, more)),
    close(options = {}) {
      closing ??= close(options.warn);
      return closing;
    },
  };

  async function close(warn: ((sentence: string) => void) | undefined): Promise<void> {
    // A registration or an open file of a later call would stay behind.
    if (underway > 0) {
      await new Promise<void>((resolve) => {
        onQuiet = resolve;
      });
    }
    if (isSurelyGone(run)) return closeGone();
    const after = new Afterwards();
    for (const registration of registrations) {
      const stays = `the name ${registration.worker} stays taken until the next reap`;
      await after.tryAsync(stays, () => registration.release());
    }
    await projectAtClose(run, after);
    const readers = [...run.memo.readers.values()];
    after.try("the position in the lanes is not kept; the next worker reads them again", () => {
      for (const reader of readers) reader.saveCursors();
    });
    after.try("the ledger lacks lines about claims; they are held all the same", () =>
      run.ledger.flush(),
    );
    after.try("not all files could be closed", closeFiles);
    for (const warning of after.warnings) warn?.(warning);
  }

  function closeFiles(): void {
    for (const reader of run.memo.readers.values()) reader.close();
    run.notes.close();
    run.lanes.close();
    run.ledger.close();
    release(location, run.links);
  }

  /** Of a run that was removed meanwhile: nothing is written, and nothing of ours stays. */
  async function closeGone(): Promise<void> {
    for (const registration of registrations) await registration.release().catch(() => {});
    closeFiles();
    removeRemains(run);
  }
}
