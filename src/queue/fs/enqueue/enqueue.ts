import { closeSync, fdatasync, fstatSync } from "node:fs";
import { promisify } from "node:util";
import { isVivError, VivError } from "../../../base/errors.ts";
import { assertDepth, canonicalJson, MAX_JSON_DEPTH } from "../../../base/json.ts";
import { type TaskSpec, taskFromSpec } from "../../spec.ts";
import type { TaskState } from "../../states.ts";
import type { BulkResult, Durability, Enqueued, EnqueueOptions } from "../../store.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { Afterwards } from "../ends/afterwards.ts";
import {
  discard,
  namesIn,
  openNew,
  syncFolder,
  translate,
  writeFully,
  writeNew,
} from "../files/atomic.ts";
import { type FsRun, temporaryPath } from "../fs-run.ts";
import { enqueueAgain } from "./again.ts";
import { announce, type Published, publish, type Staged, settle } from "./publish.ts";

/** One task, or any number of them in groups; publish.ts has the steps for each. */

const GROUP = 100;

export async function enqueueOne(
  run: FsRun,
  spec: TaskSpec,
  options: EnqueueOptions,
): Promise<Enqueued> {
  const prepared = prepare(run, spec, options);
  try {
    return publishOne(run, prepared, options);
  } catch (error) {
    const mayComeAgain = options.asSwarmLib && run.paths.layout.kind === "run";
    if (!mayComeAgain || !isVivError(error, "TASK_EXISTS")) throw error;
    return enqueueAgain(run, prepared.task, error);
  }
}

function publishOne(run: FsRun, { task, text }: Prepared, options: EnqueueOptions): Enqueued {
  const durability = options.durability ?? run.durability;
  const tmp = temporaryPath(run, task.task_id);
  try {
    const staged = { task, tmp, stats: writeNew(tmp, text, durability === "safe") };
    const result = publish(run, staged, options);
    if (!result.created) return result;
    const after = new Afterwards(result.warnings);
    if (durability === "safe") syncStates(run, [result.state], after);
    announce(run, [{ ...staged, state: result.state }], after);
    if (result.state === "waiting") settle(run, task, after);
    return { ...result, ...after.result };
  } catch (error) {
    discard(tmp);
    throw translate(error, `enqueueing ${task.task_id}`);
  }
}

/** Not tmp/: a name that a power cut brings back there is passed over. */
function syncStates(run: FsRun, states: Iterable<TaskState>, after: Afterwards): void {
  for (const state of states) {
    after.try(
      "the new tasks could not be synced: they are there, and a power cut may undo them",
      () => syncFolder(run.paths.state[state]),
    );
  }
}

/**
 * Groups of a hundred: their files are written, synced side by side, published, and one sync of
 * the folder covers them all. Only then is a group acknowledged (reported). While the disk syncs
 * one group, the files of the next are written.
 */
export async function enqueueMany(
  run: FsRun,
  specs: Iterable<TaskSpec> | AsyncIterable<TaskSpec>,
  options: EnqueueOptions & { onProgress?: (result: BulkResult) => void },
): Promise<BulkResult> {
  const durability = options.durability ?? run.durability;
  const total: BulkResult = { enqueued: 0, pending: 0, waiting: 0, existed: 0 };
  let group: TaskSpec[] = [];
  let position = 0;
  let under: Promise<void> = Promise.resolve();
  const flush = async () => {
    const staged = stageGroup(run, group, position, durability);
    position += group.length;
    group = [];
    try {
      await under;
    } catch (error) {
      await staged.settled.catch(() => {});
      for (const { tmp } of staged.tasks) discard(tmp);
      throw error;
    }
    under = publishGroup(run, staged, options, total).finally(() => options.onProgress?.(total));
    under.catch(() => {}); // It is awaited, but maybe not before the source gives more.
  };
  try {
    for await (const spec of inBursts(specs, () => group.length > 0)) {
      if (spec !== PAUSE) group.push(spec);
      if (spec !== PAUSE && group.length < GROUP) continue;
      await flush();
      if (spec === PAUSE) await under;
    }
  } finally {
    // Also when the stream breaks off: the tasks before that are in.
    if (group.length > 0) await flush();
    await under;
  }
  return total;
}

/** When a source pauses this long, the tasks before the pause are published. */
const PAUSE_MS = 50;
const PAUSE = Symbol("pause");

