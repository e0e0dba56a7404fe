import { helpToClose } from "./closing.ts";
import { dayFiles, linesIn } from "./day-files.ts";

/**
 * Reads on from the end of the last look, in every file: a clock that is wrong for a while, or that
 * of another host, makes a file with a later name, and lines are written to earlier ones after it.
 * Each line comes once, in the order of its file. A file that is as long as before is not opened;
 * one that has become shorter was lost in part, and is read anew. A file that is being closed is not
 * read on for that second: a line behind its end would come a second time.
 */
export class LedgerFollower {
  readonly #folder: string;
  readonly #read: Map<string, number>;

  /** `read`: how much of each file (`DAY.jsonl`) is known already. */
  constructor(folder: string, read: Iterable<readonly [string, number]> = []) {
    this.#folder = folder;
    this.#read = new Map(read);
  }

  /** How much of each file is read: for going on in another process. */
  get position(): Record<string, number> {
    return Object.fromEntries(this.#read);
  }

  /** Skips the lines that are there now. */
  skipPast(): void {
    for (const { day, size } of dayFiles(this.#folder)) this.#read.set(`${day}.jsonl`, size);
  }

  /** With the place where each line ends. */
  *texts(): Generator<{ text: string; file: string; offset: number }> {
    for (const { day, path, size, state } of dayFiles(this.#folder)) {
      const file = `${day}.jsonl`;
      const known = this.#read.get(file) ?? 0;
      if (size === known) continue;
      if (state === "closing") {
        helpToClose(this.#folder, day, size);
        continue;
      }
      // What was behind the end of a closed file comes again, in a later one.
      const from = known < size ? known : state === "open" ? 0 : size;
      this.#read.set(file, from);
      for (const { text, end } of linesIn(path, from, size)) {
        this.#read.set(file, end);
        yield { text, file, offset: end };
      }
    }
  }
}
