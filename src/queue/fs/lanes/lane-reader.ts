import { existsSync } from "node:fs";
import { machineErrorOf } from "../../../base/errno.ts";
import { PRIORITIES, type Priority } from "../../task.ts";
import { overwrite, readDerived } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import { type Cursor, Lane, type LaneHost } from "./lane.ts";
import { encodeType, entryOfLine, hash, type LaneEntry, lanePath } from "./lanes.ts";

export interface Candidate extends LaneEntry {
  line: string;
  /** Call it when the rename found the task gone, or when the task is not for this worker. */
  lane: Pick<Lane, "missed" | "leave">;
}

/** Reads all lanes for one filter by type, highest priority first. */
export class LaneReader {
  readonly filter: TypeFilter;
  readonly #lanes: Lane[];
  readonly #wanted: Wanted | null;
  readonly #pathOf: (priority: Priority) => string;
  readonly #cursorOf: (priority: Priority) => string;

  /** `places`: for each lane, where readers that cover this filter are; it may begin there. */
  constructor(run: FsRun, filter: TypeFilter, places: readonly (readonly Cursor[])[] = []) {
    const { paths, random, machine } = run;
    const key = filter.kind === "any" ? "all" : hash(nameOf(filter));
    this.#cursorOf = (priority) => `${paths.cursors}/${priority}.${key}`;
    this.#pathOf = (priority) => lanePath(paths.lanes, priority);
    this.filter = filter;
    this.#wanted = wantedBy(filter);
    const host: LaneHost = {
      isThere: (id) => existsSync(fileOf(paths, "pending", id)),
      random,
      now: () => machine.clock.now(),
    };
    this.#lanes = PRIORITIES.map((priority, i) => {
      const start = latest(readCursor(this.#cursorOf(priority)), places[i] ?? []);
      return new Lane(this.#pathOf(priority), this.#wanted, start, host);
    });
  }

  /** Its place on each lane: all wanted tasks before it are taken. Null where it has not begun. */
  places(): (Cursor | null)[] {
    return this.#lanes.map((lane) => lane.place());
  }

  /** The next candidate, or null when the lanes are read to their ends. */
  next(force: boolean, worker: string): Candidate | null {
    for (const lane of this.#lanes) {
      const line = lane.next(force, worker);
      if (line !== null) return Object.assign(entryOfLine(line), { line, lane });
    }
    return null;
  }

  /** Begins lanes again that were replaced or cut. */
  refresh(): void {
    for (const lane of this.#lanes) lane.refresh();
  }

  get losses(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.losses, 0);
  }

  /** Ids on the lanes that this reader has not tried yet, or left to others; of any type. */
  *ahead(): Generator<string> {
    for (const lane of this.#lanes) yield* lane.ahead();
  }

  /** Is there a candidate that is still there? Passes over those that are not. */
  peek(worker: string | undefined): boolean {
    return this.#lanes.some((lane) => lane.peek(worker));
  }

  /** Ids before those that are not for this reader: it need not open their files. */
  *passedOver(): Generator<string> {
    for (const lane of this.#lanes) yield* lane.passedOver();
  }

  /** Lets the next process start where this one stopped. Losing it costs time, nothing else. */
  saveCursors(): void {
    for (const [i, priority] of PRIORITIES.entries()) {
      const cursor = this.#lanes[i]?.cursorToSave();
      if (!cursor) continue;
      try {
        overwrite(this.#cursorOf(priority), `${cursor.offset} ${cursor.name}`);
      } catch (error) {
        // A cursor saves time only; on a full disk the next reader starts further back.
        if (machineErrorOf(error) !== "DISK_FULL") throw error;
      }
    }
  }

  close(): void {
    for (const lane of this.#lanes) lane.close();
  }
}

/** The place of a working reader is on the current lane; a saved one may be of another. */
function latest(saved: Cursor, places: readonly Cursor[]): Cursor {
  return places.reduce(
    (best, place) => (best.name === place.name && best.offset >= place.offset ? best : place),
    saved,
  );
}

/** The text behind a cursor's file name, which older versions have written too. */
function nameOf(filter: Exclude<TypeFilter, { kind: "any" }>): string {
  return filter.kind === "only" ? [...filter.types].sort().join("\n") : keyOf(filter);
}

function readCursor(path: string): Cursor {
  const [, offset = "0", name = ""] =
    /^(\d{1,15}) (\w+)$/.exec(readDerived(path, 64)?.text ?? "") ?? [];
  return { name, offset: Number(offset) };
}

/** The tasks that a claimer takes: of any type, only of these, or of any but those. */
export type TypeFilter =
  | { kind: "any" }
  | { kind: "only"; types: readonly string[] }
  | { kind: "except"; types: readonly string[] };

export const ANY: TypeFilter = { kind: "any" };

/** No types means any but the reserved ones; if `exceptTypes` leaves none of `types`, none. */
export function filterOf(
  request: { types?: readonly string[]; exceptTypes?: readonly string[] },
  reserved: readonly string[] = [],
): TypeFilter {
  const { types } = request;
  const isAny = types === undefined || types.length === 0;
  const except = isAny ? [...(request.exceptTypes ?? []), ...reserved] : request.exceptTypes;
  if (except === undefined || except.length === 0) return isAny ? ANY : { kind: "only", types };
  if (isAny) return { kind: "except", types: except };
  return { kind: "only", types: types.filter((type) => !except.includes(type)) };
}

/** The same for the same types, in any order. */
export function keyOf(filter: TypeFilter): string {
  if (filter.kind === "any") return "all";
  const word = filter.kind === "only" ? "of" : "but";
  return `${word} ${[...filter.types].sort().join("\n")}`;
}

/** Does the one take all that the other takes? */
export function covers(one: TypeFilter, other: TypeFilter): boolean {
  if (one.kind === "any") return true;
  if (other.kind === "any") return false;
  if (one.kind === "only") {
    return other.kind === "only" && other.types.every((type) => one.types.includes(type));
  }
  // The other must leave out all types that the one leaves out.
  return one.types.every((type) => other.types.includes(type) === (other.kind === "except"));
}

/** The filter for lines of a lane; null takes them all. */
export interface Wanted {
  has(type: string): boolean;
  /** As on a line; not there if only the unwanted ones are known. */
  types?: readonly string[];
}

export function wantedBy(filter: TypeFilter): Wanted | null {
  if (filter.kind === "any") return null;
  const types = new Set(filter.types.map(encodeType));
  if (filter.kind === "except") return { has: (type) => !types.has(type) };
  return { has: (type) => types.has(type), types: [...types] };
}
