import type { EngineOutcome, Waiting } from "../engine.ts";

/**
 * Vendors' programs wait out limits and outages by themselves, some for hours. What passes within
 * moments is left to them; everything else ends the run, so that its slot and its account are free to
 * be decided upon: at once when it is told to take longer or needs a person, else when it says so again
 * after that time without a step in between. Silence alone proves nothing: the answer to its next try may
 * take minutes, and is paid for. Only after a very long one it is ended, too.
 */
const PATIENCE_MS = 30_000;
const SILENCE_MS = 10 * 60_000;

/**
 * How a run ends that was ended while it waited. When the program itself would have tried again
 * is no time that the vendor named: then the account's own pauses hold, which grow.
 */
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
  /** The latest notice of an unbroken row, and when the first one came. */
  #latest: Waiting | null = null;
  #since = 0;
  #hasStopped = false;

  constructor(stop: (waiting: Waiting, why: string) => void, now: () => number) {
    this.#stop = stop;
    this.#now = now;
  }

  /** To be called whenever it has said something. */
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
      this.#giveUp(waiting);
      return;
    }
    this.#latest = waiting;
    this.#timer = setTimeout(() => this.#giveUp(waiting), SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#latest = null;
  }

  #giveUp(waiting: Waiting): void {
    this.end();
    this.#hasStopped = true;
    const { outcome } = waiting;
    this.#stop(waiting, "message" in outcome ? outcome.message : "");
  }
}
