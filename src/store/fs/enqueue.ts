import { closeSync, fdatasync, fstatSync, openSync, type Stats } from "node:fs";
import { promisify } from "node:util";
import { VivError } from "../../model/errors.ts";
import { assertDepth, canonicalJson, MAX_JSON_DEPTH } from "../../model/json.ts";
import { type TaskSpec, taskFromSpec } from "../../model/spec.ts";
import { MAX_TASK_BYTES, type Priority, priorityOf, type Task } from "../../model/task.ts";
import type { BulkResult, Durability, Enqueued, EnqueueOptions } from "../store.ts";
import {
  linkIfFree,
  namesIn,
  renameIfThere,
  statIfThere,
  syncFolder,
  translate,
  unlinkIfThere,
  writeFully,
  writeNew,
} from "./atomic.ts";
import { findCycle } from "./cycle.ts";
import { hasDependents } from "./dependents.ts";
import { type LaneEntry, laneEntry } from "./lanes.ts";
import { fileOf } from "./layout.ts";
import { locate, lookOnce } from "./locate.ts";
import { noteReasons, readyAt, tryPromote, unmetOf, wake } from "./promote.ts";
import { type FsRun, record, temporaryPath } from "./run.ts";

/**
 * Publishing a task, step by step. A crash after any of them leaves either nothing that counts or
 * something that recovery finishes:
 *   1. write the whole file under a name of its own in tmp/ (and sync it)
 *   2. link it to ids/<id>: the one step that decides who owns the id, for good
 *   3. note what it waits for
 *   4. rename it from tmp/ into waiting/ or pending/ (and sync the folder); only that one file
 *      can ever make this step, whoever makes it, so helping a dead publisher is safe
 *   5. tell claimers: a line on a lane, a line in the ledger
 */

const GROUP = 100;
const fdatasyncAsync = promisify(fdatasync);

interface Staged {
  task: Task;
  tmp: string;
  stats: Stats;
}

interface Published extends Staged {
  state: "pending" | "waiting";
}

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
    unlinkIfThere(tmp);
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
    await publishGroup(run, part, start, options, durability, total);
    options.onProgress?.(total);
  };
  for await (const spec of specs) {
    group.push(spec);
    if (group.length >= GROUP) await flush();
  }
  if (group.length > 0) await flush();
  return total;
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
        if (half) unlinkIfThere(half);
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
    for (const { tmp } of staged.slice(handled)) unlinkIfThere(tmp);
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

function publish(run: FsRun, staged: Staged, options: EnqueueOptions): Enqueued {
  const { task, tmp } = staged;
  const id = task.task_id;
  const idLink = fileOf(run.paths.ids, id);
  const cycle = task.depends_on.length > 0 ? findCycle(run, task) : null;
  if (cycle) throw cycleError(id, cycle);
  if (!linkIfFree(tmp, idLink)) return alreadyThere(run, staged, options);
  // Ours now, unless a foreign writer put it into a state folder without asking.
  const foreign = lookOnce(run, id);
  if (foreign) {
    unlinkIfThere(idLink);
    return refuse(staged, foreign, options);
  }
  try {
    return place(run, staged, options);
  } catch (error) {
    // If our file still waits in tmp/, nobody has published it: the id is free again.
    if (unlinkIfThere(tmp)) unlinkIfThere(idLink);
    throw error;
  }
}

/** Steps 3 and 4. */
function place(run: FsRun, { task, tmp }: Staged, options: EnqueueOptions): Enqueued {
  const id = task.task_id;
  const unmet = options.straightToPending ? [] : unmetOf(run, task);
  const at = options.straightToPending ? 0 : readyAt(run, task);
  const waits = unmet.length > 0 || at > run.machine.clock.now();
  const state = waits ? "waiting" : "pending";
  if (waits) noteReasons(run, task, unmet, at);
  // Not there: somebody took us for dead and did this step. The task is published all the same.
  renameIfThere(tmp, fileOf(run.paths.state[state], id));
  if (waits && hasDependents(run, id)) {
    // Two that depend on each other, enqueued at the same moment, are seen by the later one here.
    const late = findCycle(run, task);
    if (late) {
      unlinkIfThere(fileOf(run.paths.state.waiting, id));
      unlinkIfThere(fileOf(run.paths.ids, id));
      throw cycleError(id, late);
    }
  }
  return { id, state, created: true };
}

