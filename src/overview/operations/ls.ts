import * as z from "zod/mini";
import { accountState } from "../../engines/accounts/schema.ts";
import {
  type AccountsInUse,
  accountsInUse,
  closedAccounts,
} from "../../engines/operations/accounts-in-use.ts";
import { list } from "../../operation/fields.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { counts, taskState } from "../../queue/schemas.ts";
import { TASK_STATES } from "../../queue/states.ts";
import type { TaskSummary } from "../../queue/store.ts";
import { PRIORITIES, type Priority } from "../../queue/task.ts";

export const ls = defineRunOperation({
  name: "ls",
  summary: "list tasks and how many there are",
  access: "read",
  input: z.strictObject({
    state: z.optional(z.array(taskState).check(z.describe("only these states"))),
    types: list("only these types"),
    limit: z.optional(z.int().check(z.gte(0)).check(z.describe("at most so many (default 50)"))),
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
    const query = { states, limit: limit ?? 50, ...(types ? { types } : {}) };
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
