import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import {
  type AccountsInUse,
  accountsInUse,
  closedAccounts,
} from "../../engines/accounts/in-use.ts";
import { accountState } from "../../engines/accounts/schema.ts";
import { engineFor, routedEnginesSection } from "../../engines/config-engine.ts";
import { budgetSection } from "../../engines/costs/config-costs.ts";
import { gatePort } from "../../gate/operations.ts";
import { list, text } from "../../operation/fields.ts";
import { defineRunOperation, type RunContext } from "../../queue/operation.ts";
import { anyState, counts, historyRecord, taskFile, taskState } from "../../queue/schemas.ts";
import { TASK_STATES } from "../../queue/states.ts";
import type { Store, TaskSummary } from "../../queue/store.ts";
import { PRIORITIES, type Priority } from "../../queue/task.ts";
import { limitsSection } from "../../work/config-route.ts";
import { REASON_CODES } from "../../work/why.ts";

export const ls = defineRunOperation({
  name: "ls",
  summary: "list tasks, with counts by state",
  access: "read",
  input: z.strictObject({
    state: z.optional(z.array(taskState).check(z.describe("only these states"))),
    types: list("only these types"),
    limit: z.optional(
      z.int().check(z.gte(0)).check(z.describe("maximum number of tasks (default 50)")),
    ),
  }),
  output: z.object({
    run_id: z.string(),
    run_dir: z.string(),
    counts,
    tasks: z.array(
      z.object({
        id: z.string(),
        type: z.nullable(z.string()),
        state: taskState,
        worker: z.optional(z.string()),
        since: z.string(),
        priority: z.optional(z.string()),
        account_closed_until: z.optional(z.nullable(z.string())),
      }),
    ),
    closed_accounts: z.optional(z.array(accountState)),
    more: z.nullable(z.number()),
  }),
  async run(context, { state, types, limit }) {
    const { store } = context;
    const order = TASK_STATES.filter((s) => s !== "done");
    const states = state ?? [...order.filter((s) => s !== "failed").reverse(), "failed", "done"];
    const tasks: TaskSummary[] = [];
    const query = { states, limit: limit ?? 50, types };
    for await (const task of store.list(query)) tasks.push(task);
    // Within a state in the order of the queue: by priority, then what has been there longest.
    const rank = ({ priority }: TaskSummary) => PRIORITIES.indexOf(priority as Priority);
    tasks.sort(
      (a, b) =>
        states.indexOf(a.state) - states.indexOf(b.state) ||
        rank(a) - rank(b) ||
        (a.since < b.since ? -1 : 1),
    );
    const counts = await store.counts();
    const all = states.reduce((sum, s) => sum + counts[s], 0);
    const isFull = tasks.length >= query.limit;
    // With a filter by type nobody knows without opening every file; then it is null.
    const more = !isFull ? 0 : types ? null : Math.max(0, all - tasks.length);
    const accounts = await accountsInUse(context);
    return {
      run_id: store.runId,
      run_dir: store.location,
      counts,
      tasks: tasks.map((task) => ({ ...task, ...closedUntil(task, accounts) })),
      ...closedAccounts(accounts),
      more,
    };
  },
});

/** Null: until a person opens it. */
function closedUntil(
  { state, type }: TaskSummary,
  { of }: AccountsInUse,
): { account_closed_until?: string | null } {
  const account = state === "pending" && type !== null ? of(type) : null;
  if (account === null || account.state === "open") return {};
  return { account_closed_until: account.until };
}

export const show = defineRunOperation({
  name: "show",
  summary: "everything about one task",
  access: "read",
  input: z.strictObject({ id: z.string().check(z.describe("the task")) }),
  output: z.object({
    id: z.string(),
    state: anyState,
    since: z.string(),
    worker: z.optional(z.string()),
    token: z.optional(z.string()),
    reason: z.optional(z.string()),
    task: z.nullable(taskFile),
    history: z.array(historyRecord),
    ledger: z.array(taskFile),
    proof: z.optional(taskFile),
  }),
  async run({ store }, { id }) {
    const view = await store.show(id);
    if (view === null) {
      throw new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, {
        id,
      });
    }
    const ledger: Record<string, unknown>[] = [];
    const since = view.task?.created_at;
    const query =
      typeof since === "string" ? { task: id, since: since.slice(0, 10) } : { task: id };
    for await (const line of store.ledger(query)) ledger.push(line);
    const proof = await store.proof(id);
    return { ...view, ledger, proof: proof ? { ...proof } : undefined };
  },
});

interface Node {
  id: string;
  type: string | null;
  state: z.output<typeof anyState> | null;
  children: Node[];
}

const node: z.ZodMiniType<Node> = z.object({
  id: z.string(),
  type: z.nullable(z.string()),
  state: z.nullable(anyState),
  children: z.array(z.lazy(() => node)),
});

