import { TASK_STATES, type TaskState } from "../../states.ts";
import { claimedTasks } from "../claims/claimed.ts";
import { restoreWorkers } from "../claims/register.ts";
import { restoreCancelled } from "../ends/cancelled.ts";
import { reserveAgain } from "../enqueue/task-file.ts";
import { remakeFolders } from "../files/aside.ts";
import { namesIn, readDerived, replaceFile, statIfThere, withLock } from "../files/atomic.ts";
import { type FsRun, temporaryPath } from "../fs-run.ts";
import { adoptPending } from "../lanes/adopt.ts";
import { ANY, LaneReader } from "../lanes/lane-reader.ts";
import { derivedFolders, idOfLink } from "../layout.ts";
import { wakeWaiting } from "../waiting/promote.ts";
import { type Digest, restoreHistories } from "./attempts.ts";

/**
 * Derived files are not synced: a power cut leaves them empty, cut or full of NULs, and a person may
 * remove `.viv/` at any time. `.viv/boot-<host>` names the boot in which this host last knew them to
 * be whole, and their folders. If the boot is another one, or a folder is, all of them are compared
 * with the state folders and the ledger, and the missing ones written again. At open, and by workers
 * now and then.
 */
export function recoverIfLost(run: FsRun): boolean {
  if (run.readOnly || run.memo.isRecovering || isKnown(run)) return false;
  run.memo.isRecovering = true;
  try {
    for (const folder of derivedFolders(run.paths)) remakeFolders(`${folder}/x`);
    const folders = noteText(run); // before: a folder that is lost from here on is not known
    recover(run);
    noteBoot(run, folders);
    return true;
  } finally {
    run.memo.isRecovering = false;
  }
}

/** The same by one process at a time: each step may be repeated, but costs a reading of the ledger. */
export async function recoverInTurn(run: FsRun): Promise<void> {
  if (run.readOnly || isKnown(run)) return;
  await withLock(`${run.paths.viv}/boot.lock`, () => recoverIfLost(run));
}

const NOTE = "boot-";

/** For a new run, in which there is nothing to recover. */
export function noteBoot(run: FsRun, text = noteText(run)): void {
  replaceFile(noteOf(run), temporaryPath(run, "boot"), text, false);
}

function isKnown(run: FsRun): boolean {
  const text = noteText(run);
  const isIn = (note: string) => readDerived(note, 4096)?.text === text;
  if (isIn(noteOf(run))) return true;
  // Each container has a name of its own, and the boot of its machine.
  const notes = namesIn(run.paths.viv).filter((name) => name.startsWith(NOTE));
  return notes.some((name) => isIn(`${run.paths.viv}/${name}`));
}

/** Names the folders by birth time too: ext4 gives a freed inode to the next new folder. */
function noteText(run: FsRun): string {
  const folders = derivedFolders(run.paths).map((folder) => {
    const stats = statIfThere(folder);
    if (!stats?.isDirectory()) return 0;
    return hasBirthtimes() ? `${stats.ino}@${stats.birthtimeMs}` : stats.ino;
  });
  return `${run.machine.bootId()} ${folders.join(" ")}\n`;
}

let birthtimes: boolean | undefined;

/** Where the system has none for node, it gives the change time, also for /proc, which has none. */
function hasBirthtimes(): boolean {
  const stats = birthtimes === undefined ? statIfThere("/proc/self") : undefined;
  birthtimes ??= stats === undefined || stats.birthtimeMs !== stats.ctimeMs;
  return birthtimes;
}

function noteOf(run: FsRun): string {
  const { host } = run.machine.self();
  return `${run.paths.viv}/${NOTE}${host.replace(/[^A-Za-z0-9-]/g, "_").slice(0, 64)}`;
}

function recover(run: FsRun): void {
  restoreWorkers(run);
  run.notes.restore();
  const digest = restoreHistories(run);
  reserveIds(run, digest);
  restoreCancelled(run, digest.cancelled);
  wakeWaiting(run);
  const reader = new LaneReader(run, ANY);
  try {
    adoptPending(run, reader, true);
  } finally {
    reader.close();
    run.memo.pendingSeen.clear();
  }
}

/** A used id stays used. A task that only foreigners ever touched has no entry. */
function reserveIds(run: FsRun, { ours }: Digest): void {
  const known = new Set(namesIn(run.paths.ids).map((name) => idOfLink(run.paths, name)));
  const look = (id: string | null, state: TaskState, path: string) => {
    if (id !== null && !known.has(id) && ours.has(id)) reserveAgain(run, id, { state, path });
  };
  for (const state of TASK_STATES) {
    if (state === "claimed") continue;
    const folder = run.paths.state[state];
    for (const name of namesIn(folder)) {
      look(run.paths.layout.idOf(state, name), state, `${folder}/${name}`);
    }
  }
  for (const { id, path } of claimedTasks(run.paths)) look(id, "claimed", path);
}
