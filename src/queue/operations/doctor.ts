import * as z from "zod/mini";
import { flag } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { FINDING_CODES } from "../store.ts";

export const doctor = defineRunOperation({
  name: "doctor",
  summary: "check every invariant of the run, and repair it with --fix",
  access: "write",
  input: z.strictObject({
    fix: flag("repair what was found; never deletes work"),
  }),
  output: z.object({
    healthy: z.boolean(),
    findings: z.array(
      z.object({
        code: z.enum(FINDING_CODES),
        path: z.string(),
        message: z.string(),
        repair: z.string(),
        fixed: z.boolean(),
      }),
    ),
    checked: z.record(z.string(), z.number()),
  }),
  async run({ store }, { fix }) {
    const report = await store.doctor({ fix: fix === true });
    // A torn line is history: readers pass over it, and nothing is to be done about it.
    const open = report.findings.filter((f) => !f.fixed && f.code !== "torn_line");
    return { healthy: open.length === 0, ...report };
  },
});
