import { counted } from "../../base/text.ts";
/** Keeps the beginning and the end of a stream; memory stays below the limit. */
export class CappedText {
  readonly #half: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;

  constructor(limitBytes: number) {
    this.#half = Math.ceil(limitBytes / 2);
  }

  push(chunk: Buffer): void {
    const room = this.#half - this.#headBytes;
    const head = chunk.subarray(0, room);
    if (head.length > 0) {
      this.#head.push(head);
      this.#headBytes += head.length;
    }
    const rest = chunk.subarray(head.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Joined only when it has doubled, so that many small pieces do not cost their square.
    if (this.#tailBytes > 2 * this.#half) this.#cutTail();
  }

  toString(): string {
    this.#cutTail();
    if (this.#dropped === 0) return Buffer.concat([...this.#head, ...this.#tail]).toString();
    const [head, tail] = [Buffer.concat(this.#head), Buffer.concat(this.#tail)];
    return `${head}\n[... ${counted(this.#dropped, "byte")} left out ...]\n${tail}`;
  }

  #cutTail(): void {
    const all = Buffer.concat(this.#tail);
    const from = Math.max(0, all.length - this.#half);
    this.#dropped += from;
    this.#tail = [Buffer.from(all.subarray(from))];
    this.#tailBytes = all.length - from;
  }
}

/** The same for a whole text. */
export function capped(text: string, limitChars: number): string {
  if (text.length <= limitChars) return text;
  const half = Math.ceil(limitChars / 2);
  const left = text.length - 2 * half;
  if (left <= 0) return text;
  // A character cut in two is no valid text for an API.
  const whole = (part: string) => Buffer.from(part).toString();
  const head = whole(text.slice(0, half));
  return `${head}\n[... ${counted(left, "character")} left out ...]\n${whole(text.slice(-half))}`;
}
