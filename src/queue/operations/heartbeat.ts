import * as z from "zod/mini";
import { defineOp } from "../../operation/op.ts";

export const heartbeat = defineOp({
  name: "heartbeat",
  summary: "show that a worker is alive",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("the worker's name")),
    note: z.optional(z.string().check(z.describe("what it is doing"))),
  }),
  output: z.object({ worker: z.string() }),
  async run({ store }, { worker, note }) {
    await store.heartbeat(worker, note ? { note } : {});
    return { worker };
  },
});
