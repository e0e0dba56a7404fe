import { isName } from "../../../base/names.ts";
import { judgeWorker } from "../../liveness.ts";
import { discard, namesIn, statIfThere } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { idOfNote } from "../layout.ts";
import { locate } from "../locate.ts";
import { endOrphan, isClaimed, type ProcessNote, readNote } from "./processes.ts";
import { staleAfterSeconds, vitalSigns } from "./reap.ts";

/** Notes about process trees whose claims have ended, but whose workers did not remove them. */

/** Until then, the process that ended the attempt may be about to remove it. */
const GRACE_MS = 10_000;

/** `note` is null when it cannot be read. Only those whose time of grace is over. */
export function* notesWithoutClaim(
  run: FsRun,
): Generator<{ id: string; path: string; note: ProcessNote | null }> {
  for (const name of namesIn(run.paths.processes)) {
    const id = idOfNote(name);
    if (!isName(id)) continue;
    const path = `${run.paths.processes}/${name}`;
    const note = readNote(run, id);
    if (note !== null && isClaimed(run, id, note)) continue;
    if (isYoung(path) || isYoung(locate(run, id)?.path)) continue;
    yield { id, path, note };
  }
}

function isYoung(path: string | undefined): boolean {
  const stats = path === undefined ? undefined : statIfThere(path);
  return stats !== undefined && Date.now() - stats.ctimeMs < GRACE_MS;
}

/** Says it nothing any more? A note of another host is for that one to judge. */
export function isStale(run: FsRun, note: ProcessNote | null): boolean {
  return note === null || run.machine.vitality(note) === "gone";
}

/**
 * Removes what says nothing any more. A tree that still runs though its worker is dead is ended:
 * a `viv cancel` that died in the middle left it, or the task was moved by hand.
 */
export async function sweepNotes(run: FsRun): Promise<void> {
  for (const { id, path, note } of notesWithoutClaim(run)) {
    if (note !== null && !isAlive(run, note.worker)) await endOrphan(run, id);
    if (statIfThere(path) && isStale(run, note)) discard(path);
  }
  for (const path of forgottenSpares(run)) discard(path);
}

const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

/** Files between two notes (see note-files.ts) whose process has died, or does very little. */
export function forgottenSpares(run: FsRun): string[] {
  return namesIn(run.paths.processes)
    .filter((name) => name.startsWith("~"))
    .map((name) => `${run.paths.processes}/${name}`)
    .filter((path) => Date.now() - (statIfThere(path)?.ctimeMs ?? Infinity) > FORGOTTEN_AFTER_MS);
}

function isAlive(run: FsRun, worker: string): boolean {
  const signs = vitalSigns(run, worker, []);
  return judgeWorker(signs, { staleAfterMs: staleAfterSeconds(run, signs) * 1000 }).alive;
}
