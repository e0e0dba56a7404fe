import { existsSync } from "node:fs";
import { rmdirSync } from "../../../platform/files/beneath.ts";
import { setAside } from "../files/aside.ts";
import { errno, namesIn, overwrite, statIfThere, unlinkIfThere } from "../files/atomic.ts";
import type { FsRun } from "../run.ts";

/**
 * `.viv/due/<minute>/<ms>.<id>`: when tasks are due. Buckets of a minute keep looking cheap: only
 * buckets whose minute has come are opened, however many tasks rest for later.
 */

const MINUTE = 60_000;

function pathOf(run: FsRun, id: string, at: number): string {
  return `${run.paths.due}/${Math.floor(at / MINUTE)}/${at}.${id}`;
}

export function addDue(run: FsRun, id: string, at: number): void {
  for (let round = 0; ; round++) {
    try {
      overwrite(pathOf(run, id, at), ""); // makes the bucket
      return;
    } catch (error) {
      // Another process emptied and removed the bucket between the two calls.
      if (errno(error) !== "ENOENT" || round > 100) throw error;
    }
  }
}

export function hasDue(run: FsRun, id: string, at: number): boolean {
  return existsSync(pathOf(run, id, at));
}

/** The entries whose time has come; `remove` each when it has been handled. */
export function* dueBy(run: FsRun, now: number): Generator<{ id: string; remove: () => void }> {
  for (const { name, minute } of buckets(run)) {
    if (minute * MINUTE > now) return;
    const bucket = `${run.paths.due}/${name}`;
    if (!run.readOnly && statIfThere(bucket)?.isSymbolicLink()) setAside(bucket, "not a folder");
    for (const entry of namesIn(bucket)) {
      const dot = entry.indexOf(".");
      if (Number(entry.slice(0, dot)) > now) continue;
      yield { id: entry.slice(dot + 1), remove: () => unlinkIfThere(`${bucket}/${entry}`) };
    }
    if ((minute + 1) * MINUTE <= now) removeIfEmpty(bucket);
  }
}

/** When the next task is due, or null. */
export function nextDue(run: FsRun): number | null {
  for (const { name } of buckets(run)) {
    let earliest = Number.POSITIVE_INFINITY;
    for (const entry of namesIn(`${run.paths.due}/${name}`)) {
      earliest = Math.min(earliest, Number(entry.slice(0, entry.indexOf("."))));
    }
    if (Number.isFinite(earliest)) return earliest;
  }
  return null;
}

function buckets(run: FsRun): { name: string; minute: number }[] {
  return namesIn(run.paths.due)
    .map((name) => ({ name, minute: Number(name) }))
    .filter(({ minute }) => Number.isSafeInteger(minute))
    .sort((a, b) => a.minute - b.minute);
}

function removeIfEmpty(bucket: string): void {
  try {
    rmdirSync(bucket);
  } catch (error) {
    const code = errno(error);
    // A file in its place does no harm: doctor moves it away.
    if (!["ENOTEMPTY", "ENOENT", "EEXIST", "ENOTDIR"].includes(code ?? "")) throw error;
  }
}
