import { setTimeout } from "node:timers/promises";
import * as z from "zod/mini";
import { VivError } from "../base/errors.ts";
import { isName } from "../base/names.ts";
import { parseUserObject } from "../base/user-json.ts";
import { accountState } from "../engines/accounts/account.ts";
import { type AccountsInUse, accountsInUse, closedAccounts } from "../engines/accounts/accounts.ts";
import type { LandingFact } from "../merge/facts.ts";
import { LANDING_STATES, type LandingState } from "../merge/landing.ts";
import { flag, list, text } from "../operation/fields.ts";
import type { Nothing } from "../operation/operation.ts";
import type { Proof } from "../queue/attempt.ts";
import {
  defineRunOperation,
  defineRunStream,
  mustShow,
  type RunContext,
} from "../queue/operation.ts";
import {
  anyState,
  counts,
  countsInWords,
  historyRecord,
  pause,
  taskFile,
  taskWord,
} from "../queue/schemas.ts";
import { TASK_STATES, type TaskWord, wordOf } from "../queue/states.ts";
import type {
  Change,
  Counts,
  ListQuery,
  Pause,
  Store,
  TaskSummary,
  WorkerView,
} from "../queue/store.ts";
import { PRIORITIES, type Priority, taskJson } from "../queue/task.ts";
import { doneWhenOf, whyUnprovenNow } from "../work/asked-proof.ts";
import { isLeft } from "../work/drained.ts";
import { WORK_SITE, workspaceUsePort } from "../work/host.ts";
import { landingsIn } from "./landed.ts";

export const taskId = z.string().check(z.describe("id of the task"));

export const ls = defineRunOperation({
  name: "ls",
  summary: "list tasks, with counts by state",
  access: "read",
  input: z.strictObject({
    state: z.optional(
      z.array(taskWord).check(z.describe("only tasks in these states (in this order)")),
    ),
    types: list("only tasks of these types"),
    limit: z.optional(
      z
        .int()
        .check(z.gte(0))
        .check(
          z.describe(
            "at most this many (default: 50 tasks; of each state the oldest, of done and failed the newest)",
          ),
        ),
    ),
    landed: flag("only done tasks whose work is in its target branch"),
    not_landed: flag("only done tasks whose work is on a branch and not in its target"),
  }),
  output: z.object({
    run_id: z.string(),
    run_dir: z.string(),
    counts,
    paused: z.optional(pause),
    /** Workers that are paused by themselves; absent where there is none. */
    paused_workers: z.optional(z.array(z.object({ name: z.string(), paused: pause }))),
    tasks: z.array(
      z.object({
        id: z.string(),
        type: z.nullable(z.string()),
        state: taskWord,
        worker: z.optional(z.string()),
        since: z.string(),
        priority: z.optional(z.string()),
        account_closed_until: z.optional(z.nullable(z.string())),
        landing: z.optional(z.enum(LANDING_STATES)),
        /** Why its work is not proven. */
        unproven: z.optional(z.string()),
      }),
    ),
    closed_accounts: z.optional(z.array(accountState)),
    more: z.nullable(z.number()),
  }),
  async run(context, { state, types, limit = 50, landed, not_landed }) {
    const { store } = context;
    const active = TASK_STATES.filter((s) => s !== "done" && s !== "failed");
    const ended = ["failed", "cancelled", "done"] as const;
    const isAsked = landed === true || not_landed === true;
    if (landed && not_landed) {
      throw new VivError("INVALID", "choose one of --landed and --not-landed.");
    }
    if (isAsked && state?.some((one) => one !== "done")) {
      throw new VivError("INVALID", "only done tasks land; leave --state out.");
    }
    const wanted = isAsked ? (["done"] as const) : state;
    const words = [...new Set<TaskWord>(wanted ?? [...active.reverse(), ...ended])];
    const landings = await landingsIn(store, isAsked);
    const isWanted = (id: string) =>
      !isAsked ||
      (landed ? landings?.stateOf(id) === "landed" : landings?.isNotLanded(id) === true);
    const tasks: TaskSummary[] = [];
    const { config } = context.here;
    const asksProof = (type: string) => doneWhenOf(config, { type, task: null }) !== undefined;
    for (const word of words) {
      const left = limit - tasks.length;
      if (left <= 0) break;
      const most = isAsked ? undefined : left;
      const query = { types, sorted: true, asksProof, limit: most, ...lying(word) };
      for await (const task of store.list(query)) {
        if (tasks.length >= limit) break;
        if (isWanted(task.id)) tasks.push(task);
      }
    }
    const place = (task: TaskSummary) => words.indexOf(wordOf(task));
    tasks.sort((a, b) => place(a) - place(b) || rank(a) - rank(b));
    const counts = countsInWords(await store.counts());
    const all = words.reduce((sum, word) => sum + counts[word], 0);
    const isFull = tasks.length >= limit;
    // Null with a filter: only opening every file would give the number.
    const more = !isFull ? 0 : types || isAsked ? null : Math.max(0, all - tasks.length);
    const accounts = await accountsInUse(context);
    return {
      run_id: store.runId,
      run_dir: store.location,
      counts,
      ...pausedBy(await store.paused()),
      ...pausedWorkers(await store.workers()),
      tasks: tasks.map(({ cancelled, ...task }) => ({
        ...task,
        state: wordOf({ state: task.state, cancelled }),
        ...closedUntil(task, accounts),
        landing: landings?.stateOf(task.id),
      })),
      ...closedAccounts(accounts),
      more,
    };
  },
});

