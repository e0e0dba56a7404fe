import * as z from "zod/mini";
import { parseTime } from "../../base/duration.ts";
import { flag, note, text } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { claimRef, ended, endedOutput, failureOutcome } from "../schemas.ts";

export const fail = defineRunOperation({
  name: "fail",
  summary: "end an attempt: it failed (and is retried while max_attempts allows)",
  access: "write",
  input: z.strictObject({
    ...claimRef,
    note,
    outcome: z.optional(failureOutcome.check(z.describe("what kind of failure (default failed)"))),
    fingerprint: text("failures with the same one are the same"),
    retry_at: text("if it is retried, not before this time"),
    final: flag("to failed/ at once, whatever max_attempts says"),
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
