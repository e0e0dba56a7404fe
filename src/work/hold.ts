import { errno, troubleOf } from "../base/errno.ts";
import { isVivError, VivError } from "../base/errors.ts";

/**
 * Trouble of the machine (a full disk, no free file descriptor, a disk that fails) is never charged
 * to a task. What cannot be done for now is held, and tried again with growing pauses:
 *   begin   before anything ran: a few minutes, then the task goes back, because another worker may
 *           be able to; given up as soon as the attempt is stopped
 *   keep    after the work was done: until it can be, or until the worker is told to leave at once
 */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** About three minutes. */
const BEGIN_TRIES = 12;

export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

/** The worker was told to leave at once, and what it held could not be written. */
export class Unrecorded extends VivError {}

export class Hold {
  readonly #onTrouble: (error: unknown) => void;
  readonly #pause: Pause;
  readonly #stopping = new AbortController();
  readonly #leaving = new AbortController();

  constructor(onTrouble: (error: unknown) => void, pause: Pause = pauseFor) {
    this.#onTrouble = onTrouble;
    this.#pause = pause;
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

  begin<T>(act: () => T | Promise<T>, tries = BEGIN_TRIES): Promise<T> {
    return this.#until(act, mayPass, this.#stopping.signal, tries);
  }

  /** `holds`: which errors are waited for. `over`: it is not needed any more. */
  keep<T>(
    act: () => T | Promise<T>,
    { holds = isHeld, over }: { holds?: (error: unknown) => boolean; over?: AbortSignal } = {},
  ): Promise<T> {
    const { signal: leaving } = this.#leaving;
    const signal = over ? AbortSignal.any([leaving, over]) : leaving;
    return this.#until(act, holds, signal, Number.POSITIVE_INFINITY).catch((error) => {
      if (!leaving.aborted || !holds(error)) throw error;
      const said = error instanceof Error ? error.message : String(error);
      const code = troubleOf(error) ?? "DISK_FAULT";
      throw new Unrecorded(code, said, {}, { cause: error });
    });
  }

  async #until<T>(
    act: () => T | Promise<T>,
    holds: (error: unknown) => boolean,
    signal: AbortSignal,
    tries: number,
  ): Promise<T> {
    for (let count = 1, ms = FIRST_PAUSE_MS; ; count++, ms = Math.min(LONGEST_PAUSE_MS, 2 * ms)) {
      try {
        return await act();
      } catch (error) {
        if (!holds(error) || signal.aborted || count >= tries) throw error;
        if (count === 1) this.#onTrouble(error);
        await this.#pause(ms, signal);
      }
    }
  }
}

function isHeld(error: unknown): boolean {
  return isTrouble(error) || isVivError(error, "LOCKED");
}

/** Trouble of the machine, also as the cause of another error. */
export function isTrouble(error: unknown): boolean {
  return causes(error).some((each) => troubleOf(each) !== undefined);
}

/** The same, without what lasts until somebody changes a file's owner or its mode. */
export function mayPass(error: unknown): boolean {
  const all = causes(error);
  const isDenied = all.some((each) => ["EACCES", "EPERM"].includes(errno(each) ?? ""));
  return !isDenied && isTrouble(error);
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  for (let each = error; each && found.length < 10; each = (each as Error).cause) found.push(each);
  return found;
}

/** Until the time is over or the signal comes. */
export async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
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
