import { dayFiles, linesBackIn } from "./day-files.ts";
import { endIn, type LedgerSource, NOWHERE } from "./follow.ts";
import { type Entry, entryFrom } from "./line.ts";
import { parsePosition } from "./position.ts";

export interface BackOptions {
  /** Begins before this position. */
  to: string;
  /** Files of earlier days are left out. */
  firstDay?: string;
  /** By its text alone, which costs a tenth of parsing: false only for a line that is not wanted. */
  mayMatch?: (text: string, source: LedgerSource) => boolean;
}

/**
 * The lines of several ledgers, the last one first: for the last of them only the ends of the last
 * files are read. Null for a line that was looked at and is none, or not wanted: a long search can
 * pause there.
 *
 * Of the lines that are next, the latest comes first; of those of one time, that of the last source.
 * Where each ledger is in the order of its times, this is the order of `followLedgers`, from its end.
 */
export function* linesBackFrom(
  sources: readonly LedgerSource[],
  options: BackOptions,
): Generator<Entry | null> {
  const places = parsePosition(options.to);
  const readers = sources.map((source) =>
    linesOf(source, places.get(source.name) ?? NOWHERE, options),
  );
  try {
    const heads: (Entry | undefined)[] = [];
    for (let next = 0; next < readers.length; next++) heads[next] = yield* nextIn(readers[next]);
    for (;;) {
      let last = -1;
      for (const [i, head] of heads.entries()) {
        if (head !== undefined && (last < 0 || head.at >= (heads[last]?.at ?? ""))) last = i;
      }
      const entry = heads[last];
      if (entry === undefined) return;
      yield entry;
      heads[last] = yield* nextIn(readers[last]);
    }
  } finally {
    for (const reader of readers) reader.return(undefined);
  }
}

type Reader = Generator<Entry | null>;

/** Its next line; undefined when there is none. Yields null for each that is passed over. */
function* nextIn(reader: Reader | undefined): Generator<null, Entry | undefined> {
  for (;;) {
    const next = reader?.next();
    if (next === undefined || next.done) return undefined;
    if (next.value !== null) return next.value;
    yield null;
  }
}

function* linesOf(
  source: LedgerSource,
  place: typeof NOWHERE,
  { firstDay = "", mayMatch = () => true }: BackOptions,
): Reader {
  for (const { day, path, size } of dayFiles(source.folder).reverse()) {
    if (day < firstDay) return;
    for (const text of linesBackIn(path, endIn(place, day, size))) {
      yield text !== "" && mayMatch(text, source) ? entryFrom(text, source.room) : null;
    }
  }
}
