import { watchPaths } from "../platform/files/watch.ts";
import { helpToClose } from "./closing.ts";
import { type DayFile, dayFiles, linesIn } from "./day-files.ts";
import { type Entry, entryFrom } from "./line.ts";
import { type Place, type Places, parsePosition, printPosition } from "./position.ts";

/** A ledger that is read together with others. */
export interface LedgerSource {
  /** In positions; the same in every process. Lower case: `run`, `crew`, `warden`. */
  name: string;
  /** With the daily files. It need not be there yet. */
  folder: string;
  /** Of lines that name none. */
  room: string;
}

export interface FollowedLine {
  line: Entry;
  source: string;
  /** Behind this line: going on from here yields each later line once. */
  position: string;
}

export interface LedgersNews {
  /**
   * The lines since the last look, those of one look in the order of their times, as far as each file
   * allows. One reader at a time. A long backlog lets other work of the process run in between.
   */
  news(): AsyncIterable<FollowedLine>;
  /** Calls back soon after there may be news. Returns what ends that. */
  onNews(act: () => void): () => void;
  /** Behind the last line that `news()` yielded. Printable, stable, for any later process. */
  position(): string;
  /** A file that `from` has read is gone or shorter now: what was in it may be missing here. */
  readonly isLost: boolean;
}

export interface FollowOptions {
  /** A position; `start`: all lines; `end` (default): only those that come later. */
  from?: string;
  /** News ends at this position, which another follower of these sources had. */
  to?: string;
}

/**
 * Follows several ledgers as one. `from` may come from another process: a source that it does not name
 * is new, and begins at its end. INVALID when it is no position.
 *
 * For many readers: follow once, and let each one catch up with `{ from: its own, to: position() }`.
 */
export function followLedgers(
  sources: readonly LedgerSource[],
  { from = "end", to }: FollowOptions = {},
): LedgersNews {
  const places: Places = new Map();
  const known = from === "start" || from === "end" ? null : parsePosition(from);
  const end = to === undefined ? null : parsePosition(to);
  let isLost = false;
  for (const { name, folder } of sources) {
    const place = known?.get(name);
    const files = from === "start" || place !== undefined ? [] : dayFiles(folder);
    if (place !== undefined) isLost ||= lacks(place, dayFiles(folder));
    const read = new Map(files.map(({ day, size }) => [day, size]));
    places.set(name, place ?? { upTo: "", read });
    if (place === undefined) forgetOld(places.get(name) as Place, files);
  }
  return {
    isLost,
    position: () => printPosition(places),
    onNews: (act) => watchLedgers(sources, act),
    async *news() {
      let n = 0;
      for (const { source, entry, day, offset } of lookAll(sources, places, end)) {
        places.get(source)?.read.set(day, offset);
        if (entry === null) continue;
        yield { line: entry, source, position: printPosition(places) };
        if (++n % 1_000 === 0) await new Promise((next) => setImmediate(next));
      }
    },
  };
}

/** Also when it is behind all files: the lines that come next would lie before it, and never come. */
function lacks({ upTo, read }: Place, files: readonly DayFile[]): boolean {
  if (upTo > (files.at(-1)?.day ?? "")) return true;
  const sizes = new Map(files.map(({ day, size }) => [day, size]));
  return [...read].some(([day, offset]) => offset > (sizes.get(day) ?? 0));
}

interface Found {
  source: string;
  day: string;
  offset: number;
  /** Null for a line that cannot be read. */
  entry: Entry | null;
}

/** One look at all sources: the line with the earliest time of those that are next. */
function* lookAll(
  sources: readonly LedgerSource[],
  places: Places,
  end: Places | null,
): Generator<Found> {
  const readers = sources.map((one) => {
    const until = end === null ? null : (end.get(one.name) ?? NOWHERE);
    return lookAt(one, places.get(one.name) as Place, until);
  });
  try {
    const heads = readers.map((reader) => reader.next());
    for (;;) {
      let first = -1;
      for (const [i, head] of heads.entries()) {
        if (head.done) continue;
        if (first < 0 || timeOf(head.value) < timeOf(heads[first]?.value as Found)) first = i;
      }
      if (first < 0) return;
      yield heads[first]?.value as Found;
      heads[first] = (readers[first] as Generator<Found>).next();
    }
  } finally {
    for (const reader of readers) reader.return(undefined);
  }
}

export const NOWHERE: Place = { upTo: "", read: new Map() };

function timeOf({ entry }: Found): string {
  return entry?.at ?? "";
}

function* lookAt(source: LedgerSource, place: Place, until: Place | null): Generator<Found> {
  const files = dayFiles(source.folder);
  for (const { day, path, size, state } of files) {
    if (day <= place.upTo) continue;
    if (state === "closing" && until === null) {
      helpToClose(source.folder, day, size);
      continue;
    }
    const known = place.read.get(day) ?? 0;
    // What was behind the end of a closed file comes again, in a later one.
    const from = known <= size ? known : state === "open" ? 0 : size;
    if (from !== known) place.read.set(day, from);
    const to = until === null ? size : endIn(until, day, size);
    if (to <= from) continue;
    for (const { text, end } of linesIn(path, from, to)) {
      const entry = text === "" ? null : entryFrom(text, source.room);
      yield { source: source.name, day, offset: end, entry };
    }
    if (state === "sealed" && to === size) place.read.set(day, size); // with a torn tail
  }
  forgetOld(place, files);
}

/** The bytes of a day's file that lie before a place. */
export function endIn({ upTo, read }: Place, day: string, size: number): number {
  return day <= upTo ? size : Math.min(size, read.get(day) ?? 0);
}

/** The position before that day, for `from`: lines of earlier files are left out. */
export function positionBefore(sources: readonly LedgerSource[], day: string): string {
  const before = new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
  return printPosition(
    new Map(sources.map(({ name }) => [name, { upTo: before, read: new Map() }])),
  );
}

/** Lines of open files may come late; of so many days a position names each. */
const DAYS_NAMED = 30;

/** Keeps positions short: sealed files that are read, and very old ones, need no place of their own. */
function forgetOld(place: Place, files: readonly DayFile[]): void {
  for (const [i, { day, size, state }] of files.entries()) {
    if (day <= place.upTo) continue;
    if (state !== "sealed" && i >= files.length - DAYS_NAMED) return;
    if ((place.read.get(day) ?? 0) < size) return;
    place.upTo = day;
    for (const read of place.read.keys()) if (read <= day) place.read.delete(read);
  }
}

/** A burst of lines is one look, and a line is on a page soon. */
const SETTLE_MS = 10;
/** For folders that are made later, and file systems without notifications. */
const RESCAN_MS = 2_000;

function watchLedgers(sources: readonly LedgerSource[], act: () => void): () => void {
  const stops = new Map<string, () => void>();
  const watch = () => {
    for (const { folder } of sources) {
      if (stops.has(folder)) continue;
      const lost = () => stops.delete(folder);
      const how = { settleMs: SETTLE_MS, isBackground: true, onLost: lost };
      stops.set(folder, () => {});
      const stop = watchPaths([folder], act, how);
      if (stops.has(folder)) stops.set(folder, stop);
    }
  };
  watch();
  const rescan = setInterval(() => {
    watch();
    act();
  }, RESCAN_MS);
  rescan.unref();
  return () => {
    clearInterval(rescan);
    for (const stop of stops.values()) stop();
  };
}
