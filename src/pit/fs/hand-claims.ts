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
} from "../../queue/fs/files/atomic.ts";
import { withLock } from "../../queue/fs/files/lock.ts";
import { claimOf, fileOf, idLinkOf } from "../../queue/fs/layout.ts";
import { locate } from "../../queue/fs/locate.ts";
import { type FsRun, record, temporaryPath } from "../../queue/fs/run.ts";
import { idOfFood, resultName } from "../food-names.ts";

/**
 * Claims that a snake made with `mv`, maybe of food that no process of ours had seen. Its link in ids/
 * keeps the food when the snake removes its claim, as the protocol tells it to; `.viv/hand/<id>`
 * keeps whose it was, and on a second line since when it is nowhere.
 */
export function noticeHandClaims(run: FsRun): void {
  for (const { id, worker, path } of claimedTasks(run.paths)) {
    // What is no file cannot be linked, and is no food: doctor tells.
    if (!isName(id) || !statIfThere(path)?.isFile()) continue;
    const isNew = !existsSync(idLinkOf(run.paths, id));
    if (isNew) reserveId(run, id, path);
    if (snakeOf(run, id) === worker) continue;
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
    const target = claimOf(run.paths, "nobody", id);
    if (!existsSync(target)) renameIfThere(`${claimed}/${name}`, target);
  }
}

/** The last snake that was seen with it, if that was one with nothing but a shell. */
export function snakeOf(run: FsRun, id: string): string | null {
  return readNote(run, id)?.worker || null;
}

/** A worker of ours finds its claim gone: maybe its handler follows the protocol of a shell. */
export function noteVanished(run: FsRun, id: string, worker: string): void {
  if (existsSync(idLinkOf(run.paths, id))) overwrite(noteOf(run, id), `${worker}\n${Date.now()}`);
}

/** Its claim and its result may go and come in the wrong order, a moment apart. */
const GRACE_MS = 10_000;

/** A claim that was removed without a result: the food is given to the others. */
export async function bringBackVanished(run: FsRun): Promise<void> {
  for (const id of namesIn(`${run.paths.viv}/hand`)) {
    if (!isName(id)) continue;
    const place = locate(run, id);
    if (place?.state === "done") discard(noteOf(run, id));
    const isClaimedDone = existsSync(`${run.paths.state.done}/${resultName(id)}`);
    if (place !== null || isClaimedDone) continue;
    const { worker = "", goneSince } = readNote(run, id) ?? {};
    if (goneSince === undefined) overwrite(noteOf(run, id), `${worker}\n${Date.now()}`);
    else if (Math.abs(Date.now() - goneSince) > GRACE_MS) {
      // One at a time, and another look: what another sweep brought back may be claimed by now.
      await withLock(`${run.paths.viv}/proof.lock`, () => {
        if (locate(run, id) === null) bringBack(run, id, worker);
      });
    }
  }
}

function bringBack(run: FsRun, id: string, worker: string): void {
  const tmp = temporaryPath(run, `back-${id}`);
  try {
    if (!linkIfFree(idLinkOf(run.paths, id), tmp)) return;
    renameIfThere(tmp, fileOf(run.paths, "pending", id));
  } catch {
    return; // doctor has made it a case for people: `vanished`
  } finally {
    unlinkIfThere(tmp);
  }
  discard(noteOf(run, id));
  const note = `${worker} removed its claim without a result`;
  record(run, { event: "adopted", task: id, from: "claimed", to: "pending", note });
  afterMove(run, id, "pending", new Afterwards()); // a sweep: the next one makes up for it
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
