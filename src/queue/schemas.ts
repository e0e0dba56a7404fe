import * as z from "zod/mini";
import { FAILURE_OUTCOMES, OUTCOMES } from "./attempt.ts";
import { TASK_STATES } from "./states.ts";
import type { Ended } from "./store.ts";

export const taskState = z.enum(TASK_STATES);
export const anyState = z.enum([...TASK_STATES, "quarantined"]);
export const failureOutcome = z.enum(FAILURE_OUTCOMES);

export const claimRef = {
  id: z.string().check(z.describe("the task")),
  worker: z.string().check(z.describe("the worker that holds it")),
  token: z.optional(z.string().check(z.describe("token from claim; a stale claim is refused"))),
};

export const ended = z.object({
  id: z.string(),
  from: taskState,
  to: taskState,
  attempt: z.number(),
  retry_at: z.optional(z.string()),
  warnings: z.optional(z.array(z.string())),
});

export const historyRecord = z.union([
  z.object({
    attempt: z.number(),
    worker: z.string(),
    token: z.string(),
    outcome: z.enum(OUTCOMES),
    to: taskState,
    at: z.string(),
    note: z.optional(z.string()),
    fingerprint: z.optional(z.string()),
    retry_at: z.optional(z.string()),
    receipt: z.optional(z.string()),
  }),
  z.object({
    retried: z.literal(true),
    by: z.string(),
    at: z.string(),
    note: z.optional(z.string()),
  }),
]);

export const counts = z.object({
  waiting: z.number(),
  pending: z.number(),
  claimed: z.number(),
  review: z.number(),
  done: z.number(),
  failed: z.number(),
  quarantined: z.number(),
});

export const taskFile = z.record(z.string(), z.unknown());

/** Programs read snake_case, as the files have it. */
export function endedOutput({ retryAt, ...rest }: Ended): z.output<typeof ended> {
  return { ...rest, retry_at: retryAt };
}