/** Where tasks of that word lie. */
export function lying(word: TaskWord): Pick<ListQuery, "states" | "cancelled"> {
  if (word === "cancelled" || word === "failed") {
    return { states: ["failed"], cancelled: word === "cancelled" };
  }
  return { states: [word] };
}

/** Only while it is. */
function pausedBy(paused: Pause | null): { paused?: Pause } {
  return paused === null ? {} : { paused };
}

function pausedWorkers(workers: readonly WorkerView[]) {
  const paused_workers = workers.flatMap(({ name, paused }) => (paused ? { name, paused } : []));
  return paused_workers.length === 0 ? {} : { paused_workers };
}

export async function workersOf(store: Store) {
  const workers = await store.workers();
  return workers.map(({ heartbeatAge: heartbeat_age, ...worker }) => ({
    ...worker,
    heartbeat_age,
  }));
}

/** As the queue gives out the tasks that are shown. */
function rank({ state, priority }: TaskSummary): number {
  const isQueued = state === "pending" || state === "waiting";
  return isQueued ? PRIORITIES.indexOf(priority as Priority) : 0;
}

/** Null: until a person opens it. */
function closedUntil(
  { state, type }: TaskSummary,
  { of }: AccountsInUse,
): { account_closed_until?: string | null } {
  const account = state === "pending" && type !== null ? of(type) : null;
  if (account === null || account.state === "open") return {};
  return { account_closed_until: account.until };
}

/** The first keys of an answer about one task. */
export const taskHead = {
  ...{ id: z.string(), type: z.nullable(z.string()) },
  ...{ state: anyState, since: z.string() },
};

export const show = defineRunOperation({
  name: "show",
  summary: "everything about one task",
  access: "read",
  input: z.strictObject({ id: taskId }),
  output: z.object({
    ...taskHead,
    worker: z.optional(z.string()),
    token: z.optional(z.string()),
    reason: z.optional(z.string()),
    task: z.nullable(taskFile),
    history: z.array(historyRecord),
    ledger: z.array(taskFile),
    proof: z.optional(taskFile as never as z.ZodMiniType<Proof>),
    landing: z.optional(taskFile as never as z.ZodMiniType<LandingFact>),
    /** Why its work is not proven. */
    unproven: z.optional(z.string()),
  }),
  async run(context, { id }) {
    const { store } = context;
    const view = await mustShow(store, id);
    const ledger: Record<string, unknown>[] = [];
    const created = view.task?.created_at;
    const since = typeof created === "string" ? created.slice(0, 10) : undefined;
    for await (const line of store.ledger({ task: id, since })) ledger.push(line);
    const { cancelled, ...rest } = view;
    const state = wordOf({ state: view.state, cancelled });
    const task = view.task && taskJson(view.task);
    const { landingOf } = await import("../merge/facts.ts");
    const landing = (await landingOf(store, view)) ?? undefined;
    const unproven = (await whyUnprovenNow(context, view)) ?? undefined;
    const proof = (await store.proof(id)) ?? undefined;
    return { ...rest, state, task, ledger, proof, unproven, landing };
  },
});

interface Node {
  id: string;
  type: string | null;
  state: z.output<typeof anyState> | null;
  landing?: LandingState;
  children: Node[];
}

const node: z.ZodMiniType<Node> = z.object({
  id: z.string(),
  type: z.nullable(z.string()),
  state: z.nullable(anyState),
  landing: z.optional(z.enum(LANDING_STATES)),
  children: z.array(z.lazy(() => node)),
});

