import { existsSync } from "node:fs";
import { isVivError, messageOf } from "../base/errors.ts";
import { assertName } from "../base/names.ts";
import { plural } from "../base/text.ts";
import { claimIn, tokenIn } from "../queue/claim-mark.ts";
import { pauseLine } from "../queue/pause-line.ts";
import type { TaskSpec } from "../queue/spec.ts";
import type { Store } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import type { Values } from "./argparse.ts";
import { type Context, objectFrom, runPath, type Verb, warn, withRun } from "./context.ts";
import { type Dumpable, dumps, JsonNumber, type JsonTree, readJson } from "./python.ts";

/**
 * Always into pending/, the only place that swarm-lib's workers read; they check dependencies there.
 * An id may come again: see asSwarmLib.
 */
export const enqueue: Verb = async (values, context) => {
  const spec: TaskSpec = {
    id: values.text("--task-id"),
    type: values.text("--task-type"),
    payload: objectFrom(values, "--payload") ?? {},
    depends_on: values.list("--depends-on") ?? [],
    tier_hint: values.maybe("--tier-hint") ?? null,
    created_by: values.maybe("--created-by") ?? null,
  };
  const { warnings } = await withRun(values, context, (store) =>
    store.enqueue(spec, { asSwarmLib: true }),
  );
  warn(context, warnings);
  return 0;
};

/** Prints the claimed task on one line, or nothing. */
export const claim: Verb = (values, context) =>
  withRun(values, context, async (store) => {
    let task = await claimOne(values, store);
    if (!task) {
      // swarm-lib's workers may have unblocked tasks.
      await store.sweep();
      task = await claimOne(values, store);
    }
    const paused = task ? null : await store.paused();
    if (paused) context.stderr.write(`note: the run is ${pauseLine(paused)}\n`);
    if (task) context.stdout.write(`${dumps(await taskLine(task, store))}\n`);
    return 0;
  });

async function claimOne(values: Values, store: Store): Promise<Task | undefined> {
  const types = values.list("--task-type-filter");
  const worker = values.text("--worker-id");
  const [claimed] = await store.claim({ worker, types, heartbeat: false });
  return claimed?.task;
}

const TASK_KEYS = [
  "task_id",
  "task_type",
  "run_id",
  "created_at",
  "payload",
  "depends_on",
  "tier_hint",
  "created_by",
  "deadline",
];

async function taskLine(task: Task, store: Store): Promise<Dumpable> {
  const raw = asWritten(await store.source(task.task_id));
  const get = (key: string) => raw?.get(key) ?? (task[key] as Dumpable) ?? null;
  return new Map(TASK_KEYS.map((key) => [key, get(key)]));
}

/** From the file's text: the store's copy of a payload has JavaScript's numbers. */
function asWritten(source: string | null): Map<string, JsonTree> | null {
  try {
    const tree = readJson(source ?? "");
    return tree instanceof Map ? tree : null;
  } catch {
    return null; // moved meanwhile: the store's copy is used
  }
}

/** Ends a claim. Without one it fails and creates nothing, not even the run. */
export const complete: Verb = async (values, context) => {
  const worker = assertName("worker name", values.text("--worker-id"));
  const id = assertName("task id", values.text("--task-id"));
  const path = `${runPath(values.text("--run-dir"), context.home)}/claimed/${worker}/${id}.json`;
  if (!existsSync(path)) throw new Error(`no claimed task at ${path}`);
  try {
    await withRun(values, context, (store) => endClaim(values, store, context));
    return 0;
  } catch (error) {
    if (isVivError(error, "CLAIM_LOST")) throw new Error(`no claimed task at ${path}`);
    if (isVivError(error, "CORRUPT")) throw new Error(`cannot read ${path}: ${error.message}`);
    throw error;
  }
};

/** max_attempts applies to a failure; a task of swarm-lib has none and goes to failed/. */
async function endClaim(values: Values, store: Store, context: Context): Promise<void> {
  const id = values.text("--task-id");
  const token = tokenIn(context.claim, id, store.location);
  const ref = { id, worker: values.text("--worker-id"), token };
  const isDone = values.has("--success");
  const { warnings } = isDone ? await store.complete(ref) : await store.fail(ref);
  warn(context, warnings);
  try {
    if (isDone) await store.flushStatus();
  } catch (error) {
    // The task has moved, and status.json follows later: no failure.
    const why = messageOf(error);
    warn(context, [`completed_tasks was not brought up to date (${why})`]);
  }
}

export const heartbeat: Verb = async (values, context) => {
  const note = values.text("--note");
  await withRun(values, context, (store) => {
    const token = claimIn(context.claim, store.location)?.token;
    return store.heartbeat(values.text("--worker-id"), { note, token });
  });
  return 0;
};

/** Prints the tasks that went back to pending/; notes on stderr name the others. */
export const reap: Verb = (values, context) =>
  withRun(values, context, async (store) => {
    const note = (sentence: string) => context.stderr.write(`note: ${sentence}\n`);
    const staleAfter = values.whole("--stale-after") ?? 300n;
    const query = { staleAfterSeconds: Number(staleAfter), heartbeatOnly: true };
    const report = await store.reap(query);
    const returned = report.reaped.filter(({ to }) => to === "pending");
    const result = {
      run_dir: store.location,
      stale_after_seconds: staleAfter,
      reaped_count: returned.length,
      reaped: returned.map(({ worker, id, ageSeconds }) => ({
        worker_id: worker,
        task_id: id,
        age_seconds: JsonNumber.float(ageSeconds),
      })),
      skipped_live: report.live,
    };
    context.stdout.write(`${dumps(result, "indented")}\n`);
    for (const { id, worker, to, reason } of report.reaped) {
      const why = reason === "finished" ? `${worker} had finished it` : "it keeps losing workers";
      if (to !== "pending") note(`${id} went to ${to}/: ${why}`);
    }
    for (const { id, worker, pids } of report.stuck) {
      note(
        `${id} stays with ${worker}: ${plural(pids.length, "process")} would not die: ${pids.join(", ")}`,
      );
    }
    return 0;
  });
