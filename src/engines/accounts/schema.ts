import * as z from "zod/mini";
import { ACCOUNT_STATES, CLOSING_REASONS, PARKING_REASONS } from "./account.ts";

export const accountState = z.object({
  account: z.string(),
  state: z.enum(ACCOUNT_STATES),
  reason: z.nullable(z.enum([...CLOSING_REASONS, ...PARKING_REASONS])),
  until: z.nullable(z.string()),
  since: z.nullable(z.string()),
  message: z.string(),
  todo: z.string(),
  by: z.nullable(
    z.union([
      z.object({ person: z.string() }),
      z.object({ run: z.string(), worker: z.string(), task: z.string() }),
    ]),
  ),
  failures: z.number(),
  trouble: z.optional(z.string()),
});
