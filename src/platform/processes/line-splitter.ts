/**
 * Cuts a stream of bytes into lines, in constant memory: of a line that is longer than the limit
 * nothing is kept but its length. Bytes that are no UTF-8 become replacement characters.
 */
export class LineSplitter {
  readonly #limit: number;
  readonly #onLine: (text: string) => void;
  readonly #onLong: (bytes: number) => void;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(
    limit: number,
    on: { line: (text: string) => void; tooLong: (bytes: number) => void },
  ) {
    this.#limit = limit;
    this.#onLine = on.line;
    this.#onLong = on.tooLong;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, from);
      if (end < 0) break;
      this.#keep(chunk.subarray(from, end));
      this.#emit();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** The last line may have no end. */
  close(): void {
    if (this.#length > 0) this.#emit();
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#limit) this.#parts = [];
    // Copied: a part of a chunk would keep the whole of it in memory.
    else if (part.length > 0) this.#parts.push(Buffer.from(part));
  }

  #emit(): void {
    const [parts, length] = [this.#parts, this.#length];
    this.#parts = [];
    this.#length = 0;
    if (length > this.#limit) {
      this.#onLong(length);
      return;
    }
    const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    this.#onLine(bytes.toString("utf8"));
  }
}
