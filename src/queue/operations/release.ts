import * as z from "zod/mini";
import { defineOp } from "../../operation/op.ts";
import { claimRef, ended, endedOutput, note } from "../../operation/schemas.ts";

export const release = defineOp({
  name: "release",
  summary: "give a claimed task back untouched",
  access: "write",
  input: z.strictObject({ ...claimRef, note }),
  output: ended,
  async run({ store }, { note, token, ...ref }) {
    return endedOutput(
      await store.release({ ...ref, ...(token ? { token } : {}) }, note ? { note } : {}),
    );
  },
});