function cycleError(id: string, cycle: string[]): VivError {
  const shown = cycle.join(" → ");
  const message =
    cycle.length === 2
      ? `${id} depends on itself; remove it from depends_on.`
      : `${id} would close a dependency cycle: ${shown}; drop one of these dependencies.`;
  return new VivError("DEPENDENCY_CYCLE", message, { cycle });
}

function alreadyThere(run: FsRun, staged: Staged, options: EnqueueOptions): Enqueued {
  const id = staged.task.task_id;
  let place = locate(run, id);
  if (place === null && finishPublish(run, id)) place = locate(run, id);
  return refuse(staged, place, options);
}

function refuse(
  staged: Staged,
  place: { state: string; worker?: string | undefined } | null,
  options: EnqueueOptions,
): Enqueued {
  const id = staged.task.task_id;
  unlinkIfThere(staged.tmp);
  const state = place?.state ?? "gone";
  if (options.ifAbsent) return { id, state: state as Enqueued["state"], created: false };
  const where =
    place === null
      ? "was enqueued before and its file has since been removed; run viv doctor --fix to free the id"
      : `is there already: ${state}${place.worker ? ` by ${place.worker}` : ""}; choose another id, or pass --if-absent`;
  throw new VivError("TASK_EXISTS", `task ${id} ${where}.`, {
    id,
    state,
    ...(place?.worker ? { worker: place.worker } : {}),
  });
}

/** A task may lie in waiting/ though its dependency was done a moment ago: look once more. */
function settle(run: FsRun, task: Task): void {
  if (task.depends_on.length > 0 && unmetOf(run, task).length === 0) tryPromote(run, task.task_id);
}

function announce(run: FsRun, published: readonly Published[]): void {
  const byLane = new Map<Priority, LaneEntry[]>();
  for (const { task, stats, state } of published) {
    if (state === "pending" && unmetAfterwards(run, task).length === 0) {
      const lane = byLane.get(priorityOf(task)) ?? [];
      lane.push(laneEntry(task, stats, 1));
      byLane.set(priorityOf(task), lane);
    }
  }
  for (const [priority, entries] of byLane) run.lanes.append(priority, entries);
  for (const { task, state } of published) {
    record(run, {
      event: "enqueued",
      task: task.task_id,
      type: task.task_type,
      to: state,
      ...(task.created_by ? { by: task.created_by } : {}),
      ...(task.parent ? { parent: task.parent } : {}),
    });
  }
}

/** What straightToPending published with open dependencies is not shown to claimers yet. */
function unmetAfterwards(run: FsRun, task: Task): string[] {
  if (task.depends_on.length === 0) return [];
  const unmet = unmetOf(run, task);
  if (unmet.length > 0) noteReasons(run, task, unmet, 0);
  return unmet.length > 0 ? unmetOf(run, task) : unmet;
}

/**
 * Finishes what a dead publisher began: its file has the id (step 2) and waits in tmp/. Safe even
 * if it is not dead, because only one rename of that file can succeed.
 */
export function finishPublish(run: FsRun, id: string, tmpName?: string): boolean {
  const owner = statIfThere(fileOf(run.paths.ids, id));
  if (!owner) return false;
  const names = tmpName ? [tmpName] : namesOfPublishers(run, id);
  for (const name of names) {
    const path = `${run.paths.tmp}/${name}`;
    if (statIfThere(path)?.ino !== owner.ino) continue;
    // waiting/ is right for either kind: promotion moves it on at once if nothing holds it.
    if (renameIfThere(path, fileOf(run.paths.state.waiting, id))) {
      wake(run, id);
      return true;
    }
  }
  return false;
}

function namesOfPublishers(run: FsRun, id: string): string[] {
  return namesIn(run.paths.tmp).filter((name) => name.startsWith(`${id}~`));
}
