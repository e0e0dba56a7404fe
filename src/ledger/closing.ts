import { closeSync, lstatSync, readSync } from "node:fs";
import { errno, machineErrorOf } from "../base/errno.ts";
import { parseRecord } from "../base/json.ts";
import { createIfAbsentUnsynced } from "../platform/files/atomic-write.ts";
import { openToRead } from "../platform/files/open-to-read.ts";
import { readSmall } from "../platform/files/state-files.ts";
import { closedBytes, daysIn, fileOf, lastClosedDay } from "./day-files.ts";

/**
 * How a day is closed while writers that know nothing of it have its file open, without a lock, and
 * without a look at the disk on each write:
 *
 * 1. The sealer makes `DAY.closing`.
 * 2. It waits for CLOSING_MS.
 * 3. It notes the size of the file in `DAY.closed`; the first note counts.
 *
 * A writer that has seen no `DAY.closing` within the last LEASE_MS, by a clock that does not jump, has
 * written before step 3: its line counts. After any other write it looks, and if the day is being
 * closed it takes the size from `DAY.closed`, or notes it itself: the line is within that size, or is
 * written again to a day that is open. So each line counts once, however long a process was stopped
 * and whatever its clock says.
 */
export const LEASE_MS = 1_000;
export const CLOSING_MS = 1_500;

/** Time that does not jump. */
export interface Time {
  uptimeMs(): number;
  /** Waits a moment, in place. */
  pause(): void;
}

export const REAL_TIME: Time = {
  uptimeMs: () => performance.now(),
  pause: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10),
};

/** Of a day with a file that may be written to. */
export function isClosing(folder: string, day: string): boolean {
  // In this order: the mark is removed after the seal is there.
  return isThere(fileOf(folder, day, "closing")) || isThere(fileOf(folder, day, "seal"));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The day itself, or the first one after it that is open. */
export function openDayFor(folder: string, day: string): string {
  const last = lastClosedDay(daysIn(folder));
  return day > last ? day : dayAfter(last);
}

export function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
}

/** Notes the size of a closing day that counts, unless another process has: then that one counts. */
export function noteClosed(folder: string, day: string, size: number): number {
  try {
    createIfAbsentUnsynced(fileOf(folder, day, "closed"), `${size}\n`);
  } catch (error) {
    // The day was sealed meanwhile, and what seemed to be left by a crash removed.
    if (errno(error) !== "ENOENT" || sizeWhenClosed(folder, day) === null) throw error;
  }
  return sizeWhenClosed(folder, day) ?? size;
}

const LONGEST_SEAL = 1024 * 1024;

/** Null while it is not decided. */
export function sizeWhenClosed(folder: string, day: string): number | null {
  const noted = closedBytes(folder, day);
  if (noted !== null) return noted;
  const bytes = parseRecord(readSmall(fileOf(folder, day, "seal"), LONGEST_SEAL))?.bytes;
  return typeof bytes === "number" ? bytes : null;
}

/**
 * For a writer that has found out after its write. Waits in place, for a second at most: this happens
 * to a process that was stopped until now, at the moment in which the day is closed.
 */
export function awaitSizeWhenClosed(
  folder: string,
  day: string,
  sizeNow: () => number,
  { uptimeMs, pause }: Time,
): number {
  const giveUpAt = uptimeMs() + CLOSING_MS;
  for (;;) {
    const size = sizeWhenClosed(folder, day);
    if (size !== null) return size;
    // The sealer was killed, or is stopped itself.
    if (uptimeMs() >= giveUpAt) return noteClosed(folder, day, sizeNow());
    pause();
  }
}

const seenClosing = new Map<string, number>();

/**
 * For a reader that finds a closing day again and again: its sealer was killed or stopped, and the day
 * would not be read on until another one comes. A reader that may not write waits for that.
 */
export function helpToClose(folder: string, day: string, size: number): void {
  const path = fileOf(folder, day, "closed");
  const now = performance.now();
  const since = seenClosing.get(path) ?? now;
  seenClosing.set(path, since);
  if (now - since < CLOSING_MS) return;
  seenClosing.delete(path);
  try {
    noteClosed(folder, day, size);
  } catch (error) {
    if (machineErrorOf(error) === undefined) throw error;
  }
}

/** The lines of a write that are not within the first `size` bytes of a file that it went to. */
export function linesBehind(path: string, size: number, written: Buffer): Buffer {
  const fd = openToRead(path);
  if (fd === null) return written;
  try {
    // A write may be cut by the size anywhere; then its whole lines end what counts.
    for (
      let end = written.length;
      end > 1;
      end = written.subarray(0, end - 1).lastIndexOf(10) + 1
    ) {
      if (contains(fd, size, written.subarray(0, end))) return written.subarray(end);
    }
    return written;
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 1024 * 1024;

/** Whether the first `size` bytes contain these; from the end, where they mostly are. */
function contains(fd: number, size: number, wanted: Buffer): boolean {
  const length = CHUNK_BYTES + wanted.length;
  for (let to = size; to > 0; to -= CHUNK_BYTES) {
    const from = Math.max(0, to - length);
    const chunk = Buffer.alloc(to - from);
    if (chunk.subarray(0, readSync(fd, chunk, 0, chunk.length, from)).includes(wanted)) return true;
  }
  return false;
}