/** By the ledger, which has the parent of every task that was enqueued with us. */
export const tree = defineRunOperation({
  name: "tree",
  summary: "tasks and the tasks they enqueued",
  access: "read",
  input: z.strictObject({
    id: text("id of the task (only its family)"),
    limit: z.optional(
      z.number().check(z.gte(1)).check(z.describe("at most this many (default: 500 tasks)")),
    ),
  }),
  output: z.object({ families: z.array(node), more: z.number() }),
  async run({ store }, { id, limit = 500 }) {
    const { parentOf, typeOf, childrenOf } = await readFamilies(store);
    if (id !== undefined && !typeOf.has(id)) await mustShow(store, id);
    const members = id === undefined ? [...childrenOf.keys()] : [id];
    const roots = new Set(members.map((one) => eldest(one, parentOf)));
    const landings = await landingsIn(store);
    let left = limit;
    let more = 0;
    const families: Node[] = [];
    // Not recursive: a chain of tasks may be longer than the engine's stack.
    const open = [...roots].reverse().map((root) => ({ id: root, siblings: families }));
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (left-- <= 0) {
        more++;
        continue;
      }
      const children: Node[] = [];
      const view = await store.show(next.id);
      const state = view && wordOf(view);
      const landing = landings?.stateOf(next.id);
      const type = typeOf.get(next.id) ?? null;
      next.siblings.push({ id: next.id, type, state, landing, children });
      for (const child of (childrenOf.get(next.id) ?? []).toReversed()) {
        open.push({ id: child, siblings: children });
      }
    }
    return { families, more };
  },
});

async function readFamilies(store: Store) {
  const parentOf = new Map<string, string>();
  const typeOf = new Map<string, string>();
  const childrenOf = new Map<string, string[]>();
  for await (const { event, task, type, parent } of store.ledger()) {
    if ((event !== "enqueued" && event !== "adopted") || task === undefined) continue;
    if (type) typeOf.set(task, type);
    if (!parent || parentOf.has(task) || parent === task) continue;
    parentOf.set(task, parent);
    const siblings = childrenOf.get(parent);
    if (siblings) siblings.push(task);
    else childrenOf.set(parent, [task]);
  }
  return { parentOf, typeOf, childrenOf };
}

/** A parent is any text, so there may be a ring: the search ends where it began. */
function eldest(id: string, parentOf: ReadonlyMap<string, string>): string {
  const seen = new Set([id]);
  let at = id;
  for (let up = parentOf.get(at); up !== undefined && !seen.has(up); up = parentOf.get(at)) {
    seen.add(up);
    at = up;
  }
  return at;
}

export const status = defineRunOperation({
  name: "status",
  summary: "the run's checkpoint, its counts and workers; or write a new checkpoint",
  access: "write",
  input: z.strictObject({
    summary: text("progress so far"),
    next_step: text("next step"),
    next_task_id: z.optional(z.string().check(z.describe('next task; "" for none'))),
    risk: text("known risk"),
    metadata: text("a JSON object, merged into the metadata"),
  }),
  changes: (given) => Object.values(given).some((value) => value !== undefined),
  output: z.object({
    run_id: z.string(),
    run_dir: z.string(),
    counts,
    paused: z.optional(pause),
    workers: z.array(
      z.looseObject({
        name: z.string(),
        process: z.string(),
        heartbeat_age: z.nullable(z.number()),
        paused: z.nullable(pause),
        types: z.nullable(z.array(z.string())),
        claims: z.array(z.string()),
        note: z.string(),
      }),
    ),
    closed_accounts: z.optional(z.array(accountState)),
    workspaces: z.optional(z.object({ bytes: z.number(), limit: z.optional(z.number()) })),
    /** Why tasks with workspaces are not claimed. */
    held_workspaces: z.optional(z.array(z.string())),
    status: z.nullable(taskFile),
  }),
  async run(context, { metadata, next_task_id, ...fields }) {
    const { store } = context;
    const update = {
      ...fields,
      next_task_id: next_task_id === "" ? null : next_task_id,
      metadata: metadata === undefined ? undefined : parseUserObject(metadata, "metadata"),
    };
    const given = Object.fromEntries(Object.entries(update).filter(([, v]) => v !== undefined));
    if (Object.keys(given).length > 0) await store.writeStatus(given);
    return {
      run_id: store.runId,
      run_dir: store.location,
      counts: countsInWords(await store.counts()),
      ...pausedBy(await store.paused()),
      workers: await workersOf(store),
      ...closedAccounts(await accountsInUse(context)),
      ...(await workspacesNow(context)),
      status: await store.readStatus(),
    };
  },
});

