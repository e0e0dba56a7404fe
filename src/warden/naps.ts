import type { Timers } from "../platform/processes/children.ts";

/** Waiting that can be cut short: by what is worth a look, and by nothing else. */
export class Naps {
  readonly #timers: Timers;
  #isPoked = false;
  #wake: (() => void) | null = null;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Something is worth a look: who naps wakes up, who does not will not fall asleep. */
  poke(): void {
    this.#isPoked = true;
    this.#wake?.();
  }

  /** Until it is poked, or the time is over. */
  async nap(ms: number): Promise<void> {
    if (!this.#isPoked) await this.pause(ms);
    this.#isPoked = false;
  }

  /** The same, whatever it was poked for before. */
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
