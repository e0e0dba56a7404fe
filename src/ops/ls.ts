import * as z from "zod";
import { TASK_STATES } from "../model/states.ts";
import type { TaskSummary } from "../store/store.ts";
import { defineOp } from "./op.ts";
import { counts, taskState } from "./schemas.ts";

export const ls = defineOp({
  name: "ls",
  summary: "list tasks and how many there are",
  access: "read",
  input: z.strictObject({
    state: z.array(taskState).optional().describe("only these states"),
    types: z.array(z.string()).optional().describe("only these types"),
    limit: z.number().int().min(0).optional().describe("at most so many (default 50)"),
  }),
  output: z.object({
    run_id: z.string(),
    run_dir: z.string(),
    counts,
    tasks: z.array(
      z.object({
        id: z.string(),
        type: z.string().nullable(),
        state: taskState,
        worker: z.string().optional(),
        since: z.string(),
        priority: z.string().optional(),
      }),
    ),
  }),
  async run({ store }, { state, types, limit }) {
    const order = TASK_STATES.filter((s) => s !== "done");
    const states = state ?? [...order.filter((s) => s !== "failed").reverse(), "failed", "done"];
    const tasks: TaskSummary[] = [];
    const query = { states, limit: limit ?? 50, ...(types ? { types } : {}) };
    for await (const task of store.list(query)) tasks.push(task);
    return { run_id: store.runId, run_dir: store.location, counts: await store.counts(), tasks };
  },
});
