import type { Clock } from "../base/clock.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { Child, ChildEnd, Timers } from "../platform/processes/children.ts";
import type { Finished, RunningHandler } from "../platform/processes/handlers.ts";

/**
 * The two ways in which the programs of an agent are started again: a worker after it has died
 * (`RestartedProcess`), a command once in each interval (`IntervalRun`).
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
 * - refused: it cannot work as configured; parked at once.
 * - taken: another process has its name; tried again every 2 s, which counts as no death.
 */
export type Death = "died" | "refused" | "taken";

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
const RETRY_TAKEN_MS = 2_000;
const GOOD_LIFE_MS = 5 * 60_000;
const EARLY_MS = 60_000;
const MOST_EARLY_DEATHS = 5;

export function afterDeath(before: RestartHistory, death: Death, livedMs: number): RestartDecision {
  if (death === "refused") return { kind: "park", why: "it cannot work as configured" };
  if (death === "taken") return { kind: "restart", afterMs: RETRY_TAKEN_MS, history: before };
  const earlyDeaths = livedMs < EARLY_MS ? before.earlyDeaths + 1 : 0;
  if (earlyDeaths >= MOST_EARLY_DEATHS) {
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

/** Restarts a process until it is stopped, parked, or has finished by itself. */
export class RestartedProcess {
  /** Never rejects. */
  readonly over: Promise<RestartEnd>;
  readonly #start: () => Child;
  readonly #judge: (end: ChildEnd) => Death | "finished";
  readonly #time: Time;
  readonly #emit: (event: RestartEvent) => void;
  #resolve: (how: RestartEnd) => void = () => {};
  #child: Child | undefined;
  #history = NO_DEATHS;
  #isStopping = false;
  #isOver = false;
  #cancel: () => void = () => {};

  /** `judge` says "finished" when it has done all it was started for. */
  constructor(
    start: () => Child,
    judge: (end: ChildEnd) => Death | "finished",
    time: Time,
    emit: (event: RestartEvent) => void,
  ) {
    this.#start = start;
    this.#judge = judge;
    this.#time = time;
    this.#emit = emit;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  start(): void {
    if (this.#child !== undefined || this.#isOver || this.#isStopping) return;
    const child = this.#start();
    const startedAt = this.#time.clock.uptime();
    this.#child = child;
    if (child.process !== null) this.#emit({ kind: "started", child });
    void child.ended.then((end) => this.#ended(end, startedAt));
  }

  /** Lets it finish what it has begun. May be called twice. */
  stop(): Promise<RestartEnd> {
    if (this.#isStopping) return this.over;
    this.#isStopping = true;
    this.#cancel();
    if (this.#child === undefined) this.#end("stopped");
    else this.#child.ask();
    return this.over;
  }

  /** Asks once more, which means "at once", and kills it when it has not ended in time. */
  stopNow(): Promise<RestartEnd> {
    void this.stop();
    const child = this.#child;
    if (child === undefined) return this.over;
    child.askAgain();
    this.#cancel();
    this.#cancel = this.#time.timers.after(KILL_AFTER_MS, () => child.kill());
    return this.over;
  }

  #ended(end: ChildEnd, startedAt: number): void {
    this.#child = undefined;
    this.#cancel();
    const death = this.#isStopping ? "stopped" : this.#judge(end);
    this.#emit({ kind: "ended", end, death });
    if (death === "stopped") this.#end("stopped");
    else if (death === "finished") this.#end("ended");
    else this.#startAgain(death, (this.#time.clock.uptime() - startedAt) * 1000);
  }

  #startAgain(death: Death, livedMs: number): void {
    const decision = afterDeath(this.#history, death, livedMs);
    if (decision.kind === "park") {
      this.#end("parked", decision.why);
      return;
    }
    this.#history = decision.history;
    this.#cancel = this.#time.timers.after(decision.afterMs, () => this.start());
    this.#emit({ kind: "restarts", afterMs: decision.afterMs });
  }

  #end(how: RestartEnd, why = ""): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#emit({ kind: "over", how, why });
    this.#resolve(how);
  }
}

export type IntervalEvent =
  | { kind: "runs"; running: RunningHandler; at: number }
  /** `nextAt` is null when there will be none. */
  | { kind: "ran"; finished: Finished; nextAt: number | null };

/** Runs a command once in each interval, the first time at once, never twice at a time. */
export class IntervalRun {
  readonly #everyMs: number;
  readonly #start: () => RunningHandler;
  readonly #time: Time;
  readonly #emit: (event: IntervalEvent) => void;
  #running: RunningHandler | undefined;
  #round: Promise<void> = Promise.resolve();
  #isStopping = false;
  #cancel: () => void = () => {};

  constructor(
    everyMs: number,
    start: () => RunningHandler,
    time: Time,
    emit: (event: IntervalEvent) => void,
  ) {
    this.#everyMs = everyMs;
    this.#start = start;
    this.#time = time;
    this.#emit = emit;
  }

  start(): void {
    if (this.#running !== undefined || this.#isStopping) return;
    this.#round = this.#runOnce();
  }

  /** Ends a run that is under way: asked first, killed a little later. */
  async stop(atOnce = false): Promise<void> {
    this.#isStopping = true;
    this.#cancel();
    await this.#running?.stop("viv up stops", atOnce);
    await this.#round;
  }

  async #runOnce(): Promise<void> {
    const { clock, timers } = this.#time;
    const startedAt = clock.uptime() * 1000;
    const running = this.#start();
    this.#running = running;
    this.#emit({ kind: "runs", running, at: clock.now() });
    const finished = await running.finished;
    this.#running = undefined;
    if (this.#isStopping) return this.#emit({ kind: "ran", finished, nextAt: null });
    const endedAt = clock.uptime() * 1000;
    const waitMs = nextRunAt(startedAt, endedAt, this.#everyMs) - endedAt;
    this.#cancel = timers.after(waitMs, () => this.start());
    this.#emit({ kind: "ran", finished, nextAt: clock.now() + waitMs });
  }
}

/**
 * Intervals count from start to start. Runs missed because one took longer than the interval are not
 * made up: the next is the first that is due after its end.
 */
export function nextRunAt(startedAt: number, endedAt: number, everyMs: number): number {
  const intervals = Math.max(1, Math.ceil((endedAt - startedAt) / everyMs));
  return startedAt + intervals * everyMs;
}
