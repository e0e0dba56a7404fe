import { existsSync } from "node:fs";
import { isName } from "../../base/names.ts";
import { claimedTasks } from "../../queue/fs/claims/claimed.ts";
import { afterMove } from "../../queue/fs/ends/after-move.ts";
import { Afterwards } from "../../queue/fs/ends/afterwards.ts";
import { reserveId } from "../../queue/fs/enqueue/task-file.ts";
import {
  discard,
  linkIfFree,
  namesIn,
  overwrite,
  readDerived,
  renameIfThere,
  statIfThere,
  unlinkIfThere,
  withLock,
} from "../../queue/fs/files/atomic.ts";
import { type FsRun, record, temporaryPath } from "../../queue/fs/fs-run.ts";
import { claimOf, fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { locate } from "../../queue/fs/locate.ts";
import { readHistory } from "../../queue/fs/record/attempts.ts";
import { completedTasks } from "../../queue/fs/record/status-file.ts";
import { idOfFood, NOBODY, resultName } from "../food-names.ts";
import { isProver } from "../pit-store.ts";

/**
 * Claims that a snake made with `mv`, maybe of food that no process of ours had seen. The link in ids/
 * keeps the food when the snake removes its claim, as the protocol asks; `.viv/hand/<id>` has the
 * snake's name and, on a second line, the time since which the food is nowhere.
 */
export function noticeHandClaims(run: FsRun): void {
  for (const { id, worker, path } of claimedTasks(run.paths)) {
    // Only a file can be linked, or be food; doctor reports others.
    if (!isName(id) || !statIfThere(path)?.isFile()) continue;
    const isNew = !existsSync(idLinkOf(run.paths, id));
    if (isNew) reserveId(run, id, path);
    if (worker === NOBODY || snakeOf(run, id) === worker || isProver(worker)) continue;
    overwrite(noteOf(run, id), worker);
    if (isNew) record(run, { event: "adopted", task: id, worker, to: "claimed" });
  }
}

/** A claim without a name before it: the food is claimed by an unknown snake. */
export function nameNameless(run: FsRun): void {
  const { claimed } = run.paths.state;
  for (const name of namesIn(claimed)) {
    const id = run.paths.layout.splitClaim(name) === null ? idOfFood(name) : null;
    if (id === null || !isName(id)) continue;
    const target = claimOf(run.paths, NOBODY, id);
    if (!existsSync(target)) renameIfThere(`${claimed}/${name}`, target);
  }
}

/**
 * The last snake that was seen with it. Null when its attempt has ended since: whoever has taken the
 * food after that was not seen.
 */
export function snakeOf(run: FsRun, id: string): string | null {
  const worker = readNote(run, id)?.worker;
  if (!worker) return null;
  const seenAt = statIfThere(noteOf(run, id))?.mtimeMs ?? 0;
  const last = readHistory(run, id).at(-1);
  return last !== undefined && Date.parse(last.at) > seenAt ? null : worker;
}

/** A worker finds its claim gone: maybe its handler follows the protocol by hand. */
export function noteVanished(run: FsRun, id: string, worker: string): void {
  if (existsSync(idLinkOf(run.paths, id))) overwrite(noteOf(run, id), `${worker}\n${Date.now()}`);
}

/** The claim may go a moment before the result comes. */
const GRACE_MS = 10_000;

/** Food whose claim was removed without a result goes back to food/. */
export async function bringBackVanished(run: FsRun): Promise<void> {
  for (const id of namesIn(`${run.paths.viv}/hand`)) {
    if (!isName(id)) continue;
    const place = locate(run, id);
    // Food that was moved to done/ by hand is still to be proven, for its snake.
    if (place?.state === "done" && completedTasks(run).has(id)) discard(noteOf(run, id));
    const isClaimedDone = existsSync(`${run.paths.state.done}/${resultName(id)}`);
    if (place !== null || isClaimedDone) continue;
    const { goneSince } = readNote(run, id) ?? {};
    const worker = snakeOf(run, id) ?? "";
    if (goneSince === undefined) overwrite(noteOf(run, id), `${worker}\n${Date.now()}`);
    else if (Math.abs(Date.now() - goneSince) > GRACE_MS) {
      // Under the lock, another look: food that another sweep brought back may be claimed by now.
      await withLock(`${run.paths.viv}/proof.lock`, () => {
        if (locate(run, id) === null) bringBack(run, id, worker);
      });
    }
  }
}

function bringBack(run: FsRun, id: string, worker: string): void {
  try {
    if (!restoreTo(run, id, fileOf(run.paths, "pending", id))) return;
  } catch {
    return; // doctor reports it as `vanished`
  }
  discard(noteOf(run, id));
  const note = `${worker || "a snake"} removed its claim without a result`;
  record(run, { event: "adopted", task: id, from: "claimed", to: "pending", note });
  afterMove(run, id, "pending", new Afterwards()); // the next sweep repairs a failure
}

/** Food that is nowhere comes back as a second name of its link in ids/. */
export function restoreTo(run: FsRun, id: string, target: string): boolean {
  const tmp = temporaryPath(run, `back-${id}`);
  if (!linkIfFree(idLinkOf(run.paths, id), tmp)) return false;
  try {
    return renameIfThere(tmp, target);
  } finally {
    unlinkIfThere(tmp);
  }
}

function readNote(run: FsRun, id: string): { worker: string; goneSince?: number } | null {
  const text = readDerived(noteOf(run, id), 256)?.text;
  if (text === undefined) return null;
  const [worker = "", since] = text.split("\n");
  return since ? { worker, goneSince: Number(since) } : { worker };
}

function noteOf(run: FsRun, id: string): string {
  return `${run.paths.viv}/hand/${id}`;
}
