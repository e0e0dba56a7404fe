/** Long reading lets answers go first: a page waits for its first cards, and titles of the rest can wait. */
export class AnswersFirst {
  #answers = 0;
  #waiting: (() => void)[] = [];

  /** The reading pauses until `act` has ended. It must not wait for that reading. */
  async answer<T>(act: () => Promise<T>): Promise<T> {
    this.#answers++;
    try {
      return await act();
    } finally {
      if (--this.#answers === 0) for (const go of this.#waiting.splice(0)) go();
    }
  }

  /** Undefined while nothing is being answered. */
  pause(): Promise<void> | undefined {
    if (this.#answers === 0) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
