import * as z from "zod/mini";
import { parseSince } from "../../base/since.ts";
import { count, text } from "../../operation/fields.ts";
import { defineOperation } from "../../operation/operation.ts";
import { type Receipt, VERDICTS } from "../dance.ts";
import { TARGET_KINDS } from "../warrant.ts";
import { stateFlag, wardenPlace } from "./warden-place.ts";

const DEFAULT_LIMIT = 50;

const receipt = z.object({
  warrant: z.string(),
  dog: z.string(),
  target: z.string(),
  kind: z.enum(TARGET_KINDS),
  verdict: z.enum(VERDICTS),
  why: z.string(),
  reason: z.string(),
  requester: z.string(),
  started_at: z.string(),
  ended_at: z.string(),
  duration_ms: z.number(),
  /** How many questions it was asked. */
  asked: z.number(),
  /** Processes that were ended: the signal, and when each was seen to be gone. */
  exit: z.array(
    z.object({
      pid: z.number(),
      command: z.string(),
      signal: z.string(),
      gone_at: z.nullable(z.string()),
    }),
  ),
  survivors: z.array(z.number()),
  /** Tasks that were given back. */
  reaped: z.array(z.string()),
});
export type ReceiptView = z.output<typeof receipt>;

export const wardenReceipts = defineOperation({
  name: "warden receipts",
  summary: "how warrants ended: verdict, questions, processes and how each ended; the newest first",
  input: z.strictObject({
    since: text("start of the period: 2h, 7d, 22:00, 2026-11-15 or a time"),
    limit: count(`at most this many (default: ${DEFAULT_LIMIT} receipts)`),
    state: stateFlag,
  }),
  changes: () => false,
  output: z.object({
    receipts: z.array(receipt),
    /** Receipts that the limit left out. */
    more: z.number(),
    /** Of all of the period, by verdict. */
    verdicts: z.record(z.enum(VERDICTS), z.number()),
    state: z.string(),
  }),
  async run(context, { since, limit = DEFAULT_LIMIT, state }) {
    const { files } = await wardenPlace(context, state);
    const from = since === undefined ? "" : parseSince(since, context.now());
    const known = files.receipts(from === "" ? 0 : Date.parse(from));
    const all = known.filter(({ ended_at }) => !(ended_at < from));
    const of = (verdict: string) => all.filter((one) => one.verdict === verdict).length;
    return {
      receipts: all.slice(0, limit).map(view),
      more: Math.max(0, all.length - limit),
      verdicts: Object.fromEntries(VERDICTS.map((one) => [one, of(one)])) as never,
      state: files.folder,
    };
  },
});

function view(one: Receipt): ReceiptView {
  const { warrant, dog, verdict, why, started_at, ended_at, duration_ms, reaped = [] } = one;
  const { id, target, kind, reason, requester } = warrant;
  return {
    ...{ warrant: id, dog, target, kind, verdict, why, reason, requester },
    ...{ started_at, ended_at, duration_ms },
    asked: (one.attempts ?? []).filter(({ asked_at }) => asked_at !== null).length,
    exit: (one.exit ?? []).map(({ pid, command, signal, gone_at }) => ({
      ...{ pid, command, signal, gone_at },
    })),
    survivors: one.survivors ?? [],
    reaped,
  };
}