/** Who enqueued whom: the ledger has it for every task that was enqueued with us. */
export const tree = defineRunOperation({
  name: "tree",
  summary: "tasks and the tasks they enqueued",
  access: "read",
  input: z.strictObject({
    id: text("only the family of this task"),
    limit: z.optional(
      z.number().check(z.gte(1)).check(z.describe("maximum number of tasks (default 500)")),
    ),
  }),
  output: z.object({ families: z.array(node), more: z.number() }),
  async run({ store }, { id, limit = 500 }) {
    const { parentOf, typeOf, childrenOf } = await readFamilies(store);
    const roots =
      id === undefined ? rootsWithChildren(parentOf, childrenOf) : [eldest(id, parentOf)];
    if (id !== undefined && !typeOf.has(id) && (await store.show(id)) === null) {
      throw new VivError("TASK_NOT_FOUND", `there is no task ${id} in this run; see: viv ls`, {
        id,
      });
    }
    let left = limit;
    let more = 0;
    const families: Node[] = [];
    // A stack of its own: a chain of tasks may be longer than the engine's.
    const open: { id: string; siblings: Node[] }[] = roots
      .map((root) => ({ id: root, siblings: families }))
      .reverse();
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (left-- <= 0) {
        more++;
        continue;
      }
      const children: Node[] = [];
      const state = (await store.show(next.id))?.state ?? null;
      next.siblings.push({ id: next.id, type: typeOf.get(next.id) ?? null, state, children });
      for (const child of (childrenOf.get(next.id) ?? []).toReversed()) {
        open.push({ id: child, siblings: children });
      }
    }
    return { families, more };
  },
});

interface Families {
  parentOf: Map<string, string>;
  typeOf: Map<string, string>;
  childrenOf: Map<string, string[]>;
}

async function readFamilies(store: Store): Promise<Families> {
  const parentOf = new Map<string, string>();
  const typeOf = new Map<string, string>();
  const childrenOf = new Map<string, string[]>();
  for await (const line of store.ledger()) {
    if ((line.event !== "enqueued" && line.event !== "adopted") || line.task === undefined)
      continue;
    if (line.type) typeOf.set(line.task, line.type);
    if (!line.parent || parentOf.has(line.task) || line.parent === line.task) continue;
    parentOf.set(line.task, line.parent);
    const siblings = childrenOf.get(line.parent) ?? [];
    siblings.push(line.task);
    childrenOf.set(line.parent, siblings);
  }
  return { parentOf, typeOf, childrenOf };
}

function rootsWithChildren(
  parentOf: ReadonlyMap<string, string>,
  childrenOf: ReadonlyMap<string, string[]>,
): string[] {
  return [...new Set([...childrenOf.keys()].map((id) => eldest(id, parentOf)))];
}

/** A parent is only a word on a task, so there may be a ring: it ends where it began. */
function eldest(id: string, parentOf: ReadonlyMap<string, string>): string {
  const seen = new Set([id]);
  let at = id;
  for (let up = parentOf.get(at); up !== undefined && !seen.has(up); up = parentOf.get(at)) {
    seen.add(up);
    at = up;
  }
  return at;
}

export const why = defineRunOperation({
  name: "why",
  summary: "why a task is not moving, and the commands that would change it",
  access: "read",
  input: z.strictObject({ id: z.string().check(z.describe("the task")) }),
  output: z.object({
    id: z.string(),
    state: anyState,
    since: z.string(),
    reasons: z.array(
      z.object({ code: z.enum(REASON_CODES), text: z.string(), command: z.optional(z.string()) }),
    ),
  }),
  async run(context, { id }) {
    const { of } = await accountsInUse(context);
    const limit = context.here.config?.section(limitsSection).review;
    const { whyTask } = await import("../../work/why.ts");
    return whyTask(context.store, id, context.now(), {
      accountOf: of,
      budgetOf: await usedUpBudget(context),
      gateOf: await fullGate(context),
      reviewLimit: limit,
    });
  },
});

/** Looked at only where an engine is used. */
async function fullGate({ here, use }: RunContext) {
  const { config } = here;
  const routes = [...(config?.section(routedEnginesSection).values() ?? [])];
  const usesModels = routes.some(({ engine }) => engine);
  if (!config || !usesModels) return () => null;
  const { machine } = await use(gatePort);
  if (machine.room() !== 0) return () => null;
  const { max, holders, queue } = machine.view();
  if (max === null) return () => null; // it has just been lifted
  const full = { max, holders: holders.length, waiting: queue.length };
  return (type: string) => (engineFor(config, type) ? full : null);
}

/** The ledger is read only where a budget is set. */
async function usedUpBudget({ here, store, now }: RunContext) {
  const { config } = here;
  const budget = config?.section(budgetSection);
  if (!config || !budget || ![budget.run, budget.day].some(({ usd, tokens }) => usd ?? tokens))
    return () => null;
  const { SharedBudget } = await import("../../engines/costs/shared-budget.ts");
  const spending = new SharedBudget(store, now);
  await spending.refresh();
  return (type: string) => (engineFor(config, type) ? spending.usedUp(budget, type) : null);
}
