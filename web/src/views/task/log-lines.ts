import { splitLines } from "../../parts/split-lines.ts";

/** More are dropped from the beginning: what a person reads is the end. */
const MOST = 200_000;

/** The lines of a log that comes in pieces. */
export class LogLines {
  /** Lines that were too many. */
  dropped = 0;
  #lines: string[] = [];
  /** The end of the last piece, without a newline yet. */
  #rest = "";
  #tail: string[] = [];

  add(piece: string): void {
    const text = this.#rest + piece;
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) for (const line of splitLines(text.slice(0, end))) this.#lines.push(line);
    this.#rest = text.slice(end);
    this.#tail = this.#rest === "" ? [] : splitLines(this.#rest);
    if (this.#lines.length <= MOST) return;
    const extra = this.#lines.length - MOST / 2;
    this.#lines = this.#lines.slice(extra);
    this.dropped += extra;
  }

  get total(): number {
    return this.#lines.length + this.#tail.length;
  }

  at(index: number): string {
    return this.#lines[index] ?? this.#tail[index - this.#lines.length] ?? "";
  }
}
