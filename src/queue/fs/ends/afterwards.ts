/**
 * What follows from a change that is already made: the sync of its folders, its line in the ledger,
 * wake-ups, indexes. The change cannot be taken back, so nothing of this may fail it: an error here would
 * say "refused" of what has happened, and would be answered by doing it again. What could not be done
 * becomes a warning, which says what was left undone and what makes up for it.
 */
export class Afterwards {
  readonly #warnings: string[];

  constructor(before: readonly string[] = []) {
    this.#warnings = [...before];
  }

  /** `undone`: the part of the sentence before the reason. */
  try(undone: string, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.add(undone, error);
    }
  }

  async tryAsync(undone: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.add(undone, error);
    }
  }

  add(undone: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#warnings.push(`${undone} (${why.replace(/\.$/, "")})`);
  }

  warn(sentence: string): void {
    this.#warnings.push(sentence);
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** For a result: nothing when all went well. */
  get result(): { warnings?: string[] } {
    return this.#warnings.length === 0 ? {} : { warnings: [...this.#warnings] };
  }
}
