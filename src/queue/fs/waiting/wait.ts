import { existsSync, type FSWatcher, watch as watchFolder } from "node:fs";
import { dirname } from "node:path";
import { isName } from "../../../base/names.ts";
import type { WaitOptions } from "../../store.ts";
import { readerFor } from "../claims/claim.ts";
import { assertReviewLimit, isReviewFull } from "../claims/review-limit.ts";
import { statIfThere } from "../files/atomic.ts";
import type { FsRun } from "../fs-run.ts";
import { adopt } from "../lanes/adopt.ts";
import type { LaneReader } from "../lanes/lane-reader.ts";
import { filterOf } from "../lanes/type-filter.ts";
import { fileOf } from "../layout.ts";
import { projectBeforeIdling } from "../record/project.ts";
import { nextDue } from "./due.ts";
import { promoteDependents, promoteDue, promoteMet, wakeWaitingIfDue } from "./promote.ts";

const LOOK_AT_TIMES_MS = 1_000;

/**
 * Sleeping until there may be work. Woken by: a line on a lane (our enqueue), a name in pending/
 * (a foreign one), a name in done/ that a task waits for (a foreign worker finished it), a new
 * status.json (swarm-lib says what is completed), a name that leaves review/ (if that is limited),
 * the next due time, or at last the time-out, at which the caller looks for itself.
 */
export async function waitForWork(run: FsRun, options: WaitOptions): Promise<boolean> {
  assertReviewLimit(options.reviewLimit);
  const reader = readerFor(run, filterOf(options, run.paths.layout.reservedTypes));
  projectBeforeIdling(run);
  const watchers: FSWatcher[] = [];
  let deadline: NodeJS.Timeout | undefined;
  let dueTimer: NodeJS.Timeout | undefined;
  let later: NodeJS.Timeout | undefined;
  let onAbort: () => void = () => {};
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const check = () => {
        try {
          const found = hasWork(run, reader, options);
          if (found === true) resolve(true);
          // Too soon to list pending/ again: once more when that is affordable.
          if (typeof found === "number") later ??= setTimeout(recheck, found);
        } catch (error) {
          reject(error);
        }
      };
      const recheck = () => {
        later = undefined;
        check();
      };
      watch(watchers, run.paths.lanes, check);
      watch(watchers, run.paths.state.pending, check);
      watch(watchers, run.paths.state.done, (name) => {
        const id = name === null ? null : run.paths.layout.idOf("done", name);
        try {
          if (id !== null && isName(id) && existsSync(fileOf(run.paths, "done", id))) {
            promoteDependents(run, id);
          }
        } catch (error) {
          reject(error);
        }
      });
      if (options.reviewLimit !== undefined) watch(watchers, run.paths.state.review, check);
      watch(watchers, dirname(run.paths.status), (name) => {
        if (name !== "status.json") return;
        try {
          promoteMet(run);
        } catch (error) {
          reject(error);
        }
      });
      onAbort = () => resolve(false);
      options.signal?.addEventListener("abort", onAbort);
      if (options.signal?.aborted) resolve(false);
      deadline = setTimeout(
        () => {
          try {
            promoteDue(run, true);
            promoteMet(run);
            wakeWaitingIfDue(run);
            resolve(hasWork(run, reader, options) === true);
          } catch (error) {
            reject(error);
          }
        },
        Math.max(1, options.timeoutMs),
      );
      // Times are looked at when the next one comes, and every second, because others add to them.
      const lookAtTimes = () => {
        try {
          promoteDue(run, true);
          wakeWaitingIfDue(run);
          const due = nextDue(run);
          const untilDue = due === null ? Number.POSITIVE_INFINITY : due - run.machine.clock.now();
          clearTimeout(dueTimer);
          dueTimer = setTimeout(lookAtTimes, Math.max(1, Math.min(LOOK_AT_TIMES_MS, untilDue)));
          check();
        } catch (error) {
          reject(error);
        }
      };
      // The watch is set: now look, so that nothing slips in between the last look and the watch.
      promoteMet(run);
      lookAtTimes();
    });
  } finally {
    clearTimeout(deadline);
    clearTimeout(dueTimer);
    clearTimeout(later);
    options.signal?.removeEventListener("abort", onAbort);
    for (const watcher of watchers) watcher.close();
  }
}

function watch(list: FSWatcher[], folder: string, onEvent: (name: string | null) => void): void {
  if (!statIfThere(folder)) return;
  try {
    const watcher = watchFolder(folder, (_, name) => onEvent(name));
    watcher.on("error", () => {}); // the time-out behind it covers for a broken watch
    list.push(watcher);
  } catch {
    // No watches left on this machine (fs.inotify.max_user_watches): the time-out covers for it.
  }
}

/** True, false, or in how many milliseconds it is worth looking again. */
function hasWork(run: FsRun, reader: LaneReader, options: WaitOptions): boolean | number {
  if (isReviewFull(run, options.reviewLimit)) return false;
  const isThere = (id: string) => existsSync(fileOf(run.paths, "pending", id));
  if (reader.peek(isThere, options.worker)) return true;
  // In a crowded pending/ (other workers' types) a look costs more than a notification is worth.
  const restsFor = run.memo.adoptedAt + 20 * run.memo.adoptCost - performance.now();
  if (restsFor > 0) return Math.ceil(restsFor);
  if (adopt(run, reader) > 0) return true;
  return run.memo.hasUnripe ? LOOK_AT_TIMES_MS : false;
}
