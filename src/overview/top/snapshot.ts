import * as z from "zod/mini";
import { counts, pause, taskWord } from "../../queue/schemas.ts";

/** What `viv top` shows, as it was read at one moment. */

const text = z.nullable(z.string());

const taskRow = z.object({
  id: z.string(),
  type: text,
  state: taskWord,
  since: z.string(),
  worker: z.optional(z.string()),
  priority: z.optional(z.string()),
  title: z.optional(z.string()),
  /** In the tree it stands below these: its parent, its dependencies. */
  above: z.optional(z.array(z.string())),
});
export type TaskRow = z.output<typeof taskRow>;

const workerRow = z.object({
  name: z.string(),
  process: z.string(),
  alive: z.boolean(),
  heartbeat_age: z.nullable(z.number()),
  paused: z.nullable(pause),
  types: z.nullable(z.array(z.string())),
  claims: z.array(z.string()),
  note: z.string(),
});

const crewRow = z.object({
  ...{ name: z.string(), state: z.string(), since: z.string(), note: z.string() },
  ...{ next_tick: text, streak: z.number(), cost_today: z.number(), thought: text },
});
export type CrewRow = z.output<typeof crewRow>;

const partRow = z.object({
  ...{ name: z.string(), kind: z.string(), state: z.string(), since: z.string() },
  ...{ pid: z.nullable(z.number()), restarts: z.number(), doing: z.string(), note: z.string() },
});
export type PartRow = z.output<typeof partRow>;

export const snapshot = z.object({
  ...{ run_id: z.string(), run_dir: z.string(), at: z.string() },
  counts,
  paused: z.nullable(pause),
  /** What viv up or a worker says of its viv.toml; null: nothing. */
  note: text,
  events_per_minute: z.number(),
  /** Since midnight, UTC; `budget` null: none. */
  cost: z.object({ usd: z.number(), budget: z.nullable(z.number()) }),
  gate: z.nullable(z.object({ max: z.nullable(z.number()), held: z.number(), queued: z.number() })),
  tasks: z.array(taskRow),
  /** Tasks that are not in `tasks`. */
  more: z.number(),
  workers: z.array(workerRow),
  /** Null: there is none here. */
  crew: z.nullable(z.array(crewRow)),
  parts: z.nullable(z.array(partRow)),
});
export type Snapshot = z.output<typeof snapshot>;

/** Of the task that is looked at. */
export interface Details {
  id: string;
  head: string;
  why: { text: string; command?: string }[];
  attempts: string[];
  log: string[];
}
