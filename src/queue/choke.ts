import type { AttemptRecord, HistoryRecord } from "./attempt.ts";
import { attemptsSinceRetry, countsAsFailure } from "./retry.ts";

/**
 * Failures that repeat. The third failure in a row with one fingerprint is a choke: its worker
 * does not get the task again, and the count begins anew for the next worker. So each worker has
 * three tries, and with N workers a task that none can do ends after at most 3 N.
 */
export const CHOKE_AT = 3;

export interface Choke {
  /** Whose failure was the third. */
  worker: string;
  /** All workers that failed in this row: usually that one alone. */
  workers: string[];
  /** The third failure itself. */
  attempt: AttemptRecord;
  /** What was said about the failure before it: the third one's note may tell of the choke. */
  note?: string;
}

/** A worker that could take a task, as far as the store knows. */
export interface Taker {
  name: string;
  alive: boolean;
  /** Null: any. */
  types: readonly string[] | null;
}

/** Every choke since a person last sent the task round again, oldest first. */
export function chokesIn(history: readonly HistoryRecord[]): Choke[] {
  const chokes: Choke[] = [];
  let row: AttemptRecord[] = [];
  for (const attempt of attemptsSinceRetry(history)) {
    if (!countsAsFailure(attempt.outcome)) continue;
    if (!attempt.fingerprint || attempt.fingerprint !== row[0]?.fingerprint) row = [];
    if (!attempt.fingerprint) continue;
    row.push(attempt);
    if (row.length < CHOKE_AT) continue;
    chokes.push(chokeOf(row, attempt));
    row = [];
  }
  return chokes;
}

function chokeOf(row: readonly AttemptRecord[], attempt: AttemptRecord): Choke {
  const note = row.slice(0, -1).findLast((one) => one.note)?.note;
  return {
    worker: attempt.worker,
    workers: [...new Set(row.map(({ worker }) => worker))],
    attempt,
    note: note || undefined,
  };
}

/** The failures behind the last choke. */
export function failuresSinceChoke(history: readonly HistoryRecord[]): number {
  const last = chokesIn(history).at(-1)?.attempt;
  const attempts = attemptsSinceRetry(history);
  const since = last === undefined ? attempts : attempts.slice(attempts.indexOf(last) + 1);
  return since.filter(({ outcome }) => countsAsFailure(outcome)).length;
}

/** The choke that the last attempt of this history made, if it made one. */
export function newChoke(history: readonly HistoryRecord[]): Choke | null {
  const choke = chokesIn(history).at(-1);
  return choke !== undefined && choke.attempt === history.at(-1) ? choke : null;
}

/** Workers that have choked on the task and must not get it again. */
export function chokedWorkers(history: readonly HistoryRecord[]): Set<string> {
  return new Set(chokesIn(history).map(({ worker }) => worker));
}

/** The living workers that take this type and have not choked on the task. */
export function mayTry(
  workers: readonly Taker[],
  type: string,
  history: readonly HistoryRecord[],
): string[] {
  const choked = chokedWorkers(history);
  return workers
    .filter(({ name, alive, types }) => alive && takes(types, type) && !choked.has(name))
    .map(({ name }) => name);
}

export function takes(types: readonly string[] | null, type: string): boolean {
  return types === null || types.includes(type);
}

const HANDED_OVER = "given to another worker";
const NOBODY_LEFT = "no other worker is left to try it";

/** Decides where a choke sends the task, given the workers that may still try it, with a note for people. */
export function afterChoke(
  choke: Choke,
  others: readonly string[],
  note = choke.note,
): { to: "pending" | "failed"; note: string } {
  const what = describeChoke(choke, note);
  return others.length > 0
    ? { to: "pending", note: `${what}; ${HANDED_OVER}` }
    : { to: "failed", note: `${what}; ${NOBODY_LEFT}` };
}

/** Did a task with this note fail because no worker was left to try it? */
export function tellsOfNobodyLeft(note: string): boolean {
  return note.endsWith(NOBODY_LEFT);
}

export function describeChoke(choke: Choke, note = choke.note): string {
  const whom =
    choke.workers.length === 1 ? ` with ${choke.worker}` : `, the last time with ${choke.worker}`;
  return `choked: three times the same failure${whom}${note ? ` (${note})` : ""}`;
}
