import { setImmediate } from "node:timers/promises";

/** So long a slice blocks the event loop: a server has other requests, and a page sixty frames. */
const SLICE_MS = 8;

/** Long work in slices: `rest()` after each step lets others run once a slice is over. */
export class Slices {
  #end = performance.now() + SLICE_MS;

  /** Undefined while there is time: awaiting nothing is cheaper than a promise for each step. */
  rest(): Promise<void> | undefined {
    return performance.now() < this.#end ? undefined : this.#pause();
  }

  async #pause(): Promise<void> {
    await setImmediate();
    this.#end = performance.now() + SLICE_MS;
  }
}

/** What a long reading finds, in slices; it yields null where it found nothing. */
export async function* inSlices<T>(found: Iterable<T | null>): AsyncGenerator<T> {
  const slices = new Slices();
  for (const one of found) {
    if (one !== null) yield one;
    await slices.rest();
  }
}

/** Long work, step by step, in slices. */
export async function stepsInSlices<T>(steps: Generator<null, T>): Promise<T> {
  const slices = new Slices();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    await slices.rest();
  }
}

/** The same, in one go. */
export function stepsAtOnce<T>(steps: Generator<null, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}
