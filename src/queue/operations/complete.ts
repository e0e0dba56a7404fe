import * as z from "zod/mini";
import { note } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { claimRef, ended, endedOutput } from "../schemas.ts";

export const complete = defineRunOperation({
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
