import * as z from "zod/mini";
import { VivError } from "../../base/errors.ts";
import { suggest } from "../../base/names.ts";
import { DANCE_STATES, type Dance, type Receipt, VERDICTS } from "../dance.ts";
import { TARGET_KINDS, type Warrant } from "../warrant.ts";
import type { WardenNow, WardenPlace } from "./place.ts";

/** What the commands show of warrants and dances. */

export const warrantView = z.object({
  id: z.string(),
  target: z.string(),
  kind: z.enum(TARGET_KINDS),
  reason: z.string(),
  requester: z.string(),
  filed_at: z.string(),
  waiting_ms: z.number(),
});
export type WarrantView = z.output<typeof warrantView>;

export function viewWarrant(warrant: Warrant, now: number): WarrantView {
  const { id, target, kind, reason, requester, filed_at } = warrant;
  const waiting_ms = Math.max(0, now - Date.parse(filed_at));
  return { id, target, kind, reason, requester, filed_at, waiting_ms };
}

export const danceView = z.object({
  dog: z.string(),
  warrant: z.string(),
  target: z.string(),
  kind: z.enum(TARGET_KINDS),
  state: z.enum(DANCE_STATES),
  attempt: z.number(),
  attempts: z.number(),
  started_at: z.string(),
  next_timeout: z.nullable(z.string()),
  /** Null when it does not wait for an answer. */
  seconds_left: z.nullable(z.number()),
  reason: z.string(),
  requester: z.string(),
  /** Why its execution waits for a person; null when it does not. */
  held: z.nullable(z.string()),
});
export type DanceView = z.output<typeof danceView>;

export function viewDance(
  dance: Dance,
  { timeouts_ms, paused }: Pick<WardenNow, "timeouts_ms" | "paused">,
  now: number,
): DanceView {
  const { id, warrant, state, attempt, started_at, next_timeout } = dance;
  const end = state === "interrogating" ? Date.parse(next_timeout ?? "") : Number.NaN;
  return {
    ...{ dog: id, warrant: warrant.id, target: warrant.target, kind: warrant.kind },
    state: dance.seed ?? state,
    ...{ attempt, attempts: Math.max(timeouts_ms.length, attempt), started_at, next_timeout },
    seconds_left: Number.isNaN(end) ? null : Math.max(0, Math.ceil((end - now) / 1000)),
    ...{ reason: warrant.reason, requester: warrant.requester },
    held: paused !== null && dance.held?.since === paused.since ? paused.why : null,
  };
}

export function sortedDances({ files }: WardenPlace): Dance[] {
  return files.dances().sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
}

export const receiptView = z.object({
  dog: z.string(),
  warrant: z.string(),
  target: z.string(),
  verdict: z.enum(VERDICTS),
  why: z.string(),
  ended_at: z.string(),
});

export function viewReceipt({ dog, warrant, verdict, why, ended_at }: Receipt) {
  return { dog, warrant: warrant.id, target: warrant.target, verdict, why, ended_at };
}

/** Where a warrant is: it waits, a dog has it, it is over, or it was taken back. */
export type WarrantPlace =
  | { state: "queued"; warrant: Warrant }
  | { state: "dancing"; warrant: Warrant; dance: Dance }
  | { state: "over"; warrant: Warrant; receipt: Receipt }
  | { state: "withdrawn"; warrant: Warrant };

/** By the warrant's id, or its dog's. */
export function findWarrant(place: WardenPlace, id: string): WarrantPlace {
  const { files } = place;
  // From the queue to a dance to its end: looked for in that order, it cannot slip through.
  const { warrants } = files.queued();
  const queued = warrants.find((one) => one.id === id);
  if (queued) return { state: "queued", warrant: queued };
  const dances = files.dances();
  const dance = dances.find((one) => one.warrant.id === id || one.id === id);
  if (dance) return { state: "dancing", warrant: dance.warrant, dance };
  const receipt = files.receipt(id) ?? files.receipts().find(({ warrant }) => warrant.id === id);
  if (receipt) return { state: "over", warrant: receipt.warrant, receipt };
  const withdrawn = files.withdrawn(id);
  if (withdrawn) return { state: "withdrawn", warrant: withdrawn };
  const known = [...warrants.map((one) => one.id), ...dances.map((one) => one.warrant.id)];
  throw noWarrant(id, known, files.folder);
}

export function noWarrant(id: string, known: readonly string[], folder: string): VivError {
  const meant = known.length <= 1000 && id.length <= 128 ? suggest(id, known) : undefined;
  const hint = meant ? `did you mean ${meant}?` : "see: viv warrant ls";
  const message = `there is no warrant ${JSON.stringify(id.slice(0, 128))} in ${folder}; ${hint}`;
  return new VivError("WARRANT_NOT_FOUND", message, { id });
}
