import * as z from "zod/mini";
import { parseWhen } from "../../base/when.ts";
import { count, flag, list, note, text } from "../../operation/fields.ts";
import { claimIn, tokenIn } from "../claim-mark.ts";
import { defineRunOperation, type RunContext } from "../operation.ts";
import { claimRef, ended, endedOutput, failureOutcome, pause, taskFile } from "../schemas.ts";
import type { ClaimRef } from "../store.ts";
import { taskJson } from "../task.ts";

/**
 * An empty token, as from an unset variable of a shell, is none. A handler's own is in its
 * environment.
 */
export function refOf(
  { store, here }: Pick<RunContext, "store" | "here">,
  { id, worker, token }: ClaimRef,
): ClaimRef {
  return { id, worker, token: token || tokenIn(here.env.VIV_CLAIM, id, store.location) };
}

export const claim = defineRunOperation({
  name: "claim",
  summary: "take the next task for a worker",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("name of a worker")),
    types: list("only tasks of these types"),
    max: count("at most this many (default: 1 task)"),
  }),
  output: z.object({
    claims: z.array(
      z.object({
        ...{ id: z.string(), type: z.string(), task: taskFile },
        ...{ worker: z.string(), token: z.string(), attempt: z.number() },
      }),
    ),
    /** Of each task in turn, where its result goes; null where it is no artifact, as in a pit. */
    artifacts: z.array(z.nullable(z.string())),
    /** Why nothing is claimed. */
    paused: z.optional(pause),
  }),
  async run({ store }, request) {
    let claims = await store.claim(request);
    // An empty queue may mean that the run was not swept for a while.
    if (claims.length === 0 && (await store.sweep()).promoted > 0) {
      claims = await store.claim(request);
    }
    const artifacts = claims.map(({ task }) => {
      const path = store.artifacts.pathOnThisHost(`${task.task_id}.md`);
      return path?.startsWith(`${store.folder}/artifacts/`) ? path : null;
    });
    const paused = (claims.length === 0 && (await store.paused())) || undefined;
    return {
      claims: claims.map((one) => ({ ...one, task: taskJson(one.task) })),
      artifacts,
      paused,
    };
  },
});

export const fail = defineRunOperation({
  name: "fail",
  summary: "end an attempt: it failed (retried while max_attempts allows)",
  access: "write",
  input: z.strictObject({
    ...claimRef,
    note,
    outcome: z.optional(failureOutcome.check(z.describe("kind of failure (default: failed)"))),
    fingerprint: text("equal fingerprints mean the same failure"),
    retry_at: text("earliest retry"),
    final: flag("move to failed/ at once, regardless of max_attempts"),
  }),
  output: ended,
  async run(context, { note, outcome, fingerprint, retry_at, final, ...ref }) {
    const { store, now } = context;
    const retryAt = retry_at ? parseWhen(retry_at, now(), "retry_at") : undefined;
    const report = { note: note || undefined, outcome, fingerprint, final, retryAt };
    return endedOutput(await store.fail(refOf(context, ref), report));
  },
});

export const release = defineRunOperation({
  name: "release",
  summary: "return a claimed task unchanged",
  access: "write",
  input: z.strictObject({ ...claimRef, note }),
  output: ended,
  async run(context, { note, ...ref }) {
    return endedOutput(await context.store.release(refOf(context, ref), { note }));
  },
});

export const heartbeat = defineRunOperation({
  name: "heartbeat",
  summary: "record that a worker is alive",
  access: "write",
  input: z.strictObject({
    worker: z.string().check(z.describe("name of a worker")),
    note: text("a note for the record (shown beside the worker)"),
    token: claimRef.token,
  }),
  output: z.object({ worker: z.string() }),
  async run({ store, here }, { worker, note, token }) {
    const own = claimIn(here.env.VIV_CLAIM, store.location)?.token;
    await store.heartbeat(worker, { note, token: token || own });
    return { worker };
  },
});
