import { VivError } from "../base/errors.ts";

/**
 * A place in several ledgers, as one printable word (usable as Last-Event-ID and in an address):
 *
 *     run/2026-11-16,run/2026-11-17=84213,run/2026-11-18=222,crew
 *
 * Of the source `run`, all files up to 11-16 are read, and so many bytes of the two after it; of
 * `crew` nothing, for it had nothing.
 */
export interface Place {
  /** All files up to this day are read; "": none. */
  upTo: string;
  /** How much of each later day is read. */
  read: Map<string, number>;
}
export type Places = Map<string, Place>;

export function printPosition(places: Places): string {
  const words: string[] = [];
  for (const [source, { upTo, read }] of places) {
    if (upTo !== "") words.push(`${source}/${upTo}`);
    for (const [day, offset] of read) words.push(`${source}/${day}=${offset}`);
    if (upTo === "" && read.size === 0) words.push(source);
  }
  return words.join(",");
}

const WORD = /^([a-z][a-z0-9-]{0,31})(?:\/(\d{4}-\d{2}-\d{2})(?:=(\d{1,15}))?)?$/;
const LONGEST = 64 * 1024;

/** INVALID for a text that is no position. */
export function parsePosition(text: string): Places {
  const places: Places = new Map();
  if (text === "") return places;
  for (const word of text.length > LONGEST ? [""] : text.split(",")) {
    const [, source, day, offset] = WORD.exec(word) ?? [];
    if (source === undefined) {
      throw new VivError("INVALID", "this is no position in a ledger; leave it out to begin anew.");
    }
    const place = places.get(source) ?? { upTo: "", read: new Map<string, number>() };
    places.set(source, place);
    if (day === undefined) continue;
    if (offset !== undefined) place.read.set(day, Number(offset));
    else if (day > place.upTo) place.upTo = day;
  }
  return places;
}
