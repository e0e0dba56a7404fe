import { type Entry, ROOMS } from "../ledger/line.ts";
import { HttpError } from "./http-errors.ts";

/** Which events a stream gets; a filter that is missing lets everything through. */
export interface EventFilter {
  room?: ReadonlySet<string>;
  event?: ReadonlySet<string>;
  task?: ReadonlySet<string>;
  agent?: ReadonlySet<string>;
  type?: ReadonlySet<string>;
  /** Lines of the ledgers only, as events without a name: some clients know no others. */
  isUnnamed?: boolean;
}

const KEYS = ["room", "event", "task", "agent", "type"] as const;
const ALL_KEYS: readonly string[] = [...KEYS, "as", "from"];

/** `room=queue,crew&task=t.1&task=t.2` */
export function filterFrom(query: URLSearchParams): EventFilter {
  // Left out, it would be everything, or a wait for what never comes.
  const unknown = [...query.keys()].find((key) => !ALL_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new HttpError(
      400,
      `there is no filter ${JSON.stringify(unknown)}; there are: ${ALL_KEYS.join(", ")}.`,
    );
  }
  const filter: EventFilter = {};
  for (const key of KEYS) {
    const values = query.getAll(key).flatMap((text) => text.split(","));
    const given = values.map((value) => value.trim()).filter(Boolean);
    if (given.length > 0) filter[key] = new Set(given);
  }
  const room = [...(filter.room ?? [])].find((one) => !ROOMS.some((known) => known === one));
  if (room !== undefined) {
    throw new HttpError(
      400,
      `there is no room ${JSON.stringify(room)}; there are: ${ROOMS.join(", ")}.`,
    );
  }
  const as = query.get("as");
  if (as === "message") filter.isUnnamed = true;
  else if (as !== null) throw new HttpError(400, 'as must be "message".');
  return filter;
}

const has = (wanted: ReadonlySet<string> | undefined, value: unknown) =>
  wanted === undefined || (typeof value === "string" && wanted.has(value));

/** `type`: of the line's task, which few lines name themselves. */
export function wantsLine(filter: EventFilter, line: Entry, type: string | null): boolean {
  return (
    has(filter.room, line.room) &&
    has(filter.event, line.event) &&
    has(filter.task, line.task) &&
    has(filter.agent, line.agent) &&
    has(filter.type, line.type ?? type)
  );
}

/** A move is not in the ledger: its event and room are not asked for. */
export function wantsMove(
  filter: EventFilter,
  move: { id: string; worker?: string },
  type: string | null,
): boolean {
  return has(filter.task, move.id) && has(filter.agent, move.worker) && has(filter.type, type);
}
