import { isVivError, VivError } from "../../../base/errors.ts";
import { MAX_TASK_BYTES, type Task } from "../../task.ts";
import { isLater } from "../ends/recorded-end.ts";
import { parseIn } from "../enqueue/parse.ts";
import { readRegular } from "../files/atomic.ts";
import { type FsRun, quarantine } from "../fs-run.ts";
import { locate } from "../locate.ts";
import { linesSinceClaim } from "../record/claim-lines.ts";

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
  const where =
    place === null
      ? "there is no such task"
      : place.worker === worker
        ? `${worker} has claimed it again since`
        : `it is ${place.state}${place.worker ? ` by ${place.worker}` : ""} now`;
  return new VivError(
    "CLAIM_LOST",
    `${worker} no longer holds ${id}: ${where}; drop this result, it was not counted.`,
    { id, worker, state: place?.state ?? null },
  );
}

export function readHeld(run: FsRun, held: Held): Task {
  try {
    const file = readRegular(held.path, MAX_TASK_BYTES);
    if (file === null) throw claimLost(run, held.id, held.worker);
    return parseIn(run, file, held.id);
  } catch (error) {
    if (isVivError(error, "CORRUPT")) quarantine(run, held.path, error.message);
    throw error;
  }
}

/**
 * Between looking at the token and the rename lie microseconds, unless this process was stopped
 * just there for so long that the reaper gave the task to another process of the same worker
 * name. Then the rename took that one's claim: the ledger shows a later claim than ours.
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
 * A claim that was moved by mistake and put back has a new token; the ledger says which. So has one
 * whose file was touched, or gained a link: it is the same while the last claim was the one with that
 * token, and it has not ended.
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
