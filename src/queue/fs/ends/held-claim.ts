import { isVivError, VivError } from "../../../base/errors.ts";
import type { TaskState } from "../../states.ts";
import type { Task } from "../../task.ts";
import { readTask } from "../enqueue/task-file.ts";
import { statIfThere } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { claimOf } from "../layout.ts";
import { locate } from "../locate.ts";
import { type ClaimLine, linesSinceClaim, linesSinceClaims } from "../record/claim-lines.ts";
import type { Ending } from "./end-claim.ts";

/** A claim in the hands of its worker, the reaper or a person: is it still the same, has it ended? */

/** The current claim, seen from disk or remembered from claiming. */
export interface Held {
  id: string;
  worker: string;
  path: string;
  token: string;
  attempt: number;
  /** When the token was looked at, by performance.now(). */
  seenAt: number;
}

export function claimLost(run: FsRun, id: string, worker: string): VivError {
  run.memo.claims.delete(id);
  const place = locate(run, id);
  if (place === null) run.hooks?.onVanished(run, id, worker);
  let where = "there is no such task";
  if (place?.worker === worker) where = `${worker} has claimed it again since`;
  else if (place) where = `it is ${place.state}${place.worker ? ` by ${place.worker}` : ""} now`;
  const message = `${worker} no longer holds ${id}: ${where}; drop this result, it was not counted.`;
  return new VivError("CLAIM_LOST", message, { id, worker, state: place?.state ?? null });
}

export function readHeld(run: FsRun, held: Held): Task {
  try {
    const file = readTask(run, held.path, held.id);
    if (file === null) throw claimLost(run, held.id, held.worker);
    return file.task;
  } catch (error) {
    if (isVivError(error, "CORRUPT")) quarantine(run, held.path, error.message);
    throw error;
  }
}

/**
 * Between the look at the token and the rename lie microseconds, unless this process was stopped
 * there for so long that the reaper gave the task to another process of the same worker name.
 * Then the rename took that process's claim: the ledger shows a later claim than ours.
 */
export function laterClaim(run: FsRun, held: Held): string | null {
  let latest = held.token;
  for (const line of linesSinceClaim(run, held)) {
    if (line.event === "claimed" && isLater(line, { token: latest })) {
      latest = String(line.token);
    }
  }
  return latest === held.token ? null : latest;
}

/**
 * A claim that was moved by mistake and put back has a new token, which the ledger has. So has one
 * whose file was touched, or gained a link: it is the same claim while the last one in the ledger
 * has the old token, and has not ended.
 */
export function isSameClaim(run: FsRun, id: string, was: string, now: string): boolean {
  let token = was;
  let isKnown = run.memo.claims.get(id)?.token === was;
  let isLast = true;
  let ends = 0;
  for (const line of linesSinceClaim(run, { id, token: was })) {
    if (line.event === "claimed") {
      if (line.token === was) isKnown = true;
      else if (isLater(line, { token: was })) isLast = false;
    }
    if (line.event === "ended" && line.token === was) ends++;
    if (line.event === "void" && line.was === token) token = String(line.now);
    else if (line.event === "void" && line.token === was) ends--;
  }
  return token === now || (isKnown && isLast && ends <= 0);
}

/**
 * Ends of claims in the ledger. An attempt has ended when its end is recorded, also if its task was
 * not moved yet (a crash, a full disk): every transition on a claim asks here first, and makes the
 * recorded end instead of its own.
 */
export interface RecordedEnd {
  ending: Ending;
  attempt: number;
  /** The claim's when it was recorded. Its file may have another by now: see `endsOfTouched`. */
  token: string;
  /** Path of its file of the ledger. */
  file: string;
}

interface Claimed {
  id: string;
  token: string;
}

interface HeldBy extends Claimed {
  worker: string;
}

export function recordedEnd(run: FsRun, claim: HeldBy): RecordedEnd | undefined {
  return recordedEnds(run, [claim]).get(keyOf(claim));
}

/** By task and token: see `keyOf`. */
export function recordedEnds(run: FsRun, claims: readonly HeldBy[]): Map<string, RecordedEnd> {
  const lines = linesSinceClaims(run, claims);
  const ends = new Map<string, RecordedEnd>();
  const unknown: HeldBy[] = [];
  for (const claim of claims) {
    const about = lines.get(claim.id) ?? [];
    const end = endIn(about, claim.token);
    if (end) ends.set(keyOf(claim), end);
    else if (!about.some((line) => isClaimOf(line, claim))) unknown.push(claim);
  }
  for (const [key, end] of endsOfTouched(run, unknown)) ends.set(key, end);
  return ends;
}

function isClaimOf(line: ClaimLine, { token }: Claimed): boolean {
  return line.event === "claimed" && line.token === token;
}

