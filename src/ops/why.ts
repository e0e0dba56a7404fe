import * as z from "zod/mini";
import { REASON_CODES } from "../policy/why.ts";
import { whyTask } from "../services/why.ts";
import { accountsInUse } from "./accounts-in-use.ts";
import { defineOp } from "./op.ts";
import { anyState } from "./schemas.ts";

export const why = defineOp({
  name: "why",
  summary: "why a task is not moving, and what would change that",
  access: "read",
  input: z.strictObject({ id: z.string().check(z.describe("the task")) }),
  output: z.object({
    id: z.string(),
    state: anyState,
    since: z.string(),
    reasons: z.array(
      z.object({ code: z.enum(REASON_CODES), text: z.string(), command: z.optional(z.string()) }),
    ),
  }),
  async run(context, { id }) {
    const { of } = await accountsInUse(context);
    return whyTask(context.store, id, context.now(), of);
  },
});
