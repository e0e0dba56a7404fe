import { VivError } from "../base/errors.ts";
import type { AccountState } from "../engines/accounts/account.ts";
import type { Counts, Store, TaskView } from "../queue/store.ts";
import type { Task } from "../queue/task.ts";
import { explain, type Reason } from "./why-reasons.ts";

export interface Why {
  id: string;
  state: TaskView["state"];
  since: string;
  reasons: Reason[];
}

/** Gathers the facts and puts them in order. */
export async function whyTask(
  store: Store,
  id: string,
  now: number,
  held: Held = {},
): Promise<Why> {
  const view = await store.show(id);
  if (view === null) throw await notFound(store, id);
  const workers = (await store.workers()).map((w) => ({
    name: w.name,
    types: w.types,
    age: w.heartbeatAge,
    alive: w.alive,
  }));
  const reasons = explain({
    id: view.id,
    state: view.state,
    since: view.since,
    task: view.task,
    worker: view.worker,
    quarantineReason: view.reason,
    history: view.history,
    process: view.process,
    dependencies: view.task ? await store.dependencies(view.task) : [],
    cycle: view.task ? await findCycle(store, view) : null,
    workers,
    ...(view.task ? heldFacts(view.task, held, await store.counts()) : {}),
    lastNote: await lastNote(store, view),
    now,
  });
  return { id: view.id, state: view.state, since: view.since, reasons };
}

/** A task that the ledger knows was moved out of the run, by a person or by its own handler. */
async function notFound(store: Store, id: string): Promise<VivError> {
  for await (const _ of store.ledger({ task: id })) {
    const message = `${id} was enqueued, but its file is in no state any more; somebody moved it away: viv doctor`;
    return new VivError("TASK_NOT_FOUND", message, { id });
  }
  return new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, { id });
}

/** What keeps tasks of a type from being claimed, as viv.toml and the machine have it. */
export interface Held {
  accountOf?: (type: string) => AccountState | null;
  /** In words, for types that are paid for by a budget that is used up, or reserved by others. */
  budgetOf?: (type: string) => { text: string; isShared: boolean } | null;
  /** The machine's gate, for types that need a slot there while none is free. */
  gateOf?: (type: string) => { max: number; holders: number; waiting: number } | null;
  reviewLimit?: number;
}

function heldFacts({ task_type: type }: Task, held: Held, { review }: Counts) {
  const account = held.accountOf?.(type) ?? undefined;
  const budget = held.budgetOf?.(type) ?? undefined;
  const gateFull = held.gateOf?.(type) ?? undefined;
  const { reviewLimit: limit } = held;
  return {
    ...{ account, budget, gateFull },
    reviewFull: limit !== undefined && review >= limit ? { count: review, limit } : undefined,
  };
}

async function lastNote(store: Store, view: TaskView): Promise<string | undefined> {
  if (view.state !== "failed") return undefined;
  let note: string | undefined;
  for await (const line of store.ledger({ task: view.id })) if (line.note) note = line.note;
  return note;
}

/** Follows unmet dependencies; only waiting tasks can be part of a cycle. */
async function findCycle(store: Store, view: TaskView): Promise<string[] | null> {
  if (view.state !== "waiting" && view.state !== "pending") return null;
  const seen = new Set<string>();
  const stack = (view.task?.depends_on ?? []).map((id) => ({ id, path: [view.id, id] }));
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (top.id === view.id) return top.path;
    if (seen.has(top.id)) continue;
    seen.add(top.id);
    const next = await store.show(top.id);
    if (next?.state !== "waiting" && next?.state !== "pending") continue;
    for (const id of next.task?.depends_on ?? []) stack.push({ id, path: [...top.path, id] });
  }
  return null;
}
