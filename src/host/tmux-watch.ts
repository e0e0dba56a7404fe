import type { Tmux } from "./tmux.ts";
import { TmuxControl } from "./tmux-control.ts";

/** From one call to the next, however much is written; and when that goes on and on (a spinner). */
const GAP_MS = 100;
const LONG_GAP_MS = 200;
const CALLS_BEFORE_LONG_GAP = 20;
/** Output of one gap, in messages; more is a flood, and not listened to until the next gap. */
const FLOOD = 20;
/** Where nobody tells. */
const POLL_MS = 1_000;

/**
 * Calls back soon after a session's pane has written something: the first time at once, then ten
 * times a second at most, and five while it goes on. When the client ends, or may not attach, it calls back every second.
 */
export class TmuxWatch {
  readonly #act: () => void;
  readonly #isWatched: (pane: string) => boolean;
  readonly #deaf = new Set<string>();
  #mute: TmuxControl | null = null;
  #listener: TmuxControl | null = null;
  #poll: NodeJS.Timeout | undefined;
  #next: NodeJS.Timeout | undefined;
  #hearAgain: NodeJS.Timeout | undefined;
  #last = Number.NEGATIVE_INFINITY;
  #messages = 0;
  /** Calls that followed each other without a rest. */
  #inARow = 0;
  #isClosed = false;

  constructor(
    tmux: Tmux,
    session: string,
    options: { mayAttach: boolean; isWatched: (pane: string) => boolean; act: () => void },
  ) {
    this.#act = options.act;
    this.#isWatched = options.isWatched;
    if (!options.mayAttach) {
      this.#fallBack();
      return;
    }
    const end = () => this.#fallBack();
    const nothing = () => {};
    this.#mute = new TmuxControl(tmux, session, "mute", { output: nothing, paused: nothing, end });
    this.#listener = new TmuxControl(tmux, session, "listening", {
      output: (pane) => this.#hear(pane),
      paused: (pane) => this.#rest(pane),
      end,
    });
  }

  /** For commands; null when there is none. */
  get control(): TmuxControl | null {
    return this.#mute?.hasEnded ? null : this.#mute;
  }

  /** Another pane is the one that counts now. */
  turnTo(pane: string): void {
    if (this.#deaf.delete(pane)) this.#listener?.tell(pane, "continue");
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#next);
    clearTimeout(this.#hearAgain);
    this.#listener?.close();
    this.#mute?.close();
  }

  #hear(pane: string): void {
    if (this.#isClosed || this.#deaf.has(pane)) return;
    const isWatched = this.#isWatched(pane);
    if (isWatched) this.#ring();
    if (isWatched && ++this.#messages < FLOOD) return;
    this.#listener?.tell(pane, "pause");
    this.#rest(pane);
  }

  /** By us, or by tmux because we were slow. */
  #rest(pane: string): void {
    this.#deaf.add(pane);
    if (this.#isClosed || !this.#isWatched(pane)) return;
    this.#hearAgain ??= setTimeout(() => this.#listen(), GAP_MS);
  }

  /** What came meanwhile was not heard: it is worth a look. */
  #listen(): void {
    this.#hearAgain = undefined;
    for (const pane of this.#deaf) if (this.#isWatched(pane)) this.turnTo(pane);
    this.#ring();
  }

  #ring(): void {
    const gap = this.#inARow < CALLS_BEFORE_LONG_GAP ? GAP_MS : LONG_GAP_MS;
    const rested = performance.now() - this.#last;
    if (rested > LONG_GAP_MS * 2) this.#inARow = 0;
    if (rested < gap) this.#next ??= setTimeout(() => this.#callBack(), gap - rested);
    else if (this.#next === undefined) this.#callBack();
  }

  #callBack(): void {
    clearTimeout(this.#next);
    this.#next = undefined;
    this.#last = performance.now();
    this.#messages = 0;
    this.#inARow++;
    if (!this.#isClosed) this.#act();
  }

  #fallBack(): void {
    if (this.#isClosed) return;
    this.#listener?.close(); // it may not stay alone
    this.#mute?.close();
    this.#poll ??= setInterval(() => this.#act(), POLL_MS);
    this.#ring();
  }
}
