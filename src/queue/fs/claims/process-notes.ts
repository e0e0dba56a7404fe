import type { ClaimTree } from "../../../base/clock.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName, isName } from "../../../base/names.ts";
import { plural } from "../../../base/text.ts";
import type { ClaimProcess, ClaimRef } from "../../store.ts";
import { claimLost, isSameClaim } from "../ends/held-claim.ts";
import {
  discard,
  namesIn,
  readDerived,
  statIfThere,
  tokenOf,
  unlinkIfThere,
} from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { claimOf, idOfNote } from "../layout.ts";
import { locate } from "../locate.ts";
import { isAlive, vitalSigns } from "./vital-signs.ts";

/**
 * `.viv/processes/<id>.json`: the process tree that works on a claim. Its worker writes it before
 * the handler begins, adds the pid right after, and removes it when the tree is gone. If the worker
 * dies in between, the process that takes the claim away ends the tree first: two handlers of one
 * task never run at the same time.
 */
export interface ProcessNote extends ClaimTree {
  token: string;
  worker: string;
}

export async function noteProcess(
  run: FsRun,
  ref: ClaimRef & { token: string },
  process: ClaimProcess,
): Promise<void> {
  const id = assertName("task id", ref.id);
  const worker = assertName("worker name", ref.worker);
  const { host, boot } = run.machine.self();
  const { pid, started, claim } = process;
  const note: ProcessNote = { host, boot, pid, started, claim, token: ref.token, worker };
  if (!isNote(note)) throw new VivError("INVALID", "that does not describe a process tree.");
  const path = pathOf(run, id);
  const line = JSON.stringify(note);
  if (!run.notes.add(keyOf(id, ref.token), path, line)) {
    // A foreign reaper, or a person with mv, gives a task out again without ending anything.
    const others = await endOrphan(run, id);
    if (others.length > 0) throw wouldNotDie(id, others, "an earlier attempt of");
    const isRight = () => isClaimed(run, id, note);
    if (!run.notes.begin(keyOf(id, ref.token), path, line, isRight)) {
      throw claimLost(run, id, worker);
    }
  }
  // A process that took the claim away just now may have looked before there was a note.
  if (isClaimed(run, id, note)) return;
  forgetProcess(run, id, note.token);
  throw claimLost(run, id, worker);
}

export function forgetProcess(run: FsRun, rawId: string, token: string): void {
  const id = assertName("task id", rawId);
  if (run.notes.end(keyOf(id, token), pathOf(run, id))) return;
  if (readNote(run, id)?.token === token) unlinkIfThere(pathOf(run, id));
}

