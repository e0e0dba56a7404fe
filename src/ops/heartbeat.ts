import * as z from "zod";
import { defineOp } from "./op.ts";

export const heartbeat = defineOp({
  name: "heartbeat",
  summary: "show that a worker is alive",
  access: "write",
  input: z.strictObject({
    worker: z.string().describe("the worker's name"),
    note: z.string().optional().describe("what it is doing"),
  }),
  output: z.object({ worker: z.string() }),
  async run({ store }, { worker, note }) {
    await store.heartbeat(worker, note ? { note } : {});
    return { worker };
  },
});
