import type { Clock } from "../base/clock.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Finished, RunningHandler } from "../platform/processes/handlers.ts";
import { nextRunAt } from "./restart.ts";

/** A command that runs once in each interval, the first time at once, never twice at a time. */
export interface StandingCommand {
  everyMs: number;
  start(): RunningHandler;
}

export type StandingEvent =
  | { kind: "runs"; running: RunningHandler; at: number }
  /** `nextAt` is null when there will be none. */
  | { kind: "ran"; finished: Finished; nextAt: number | null };

export class Standing {
  readonly #command: StandingCommand;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #tell: (event: StandingEvent) => void;
  #running: RunningHandler | undefined;
  #round: Promise<void> = Promise.resolve();
  #isStopping = false;
  #cancel: () => void = () => {};

  constructor(
    command: StandingCommand,
    ports: { clock: Clock; timers: Timers },
    tell: (event: StandingEvent) => void,
  ) {
    this.#command = command;
    this.#clock = ports.clock;
    this.#timers = ports.timers;
    this.#tell = tell;
  }

  start(): void {
    if (this.#running !== undefined || this.#isStopping) return;
    this.#round = this.#runOnce();
  }

  /** A run that is under way is ended: it is asked, and killed a little later. */
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
    this.#tell({ kind: "runs", running, at: this.#clock.now() });
    const finished = await running.finished;
    this.#running = undefined;
    if (this.#isStopping) return this.#tell({ kind: "ran", finished, nextAt: null });
    const endedAt = this.#clock.uptime() * 1000;
    const waitMs = nextRunAt(startedAt, endedAt, this.#command.everyMs) - endedAt;
    this.#cancel = this.#timers.after(waitMs, () => this.start());
    this.#tell({ kind: "ran", finished, nextAt: this.#clock.now() + waitMs });
  }
}

/** For people: why it did not end well; nothing when it did. */
export function describeRun({ cause, exit, signal, error, tail }: Finished): string {
  if (cause === "stopped" || (cause === "exit" && exit === 0)) return "";
  if (cause === "unstartable") return error ?? "its run could not be started";
  if (cause === "timed_out") return "its run took too long and was ended";
  const words = tail.trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
  const how = `its run failed: ${signal ?? `exit ${exit}`}`;
  return words === "" ? how : `${how}: ${words}`;
}
