import type { Io } from "../../operation/io.ts";
import type { Context } from "../../operation/operation.ts";
import { CLEAR_LINE } from "../../operation/term.ts";
import { storePort } from "../../queue/operation.ts";

/** The last line of `viv work --drain` on a terminal: how much of the run is done. */
export class WorkProgress {
  readonly #io: Io;
  readonly #context: Context;
  #isShown = false;
  #isLooking = false;
  /** Counting a large run takes a while; most of the time goes into the work. */
  #restsUntil = 0;

  constructor(io: Io, context: Context) {
    this.#io = io;
    this.#context = context;
  }

  /** Looks at the run and draws; while a look is under way, more calls change nothing. */
  update(): void {
    if (this.#io.stderr.isTTY !== true || this.#isLooking) return;
    const begin = performance.now();
    if (begin < this.#restsUntil) return;
    this.#isLooking = true;
    this.#context
      .use(storePort)
      .then((store) => store.counts())
      .then((counts) => {
        const { done, failed, review, pending, claimed, waiting } = counts;
        const ended = done + failed + review;
        const all = ended + pending + claimed + waiting;
        const filled = all === 0 ? 0 : Math.floor((20 * ended) / all);
        const bar = "━".repeat(filled).padEnd(20, "·");
        const bad = failed > 0 ? `, ${failed} failed` : "";
        this.clear();
        this.#io.stderr.write(`${bar} ${ended} of ${all}${bad}`);
        this.#isShown = true;
      })
      .catch(() => {}) // Only a picture: the worker itself says what is wrong.
      .finally(() => {
        this.#restsUntil = performance.now() + Math.max(100, 20 * (performance.now() - begin));
        this.#isLooking = false;
      });
  }

  clear(): void {
    if (this.#isShown) this.#io.stderr.write(CLEAR_LINE);
    this.#isShown = false;
  }
}
