import * as z from "zod/mini";
import type { Stamped } from "./operation.ts";

/** Inputs that most operations have some of: optional, each with its line of help. */
export const text = (describe: string) => z.optional(z.string().check(z.describe(describe)));
export const flag = (describe: string) => z.optional(z.boolean().check(z.describe(describe)));
export const list = (describe: string) =>
  z.optional(z.array(z.string()).check(z.describe(describe)));
/** One or more. */
export const count = (describe: string) =>
  z.optional(z.int().check(z.gte(1)).check(z.describe(describe)));
/** Zero or more, not necessarily whole. */
export const amount = (describe: string) =>
  z.optional(z.number().check(z.gte(0)).check(z.describe(describe)));

/** Read with parseDuration. */
export const duration = (describe: string) =>
  z.optional(z.union([z.string(), z.number()]).check(z.describe(describe)));

export const note = text("a note for the record");
export const by = text("your name, for the record (default: $USER)");

/** The schema of events that a service emits: a kind, a time, and what the type says. */
export function events<E extends { kind: string }>(): z.ZodMiniType<Stamped<E>> {
  return z.looseObject({ kind: z.string(), at: z.string() }) as never;
}
