import * as z from "zod/mini";
import { note } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { claimRef, ended, endedOutput } from "../schemas.ts";

export const release = defineRunOperation({
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
