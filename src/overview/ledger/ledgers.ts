import { followLedgers, type LedgerSource, positionBefore } from "../../ledger/follow.ts";
import type { Entry } from "../../ledger/line.ts";
import { type Context, definePort } from "../../operation/operation.ts";
import type { RunContext } from "../../queue/operation.ts";

/** The ledgers of other rooms that are found from here, and why another one is not read. */
export interface OtherLedgers {
  sources: LedgerSource[];
  notes: string[];
}

export const ledgersPort = definePort<(context: Context) => Promise<OtherLedgers>>("ledgers");

/** The run's ledger (`run`), and those of the crew and the warden that are found from here. */
export async function ledgersHere(context: RunContext): Promise<OtherLedgers> {
  const others = await (await context.use(ledgersPort))(context);
  const run = { name: "run", folder: context.store.ledgerFolder, room: "queue" };
  return { ...others, sources: [run, ...others.sources] };
}

/** Each filter may have several values; a line must meet every filter that is given. */
export interface LineFilter {
  rooms?: readonly string[];
  events?: readonly string[];
  tasks?: readonly string[];
  agents?: readonly string[];
  types?: readonly string[];
  /** ISO; `until` is not included. */
  since?: string;
  until?: string;
}

export function isWanted(line: Entry, filter: LineFilter): boolean {
  const { since, until } = filter;
  if (since !== undefined && line.at < since) return false;
  if (until !== undefined && line.at >= until) return false;
  return (["room", "event", "task", "agent", "type"] as const).every((key) => {
    const wanted = filter[`${key}s`];
    return wanted === undefined || wanted.includes(String(line[key] ?? ""));
  });
}

/** The lines that are there now, by time, up to the position `to`. */
export async function* linesNow(
  sources: readonly LedgerSource[],
  filter: LineFilter,
  to = followLedgers(sources).position(),
): AsyncGenerator<Entry> {
  // A line is in the file of its own day, or in a later one.
  const from = filter.since && positionBefore(sources, filter.since.slice(0, 10));
  for await (const { line } of followLedgers(sources, { from: from ?? "start", to }).news()) {
    if (isWanted(line, filter)) yield line;
  }
}

/** The last `count` of them, and how many were left out. */
export async function lastOf(lines: AsyncIterable<Entry>, count: number) {
  const kept: Entry[] = [];
  let more = 0;
  for await (const line of lines) {
    kept.push(line);
    // Not at each line: shifting a long list costs as much as reading.
    if (kept.length >= 2 * count + 100) more += kept.splice(0, kept.length - count).length;
  }
  more += kept.splice(0, Math.max(0, kept.length - count)).length;
  return { lines: kept, more };
}