/**
 * No claim with this token is recorded. Its file may have been touched since it was claimed: a link
 * to it in `ids/` was removed (with all of `.viv/`) or made, or the run was copied. Then its
 * worker's last end counts, if the task cannot have come back since. A done task does not come
 * back; another one's file was dated when it did. Food is given out again by hand, and not dated.
 */
function endsOfTouched(run: FsRun, claims: readonly HeldBy[]): [string, RecordedEnd][] {
  if (claims.length === 0 || run.paths.layout.isFlat) return [];
  const lines = linesSinceClaims(
    run,
    claims.map(({ id }) => ({ id, token: "0" })),
  );
  return claims.flatMap((claim) => {
    const about = lines.get(claim.id) ?? [];
    const at = about.findLastIndex(
      ({ event, worker }) => event === "ended" && worker === claim.worker,
    );
    const token = about[at]?.token;
    if (token === undefined || !(Number(token) < Number(claim.token))) return [];
    const hasMoved = about.some((line, n) =>
      line.event === "claimed" ? isLater(line, { token }) : n > at && line.event in GIVEN_OUT,
    );
    const end = hasMoved ? undefined : endIn(about, token);
    if (end === undefined) return [];
    const dated = statIfThere(claimOf(run.paths, claim.worker, claim.id))?.mtimeMs ?? 0;
    const isBack = end.ending.to !== "done" && dated * 1000 > Number(token);
    return isBack ? [] : [[keyOf(claim), end]];
  });
}

export function keyOf({ id, token }: Claimed): string {
  return `${id} ${token}`;
}

/** An end that was taken back does not count. Of two recorded ends, finished work wins. */
function endIn(lines: readonly ClaimLine[], token: string): RecordedEnd | undefined {
  const ends = endsOf(lines, token);
  const best = ends.find(({ outcome }) => outcome === "done") ?? ends[0];
  return best && { ending: endingFrom(best), attempt: best.attempt ?? 1, token, file: best.file };
}

type EndLine = ClaimLine & { outcome: Ending["outcome"]; to: TaskState };

function endsOf(lines: readonly ClaimLine[], token: string): EndLine[] {
  const ends = new Map<string, EndLine>();
  for (const line of lines) {
    if (line.token !== token || line.outcome === undefined) continue;
    if (line.event === "void") ends.delete(line.outcome);
    // A line that was written twice is one end.
    else if (line.event === "ended" && line.to !== undefined && !ends.has(line.outcome)) {
      ends.set(line.outcome, line as EndLine);
    }
  }
  return [...ends.values()];
}

function endingFrom(line: EndLine): Ending {
  return {
    outcome: line.outcome,
    to: line.to,
    note: line.note,
    fingerprint: line.fingerprint,
    retryAt: line.retry_at,
    by: line.by,
    receipt: line.receipt,
    proof: line.proof,
    commit: line.commit,
    unproven: line.unproven,
  };
}

/** Moves by other claims, or people: where the task came from, if the line does not have it. */
const MOVES: Readonly<Record<string, TaskState | null>> = {
  claimed: "pending",
  promoted: "waiting",
  approved: null,
  rejected: null,
  cancelled: null,
  retried: null,
  reworked: null,
};

/** After one of these a task is no longer where its last end left it. */
const GIVEN_OUT: Readonly<Record<string, unknown>> = { ...MOVES, adopted: null, enqueued: null };

/** The claim is gone: did another process make the end we recorded, or take the task away first? */
export function wasMade(run: FsRun, claim: Claimed, { outcome, to }: Ending): boolean {
  const lines = linesSinceClaim(run, claim);
  const others = endsOf(lines, claim.token).filter((line) => line.outcome !== outcome);
  const at = lines.findLastIndex(
    (line) => line.event === "ended" && line.token === claim.token && line.outcome === outcome,
  );
  const next = lines.find(
    (line, n) => n > at && line.event in MOVES && (!line.token || isLater(line, claim)),
  );
  if (next) return others.length === 0 && (MOVES[next.event] ?? next.from) === to;
  const state = locate(run, claim.id)?.state;
  // No task comes to done/ by another end, whatever else was recorded.
  return state === to && (to === "done" || others.length === 0);
}

/** The same end, asked for again after an error or no answer, if another process made it since. */
export function endMadeBefore(
  run: FsRun,
  claim: Claimed,
  outcome: Ending["outcome"],
): RecordedEnd | null {
  const lines = linesSinceClaim(run, claim);
  const end = endIn(lines, claim.token);
  if (end?.ending.outcome !== outcome) return null;
  if (lines.some((line) => line.event === "claimed" && isLater(line, claim))) return null;
  const state = locate(run, claim.id)?.state;
  return state === end.ending.to || (outcome === "done" && state === "done") ? end : null;
}

/** By the token's time, not by place: a line may be written some time after its claim. */
export function isLater(line: ClaimLine, claim: Pick<Claimed, "token">): boolean {
  return Number(line.token) > Number(claim.token);
}
