import type { Clock } from "../../../base/clock.ts";
import { troubleOf } from "../../../base/errno.ts";
import { PRIORITIES, type Priority } from "../../task.ts";
import { overwrite, readDerived } from "../files/atomic.ts";
import { type Cursor, Lane, linesOf } from "./lane.ts";
import { entryOfLine, hash, type LaneEntry, lanePath } from "./lanes.ts";
import { keyOf, type TypeFilter, type Wanted, wantedBy } from "./type-filter.ts";

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
  readonly #folder: string;
  readonly #cursorFile: (priority: Priority) => string;

  /** `places`: where it may begin, for each lane, because others have been there for it. */
  constructor(
    folders: { lanes: string; cursors: string },
    filter: TypeFilter,
    random: () => number,
    places: readonly (readonly Cursor[])[] = [],
  ) {
    const key = filter.kind === "any" ? "all" : hash(nameOf(filter));
    this.#cursorFile = (priority) => `${folders.cursors}/${priority}.${key}`;
    const wanted = wantedBy(filter);
    this.filter = filter;
    this.#wanted = wanted;
    this.#folder = folders.lanes;
    this.#lanes = PRIORITIES.map(
      (priority, i) =>
        new Lane(
          lanePath(folders.lanes, priority),
          wanted,
          latest(readCursor(this.#cursorFile(priority)), places[i] ?? []),
          random,
        ),
    );
  }

  /** Where it is on each lane: what it wanted of what lies before is taken. */
  places(isThere: (id: string) => boolean): Cursor[][] {
    return this.#lanes.map((lane) => {
      const place = lane.place(isThere);
      return place === null ? [] : [place];
    });
  }

  /** The next candidate, or null when the lanes are read to their ends. */
  next(
    isThere: (id: string) => boolean,
    force: boolean,
    worker: string,
    clock: Clock,
  ): Candidate | null {
    for (const lane of this.#lanes) {
      const line = lane.next(isThere, force, worker, clock);
      if (line !== null) {
        const candidate = entryOfLine(line) as Candidate;
        candidate.line = line;
        candidate.lane = lane;
        return candidate;
      }
    }
    return null;
  }

  /** Looks whether the lanes are still those it reads. */
  refresh(): void {
    for (const lane of this.#lanes) lane.refresh();
  }

  /** How often a lane was lost under this reader, and begun again. */
  get losses(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.losses, 0);
  }

  /** Ids on the lanes that this reader has not tried yet, or left to others; of whatever type. */
  *ahead(): Generator<string> {
    for (const lane of this.#lanes) yield* lane.ahead();
  }

  /** Is there a candidate that is still there? Passes over those that are not. */
  peek(isThere: (id: string) => boolean, worker?: string): boolean {
    return this.#lanes.some((lane) => lane.peek(isThere, worker));
  }

  /** The lines of tasks that are not for this reader: it need not open their files. */
  *others(): Generator<string> {
    if (this.#wanted === null) return;
    for (const { id, type } of laneLines(this.#folder)) if (!this.#wanted.has(type)) yield id;
  }

  /** Lets the next process start where this one stopped. Losing it costs time, nothing else. */
  saveCursors(isThere: (id: string) => boolean): void {
    PRIORITIES.forEach((priority, i) => {
      const lane = this.#lanes[i];
      const cursor = lane?.cursorToSave(isThere);
      if (cursor) {
        try {
          overwrite(this.#cursorFile(priority), `${cursor.offset} ${cursor.name}`);
        } catch (error) {
          // A cursor saves time only; on a full disk the next reader starts further back.
          if (troubleOf(error) !== "DISK_FULL") throw error;
        }
      }
    });
  }

  close(): void {
    for (const lane of this.#lanes) lane.close();
  }
}

/** All that was ever put on a lane, with its type. */
function* laneLines(folder: string): Generator<{ id: string; type: string }> {
  for (const priority of PRIORITIES) yield* linesOf(lanePath(folder, priority), 0);
}

/** Those of readers that are at work know which lane is there now; a saved one may be of another. */
function latest(saved: Cursor, places: readonly Cursor[]): Cursor {
  return places.reduce(
    (best, place) => (best.name === place.name && best.offset >= place.offset ? best : place),
    saved,
  );
}

/** What cursors were always called after, for a filter that takes only some types. */
function nameOf(filter: Exclude<TypeFilter, { kind: "any" }>): string {
  return filter.kind === "only" ? [...filter.types].sort().join("\n") : keyOf(filter);
}

function readCursor(path: string): Cursor {
  const [, offset = "0", name = ""] =
    /^(\d{1,15}) (\w+)$/.exec(readDerived(path, 64)?.text ?? "") ?? [];
  return { name, offset: Number(offset) };
}
