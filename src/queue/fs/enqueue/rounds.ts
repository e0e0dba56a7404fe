import { fstatSync } from "node:fs";
import { dirname } from "node:path";
import { isVivError, VivError } from "../../../base/errors.ts";
import { mkdirSync, withFile } from "../../../platform/files/beneath.ts";
import { isAttempt, type RetryRecord } from "../../attempt.ts";
import { MAX_TASK_BYTES } from "../../task.ts";
import {
  closeAfter,
  discard,
  errno,
  failedWith,
  namesIn,
  openNew,
  readAt,
  readRegular,
  renameIfThere,
  SAFE_OPEN,
  statIfThere,
  syncFolder,
  writeFully,
} from "../files/atomic.ts";
import { type FsRun, nowIso, record } from "../fs-run.ts";
import { fileOf } from "../layout.ts";
import type { Place } from "../locate.ts";
import { appendHistory, attemptFrom, readHistory } from "../record/attempts.ts";
import { linesAbout } from "../record/ledger-files.ts";

/**
 * `artifacts/<id>.rounds/<n>/`: an id that was given out again keeps here what it was before: the
 * task's file, named `done.json` or `failed.json` by its end, copies of the artifacts that the next
 * attempt writes anew, and what that attempt must not go on with: an engine's session, which has the
 * old task, and the evidence of failures that were overcome.
 */

const ENDS = ["done", "failed"] as const;
const OVERWRITTEN = ["md", "log", "proof.json", "proof.log"];

export function isEnded({ state }: Place): boolean {
  return ENDS.some((end) => end === state);
}

function roundsOf(run: FsRun, id: string): string {
  return `${run.paths.artifacts}/${id}.rounds`;
}

function endIn(folder: string): (typeof ENDS)[number] | undefined {
  return ENDS.find((end) => statIfThere(`${folder}/${end}.json`) !== undefined);
}

function lastRound(run: FsRun, id: string): number {
  const numbers = namesIn(roundsOf(run, id)).map(Number).filter(Number.isSafeInteger);
  return Math.max(0, ...numbers);
}

/** The folder of the round that ends now; one that a crash left without a task is used again. */
export function openRound(run: FsRun, id: string): string {
  const rounds = roundsOf(run, id);
  if (statIfThere(rounds)?.isDirectory() === false) {
    const message = `artifacts/${id}.rounds is not a folder; move it away: ${id} cannot be enqueued again.`;
    throw new VivError("RUN_INVALID", message);
  }
  const last = lastRound(run, id);
  const isUsed = last === 0 || endIn(`${rounds}/${last}`) !== undefined;
  const folder = `${rounds}/${isUsed ? last + 1 : last}`;
  for (const one of [rounds, folder]) {
    if (!statIfThere(one)) mkdirSync(one, { mode: 0o700 });
  }
  return folder;
}

/** How the last round ended; undefined for an id that was given out once. */
export function lastEnd(run: FsRun, id: string): (typeof ENDS)[number] | undefined {
  const last = lastRound(run, id);
  return last === 0 ? undefined : endIn(`${roundsOf(run, id)}/${last}`);
}

/** Before the next round. Of what is copied, the original stays until a handler replaces it. */
export function keepArtifacts(run: FsRun, id: string, state: Place["state"], folder: string): void {
  const moved = state === "done" ? ["session.json", "evidence"] : ["session.json"];
  for (const name of moved.map((suffix) => `${id}.${suffix}`)) {
    let target = `${folder}/${name}`;
    while (statIfThere(target)) target += "~"; // of a round that had no end
    renameIfThere(`${run.paths.artifacts}/${name}`, target);
  }
  for (const suffix of OVERWRITTEN) {
    const name = `${id}.${suffix}`;
    copyRegular(`${run.paths.artifacts}/${name}`, `${folder}/${name}`);
  }
}

