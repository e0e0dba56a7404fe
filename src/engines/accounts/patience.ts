import type { EngineOutcome, Waiting } from "../engine.ts";

/**
 * Vendors' programs wait out limits and outages by themselves, some for hours. A short wait is left to them;
 * a longer one ends the run, which frees its slot: at once when the vendor names a longer time or a person is
 * needed, else when the program reports the limit again after PATIENCE_MS without a step in between. Silence
 * is no sign: the answer to its next try may take minutes, and is paid for. A very long one ends the run too.
 */
const PATIENCE_MS = 30_000;
const SILENCE_MS = 10 * 60_000;

/** The outcome of a run that was ended while it waited. The time of the program's next try is no reset time. */
export function endOfWaiting({ outcome }: Waiting, now: number): EngineOutcome {
  return "until" in outcome && !isLong(outcome, now) ? { ...outcome, until: null } : outcome;
}

function isLong(outcome: EngineOutcome, now: number): boolean {
  const until = "until" in outcome ? outcome.until : null;
  return until !== null && Date.parse(until) - now > PATIENCE_MS;
}

export class Patience {
  readonly #stop: (waiting: Waiting, why: string) => void;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  /** The latest notice of an unbroken row, and the time of the first. */
  #latest: Waiting | null = null;
  #since = 0;
  #hasStopped = false;

  constructor(stop: (waiting: Waiting, why: string) => void, now: () => number) {
    this.#stop = stop;
    this.#now = now;
  }

  /** To be called after each output. */
  heed(waiting: Waiting | null): void {
    if (waiting === null || this.#hasStopped) {
      this.end();
      return;
    }
    if (waiting === this.#latest) return;
    const now = this.#now();
    if (this.#latest === null) this.#since = now;
    const isLasting = now - this.#since >= PATIENCE_MS;
    this.end();
    if (waiting.isFinal || isLasting || isLong(waiting.outcome, now)) {
      this.#stopNow(waiting);
      return;
    }
    this.#latest = waiting;
    this.#timer = setTimeout(() => this.#stopNow(waiting), SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#latest = null;
  }

  #stopNow(waiting: Waiting): void {
    this.end();
    this.#hasStopped = true;
    const { outcome } = waiting;
    this.#stop(waiting, "message" in outcome ? outcome.message : "");
  }
}
