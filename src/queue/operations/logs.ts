import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { flag } from "../../operation/fields.ts";
import { defineRunStream } from "../operation.ts";

const receipt = z.object({ attempt: z.number(), worker: z.string(), receipt: z.string() });

export const logs = defineRunStream({
  name: "logs",
  summary: "what a task wrote to its log",
  access: "read",
  input: z.strictObject({
    id: z.string().check(z.describe("the task")),
    follow: flag("go on while the task is at work"),
  }),
  event: z.object({ text: z.string() }),
  output: z.object({
    id: z.string(),
    /** Attempts that the warden ended, and where that is written. */
    receipts: z.array(receipt),
  }),
  async *stream({ store, signal }, { id, follow }) {
    if ((await store.show(id)) === null) {
      const message = `there is no task ${id} in this run; see: viv ls`;
      throw new VivError("TASK_NOT_FOUND", message, { id });
    }
    for await (const text of store.log(id, { follow: follow === true, signal })) yield { text };
    const receipts = (await store.attemptsOf(id)).flatMap(({ attempt, worker, receipt: path }) =>
      path === undefined ? [] : [{ attempt, worker, receipt: path }],
    );
    return { id, receipts };
  },
});
