import type { Io } from "./io.ts";
import { CLEAR_LINE, LINE_START } from "./term.ts";

/** A counter that rewrites its own line; only on a terminal, and only once the work takes a while. */
export class Progress {
  readonly #io: Io;
  readonly #verb: string;
  readonly #start = performance.now();
  #shownAt = 0;
  #shown = false;
  count = 0;

  constructor(io: Io, verb: string) {
    this.#io = io;
    this.#verb = verb;
  }

  update(count: number): void {
    this.count = count;
    const now = performance.now();
    if (this.#io.stderr.isTTY !== true || now - this.#start < 500 || now - this.#shownAt < 100)
      return;
    this.#shownAt = now;
    this.#shown = true;
    const rate = Math.round(count / ((now - this.#start) / 1000));
    const bar = "━".repeat(Math.floor((now / 100) % 12)).padEnd(12, " ");
    this.#io.stderr.write(
      `${LINE_START}${bar} ${this.#verb} ${count.toLocaleString("en")} (${rate.toLocaleString("en")}/s) `,
    );
  }

  end(): void {
    if (this.#shown) this.#io.stderr.write(CLEAR_LINE);
    this.#shown = false;
  }
}
