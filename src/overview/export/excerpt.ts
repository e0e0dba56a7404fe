import { closeSync, fstatSync, readSync } from "node:fs";
import { openToRead } from "../../platform/files/open-to-read.ts";

/** A part of a file. */
export interface Excerpt {
  text: string;
  /** Of the whole file. */
  bytes: number;
  isCut: boolean;
}

/**
 * The beginning or the end of a plain file; null when there is none. It is cut between two words: half
 * a secret would not be recognised as one.
 */
export function readExcerpt(path: string, from: "start" | "end", most: number): Excerpt | null {
  const fd = openToRead(path); // a handler may leave anything there
  if (fd === null) return null;
  try {
    const stats = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(most, stats.size));
    const length = readSync(
      fd,
      buffer,
      0,
      buffer.length,
      from === "start" ? 0 : stats.size - buffer.length,
    );
    const isCut = stats.size > most;
    const text = buffer.toString("utf8", 0, length);
    return { text: isCut ? betweenWords(text, from) : text, bytes: stats.size, isCut };
  } finally {
    closeSync(fd);
  }
}

/** A text of one word is left out. */
export function betweenWords(text: string, from: "start" | "end"): string {
  return from === "start" ? text.replace(/\S*$/, "") : text.replace(/^\S*\s?/, "");
}
