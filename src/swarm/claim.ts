import type { Task } from "../queue/task.ts";
import type { Surroundings, SwarmStore, Verb } from "./command.ts";
import { type JsonTree, readJson } from "./json.ts";
import { withRun } from "./open.ts";
import { type Dumpable, dumps } from "./python.ts";
import type { Values } from "./values.ts";

/** Prints the claimed task on one line, or nothing when there is nothing to do. */
export const claim: Verb = (values, around) =>
  withRun(values, around, async (store) => {
    const task = (await claimOne(values, store)) ?? (await afterSweep(values, store));
    if (task) await print(task, store, around);
    return 0;
  });

async function claimOne(values: Values, store: SwarmStore): Promise<Task | undefined> {
  const types = values.list("--task-type-filter");
  const worker = values.text("--worker-id");
  const [claimed] = await store.claim({ worker, ...(types ? { types } : {}), heartbeat: false });
  return claimed?.task;
}

/** An idle poll is the moment to look for what nobody told us: tasks that others unblocked. */
async function afterSweep(values: Values, store: SwarmStore): Promise<Task | undefined> {
  await store.sweep();
  return claimOne(values, store);
}

async function print(task: Task, store: SwarmStore, around: Surroundings): Promise<void> {
  const raw = await asWritten(store, task.task_id);
  const get = (key: string): Dumpable => raw?.get(key) ?? (task[key] as Dumpable) ?? null;
  const line = {
    task_id: get("task_id"),
    task_type: get("task_type"),
    run_id: get("run_id"),
    created_at: get("created_at"),
    payload: get("payload"),
    depends_on: get("depends_on"),
    tier_hint: get("tier_hint"),
    created_by: get("created_by"),
    deadline: get("deadline"),
  };
  around.stdout.write(`${dumps(line)}\n`);
}

/** The text itself, because the store's copy of a payload has JavaScript's numbers. */
async function asWritten(store: SwarmStore, id: string): Promise<Map<string, JsonTree> | null> {
  try {
    const tree = readJson((await store.source(id)) ?? "");
    return tree instanceof Map ? tree : null;
  } catch {
    return null; // taken away this very moment: what the store read of it will do
  }
}
