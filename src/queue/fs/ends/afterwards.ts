import { messageOf } from "../../../base/errors.ts";
/**
 * Steps that follow a change: the sync of its folders, its line in the ledger, wake-ups, indexes.
 * The change is made and cannot be taken back, so none of them may fail it: a caller that gets an
 * error does it again. A step that fails becomes a warning, which names its remedy.
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
    const why = messageOf(error);
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
