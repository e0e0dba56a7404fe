import type { Clock } from "../../model/clock.ts";
import { PRIORITIES, type Priority } from "../../model/task.ts";
import { errno, overwrite, readRegular } from "./atomic.ts";
import { type Cursor, Lane, linesOf } from "./lane.ts";
import { encodeType, entryOfLine, type LaneEntry, lanePath } from "./lanes.ts";

export interface Candidate extends LaneEntry {
  line: string;
  /** To be told when the rename found the task gone, or when the task is not for this worker. */
  lane: Pick<Lane, "missed" | "leave">;
}

/** Reads all lanes for one set of types, highest priority first. */
export class LaneReader {
  readonly #lanes: Lane[];
  readonly #wanted: ReadonlySet<string> | null;
  readonly #folder: string;
  readonly #cursorFile: (priority: Priority) => string;

  constructor(
    folders: { lanes: string; cursors: string },
    types: readonly string[] | null,
    random: () => number,
  ) {
    const key = types === null ? "all" : hash([...types].sort().join("\n"));
    this.#cursorFile = (priority) => `${folders.cursors}/${priority}.${key}`;
    const wanted = types === null ? null : new Set(types.map(encodeType));
    this.#wanted = wanted;
    this.#folder = folders.lanes;
    this.#lanes = PRIORITIES.map(
      (priority) =>
        new Lane(
          lanePath(folders.lanes, priority),
          `${this.#cursorFile(priority)}.shares`,
          wanted,
          readCursor(this.#cursorFile(priority)),
          random,
        ),
    );
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
          if (errno(error) !== "ENOSPC" && errno(error) !== "EDQUOT") throw error;
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

function readCursor(path: string): Cursor {
  const [, offset = "0", name = ""] =
    /^(\d{1,15}) (\w+)$/.exec(readRegular(path, 64)?.text ?? "") ?? [];
  return { name, offset: Number(offset) };
}

/** FNV-1a, twice: the types may be many and long, a file name may not. */
function hash(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193) >>> 0;
    b = Math.imul(b ^ text.charCodeAt(i), 0x811c9dc5 | 1) >>> 0;
  }
  return a.toString(16).padStart(8, "0") + b.toString(16).padStart(8, "0");
}