/** The disk is looked at only where a route has workspaces. */
async function workspacesNow(context: RunContext) {
  const { config } = context.here;
  if (config === undefined) return {};
  const { hasWorkspaces, limitsSection } = await import("../work/config-route.ts");
  if (!hasWorkspaces(config)) return {};
  const { heldBackIn } = await import("../work/held-back.ts");
  const use = await context.use(workspaceUsePort);
  const held = heldBackIn(config, context.now, async () => use);
  await held?.refresh();
  const reasons = new Set([...(held?.all.values() ?? [])].map(({ text }) => text));
  const limit = config.section(limitsSection).workspaceBytes;
  return {
    workspaces: { bytes: use.space().used, limit },
    held_workspaces: reasons.size > 0 ? [...reasons] : undefined,
  };
}

export type WatchEvent =
  | Exclude<Change, { kind: "task" }>
  | (Omit<TaskChange, "to" | "cancelled"> & { to: TaskWord | null })
  | { kind: "counts"; counts: Counts }
  | { kind: "unattended"; id: string };

type TaskChange = Extract<Change, { kind: "task" }>;

function inWords(change: Change): WatchEvent {
  if (change.kind !== "task") return change;
  const { cancelled, ...rest } = change;
  return { ...rest, to: cancelled ? "cancelled" : rest.to };
}

export const watch = defineRunStream({
  name: "watch",
  summary: "changes as they happen, until Ctrl-C",
  access: "read",
  input: z.strictObject({ until_idle: flag("exit when the run has nothing left to do") }),
  event: z.looseObject({
    kind: z.enum(["counts", "task", "ledger", "missed", "unattended"]),
  }) as never as z.ZodMiniType<WatchEvent>,
  output: z.object({}),
  async *stream(context, { until_idle }) {
    const stop = new AbortController();
    const signal = AbortSignal.any([context.signal, stop.signal]);
    const changes = context.store.watch({ signal })[Symbol.asyncIterator]();
    // The watch begins before the counts are read, so that no change falls between the two.
    let next = changes.next();
    const counts = countsInWords(await context.store.counts());
    yield { kind: "counts" as const, counts };
    if (until_idle && (await isIdle(context))) stop.abort();
    let isTold = false;
    for (;;) {
      // The end of a worker is no change of a task, but may leave no worker for the tasks that are there.
      if (until_idle && (await isSlow(next))) {
        if (await isIdle(context)) stop.abort();
        const id = isTold ? null : await unattended(context);
        if (id !== null) {
          isTold = true;
          yield { kind: "unattended" as const, id };
        }
        continue;
      }
      const { value: change, done } = await next;
      if (done) return {} as Nothing;
      next = changes.next();
      yield inWords(change);
      if (until_idle && change.kind === "task" && (await isIdle(context))) stop.abort();
    }
  },
});

const LOOK_MS = 2_000;

async function isSlow(promise: Promise<unknown>): Promise<boolean> {
  const late = new AbortController();
  const isFirst = Promise.race([
    promise.then(() => false),
    setTimeout(LOOK_MS, true, { signal: late.signal }).catch(() => false),
  ]);
  return isFirst.finally(() => late.abort());
}

/** A pending task that no running worker takes: the wait for it would be silent, and without an end. */
async function unattended({ store }: RunContext): Promise<string | null> {
  const workers = await store.workers();
  if (workers.some(({ claims }) => claims.length > 0)) return null;
  // A registered one of another host counts by its heartbeats.
  const running = workers.filter((one) => one.alive && one.process !== "none");
  if (running.some(({ types }) => types === null)) return null;
  const taken = new Set(running.flatMap(({ types }) => types ?? []));
  for await (const { id, type } of store.list({ states: ["pending"], limit: LOOKED_AT })) {
    if (type === null || !taken.has(type)) return id;
  }
  return null;
}

const LOOKED_AT = 200;

async function isIdle({ store }: RunContext): Promise<boolean> {
  const counts = await store.counts();
  if (counts.claimed + counts.waiting > 0) return false;
  if (counts.pending > 0) {
    for await (const { id } of store.list({ states: ["pending"] })) {
      if (!isName(id) || !(await isLeft(store, id))) return false;
    }
  }
  // A result in waste/ that fails its proof returns its task.
  return (await store.extension(WORK_SITE)?.hasUnprovenResults()) !== true;
}
