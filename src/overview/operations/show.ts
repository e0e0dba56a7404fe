import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { defineRunOperation } from "../../queue/operation.ts";
import { anyState, historyRecord, taskFile } from "../../queue/schemas.ts";

export const show = defineRunOperation({
  name: "show",
  summary: "everything known about one task",
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
    return { ...view, ledger, ...(proof ? { proof: { ...proof } } : {}) };
  },
});
