import * as z from "zod/mini";
import { parseTime } from "../../base/duration.ts";
import { flag, list, note, text } from "../../operation/fields.ts";
import { defineRunOperation } from "../operation.ts";
import { claimRef, ended, endedOutput, failureOutcome, taskFile } from "../schemas.ts";

export const claim = defineRunOperation({
  name: "claim",
  summary: "take the next task for a worker",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("the worker's name")),
    types: list("only tasks of these types"),
    max: z.optional(z.int().check(z.gte(1), z.describe("maximum number of tasks (default 1)"))),
  }),
  output: z.object({
    claims: z.array(
      z.object({ task: taskFile, worker: z.string(), token: z.string(), attempt: z.number() }),
    ),
  }),
  async run({ store }, { worker, types, max }) {
    const wanted = { worker, types, max };
    const claims = await store.claim(wanted);
    // Nothing to take may mean that nobody has looked after the run for a while.
    if (claims.length === 0 && (await store.sweep()).promoted > 0) {
      return { claims: await store.claim(wanted) };
    }
    return { claims };
  },
});

export const complete = defineRunOperation({
  name: "complete",
  summary: "end an attempt: the task is done",
  access: "write",
  input: z.strictObject({ ...claimRef, note }),
  output: ended,
  async run({ store }, { note, token, ...ref }) {
    return endedOutput(await store.complete({ ...ref, token: token || undefined }, { note }));
  },
});

export const fail = defineRunOperation({
  name: "fail",
  summary: "end an attempt: it failed (retried while max_attempts allows)",
  access: "write",
  input: z.strictObject({
    ...claimRef,
    note,
    outcome: z.optional(failureOutcome.check(z.describe("kind of failure (default failed)"))),
    fingerprint: text("equal fingerprints mean the same failure"),
    retry_at: text("earliest retry"),
    final: flag("move to failed/ at once, regardless of max_attempts"),
  }),
  output: ended,
  async run({ store, now }, { id, worker, token, retry_at, ...report }) {
    const ref = { id, worker, token: token || undefined };
    return endedOutput(
      await store.fail(ref, {
        note: report.note || undefined,
        outcome: report.outcome,
        fingerprint: report.fingerprint || undefined,
        final: report.final,
        retryAt: retry_at ? parseTime(retry_at, now(), "retry_at") : undefined,
      }),
    );
  },
});

export const release = defineRunOperation({
  name: "release",
  summary: "return a claimed task unchanged",
  access: "write",
  input: z.strictObject({ ...claimRef, note }),
  output: ended,
  async run({ store }, { note, token, ...ref }) {
    return endedOutput(await store.release({ ...ref, token: token || undefined }, { note }));
  },
});

export const heartbeat = defineRunOperation({
  name: "heartbeat",
  summary: "record that a worker is alive",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("the worker's name")),
    note: text("note about its work"),
  }),
  output: z.object({ worker: z.string() }),
  async run({ store }, { worker, note }) {
    await store.heartbeat(worker, { note });
    return { worker };
  },
});
