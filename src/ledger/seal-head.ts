import * as z from "zod/mini";
import { parseRecord } from "../base/json.ts";

/** The last seal of a ledger: without it, the loss of the last files would not show. */
export const sealHead = z.object({ day: z.string(), seal: z.string(), seals: z.number() });
export type SealHead = z.infer<typeof sealHead>;

/** Null when the text is no head. */
export function parseHead(text: string | null): SealHead | null {
  const parsed = sealHead.safeParse(parseRecord(text));
  return parsed.success ? parsed.data : null;
}
