import { closeSync, fdatasync, fstatSync, openSync } from "node:fs";
import { promisify } from "node:util";
import { VivError } from "../../model/errors.ts";
import { assertDepth, canonicalJson, MAX_JSON_DEPTH } from "../../model/json.ts";
import { type TaskSpec, taskFromSpec } from "../../model/spec.ts";
import { MAX_TASK_BYTES, type Task } from "../../model/task.ts";
import type { BulkResult, Durability, Enqueued, EnqueueOptions } from "../store.ts";
import { discard, syncFolder, translate, writeFully, writeNew } from "./atomic.ts";
import { announce, type Published, publish, type Staged, settle } from "./publish.ts";
import { type FsRun, temporaryPath } from "./run.ts";

/** One task, or any number of them in groups. What makes a task count is in publish.ts. */

const GROUP = 100;
const fdatasyncAsync = promisify(fdatasync);

export function enqueueOne(run: FsRun, spec: TaskSpec, options: EnqueueOptions): Enqueued {
  const { task, text } = prepare(run, spec);
  const durability = options.durability ?? run.durability;
  const tmp = temporaryPath(run, task.task_id);
  try {
    const staged = { task, tmp, stats: writeNew(tmp, text, durability === "safe") };
    const result = publish(run, staged, options);
    if (result.created) {
      if (durability === "safe") syncFolder(run.paths.state[result.state]);
      announce(run, [{ ...staged, state: result.state }]);
      if (result.state === "waiting") settle(run, task);
    }
    return result;
  } catch (error) {
    discard(tmp);
    throw translate(error, `enqueueing ${task.task_id}`);
  }
}

/**
 * Groups of a hundred: their files are written, synced side by side, published, and one sync of
 * the folder covers them all. A group is acknowledged (reported) only then.
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
  const flush = async () => {
    const start = position;
    position += group.length;
    const part = group;
    group = [];
    try {
      await publishGroup(run, part, start, options, durability, total);
    } finally {
      options.onProgress?.(total);
    }
  };
  try {
    for await (const spec of inBursts(specs, () => group.length > 0)) {
      if (spec !== PAUSE) group.push(spec);
      if (spec === PAUSE || group.length >= GROUP) await flush();
    }
  } finally {
    // Also when the stream breaks off: what came before is in.
    if (group.length > 0) await flush();
  }
  return total;
}

/** A source that gives nothing for so long lets what it gave before be published. */
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

async function publishGroup(
  run: FsRun,
  specs: TaskSpec[],
  start: number,
  options: EnqueueOptions,
  durability: Durability,
  total: BulkResult,
): Promise<void> {
  const staged: Staged[] = [];
  const open: number[] = [];
  let failure: unknown;
  try {
    for (const [i, spec] of specs.entries()) {
      let half = "";
      try {
        const { task, text } = prepare(run, spec);
        const tmp = temporaryPath(run, task.task_id);
        const fd = openSync(tmp, "wx", 0o600);
        open.push(fd);
        half = tmp;
        writeFully(fd, text);
        staged.push({ task, tmp, stats: fstatSync(fd) });
      } catch (error) {
        // What came before the bad task is still published: the caller learns how far it got.
        failure = atPosition(translate(error, "enqueueing"), start + i);
        if (half) discard(half);
        break;
      }
    }
    if (durability === "safe") await Promise.all(open.map((fd) => fdatasyncAsync(fd)));
  } finally {
    for (const fd of open) closeSync(fd);
  }
  const published: Published[] = [];
  let handled = 0;
  try {
    for (const [i, one] of staged.entries()) {
      try {
        const result = publish(run, one, options);
        if (result.created) published.push({ ...one, state: result.state });
        else total.existed++;
        handled = i + 1;
      } catch (error) {
        failure = atPosition(translate(error, "enqueueing"), start + i);
        break;
      }
    }
    if (durability === "safe") {
      for (const state of new Set(published.map((p) => p.state)))
        syncFolder(run.paths.state[state]);
    }
    announce(run, published);
    for (const { task, state } of published) {
      total.enqueued++;
      total[state]++;
      if (state === "waiting") settle(run, task);
    }
  } finally {
    for (const { tmp } of staged.slice(handled)) discard(tmp);
  }
  if (failure) throw failure;
}

function atPosition(error: unknown, index: number): unknown {
  if (!(error instanceof VivError)) return error;
  return new VivError(
    error.code,
    `task ${index + 1}: ${error.message}`,
    { ...error.details, index },
    { cause: error },
  );
}

function prepare(run: FsRun, spec: TaskSpec): { task: Task; text: string } {
  const task = taskFromSpec(spec, {
    runId: run.runId,
    now: run.machine.clock.now(),
    newId: run.newId,
  });
  let text: string;
  try {
    text = canonicalJson(task);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const message = `payload of ${task.task_id} is nested deeper than ${MAX_JSON_DEPTH} levels; flatten it.`;
    throw new VivError("INVALID", message, {}, { cause });
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TASK_BYTES) {
    throw new VivError(
      "INVALID",
      `${task.task_id} is ${(bytes / 2 ** 20).toFixed(1)} MiB, the limit is ${MAX_TASK_BYTES / 2 ** 20}; put large data in a file and its path in the payload.`,
    );
  }
  assertDepth(text);
  return { task, text };
}
