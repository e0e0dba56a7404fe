import * as z from "zod/mini";
import { list } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { taskFile } from "../schemas.ts";

export const claim = defineRunOperation({
  name: "claim",
  summary: "take the next task for a worker",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("the worker's name")),
    types: list("only tasks of these types"),
    max: z.optional(z.int().check(z.gte(1), z.describe("up to so many (default 1)"))),
  }),
  output: z.object({
    claims: z.array(
      z.object({ task: taskFile, worker: z.string(), token: z.string(), attempt: z.number() }),
    ),
  }),
  async run({ store }, { worker, types, max }) {
    const claims = await store.claim({
      worker,
      ...(types ? { types } : {}),
      ...(max ? { max } : {}),
    });
    // Nothing to take may mean that nobody has looked after the run for a while.
    if (claims.length === 0 && (await store.sweep()).promoted > 0) {
      const again = { worker, ...(types ? { types } : {}), ...(max ? { max } : {}) };
      return { claims: await store.claim(again) };
    }
    return { claims };
  },
});
