import type { Clock } from "../base/clock.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Finished, RunningHandler } from "../platform/processes/handlers.ts";

/** A command that runs once in each interval, the first time at once, never twice at a time. */
export interface IntervalCommand {
  everyMs: number;
  start(): RunningHandler;
}

export type IntervalEvent =
  | { kind: "runs"; running: RunningHandler; at: number }
  /** `nextAt` is null when there will be none. */
  | { kind: "ran"; finished: Finished; nextAt: number | null };

export class IntervalRun {
  readonly #command: IntervalCommand;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #emit: (event: IntervalEvent) => void;
  #running: RunningHandler | undefined;
  #round: Promise<void> = Promise.resolve();
  #isStopping = false;
  #cancel: () => void = () => {};

  constructor(
    command: IntervalCommand,
    ports: { clock: Clock; timers: Timers },
    emit: (event: IntervalEvent) => void,
  ) {
    this.#command = command;
    this.#clock = ports.clock;
    this.#timers = ports.timers;
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
    const startedAt = this.#clock.uptime() * 1000;
    const running = this.#command.start();
    this.#running = running;
    this.#emit({ kind: "runs", running, at: this.#clock.now() });
    const finished = await running.finished;
    this.#running = undefined;
    if (this.#isStopping) return this.#emit({ kind: "ran", finished, nextAt: null });
    const endedAt = this.#clock.uptime() * 1000;
    const waitMs = nextRunAt(startedAt, endedAt, this.#command.everyMs) - endedAt;
    this.#cancel = this.#timers.after(waitMs, () => this.start());
    this.#emit({ kind: "ran", finished, nextAt: this.#clock.now() + waitMs });
  }
}

/** For people: why it failed; empty when it did not. */
export function describeRun({ cause, exit, signal, error, tail }: Finished): string {
  if (cause === "stopped" || (cause === "exit" && exit === 0)) return "";
  if (cause === "unstartable") return error ?? "its run could not be started";
  if (cause === "timed_out") return "its run was ended after its timeout";
  const lastLine = tail.trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
  const how = `its run failed: ${signal ?? `exit ${exit}`}`;
  return lastLine === "" ? how : `${how}: ${lastLine}`;
}

/**
 * Intervals count from start to start. Runs missed because one took longer than the interval are not
 * made up: the next is the first that is due after its end.
 */
export function nextRunAt(startedAt: number, endedAt: number, everyMs: number): number {
  const intervals = Math.max(1, Math.ceil((endedAt - startedAt) / everyMs));
  return startedAt + intervals * everyMs;
}
