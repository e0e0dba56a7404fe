import * as z from "zod/mini";
import { anyState, counts } from "../../queue/schemas.ts";

/** The kinds of what needs a person, in the order in which they are shown. */
export const NEEDS = [
  "review",
  "choked",
  "failed",
  "stuck",
  "merge",
  "setup",
  "config",
  "schedule",
  "paused",
  "account",
  "crew",
  "agent",
  "budget",
  "warden",
  "quarantine",
  "workers",
  "ledger",
] as const;

const need = z.object({
  kind: z.enum(NEEDS),
  /** The task, account or member; empty when it is about several, or none. */
  subject: z.string(),
  text: z.string(),
  /** What to type; null: nothing helps but time. */
  command: z.nullable(z.string()),
  /** How many tasks, or other things, it is about. */
  count: z.number(),
  /** Some of the tasks. */
  tasks: z.array(z.string()),
  /** How many others wait for these tasks, all of them: directly, or through others that wait. */
  blocks: z.number(),
  /** Null: unknown. */
  since: z.nullable(z.string()),
});
export type Need = z.output<typeof need>;

const task = { id: z.string(), type: z.nullable(z.string()), state: z.nullable(anyState) };
const titled = { ...task, title: z.string() };

const money = {
  usd: z.number(),
  /** Tokens without a price: their cost is not in `usd`. */
  unpriced_tokens: z.number(),
};

const budget = z.object({
  of: z.enum(["run", "day"]),
  unit: z.enum(["usd", "tokens"]),
  spent: z.number(),
  limit: z.number(),
});

const worked = z.object({
  name: z.string(),
  kind: z.enum(["worker", "crew"]),
  from: z.string(),
  to: z.string(),
  /** Of a worker its tasks, of a crew's member its runs. */
  tasks: z.number(),
  busy_ms: z.number(),
  /** The period in equal parts: of each, the share from 0 to 1 in which it worked. */
  slots: z.array(z.number()),
});

const killed = z.object({
  target: z.string(),
  at: z.string(),
  why: z.string(),
  /** Its tasks, whose attempts ended with it. */
  tasks: z.array(z.string()),
  /** Null: unknown. */
  warrant: z.nullable(z.string()),
  receipt: z.nullable(z.string()),
  command: z.nullable(z.string()),
});
export type Killed = z.output<typeof killed>;

export const reportOutput = z.object({
  run_id: z.string(),
  run_dir: z.string(),
  /** What a command needs to mean this run: ` --run DIR`, or nothing. */
  run_words: z.string(),
  since: z.string(),
  until: z.string(),
  /** Now, as in `ls`. */
  counts,
  needs_you: z.array(need),
  /** Of the failed tasks of now, those that a person cancelled: no failures. */
  cancelled: z.number(),
  /** Tasks that are done, and became that in the period. */
  done: z.object({
    count: z.number(),
    proven: z.number(),
    unproven: z.array(z.string()),
    /** Without an attempt that the ledger knows. */
    by_hand: z.number(),
  }),
  landed: z.object({
    /** In the period. */
    count: z.number(),
    targets: z.array(
      z.object({
        repository: z.nullable(z.string()),
        target: z.string(),
        count: z.number(),
        /** Of a branch that viv made: takes its work into what is checked out, which lacks it. */
        command: z.optional(z.string()),
      }),
    ),
    /** Landed in the period, and no longer in their target: it was moved back. */
    lost: z.array(z.string()),
    /** Branches of done tasks that have not landed yet, of any time. */
    waiting: z.number(),
  }),
  /** How the attempts of the period ended. */
  outcomes: z.record(z.string(), z.number()),
  /** Of the period, as in `costs --since`; the budgets of now. */
  cost: z.object({
    ...money,
    tokens: z.number(),
    attempts: z.number(),
    unreadable: z.number(),
    usd_per_landed: z.nullable(z.number()),
    budgets: z.array(budget),
    /** Of those budgets, by attempts that run, and not spent yet. */
    reserved_usd: z.number(),
    /** Of the crew's members, today; they have budgets of their own. */
    crew_today_usd: z.nullable(z.number()),
  }),
  worked: z.array(worked),
  slowest: z.array(z.object({ ...titled, ms: z.number() })),
  dearest: z.array(z.object({ ...titled, ...money })),
  retried: z.array(z.object({ ...titled, attempts: z.number() })),
  killed: z.array(killed),
  /** Parts that could not be read. */
  notes: z.array(z.string()),
});
export type Report = z.output<typeof reportOutput>;
