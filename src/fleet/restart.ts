import type { Clock } from "../base/clock.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { Child, ChildEnd, Timers } from "../platform/processes/children.ts";

/**
 * Whether and when a process that has ended is started again.
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

export type RestartDecision =
  | { kind: "restart"; afterMs: number; history: RestartHistory }
  | { kind: "park"; why: string };

export const NO_DEATHS: RestartHistory = { pauses: 0, earlyDeaths: 0 };

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
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
  const pauses = livedMs >= GOOD_LIFE_MS ? 0 : before.pauses;
  const afterMs = growingPause(pauses + 1, { first: FIRST_PAUSE_MS, longest: LONGEST_PAUSE_MS });
  return { kind: "restart", afterMs, history: { pauses: pauses + 1, earlyDeaths } };
}

/** A program whose process is restarted until it is stopped, parked, or has finished by itself. */
export interface RestartedProgram {
  start(): Child;
  /** "finished": it has done all it was started for. */
  judge(end: ChildEnd): Death | "finished";
}

export type RestartEvent =
  | { kind: "started"; child: Child }
  | { kind: "ended"; end: ChildEnd; death: Death | "finished" | "stopped" }
  | { kind: "restarts"; afterMs: number }
  | { kind: "over"; how: RestartEnd; why: string };

export type RestartEnd = "stopped" | "parked" | "ended";

/** From the second request to the kill: time to end its handlers and give back its claims. */
const KILL_AFTER_MS = 30_000;

export class RestartedProcess {
  /** Never rejects. */
  readonly over: Promise<RestartEnd>;
  readonly #program: RestartedProgram;
  readonly #ports: { clock: Clock; timers: Timers };
  readonly #emit: (event: RestartEvent) => void;
  #resolve: (how: RestartEnd) => void = () => {};
  #child: Child | undefined;
  #history = NO_DEATHS;
  #isStopping = false;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(
    program: RestartedProgram,
    ports: { clock: Clock; timers: Timers },
    emit: (event: RestartEvent) => void,
  ) {
    this.#program = program;
    this.#ports = ports;
    this.#emit = emit;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  start(): void {
    if (this.#child !== undefined || this.#isOver || this.#isStopping) return;
    const child = this.#program.start();
    const startedAt = this.#ports.clock.uptime();
    this.#child = child;
    if (child.process !== null) this.#emit({ kind: "started", child });
    void child.ended.then((end) => this.#ended(end, startedAt));
  }

  /** Lets it finish what it has begun. May be called twice. */
  stop(): Promise<RestartEnd> {
    if (this.#isStopping) return this.over;
    this.#isStopping = true;
    this.#cancel();
    if (this.#child === undefined) this.#end("stopped", "");
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
    this.#cancel = this.#ports.timers.after(KILL_AFTER_MS, () => child.kill());
    return this.over;
  }

  #ended(end: ChildEnd, startedAt: number): void {
    this.#child = undefined;
    this.#cancel();
    const death = this.#isStopping ? "stopped" : this.#program.judge(end);
    this.#emit({ kind: "ended", end, death });
    if (death === "stopped") this.#end("stopped", "");
    else if (death === "finished") this.#end("ended", "");
    else this.#startAgain(death, (this.#ports.clock.uptime() - startedAt) * 1000);
  }

  #startAgain(death: Death, livedMs: number): void {
    const decision = afterDeath(this.#history, death, livedMs);
    if (decision.kind === "park") {
      this.#end("parked", decision.why);
      return;
    }
    this.#history = decision.history;
    this.#cancel = this.#ports.timers.after(decision.afterMs, () => this.start());
    this.#emit({ kind: "restarts", afterMs: decision.afterMs });
  }

  #end(how: RestartEnd, why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#emit({ kind: "over", how, why });
    this.#resolve(how);
  }
}
