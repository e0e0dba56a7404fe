import type { ClaimTree } from "../../../base/clock.ts";
import { VivError } from "../../../base/errors.ts";
import { assertName } from "../../../base/names.ts";
import type { ClaimProcess, ClaimRef } from "../../store.ts";
import { readDerived, statIfThere, tokenOf, unlinkIfThere } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { claimOf } from "../layout.ts";
import { claimLost, isSameClaim } from "./held.ts";

/**
 * `.viv/processes/<id>.json`: which process tree works on a claim. Its worker writes it before the
 * handler begins, adds its number right after, and removes it when the tree is gone. If the worker dies in between, whoever takes
 * the claim away ends the tree first: two handlers of one task never run at the same time.
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

/** Null when there is none, or none that could be used. */
export function readNote(run: FsRun, id: string): ProcessNote | null {
  const path = pathOf(run, id);
  if (statIfThere(path) === undefined) return null; // mostly so, and at a tenth of the cost
  try {
    const text = readDerived(path, 64 * 1024)?.text ?? "";
    const note: unknown = JSON.parse(lastWholeLine(text));
    return isNote(note) ? note : null;
  } catch (error) {
    // Torn by a power loss, and then what it named is gone too; or nothing of ours.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Before a claim is taken from its worker: ends its tree. The pids that would not die. */
export function endTreeOf(
  run: FsRun,
  claim: { id: string; worker: string; token: string },
): number[] | Promise<number[]> {
  const note = readNote(run, claim.id);
  if (note === null || note.worker !== claim.worker) return [];
  return isOf(run, claim.id, note, claim.token) ? endTree(run, note) : [];
}

/** After it was taken: the note has served, unless another host has yet to act on it. */
export function forgetTreeOf(run: FsRun, id: string, token: string): void {
  const note = readNote(run, id);
  if (note?.token !== token || note.host !== run.machine.self().host) return;
  const couldEnd = run.machine.leftovers !== undefined;
  if (couldEnd || run.machine.vitality(note) === "gone") unlinkIfThere(pathOf(run, id));
}

/** Ends a tree whose claim is not held any more. The pids that would not die. */
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

export function wouldNotDie(id: string, pids: readonly number[], whose: string): VivError {
  return new VivError(
    "LOCKED",
    `processes of ${whose} ${id} would not die: ${pids.join(", ")}; end them by hand, then do this again.`,
    { id, pids: [...pids] },
  );
}

/** The last line is only being written while it has no end, unless it is the only one. */
function lastWholeLine(text: string): string {
  const lines = text.split("\n");
  return lines.at(-2) ?? text;
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