async function* inBursts<T>(
  source: Iterable<T> | AsyncIterable<T>,
  isWaiting: () => boolean,
): AsyncGenerator<T | typeof PAUSE> {
  if (Symbol.iterator in source) {
    yield* source;
    return;
  }
  const items = source[Symbol.asyncIterator]();
  try {
    for (let next = items.next(); ; next = items.next()) {
      let timer: NodeJS.Timeout | undefined;
      if (isWaiting()) {
        const pause = new Promise<typeof PAUSE>((resolve) => {
          timer = setTimeout(() => resolve(PAUSE), PAUSE_MS);
        });
        const first = await Promise.race([next, pause]);
        clearTimeout(timer);
        if (first === PAUSE) yield PAUSE;
      }
      const { done, value } = await next;
      if (done) return;
      yield value;
    }
  } finally {
    await items.return?.();
  }
}

/** The files of a group, written and on their way to the disk. */
interface StagedGroup {
  start: number;
  tasks: Staged[];
  /** The error of the task behind the last of these. */
  failure: unknown;
  /** The files are synced (in `safe`) and closed. */
  settled: Promise<void>;
}

function stageGroup(
  run: FsRun,
  specs: readonly TaskSpec[],
  start: number,
  durability: Durability,
): StagedGroup {
  const tasks: Staged[] = [];
  const open: number[] = [];
  let failure: unknown;
  for (const [i, spec] of specs.entries()) {
    try {
      const { task, text } = prepare(run, spec, {});
      const tmp = temporaryPath(run, task.task_id);
      const fd = openNew(tmp);
      open.push(fd);
      try {
        writeFully(fd, text);
        tasks.push({ task, tmp, stats: fstatSync(fd) });
      } catch (error) {
        discard(tmp);
        throw error;
      }
    } catch (error) {
      // Tasks before the bad one are still published: the caller learns how far it got.
      failure = atPosition(translate(error, "enqueueing"), start + i);
      break;
    }
  }
  const settled = syncAndClose(open, durability === "safe");
  settled.catch(() => {}); // It is awaited before the group is published.
  return { start, tasks, failure, settled };
}

async function syncAndClose(open: readonly number[], sync: boolean): Promise<void> {
  try {
    if (sync) await Promise.all(open.map((fd) => promisify(fdatasync)(fd)));
  } finally {
    for (const fd of open) closeSync(fd);
  }
}

async function publishGroup(
  run: FsRun,
  group: StagedGroup,
  options: EnqueueOptions,
  total: BulkResult,
): Promise<void> {
  const published: Published[] = [];
  const after = new Afterwards(total.warnings);
  let { failure } = group;
  let handled = 0;
  try {
    let workers: string[];
    try {
      await group.settled;
      workers = namesIn(run.paths.state.claimed);
    } catch (error) {
      throw atPosition(translate(error, "enqueueing"), group.start);
    }
    for (const [i, one] of group.tasks.entries()) {
      try {
        const result = publish(run, one, options, workers);
        if (result.created) published.push({ ...one, state: result.state });
        else total.existed++;
        for (const warning of result.warnings ?? []) after.warn(warning);
        handled = i + 1;
      } catch (error) {
        failure = atPosition(translate(error, "enqueueing"), group.start + i);
        break;
      }
    }
    if ((options.durability ?? run.durability) === "safe") {
      syncStates(run, new Set(published.map((p) => p.state)), after);
    }
    announce(run, published, after);
    for (const { task, state } of published) {
      total.enqueued++;
      total[state]++;
      if (state === "waiting") settle(run, task, after);
    }
    Object.assign(total, after.result);
  } finally {
    for (const { tmp } of group.tasks.slice(handled)) discard(tmp);
  }
  if (failure) throw failure;
}

function atPosition(error: unknown, index: number): unknown {
  if (!(error instanceof VivError)) return error;
  const message = `task ${index + 1}: ${error.message}`;
  return new VivError(error.code, message, { ...error.details, index }, { cause: error });
}

interface Prepared {
  task: Task;
  text: string;
}

function prepare(run: FsRun, spec: TaskSpec, { asSwarmLib }: EnqueueOptions): Prepared {
  const task = taskFromSpec(spec, {
    anyType: asSwarmLib,
    runId: run.runId,
    now: run.machine.clock.now(),
    newId: () => run.hooks?.newId(run, spec) ?? run.newId(),
  });
  const why = run.paths.layout.whyNotId(task.task_id);
  if (why !== null) throw new VivError("INVALID", why);
  let text: string;
  try {
    text = run.paths.layout.write(task);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = `payload of ${task.task_id} is nested deeper than ${MAX_JSON_DEPTH} levels; flatten it.`;
    throw new VivError("INVALID", message, {}, { cause });
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TASK_BYTES) {
    const size = `${(bytes / 2 ** 20).toFixed(1)} MiB, the limit is ${MAX_TASK_BYTES / 2 ** 20}`;
    const message = `${task.task_id} is ${size}; put large data in a file and its path in the payload.`;
    throw new VivError("INVALID", message);
  }
  assertDepth(run.paths.layout.kind === "run" ? text : canonicalJson(task));
  return { task, text };
}
