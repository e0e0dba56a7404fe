import type { Clock } from "../../../base/clock.ts";
import { idOfLine } from "./lanes.ts";

/**
 * Lines of a lane that a claimer has passed over although their tasks are there: it must not take
 * them (it has choked on them), others may. They keep their place: they come before what has not
 * been read yet, and no cursor is saved behind them.
 */
interface LeftLine {
  line: string;
  /** Where on the lane a reader must begin to meet the line. */
  start: number;
  /** Workers that must not take it, and when that was checked last. */
  notFor: Map<string, number>;
}

/** How soon the same claimer looks again whether anybody else is left to take it. */
const LOOK_AGAIN_MS = 5_000;

export class LeftLines {
  readonly #lines: LeftLine[] = [];
  /** The one that was handed out last, until it is put back. */
  #out: LeftLine | null = null;

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** The next line for this worker: one that it may take, or has not looked at for a while. */
  next(worker: string, clock: Clock): string | null {
    const at = this.#lines.findIndex(({ notFor }) => {
      const looked = notFor.get(worker);
      return looked === undefined || Math.abs(clock.now() - looked) >= LOOK_AGAIN_MS;
    });
    if (at < 0) return null;
    this.#out = this.#lines.splice(at, 1)[0] as LeftLine;
    return this.#out.line;
  }

  /** Was this line handed out by `next`? */
  isOut(line: string): boolean {
    return this.#out?.line === line;
  }

  put(line: string, start: number, worker: string, now: number): void {
    let left = this.isOut(line) ? this.#out : null;
    this.#out = null;
    // A task that came back since has a newer line; the same line twice is the same place.
    const known = this.#lines.findIndex((other) => idOfLine(other.line) === idOfLine(line));
    if (known >= 0) {
      const [other] = this.#lines.splice(known, 1);
      if (other?.line === line) left ??= other;
      else left ??= { line, start, notFor: other?.notFor ?? new Map() };
    }
    left ??= { line, start, notFor: new Map() };
    left.notFor.set(worker, now);
    const behind = this.#lines.findIndex((other) => other.start > left.start);
    this.#lines.splice(behind < 0 ? this.#lines.length : behind, 0, left);
  }

  /** Is there one that this worker may take? */
  hasFor(worker: string, isThere: (id: string) => boolean): boolean {
    return this.#lines.some(({ line, notFor }) => !notFor.has(worker) && isThere(idOfLine(line)));
  }

  /** Where the first of those that are still there begins. */
  firstStart(isThere: (id: string) => boolean): number {
    const first = this.#lines.find(({ line }) => isThere(idOfLine(line)));
    return first?.start ?? Number.POSITIVE_INFINITY;
  }

  ids(): string[] {
    return this.#lines.map(({ line }) => idOfLine(line));
  }
}
