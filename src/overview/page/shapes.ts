import * as z from "zod/mini";
import { LANDING_STATES } from "../../merge/landing.ts";
import { taskWord } from "../../queue/schemas.ts";
import { COLUMNS, type Entry } from "./entry.ts";

export const column = z.enum(COLUMNS);
export const columnCounts = z.record(column, z.number());
export const landing = z.nullable(z.enum(LANDING_STATES));
const text = z.nullable(z.string());

export const card = z.object({
  id: z.string(),
  /** Null: its file cannot be read. */
  type: text,
  column,
  state: taskWord,
  since: z.string(),
  title: z.string(),
  fact: text,
  /** That holds it, or tried it last. */
  worker: text,
  attempt: z.number(),
  max_attempts: z.nullable(z.number()),
  proof: z.nullable(z.enum(["passed", "failed"])),
  landing,
  usd: z.nullable(z.number()),
  priority: z.string(),
  cancelled: z.boolean(),
  choked: z.boolean(),
});
export type Card = z.output<typeof card>;

/** A task of a graph. `column` is null for one that others name and that is not there. */
export const node = z.object({
  id: z.string(),
  type: text,
  column: z.nullable(column),
  title: z.string(),
});

export function nodeOf({ id, type, column, title }: Entry): z.output<typeof node> {
  return { id, type, column, title };
}
