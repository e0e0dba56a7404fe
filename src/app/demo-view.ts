import type { createColors } from "picocolors";
import type { Counts, WorkerView } from "../main.ts";

/** On a terminal: a live board under the events. Elsewhere: the events, one line each. */
export class DemoView {
  readonly #out: NodeJS.WriteStream;
  readonly #color: ReturnType<typeof createColors>;
  readonly #live: boolean;
  readonly #start = Date.now();
  #height = 0;
  #board: string[] = [];

  constructor(out: NodeJS.WriteStream, color: ReturnType<typeof createColors>, live: boolean) {
    this.#out = out;
    this.#color = color;
    this.#live = live;
  }

  /** `quiet` events are already visible on the board. */
  event(text: string, quiet = false): void {
    if (quiet && this.#live) return;
    this.#clear();
    const seconds = ((Date.now() - this.#start) / 1000).toFixed(1).padStart(5);
    this.#out.write(`${this.#color.dim(`${seconds}s`)}  ${text}\n`);
    this.#draw();
  }

  progress(counts: Counts, workers: readonly WorkerView[]): void {
    if (!this.#live) return;
    const c = this.#color;
    const all = counts.waiting + counts.pending + counts.claimed + counts.done + counts.failed;
    const width = Math.max(6, Math.min(40, (this.#out.columns || 80) - 58));
    const filled = all === 0 ? 0 : Math.round((counts.done / all) * width);
    const bar = c.green("█".repeat(filled)) + c.dim("░".repeat(width - filled));
    this.#board = [
      "",
      `  ${bar} ${counts.done}/${all} done  ${c.dim(`waiting ${counts.waiting}  pending ${counts.pending}  claimed ${counts.claimed}`)}`,
      ...workers.map((w) => {
        const state = w.process === "gone" ? c.red("dead ") : c.green("alive");
        return `  ${w.name.padEnd(5)} ${state}  ${w.claims[0] ?? c.dim("idle")}`;
      }),
    ];
    this.#clear();
    this.#draw();
  }

  stop(): void {
    this.#clear();
    this.#board = [];
  }

  #clear(): void {
    if (this.#height > 0) this.#out.write(`\u001b[${this.#height}A\u001b[J`);
    this.#height = 0;
  }

  #draw(): void {
    if (!this.#live || this.#board.length === 0) return;
    this.#out.write(`${this.#board.join("\n")}\n`);
    this.#height = this.#board.length;
  }
}