/** A handler may have put anything there: links, pipes and folders are passed over. */
function copyRegular(from: string, to: string): void {
  try {
    withFile(from, SAFE_OPEN, (source) => {
      if (!fstatSync(source).isFile()) return;
      discard(to); // half a copy, from before a crash
      const target = openNew(to);
      closeAfter(target, () => {
        const chunk = Buffer.allocUnsafe(256 * 1024);
        for (let at = 0, n = 1; n > 0; at += n) {
          n = readAt(source, chunk, at, chunk.length);
          writeFully(target, chunk.subarray(0, n));
        }
      });
    });
  } catch (error) {
    if (!failedWith(error, "ENOENT", "ELOOP", "ENXIO")) throw error;
  }
}

/** From now on the attempts of an ended task no longer count against it. */
export function closeHistory(run: FsRun, id: string, decision: RetryRecord): void {
  const history = readHistory(run, id);
  if (history.length === 0) {
    // A success at the first attempt is only in the ledger; the next attempt must not have its number.
    const ends = [...linesAbout(run.paths.ledger, id)].filter(
      ({ task, event, token, outcome, to }) =>
        task === id && event === "ended" && token && outcome && to === "done",
    );
    const end = ends.at(-1);
    if (end) appendHistory(run, id, attemptFrom(end));
  }
  const last = history.at(-1);
  if (last !== undefined && !isAttempt(last)) return;
  appendHistory(run, id, decision);
}

/** Where the projection learns that a completed task no longer is one: see project.ts. */
export function recordAgain(run: FsRun, id: string, from?: string, by?: string): void {
  record(run, { event: "retried", task: id, from, to: "pending", by });
}

/**
 * Moves the file of the ended task out of its state. False when it is no longer there, or another
 * one by now: that one stays.
 */
export function retire({ path, state }: Place, inode: number, folder: string): boolean {
  const target = `${folder}/${state}.json`;
  if (!renameIfThere(path, target)) return false;
  if (statIfThere(target)?.ino === inode) return true;
  renameIfThere(target, path);
  return false;
}

/**
 * swarm-lib's own library writes an id that has ended into pending/ once more, beside done/ or failed/.
 * That is a new round too; the rename of the ended file decides who of several notes it. A copy of the
 * ended file, or the same one under two names (after a power cut), is none: nobody asked for it.
 */
export function noteForeignRound(run: FsRun, id: string, open: Place): boolean {
  const ended = ENDS.map((state) => ({ state, path: fileOf(run.paths, state, id) })).find(
    ({ path }) => statIfThere(path) !== undefined,
  );
  if (ended === undefined || !isAnotherTask(ended, open)) return false;
  return orFalse(() => beginForeign(run, id, ended, open)); // if not, it is a task all the same
}

/** A file or folder that somebody has put in the way must not keep others from their tasks. */
function orFalse(action: () => boolean): boolean {
  try {
    return action();
  } catch (error) {
    if (isVivError(error) || errno(error) !== undefined) return false;
    throw error;
  }
}

/** False when one of them cannot be read, or has moved. */
export function isAnotherTask(a: Place, b: Place): boolean {
  return orFalse(() => {
    const [one, other] = [a, b].map(({ path }) => readRegular(path, MAX_TASK_BYTES));
    if (!one || !other) return false;
    return one.stats.ino !== other.stats.ino && one.text !== other.text;
  });
}

function beginForeign(run: FsRun, id: string, ended: Place, open: Place): boolean {
  const folder = openRound(run, id);
  const inode = statIfThere(ended.path)?.ino;
  if (inode === undefined || !retire(ended, inode, folder)) return false;
  closeHistory(run, id, { retried: true, by: "swarm-lib", at: nowIso(run) });
  recordAgain(run, id, ended.state);
  // A worker that has begun writes there already.
  if (open.state !== "claimed") keepArtifacts(run, id, ended.state, folder);
  return true;
}

/** Takes `retire` back, if it was made. */
export function unretire({ path, state }: Place, inode: number, folder: string): void {
  const target = `${folder}/${state}.json`;
  if (statIfThere(target)?.ino === inode) renameIfThere(target, path);
}

/** After a round has begun, in `safe`: where the ended task is, before where it was. */
export function syncRound(run: FsRun, was: Place | null, folder: string): void {
  const { artifacts, state } = run.paths;
  for (const one of [state.pending, folder, dirname(folder), artifacts]) syncFolder(one);
  if (was) syncFolder(dirname(was.path));
}
