import { once } from "node:events";
import { errno, machineErrorOf } from "../base/errno.ts";
import { isVivError, messageOf, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";

/**
 * Errors of the machine (a full disk, no free file descriptor, a failing disk) are never charged to a task.
 * The call is tried again, with growing pauses:
 *   briefly     before anything ran: about three minutes, then the task goes back, because another
 *               worker may be able to do it; given up as soon as the attempt is stopped
 *   untilDone   after the work was done: until it succeeds, or until `leave`
 */
const PAUSE_MS = { first: 500, longest: 30_000 };
const BRIEF_TRIES = 12;

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** `leave` was called while something could not be written. */
export class Unrecorded extends VivError {}

export class MachineRetry {
  readonly #onError: (error: unknown) => void;
  readonly #sleep: Sleep;
  readonly #stopping = new AbortController();
  readonly #leaving = new AbortController();

  /** `onError` gets the first error of each call. */
  constructor(onError: (error: unknown) => void, sleep: Sleep = pause) {
    this.#onError = onError;
    this.#sleep = sleep;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  stop(): void {
    this.#stopping.abort();
  }

  leave(): void {
    this.#leaving.abort();
  }

  briefly<T>(act: () => T | Promise<T>, tries = BRIEF_TRIES): Promise<T> {
    return this.#until(act, isTransient, this.#stopping.signal, tries);
  }

  /** `holds`: the errors that are waited for. `over`: the result is not needed any more. */
  untilDone<T>(
    act: () => T | Promise<T>,
    { holds = isHeld, over }: { holds?: (error: unknown) => boolean; over?: AbortSignal } = {},
  ): Promise<T> {
    const { signal: leaving } = this.#leaving;
    const signal = over ? AbortSignal.any([leaving, over]) : leaving;
    return this.#until(act, holds, signal, Number.POSITIVE_INFINITY).catch((error) => {
      if (!leaving.aborted || !holds(error)) throw error;
      const message = messageOf(error);
      const code = machineErrorOf(error) ?? "DISK_FAULT";
      throw new Unrecorded(code, message, {}, { cause: error });
    });
  }

  async #until<T>(
    act: () => T | Promise<T>,
    holds: (error: unknown) => boolean,
    signal: AbortSignal,
    tries: number,
  ): Promise<T> {
    for (let count = 1; ; count++) {
      try {
        return await act();
      } catch (error) {
        if (!holds(error) || signal.aborted || count >= tries) throw error;
        if (count === 1) this.#onError(error);
        await this.#sleep(growingPause(count, PAUSE_MS), signal);
      }
    }
  }
}

function isHeld(error: unknown): boolean {
  return isMachineError(error) || isVivError(error, "LOCKED");
}

/** An error of the machine, also as the cause of another error. */
export function isMachineError(error: unknown): boolean {
  return causes(error).some((each) => machineErrorOf(each) !== undefined);
}

/** The same, without errors that last until the owner or mode of a file is changed. */
export function isTransient(error: unknown): boolean {
  const all = causes(error);
  const isDenied = all.some((each) => ["EACCES", "EPERM"].includes(errno(each) ?? ""));
  return !isDenied && isMachineError(error);
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  for (let each = error; each && found.length < 10; each = (each as Error).cause) found.push(each);
  return found;
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** Until the time is over or the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
