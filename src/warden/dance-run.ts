import { isVivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { Timers } from "../platform/processes/children.ts";
import { AnswerWatch } from "./answer-watch.ts";
import { type Attempt, afterEvent, type Dance, type DanceEvent } from "./dance.ts";
import type { WardenEvent, WardenHost, WardenSettings } from "./warden-host.ts";
import type { Unasked } from "./warrant.ts";

/** With a full disk. */
export const RETRY_MS = { first: 1_000, longest: 30_000 };

/** What a person, or the end of the warden, asks of a dance. */
export type DanceRequest = "withdrawn" | "released" | "stopped";

/** One dance with all that its steps share: what is written, its deadline, its sleep, its requests. */
export class DanceRun {
  readonly dance: Dance;
  readonly host: WardenHost;
  readonly settings: WardenSettings;
  readonly emit: (event: WardenEvent) => void;
  readonly watch: AnswerWatch;
  readonly sleeper: Sleeper;
  #request: DanceRequest | null = null;

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

  get requested(): DanceRequest | null {
    return this.#request;
  }

  /** Once it executes, or is over, it is too late for the first two. */
  request(what: DanceRequest): void {
    if (this.#request === "stopped") return;
    this.#request = what;
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
    const { clock } = this.host.machine;
    this.dance.next_timeout = new Date(clock.now() + ms).toISOString();
    const boot = this.host.machine.bootId();
    this.dance.deadline = { boot, uptime: clock.uptime() + ms / 1000 };
  }

  clearDeadline(): void {
    this.dance.next_timeout = null;
    this.dance.deadline = null;
  }

  msLeft(attempt: Attempt): number {
    const { clock } = this.host.machine;
    const { deadline, next_timeout: until } = this.dance;
    const left =
      deadline?.boot === this.host.machine.bootId()
        ? (deadline.uptime - clock.uptime()) * 1000
        : Date.parse(until ?? "") - clock.now();
    // A clock that was set back must not make it longer than it was meant to be.
    return Math.min(Number.isNaN(left) ? 0 : left, attempt.timeout_ms);
  }

  /** To the next state, on disk first. False when it could not be written before the warden stopped. */
  async pass(event: DanceEvent): Promise<boolean> {
    const before = this.dance.state;
    this.dance.state = afterEvent(before, event);
    if (await this.save()) return true;
    this.dance.state = before;
    return false;
  }

  /** Nothing is done that is not written. False when the warden stopped before. */
  async save(): Promise<boolean> {
    const save = () => {
      this.host.files.save(this.dance);
      return true;
    };
    return (await this.retry(save)) !== null;
  }

  /** With a full disk it waits. Null when the warden stopped meanwhile. */
  async retry<T>(act: () => T | Promise<T>): Promise<T | null> {
    for (let tries = 1; ; tries++) {
      try {
        return await act();
      } catch (error) {
        if (!isVivError(error)) throw error;
        this.warn(error);
      }
      if (this.#request === "stopped") return null;
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

  /** The same, whatever `wake` was called for before. */
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
