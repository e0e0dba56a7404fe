import { isVivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { Timers } from "../platform/processes/children.ts";
import { AnswerWatch } from "./answer-watch.ts";
import { type Attempt, afterEvent, type Dance, type DanceEvent } from "./dance.ts";
import type { WardenEvent, WardenHost, WardenSettings } from "./warden-host.ts";
import type { Unasked } from "./warrant.ts";

/** With a full disk. */
export const RETRY_MS = { first: 1_000, longest: 30_000 };

/** By a person, or by the end of the warden. */
export type DanceRequest = "withdrawn" | "released" | "stopped";

/** One dance, and what its steps share: its file, deadline, sleep and requests. */
export class DanceRun {
  readonly dance: Dance;
  readonly host: WardenHost;
  readonly settings: WardenSettings;
  readonly emit: (event: WardenEvent) => void;
  readonly watch: AnswerWatch;
  readonly sleeper: Sleeper;
  requested: DanceRequest | null = null;

  constructor(
    dance: Dance,
    host: WardenHost,
    settings: WardenSettings,
    emit: (event: WardenEvent) => void,
  ) {
    this.dance = dance;
    this.host = host;
    this.settings = settings;
    this.emit = emit;
    this.watch = new AnswerWatch(dance, settings.timeoutsMs.length);
    this.sleeper = new Sleeper(host.timers);
  }

  /** "withdrawn" and "released" have no effect once it executes or is over. */
  request(what: DanceRequest): void {
    if (this.requested === "stopped") return;
    this.requested = what;
    this.wake();
  }

  /** Its screen or the pool may have changed. */
  wake(): void {
    this.sleeper.wake();
  }

  clock(): number {
    return this.host.machine.clock.now();
  }

  now(): string {
    return new Date(this.clock()).toISOString();
  }

  ifUnasked(): Unasked {
    return this.dance.warrant.unasked ?? this.settings.unasked;
  }

  patienceMs(): number {
    return this.dance.warrant.patience_ms ?? this.settings.patienceMs;
  }

  setDeadline(ms: number): void {
    const { machine } = this.host;
    this.dance.next_timeout = new Date(this.clock() + ms).toISOString();
    this.dance.deadline = { boot: machine.bootId(), uptime: machine.clock.uptime() + ms / 1000 };
  }

  clearDeadline(): void {
    this.dance.next_timeout = null;
    this.dance.deadline = null;
  }

  msLeft(attempt: Attempt): number {
    const { machine } = this.host;
    const { deadline, next_timeout: until } = this.dance;
    const left =
      deadline?.boot === machine.bootId()
        ? (deadline.uptime - machine.clock.uptime()) * 1000
        : Date.parse(until ?? "") - this.clock();
    // A clock that was set back must not extend the wait.
    return Math.min(Number.isNaN(left) ? 0 : left, attempt.timeout_ms);
  }

  /** To the next state, on disk first. False when the warden stopped before it was written. */
  async pass(event: DanceEvent): Promise<boolean> {
    const before = this.dance.state;
    this.dance.state = afterEvent(before, event);
    if (await this.save()) return true;
    this.dance.state = before;
    return false;
  }

  /** False when the warden stopped before it was written. */
  async save(): Promise<boolean> {
    return (await this.retry(() => this.host.files.save(this.dance))) !== null;
  }

  /** Waits while the disk is full. Null when the warden stopped meanwhile. */
  async retry<T>(act: () => T | Promise<T>): Promise<T | null> {
    for (let tries = 1; ; tries++) {
      try {
        return await act();
      } catch (error) {
        if (!isVivError(error)) throw error;
        this.warn(error);
      }
      if (this.requested === "stopped") return null;
      await this.sleeper.pause(growingPause(tries, RETRY_MS));
    }
  }

  warn(error: Error): void {
    this.emit({ kind: "trouble", what: `${this.dance.id}: ${error.message}` });
  }
}

/** Sleep that `wake` cuts short. */
class Sleeper {
  readonly #timers: Timers;
  #isWoken = false;
  #wake: (() => void) | null = null;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Ends the sleep, or the next one before it begins. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  async sleep(ms: number): Promise<void> {
    if (!this.#isWoken) await this.pause(ms);
    this.#isWoken = false;
  }

  /** The same, but an earlier `wake` does not end it. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        cancel();
        this.#wake = null;
        resolve();
      };
      const cancel = this.#timers.after(ms, wake);
      this.#wake = wake;
    });
  }
}
