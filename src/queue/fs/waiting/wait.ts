import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { isName } from "../../../base/names.ts";
import { watchPaths } from "../../../platform/files/watch.ts";
import type { WaitOptions } from "../../store.ts";
import { assertReviewLimit, isReviewFull, readerFor } from "../claims/claim.ts";
import type { FsRun } from "../fs-run.ts";
import { adopt } from "../lanes/adopt.ts";
import { filterOf, type LaneReader } from "../lanes/lane-reader.ts";
import { fileOf, workerPauseOf } from "../layout.ts";
import { isPaused } from "../pause.ts";
import { projectBeforeIdling } from "../record/project.ts";
import { nextDue } from "./due.ts";
import { promoteDependents, promoteDue, promoteMet, wakeWaitingIfDue } from "./promote.ts";

const PAUSED = "paused.json";
const LOOK_AT_TIMES_MS = 1_000;

/**
 * Sleeping until there may be work. Woken by: a line on a lane (our enqueue), a name in pending/
 * (a foreign one), a name in done/ that a task waits for (a foreign worker finished it), a new
 * status.json (swarm-lib lists completed tasks there), the beginning and the end of a pause, which the
 * caller tells of, a name that leaves review/ (if that is limited), the next due time, or at last the time-out, at which the caller looks for itself.
 */
export async function waitForWork(run: FsRun, options: WaitOptions): Promise<boolean> {
  assertReviewLimit(options.reviewLimit);
  const { state, layout, lanes, status } = run.paths;
  const reader = readerFor(run, filterOf(options, layout.reservedTypes));
  projectBeforeIdling(run);
  const timers = new Map<() => void, NodeJS.Timeout>();
  let resolve: (found: boolean) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const found = new Promise<boolean>((onFound, onError) => {
    resolve = onFound;
    reject = onError;
  });
  /** An error in a callback ends the wait. */
  const guarded =
    <A extends unknown[]>(act: (...args: A) => void) =>
    (...args: A) => {
      try {
        act(...args);
      } catch (error) {
        reject(error);
      }
    };
  const after = (ms: number, act: () => void) => {
    clearTimeout(timers.get(act));
    timers.set(act, setTimeout(act, Math.max(1, ms)));
  };
  const check = guarded(() => {
    const work = hasWork(run, reader, options);
    if (work === true) resolve(true);
    // Too soon to list pending/ again: once more when that is affordable.
    if (typeof work === "number" && !timers.has(recheck)) after(work, recheck);
  });
  const recheck = () => {
    timers.delete(recheck);
    check();
  };
  // Times are looked at when the next one comes, and every second, because others add to them.
  const lookAtTimes = guarded(() => {
    promoteDue(run, true);
    wakeWaitingIfDue(run);
    const due = nextDue(run);
    const untilDue = due === null ? Number.POSITIVE_INFINITY : due - run.machine.clock.now();
    after(Math.min(LOOK_AT_TIMES_MS, untilDue), lookAtTimes);
    check();
  });
  const lookOnceMore = guarded(() => {
    promoteDue(run, true);
    promoteMet(run);
    wakeWaitingIfDue(run);
    resolve(hasWork(run, reader, options) === true);
  });
  const onDone = guarded((name: string | null) => {
    const id = name === null ? null : layout.idOf("done", name);
    if (isName(id) && existsSync(fileOf(run.paths, "done", id))) promoteDependents(run, id);
  });
  const wasPaused = isPaused(run, options.worker);
  const onPause = guarded(() => {
    if (isPaused(run, options.worker) !== wasPaused)
      resolve(hasWork(run, reader, options) === true);
  });
  const onStatus = guarded((name: string | null) => {
    if (name === "status.json") promoteMet(run);
    if (name === PAUSED) onPause();
  });
  const own = options.worker === undefined ? null : workerPauseOf(run.paths, options.worker);
  const onOwn = (name: string | null) => {
    if (own !== null && name === basename(own)) onPause();
  };
  const onAbort = () => resolve(false);
  const limited = options.reviewLimit === undefined ? [] : [state.review];
  // Where notifications do not work, the time-out covers for them.
  const watches = [
    watchPaths([lanes, state.pending, ...limited], check),
    watchPaths([state.done], onDone),
    watchPaths([dirname(status)], onStatus),
    ...(own === null ? [] : [watchPaths([dirname(own)], onOwn)]),
  ];
  try {
    options.signal?.addEventListener("abort", onAbort);
    if (options.signal?.aborted) resolve(false);
    after(options.timeoutMs, lookOnceMore);
    // The watch is set: look now, so that nothing slips in between the last look and the watch.
    promoteMet(run);
    lookAtTimes();
    return await found;
  } finally {
    for (const timer of timers.values()) clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
    for (const stopWatching of watches) stopWatching();
  }
}

/** True, false, or the milliseconds after which another look is worthwhile. */
function hasWork(run: FsRun, reader: LaneReader, options: WaitOptions): boolean | number {
  if (isPaused(run, options.worker) || isReviewFull(run, options.reviewLimit)) return false;
  if (reader.peek(options.worker)) return true;
  // In a crowded pending/ (other workers' types) a look costs more than a notification is worth.
  const restsFor = run.memo.adoptedAt + 20 * run.memo.adoptCost - performance.now();
  if (restsFor > 0) return Math.ceil(restsFor);
  if (adopt(run, reader) > 0) return true;
  return run.memo.hasUnripe ? LOOK_AT_TIMES_MS : false;
}
