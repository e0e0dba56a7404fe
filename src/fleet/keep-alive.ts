import type { Clock } from "../base/clock.ts";
import type { Child, ChildEnd, Timers } from "../platform/processes/children.ts";
import { afterDeath, type Death, NO_DEATHS } from "./restart.ts";

/**
 * One process that is to live, started again as `policy/restart.ts` says. It is over when it was
 * stopped, when it is parked, or when it has finished by itself.
 */
export interface KeptProgram {
  start(): Child;
  /** What its end means; "finished" when it has done all it was started for. */
  judge(end: ChildEnd): Death | "finished";
}

export type KeptEvent =
  | { kind: "started"; child: Child }
  | { kind: "ended"; end: ChildEnd; death: Death | "finished" | "stopped" }
  | { kind: "restarts"; afterMs: number }
  | { kind: "over"; how: KeptEnd; why: string };

export type KeptEnd = "stopped" | "parked" | "ended";

export interface KeepPorts {
  clock: Clock;
  timers: Timers;
}

/** From the second word to the kill: what it runs must be ended, and what it holds given back. */
const KILL_AFTER_MS = 30_000;

export class KeptAlive {
  /** Never rejects. */
  readonly over: Promise<KeptEnd>;
  readonly #program: KeptProgram;
  readonly #ports: KeepPorts;
  readonly #tell: (event: KeptEvent) => void;
  #resolve: (how: KeptEnd) => void = () => {};
  #child: Child | undefined;
  #history = NO_DEATHS;
  #isStopping = false;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(program: KeptProgram, ports: KeepPorts, tell: (event: KeptEvent) => void) {
    this.#program = program;
    this.#ports = ports;
    this.#tell = tell;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  start(): void {
    if (this.#child !== undefined || this.#isOver || this.#isStopping) return;
    const child = this.#program.start();
    const startedAt = this.#ports.clock.uptime();
    this.#child = child;
    if (child.process !== null) this.#tell({ kind: "started", child });
    void child.ended.then((end) => this.#ended(end, startedAt));
  }

  /** Lets it finish what it has begun. May be called twice. */
  stop(): Promise<KeptEnd> {
    if (this.#isStopping) return this.over;
    this.#isStopping = true;
    this.#cancel();
    if (this.#child === undefined) this.#end("stopped", "");
    else this.#child.ask();
    return this.over;
  }

  /** It is asked once more, which means "at once", and killed when it does not listen. */
  stopNow(): Promise<KeptEnd> {
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
    this.#tell({ kind: "ended", end, death });
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
    this.#tell({ kind: "restarts", afterMs: decision.afterMs });
  }

  #end(how: KeptEnd, why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tell({ kind: "over", how, why });
    this.#resolve(how);
  }
}