/** Null when there is none that can be used. */
export function readNote(run: FsRun, id: string): ProcessNote | null {
  const path = pathOf(run, id);
  if (statIfThere(path) === undefined) return null; // the usual case, at a tenth of the cost
  try {
    const text = readDerived(path, 64 * 1024)?.text ?? "";
    const note: unknown = JSON.parse(lastWholeLine(text));
    return isNote(note) ? note : null;
  } catch (error) {
    // Torn by a power loss, which has ended its processes too; or a foreign file.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Before a claim is taken from its worker: ends its tree. Returns the pids that would not die. */
export function endTreeOf(
  run: FsRun,
  claim: { id: string; worker: string; token: string },
): number[] | Promise<number[]> {
  const note = readNote(run, claim.id);
  if (note === null || note.worker !== claim.worker) return [];
  return isOf(run, claim.id, note, claim.token) ? endTree(run, note) : [];
}

/** After it was taken: removes the note, unless another host has yet to act on it. */
export function forgetTreeOf(run: FsRun, id: string, token: string): void {
  const note = readNote(run, id);
  if (note?.token !== token || note.host !== run.machine.self().host) return;
  const couldEnd = run.machine.leftovers !== undefined;
  if (couldEnd || run.machine.vitality(note) === "gone") unlinkIfThere(pathOf(run, id));
}

/** Ends a tree whose claim is gone. Returns the pids that would not die. */
export async function endOrphan(run: FsRun, id: string): Promise<number[]> {
  const note = readNote(run, id);
  if (note === null || isClaimed(run, id, note)) return [];
  const pids = await endTree(run, note);
  if (pids.length === 0) forgetTreeOf(run, id, note.token);
  return pids;
}

/** Is the claim that the note is about still there? */
export function isClaimed(run: FsRun, id: string, note: ProcessNote): boolean {
  const stats = statIfThere(claimOf(run.paths, note.worker, id));
  return stats !== undefined && isOf(run, id, note, tokenOf(stats));
}

export function wouldNotDie(id: string, pids: readonly number[], owner: string): VivError {
  const message = `${plural(pids.length, "process")} of ${owner} ${id} would not die: ${pids.join(", ")}; end ${pids.length === 1 ? "it" : "them"} by hand, then do this again.`;
  return new VivError("LOCKED", message, { id, pids: [...pids] });
}

/** A last line without an end is still being written, unless it is the only one. */
function lastWholeLine(text: string): string {
  return text.split("\n").at(-2) ?? text;
}

function keyOf(id: string, token: string): string {
  return `${token} ${id}`;
}

function pathOf(run: FsRun, id: string): string {
  return `${run.paths.processes}/${id}.json`;
}

function isOf(run: FsRun, id: string, note: ProcessNote, token: string): boolean {
  return note.token === token || isSameClaim(run, id, note.token, token);
}

/** Processes of an earlier boot are gone, those of another host cannot be reached from here. */
function endTree(
  run: FsRun,
  { pid, started, claim, host, boot }: ProcessNote,
): number[] | Promise<number[]> {
  const self = run.machine.self();
  if (host !== self.host || boot !== self.boot) return [];
  return run.machine.leftovers?.end({ pid, started, claim, host, boot }) ?? [];
}

/** Checked also when read: with 1 or -1 for a pid, a kill would hit the wrong ones. */
function isNote(value: unknown): value is ProcessNote {
  const note = value as ProcessNote | null;
  if (typeof note !== "object" || note === null) return false;
  const texts = [note.host, note.boot, note.started, note.claim, note.token, note.worker];
  return (
    Number.isSafeInteger(note.pid) &&
    (note.pid > 1 || note.pid === 0) &&
    note.claim !== "" &&
    texts.every((text) => typeof text === "string") &&
    !note.worker.includes("/")
  );
}

/** Until then, the process that ended the attempt may be about to remove its note. */
const GRACE_MS = 10_000;

/** Notes whose claims have ended, older than the grace period; `note` is null if unreadable. */
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

/** A note of another host is for that one to judge. */
export function isStale(run: FsRun, note: ProcessNote | null): boolean {
  return note === null || run.machine.vitality(note) === "gone";
}

/**
 * Removes stale notes. A tree that still runs though its worker is dead is ended: a `viv cancel`
 * that died in the middle left it, or the task was moved by hand.
 */
export async function sweepNotes(run: FsRun): Promise<void> {
  for (const { id, path, note } of notesWithoutClaim(run)) {
    if (note !== null && !isAlive(run, vitalSigns(run, note.worker, []))) await endOrphan(run, id);
    if (statIfThere(path) && isStale(run, note)) discard(path);
  }
  for (const path of forgottenSpares(run)) discard(path);
}

const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

/** Files between two notes (see note-files.ts) whose process has died, or is almost idle. */
export function forgottenSpares(run: FsRun): string[] {
  return namesIn(run.paths.processes)
    .filter((name) => name.startsWith("~"))
    .map((name) => `${run.paths.processes}/${name}`)
    .filter((path) => Date.now() - (statIfThere(path)?.ctimeMs ?? Infinity) > FORGOTTEN_AFTER_MS);
}
