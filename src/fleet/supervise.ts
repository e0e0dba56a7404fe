import type { Clock } from "../base/clock.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { Child, ChildEnd, Timers } from "../platform/processes/children.ts";
import type { Finished, RunningHandler } from "../platform/processes/handlers.ts";

/**
 * The two ways in which the programs of an agent are started again: a worker after it has died
 * (`restartedProcess`), a command once in each interval (`intervalRun`).
 */

interface Time {
  clock: Clock;
  timers: Timers;
}

/**
 * Why a process ended, for the decision on its restart.
 *
 * - died: restarted after a pause that doubles from 1 s to 1 min, and is reset by a life of 5 min.
 *   Five early deaths in a row (within a minute of the start) park it.
 * - failed: the same without parking: a clock of this process, which a machine fault may stop for long.
 * - refused: it cannot work as configured; parked at once.
 * - taken: another process has its name; tried again every 2 s, which counts as no death.
 * - occupied: another program has its port, which may be for long; the same every 10 s.
 */
export type Death = "died" | "failed" | "refused" | "taken" | "occupied";

export interface RestartHistory {
  /** Since it last lived for 5 min. */
  readonly pauses: number;
  /** In a row. */
  readonly earlyDeaths: number;
}

type RestartDecision =
  | { kind: "restart"; afterMs: number; history: RestartHistory }
  | { kind: "park"; why: string };

export const NO_DEATHS: RestartHistory = { pauses: 0, earlyDeaths: 0 };

const PAUSE_MS = { first: 1_000, longest: 60_000 };
const RETRY_MS = { taken: 2_000, occupied: 10_000 };
const GOOD_LIFE_MS = 5 * 60_000;
const EARLY_MS = 60_000;
const MOST_EARLY_DEATHS = 5;

export function afterDeath(before: RestartHistory, death: Death, livedMs: number): RestartDecision {
  if (death === "refused") return { kind: "park", why: "it cannot work as configured" };
  if (death === "taken" || death === "occupied") {
    return { kind: "restart", afterMs: RETRY_MS[death], history: before };
  }
  const earlyDeaths = livedMs < EARLY_MS ? before.earlyDeaths + 1 : 0;
  if (death === "died" && earlyDeaths >= MOST_EARLY_DEATHS) {
    const why = `it died ${MOST_EARLY_DEATHS} times in a row within a minute of its start`;
    return { kind: "park", why };
  }
  const pauses = (livedMs >= GOOD_LIFE_MS ? 0 : before.pauses) + 1;
  const afterMs = growingPause(pauses, PAUSE_MS);
  return { kind: "restart", afterMs, history: { pauses, earlyDeaths } };
}

export type RestartEvent =
  | { kind: "started"; child: Child }
  | { kind: "ended"; end: ChildEnd; death: Death | "finished" | "stopped" }
  | { kind: "restarts"; afterMs: number }
  | { kind: "over"; how: RestartEnd; why: string };

export type RestartEnd = "stopped" | "parked" | "ended";

/** From the second request to the kill: time to end its handlers and give back its claims. */
const KILL_AFTER_MS = 30_000;

/** In place of a process that is not started: its run is gone, and would be made anew. */
export const NEVER_STARTED: Child = {
  process: null,
  ended: Promise.resolve({ exit: null, signal: null, lastWords: "", error: "the run is gone" }),
  ...{ ask: () => {}, askAgain: () => {}, kill: () => {} },
};

/** Restarts a process until it is stopped, parked, or `judge` says that it has done all its work. */
export function restartedProcess(
  startChild: () => Child,
  judge: (end: ChildEnd) => Death | "finished",
  { clock, timers }: Time,
  emit: (event: RestartEvent) => void,
) {
  let child: Child | undefined;
  let history = NO_DEATHS;
  let isStopping = false;
  let isOver = false;
  let cancel = () => {};
  let resolve = (_: RestartEnd) => {};
  const over = new Promise<RestartEnd>((resolveOver) => {
    resolve = resolveOver;
  });

  const finish = (how: RestartEnd, why = "") => {
    if (isOver) return;
    isOver = true;
    emit({ kind: "over", how, why });
    resolve(how);
  };

  const start = () => {
    if (child !== undefined || isOver || isStopping) return;
    const started = startChild();
    const startedAt = clock.uptime();
    child = started;
    if (started.process !== null) emit({ kind: "started", child: started });
    void started.ended.then((end) => onEnd(end, startedAt));
  };

  const onEnd = (end: ChildEnd, startedAt: number) => {
    child = undefined;
    cancel();
    const death = isStopping ? "stopped" : judge(end);
    emit({ kind: "ended", end, death });
    if (death === "stopped") finish("stopped");
    else if (death === "finished") finish("ended");
    else startAgain(death, (clock.uptime() - startedAt) * 1000);
  };

  const startAgain = (death: Death, livedMs: number) => {
    const decision = afterDeath(history, death, livedMs);
    if (decision.kind === "park") return finish("parked", decision.why);
    history = decision.history;
    cancel = timers.after(decision.afterMs, start);
    emit({ kind: "restarts", afterMs: decision.afterMs });
  };

  const stop = () => {
    if (isStopping) return over;
    isStopping = true;
    cancel();
    if (child === undefined) finish("stopped");
    else child.ask();
    return over;
  };

  return {
    /** Never rejects. */
    over,
    isThere: () => child !== undefined,
    start,
    /** Lets it finish its work. May be called twice. */
    stop,
    /** Asks once more, which means "at once", and kills it when it has not ended in time. */
    stopNow: () => {
      void stop();
      const asked = child;
      if (asked === undefined) return over;
      asked.askAgain();
      cancel();
      cancel = timers.after(KILL_AFTER_MS, () => asked.kill());
      return over;
    },
  };
}

export type IntervalEvent =
  | { kind: "runs"; running: RunningHandler; at: number }
  /** `nextAt` is null when there will be none. */
  | { kind: "ran"; finished: Finished; nextAt: number | null };

/** Runs a command once in each interval, the first time at once, never twice at a time. */
export function intervalRun(
  everyMs: number,
  startRun: () => RunningHandler,
  { clock, timers }: Time,
  emit: (event: IntervalEvent) => void,
) {
  let running: RunningHandler | undefined;
  let round: Promise<void> = Promise.resolve();
  let isStopping = false;
  let cancel = () => {};

  const runOnce = async () => {
    const startedAt = clock.uptime() * 1000;
    running = startRun();
    emit({ kind: "runs", running, at: clock.now() });
    const finished = await running.finished;
    running = undefined;
    if (isStopping) return emit({ kind: "ran", finished, nextAt: null });
    const endedAt = clock.uptime() * 1000;
    const waitMs = nextRunAt(startedAt, endedAt, everyMs) - endedAt;
    cancel = timers.after(waitMs, start);
    emit({ kind: "ran", finished, nextAt: clock.now() + waitMs });
  };

  const start = () => {
    if (running === undefined && !isStopping) round = runOnce();
  };

  return {
    start,
    /** Ends a run that is under way: asked first, killed a little later. */
    stop: async (atOnce = false) => {
      isStopping = true;
      cancel();
      await running?.stop("viv up stops", atOnce);
      await round;
    },
  };
}

/**
 * Intervals count from start to start. Runs missed because one took longer than the interval are not
 * made up: the next is the first that is due after its end.
 */
export function nextRunAt(startedAt: number, endedAt: number, everyMs: number): number {
  const intervals = Math.max(1, Math.ceil((endedAt - startedAt) / everyMs));
  return startedAt + intervals * everyMs;
}
