import { linesBackFrom } from "../../ledger/back.ts";
import { followLedgers, type LedgerSource, positionBefore } from "../../ledger/follow.ts";
import { type Entry, PROGRAM } from "../../ledger/line.ts";
import { type Context, definePort } from "../../operation/operation.ts";
import { Slices } from "../../platform/slices.ts";
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

/** Further lines are counted up to here: an exact number would be a reading of the whole record. */
export const MOST_COUNTED = 1_000;

/** The last `count` of them, in order, and how many before these were left out, up to MOST_COUNTED. */
export async function lastLines(
  sources: readonly LedgerSource[],
  filter: LineFilter,
  count: number,
  to = followLedgers(sources).position(),
): Promise<{ lines: Entry[]; more: number }> {
  const lines: Entry[] = [];
  let more = 0;
  const slices = new Slices();
  const options = { to, firstDay: filter.since?.slice(0, 10), mayMatch: textFilter(filter) };
  for (const line of linesBackFrom(sources, options)) {
    await slices.rest();
    if (line === null || !isWanted(line, filter)) continue;
    if (lines.length < count) lines.push(line);
    else if (++more >= MOST_COUNTED) break;
  }
  return { lines: lines.reverse(), more };
}

/** A name that every writer of JSON writes in the same way. */
const PLAIN = /^[A-Za-z0-9._-]+$/;

/** Whether a line may pass the filter, by its text. */
function textFilter({ until, rooms, ...filter }: LineFilter) {
  const wanted = (["events", "tasks", "types", "agents"] as const).flatMap((key) => {
    const values = filter[key];
    // A line that names no agent is the program's.
    const isInText = (one: string) => PLAIN.test(one) && (key !== "agents" || one !== PROGRAM);
    return values?.every(isInText) ? [values] : [];
  });
  return (text: string, { room }: LedgerSource) =>
    (until === undefined || !(timeIn(text) >= until)) &&
    (rooms === undefined || rooms.includes(room) || text.includes('"room"')) &&
    wanted.every((values) => values.some((value) => text.includes(value)));
}

const AT = '{"at":"';

/** As our lines begin; "" where that is not certain. */
function timeIn(text: string): string {
  if (!text.startsWith(AT) || text.includes('"at":', AT.length)) return "";
  const end = text.indexOf('"', AT.length);
  const time = text.slice(AT.length, end);
  return end < 0 || time.includes("\\") ? "" : time;
}
