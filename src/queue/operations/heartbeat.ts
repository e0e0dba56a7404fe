import * as z from "zod/mini";
import { text } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";

export const heartbeat = defineRunOperation({
  name: "heartbeat",
  summary: "show that a worker is alive",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("the worker's name")),
    note: text("what it is doing"),
  }),
  output: z.object({ worker: z.string() }),
  async run({ store }, { worker, note }) {
    await store.heartbeat(worker, note ? { note } : {});
    return { worker };
  },
});
