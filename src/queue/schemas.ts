import * as z from "zod/mini";
import { text } from "../operation/fields.ts";
import { FAILURE_OUTCOMES, OUTCOMES } from "./attempt.ts";
import { TASK_STATES, TASK_WORDS } from "./states.ts";
import { type Counts, type Ended, FINDING_CODES, type Pause } from "./store.ts";

export const taskState = z.enum(TASK_STATES);
export const taskWord = z.enum(TASK_WORDS);
export const anyState = z.enum([...TASK_WORDS, "quarantined"]);
export const failureOutcome = z.enum(FAILURE_OUTCOMES);

export const claimRef = {
  id: z.string().check(z.describe("id of the task")),
  worker: z.string().check(z.describe("name of a worker (the one that holds it)")),
  token: text("token from claim; a stale claim is refused"),
};

export const ended = z.object({
  id: z.string(),
  from: taskState,
  to: taskWord,
  attempt: z.number(),
  retry_at: z.optional(z.string()),
  warnings: z.optional(z.array(z.string())),
});

export const attemptRecord = z.object({
  /** 1 for the first claim of the task; every claim has a number, whether it counts or not. */
  attempt: z.number(),
  worker: z.string(),
  token: z.string(),
  outcome: z.enum(OUTCOMES),
  /** The task's next state. */
  to: taskState,
  at: z.string(),
  note: z.optional(z.string()),
  /** Failures with the same fingerprint are the same failure. */
  fingerprint: z.optional(z.string()),
  /** The task rests until then. */
  retry_at: z.optional(z.string()),
  /** The warden ended its worker: the path of its receipt. */
  receipt: z.optional(z.string()),
  /** The proof passed; `commit`: of the task's worktree, with what was proven. */
  proof: z.optional(z.literal("passed")),
  commit: z.optional(z.string()),
  /** Why an end as `done` is not proven. */
  unproven: z.optional(z.string()),
});

export const retryRecord = z.object({
  retried: z.literal(true),
  by: z.string(),
  at: z.string(),
  note: z.optional(z.string()),
});

export const historyRecord = z.union([attemptRecord, retryRecord]);

export const bulkResult = z.object({
  enqueued: z.number(),
  pending: z.number(),
  waiting: z.number(),
  existed: z.number(),
  /** The run that had to be made; the command line adds it. */
  created_run: z.optional(z.string()),
  warnings: z.optional(z.array(z.string())),
});

export const finding = z.object({
  code: z.enum(FINDING_CODES),
  /** In a run directory, the path below it. */
  path: z.string(),
  message: z.string(),
  /** The step that --fix takes, or took. */
  repair: z.string(),
  fixed: z.boolean(),
});

export const counts = z.object({
  waiting: z.number(),
  pending: z.number(),
  claimed: z.number(),
  review: z.number(),
  done: z.number(),
  failed: z.number(),
  cancelled: z.number(),
  quarantined: z.number(),
});

/** In words: a cancelled task is not counted as failed. */
export function countsInWords(counts: Counts): Counts {
  return { ...counts, failed: counts.failed - counts.cancelled };
}

export const pause: z.ZodMiniType<Pause> = z.object({
  by: z.string(),
  at: z.string(),
  note: z.optional(z.string()),
});

export const taskFile = z.record(z.string(), z.unknown());

/** Programs read snake_case, as the files have it. */
export function endedOutput({ retryAt, ...rest }: Ended): z.output<typeof ended> {
  return { ...rest, retry_at: retryAt };
}
