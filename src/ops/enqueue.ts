import * as z from "zod";
import { taskSpec } from "../model/spec.ts";
import { defineOp } from "./op.ts";

const durability = z
  .enum(["safe", "fast"])
  .optional()
  .describe("safe (default): survives power loss; fast: survives the process only");
const ifAbsent = z.boolean().optional().describe("an id that is there already is no error");

export const enqueue = defineOp({
  name: "enqueue",
  summary: "add a task, or a stream of them",
  access: "create",
  input: taskSpec.omit({ extra: true }).extend({ durability, if_absent: ifAbsent }),
  output: z.object({ id: z.string(), state: z.string(), created: z.boolean() }),
  async run({ store }, { durability, if_absent, ...spec }) {
    return store.enqueue(spec, {
      ...(durability ? { durability } : {}),
      ...(if_absent ? { ifAbsent: true } : {}),
    });
  },
});
