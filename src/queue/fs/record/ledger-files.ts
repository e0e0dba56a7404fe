import { closeSync, readSync } from "node:fs";
import { parseRecord } from "../../../base/json.ts";
import { dayFiles, linesIn } from "../../../ledger/day-files.ts";
import { LedgerFollower } from "../../../ledger/follower.ts";
import { openSync } from "../../../platform/files/beneath.ts";
import type { LedgerLine } from "../../ledger.ts";

/** The run's own lines, in the daily files of src/ledger/. */
export class RunLedgerFollower extends LedgerFollower {
  /** `isWanted`: a look at the text is ten times cheaper than parsing. */
  *lines(isWanted = (_text: string) => true) {
    for (const { text, file, offset } of this.texts()) {
      const line = isWanted(text) ? lineFrom(text) : null;
      if (line !== null) yield { line, file, offset };
    }
  }
}

/**
 * All complete lines, file by file, without the files before `first`. An unreadable line goes to
 * `onTorn` instead of stopping the reader.
 */
export function* readLedger(
  folder: string,
  first = "",
  onTorn?: (file: string) => void,
): Generator<LedgerLine> {
  for (const { day, path, size } of dayFiles(folder)) {
    const name = `${day}.jsonl`;
    if (name < first) continue;
    for (const { text } of linesIn(path, 0, size)) {
      const line = text === "" ? null : lineFrom(text);
      if (line !== null) yield line;
      else if (text !== "") onTorn?.(name);
    }
  }
}

const CHUNK_BYTES = 1024 * 1024;

/**
 * The lines of all files that name this task, and some that only contain its name. A search costs a
 * tenth of parsing, so all files can be searched, whatever their dates.
 */
export function* linesAbout(folder: string, task: string): Generator<LedgerLine> {
  for (const line of searchFor(folder, task)) if (line !== null) yield line;
}

/** The same; null where a long search can pause. */
export function* searchFor(folder: string, task: string): Generator<LedgerLine | null> {
  const wanted = Buffer.from(`"task":${JSON.stringify(task)}`);
  for (const { path, size } of dayFiles(folder)) {
    for (const found of linesWith(path, wanted, size)) yield lineFrom(found);
  }
}

/** The lines within the first `size` bytes of a file that contain this text; null after each part. */
export function* linesWith(path: string, wanted: Buffer, size: number): Generator<string | null> {
  const fd = openSync(path, "r");
  try {
    let data = Buffer.alloc(0);
    for (let at = 0; ; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const n = readSync(fd, chunk, 0, Math.min(CHUNK_BYTES, size - at), at);
      if (n === 0) return; // the rest is no whole line
      at += n;
      data = data.length > 0 ? Buffer.concat([data, chunk.subarray(0, n)]) : chunk.subarray(0, n);
      const whole = data.subarray(0, data.lastIndexOf(10) + 1);
      let next = whole.indexOf(wanted);
      while (next >= 0) {
        const end = whole.indexOf(10, next);
        yield whole.toString("utf8", whole.lastIndexOf(10, next) + 1, end);
        next = whole.indexOf(wanted, end);
      }
      data = data.subarray(whole.length);
      yield null;
    }
  } finally {
    closeSync(fd);
  }
}

/** Null for a torn line, and for JSON that is no line. */
export function lineFrom(text: string | null): LedgerLine | null {
  return parseRecord(text) as LedgerLine | null;
}
