import type { AttemptRecord, HistoryRecord } from "./attempt.ts";
import { attemptsSinceRetry, countsAsFailure } from "./retry.ts";

/**
 * Failures that repeat. The third failure in a row with one fingerprint is a choke: its worker
 * does not get the task again, and the count begins anew for the next worker. So each worker has
 * three tries, and with N workers a task that none can do ends after at most 3 N.
 */
export const CHOKE_AT = 3;

/** A fingerprint that begins so is a choke by itself: a worker with a shell has noted it. */
export const NOTED_CHOKE = "choke-note ";

/** In records, for a worker whose claim no process of ours saw. No worker can have this name. */
export const UNSEEN = "?";

export interface Choke {
  /** The worker of the third failure. */
  worker: string;
  /** All workers that failed in this row: usually that one alone. */
  workers: string[];
  /** The third failure. */
  attempt: AttemptRecord;
  /** Of a failure before it: the third one's note may be about the choke. */
  note?: string;
}

/** A worker that could take a task. */
export interface Taker {
  name: string;
  alive: boolean;
  /** Null: any. */
  types: readonly string[] | null;
}

/** Every choke since a person last requeued the task, oldest first. */
export function chokesIn(history: readonly HistoryRecord[]): Choke[] {
  const chokes: Choke[] = [];
  let row: AttemptRecord[] = [];
  for (const attempt of attemptsSinceRetry(history)) {
    if (!countsAsFailure(attempt.outcome)) continue;
    if (attempt.fingerprint?.startsWith(NOTED_CHOKE)) {
      const { worker, note } = attempt;
      chokes.push({ worker, workers: [worker], attempt, note });
      row = [];
      continue;
    }
    if (!attempt.fingerprint || attempt.fingerprint !== row[0]?.fingerprint) row = [];
    if (!attempt.fingerprint) continue;
    row.push(attempt);
    if (row.length < CHOKE_AT) continue;
    chokes.push({
      worker: attempt.worker,
      workers: [...new Set(row.map(({ worker }) => worker))],
      attempt,
      note: row.slice(0, -1).findLast((one) => one.note)?.note,
    });
    row = [];
  }
  return chokes;
}

/** The failures after the last choke. */
export function failuresSinceChoke(history: readonly HistoryRecord[]): number {
  const last = chokesIn(history).at(-1)?.attempt;
  const attempts = attemptsSinceRetry(history);
  const since = last === undefined ? attempts : attempts.slice(attempts.indexOf(last) + 1);
  return since.filter(({ outcome }) => countsAsFailure(outcome)).length;
}

/** The choke at the last attempt of this history, if there is one. */
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

/**
 * Decides where a choke sends the task; `others` are the workers that may still try it. With
 * `waitsForLater` it stays pending without any.
 */
export function afterChoke(
  choke: Choke,
  others: readonly string[],
  { note = choke.note, waitsForLater = false }: { note?: string; waitsForLater?: boolean } = {},
): { to: "pending" | "failed"; note: string } {
  const choked = describeChoke(choke, note);
  if (others.length === 0 && waitsForLater) {
    return { to: "pending", note: `${choked}; left for a worker that comes later` };
  }
  return others.length > 0
    ? { to: "pending", note: `${choked}; given to another worker` }
    : { to: "failed", note: `${choked}; ${NONE_LEFT}` };
}

const NONE_LEFT = "no other worker is left to try it";

/** Did a task with this note fail because no worker was left to try it? */
export function isNoWorkerLeft(note: string): boolean {
  return note.endsWith(NONE_LEFT);
}

export function describeChoke({ worker, workers, note: own }: Choke, note = own): string {
  const name = worker === UNSEEN ? "a worker that was not seen" : worker;
  const by = workers.length === 1 ? ` with ${name}` : `, the last time with ${name}`;
  return `choked: three times the same failure${by}${note ? ` (${note})` : ""}`;
}
