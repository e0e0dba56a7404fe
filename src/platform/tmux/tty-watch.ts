import { watchPaths } from "../files/watch.ts";

/** From one call to the next, however much is written; and when that goes on and on (a spinner). */
const GAP_MS = 100;
const LONG_GAP_MS = 200;
const CALLS_BEFORE_LONG_GAP = 20;
/** Where the kernel sends no events for terminals. */
const POLL_MS = 1_000;

/**
 * Calls back soon after a program has written to its terminal: the first time at once, then ten
 * times a second at most, and five while it goes on.
 *
 * The events come from the kernel (inotify on the terminal's device), not from tmux: a client in
 * tmux's control mode would learn more, but servers up to 3.6 crash when one comes or goes at the wrong
 * moment, with all their sessions; and a program has to wait for a client that does not read.
 * After each word it is not listened to for a while, so a flood costs no more than a few looks.
 */
export class TtyWatch {
  readonly #act: () => void;
  #tty: string | null = null;
  #unwatch = () => {};
  #timer: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;
  #last = Number.NEGATIVE_INFINITY;
  /** Calls that followed each other without a rest. */
  #inARow = 0;
  #isClosed = false;

  constructor(act: () => void) {
    this.#act = act;
  }

  /** This terminal is the one that counts now. */
  turnTo(tty: string): void {
    if (this.#tty === tty || this.#isClosed) return;
    this.#tty = tty;
    if (this.#timer === undefined) this.#listen();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#poll);
    this.#unwatch();
  }

  #listen(): void {
    this.#unwatch();
    // Lost: its pane has just been closed, or there are too many watches.
    const onLost = () => this.#fallBack();
    if (this.#tty === null || process.platform !== "linux") onLost();
    else this.#unwatch = watchPaths([this.#tty], () => this.#hear(), { onLost });
  }

  #hear(): void {
    if (this.#timer !== undefined) return;
    this.#unwatch();
    const rested = performance.now() - this.#last;
    if (rested > 2 * LONG_GAP_MS) this.#inARow = 0;
    const gap = this.#inARow < CALLS_BEFORE_LONG_GAP ? GAP_MS : LONG_GAP_MS;
    if (rested >= gap) this.#callBack();
    this.#timer = setTimeout(() => this.#hearAgain(), gap);
  }

  /** Whatever came meanwhile was not heard: it is worth a look. */
  #hearAgain(): void {
    this.#timer = undefined;
    this.#listen();
    this.#callBack();
  }

  #callBack(): void {
    this.#last = performance.now();
    this.#inARow++;
    if (!this.#isClosed) this.#act();
  }

  #fallBack(): void {
    if (this.#isClosed) return;
    this.#poll ??= setInterval(() => this.#callBack(), POLL_MS);
  }
}
