import * as z from "zod/mini";
import { defineRunOperation } from "../operation.ts";

export const init = defineRunOperation({
  name: "init",
  summary: "make a run directory",
  access: "create",
  input: z.strictObject({}),
  output: z.object({ run_id: z.string(), run_dir: z.string() }),
  async run({ store }) {
    return { run_id: store.runId, run_dir: store.location };
  },
});
