import * as z from "zod/mini";
import { flag } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { taskSpec } from "../spec.ts";

export const durability = z.optional(
  z
    .enum(["safe", "fast"])
    .check(z.describe("safe (default): survives power loss; fast: survives the process only")),
);
export const ifAbsent = flag("an id that is there already is no error");

export const enqueue = defineRunOperation({
  name: "enqueue",
  summary: "add a task, or a stream of them",
  access: "create",
  input: z.extend(z.omit(taskSpec, { extra: true }), { durability, if_absent: ifAbsent }),
  output: z.object({
    id: z.string(),
    state: z.string(),
    created: z.boolean(),
    warnings: z.optional(z.array(z.string())),
  }),
  async run({ store }, { durability, if_absent, ...spec }) {
    return store.enqueue(spec, {
      ...(durability ? { durability } : {}),
      ...(if_absent ? { ifAbsent: true } : {}),
    });
  },
});
