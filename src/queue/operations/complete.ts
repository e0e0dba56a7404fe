import * as z from "zod/mini";
import { defineOp } from "../../operation/op.ts";
import { claimRef, ended, endedOutput, note } from "../../operation/schemas.ts";

export const complete = defineOp({
  name: "complete",
  summary: "end an attempt: the task is done",
  access: "write",
  input: z.strictObject({ ...claimRef, note }),
  output: ended,
  async run({ store }, { note, token, ...ref }) {
    return endedOutput(
      await store.complete({ ...ref, ...(token ? { token } : {}) }, note ? { note } : {}),
    );
  },
});
