import * as z from "zod/mini";
import { parseTime } from "../../base/duration.ts";
import { defineOp } from "../../operation/op.ts";
import { claimRef, ended, endedOutput, failureOutcome, note } from "../../operation/schemas.ts";

export const fail = defineOp({
  name: "fail",
  summary: "end an attempt: it failed (and is retried while max_attempts allows)",
  access: "write",
  input: z.strictObject({
    ...claimRef,
    note,
    outcome: z.optional(failureOutcome.check(z.describe("what kind of failure (default failed)"))),
    fingerprint: z.optional(
      z.string().check(z.describe("failures with the same one are the same")),
    ),
    retry_at: z.optional(z.string().check(z.describe("if it is retried, not before this time"))),
    final: z.optional(
      z.boolean().check(z.describe("to failed/ at once, whatever max_attempts says")),
    ),
  }),
  output: ended,
  async run({ store, now }, { id, worker, token, retry_at, ...report }) {
    const ref = { id, worker, ...(token ? { token } : {}) };
    return endedOutput(
      await store.fail(ref, {
        ...(report.note ? { note: report.note } : {}),
        ...(report.outcome ? { outcome: report.outcome } : {}),
        ...(report.fingerprint ? { fingerprint: report.fingerprint } : {}),
        ...(report.final ? { final: true } : {}),
        ...(retry_at ? { retryAt: parseTime(retry_at, now(), "retry_at") } : {}),
      }),
    );
  },
});
