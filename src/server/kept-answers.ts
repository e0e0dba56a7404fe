import { setBounded } from "../base/bounded-map.ts";

/** A cheaper one is made anew each time. */
const LEAST_MS = 50;
/** Making answers takes at most this share of the time, and none is older than this. */
const SHARE = 1 / 20;
const OLDEST_MS = 30_000;
const MOST = 30;

interface Kept {
  text: string;
  /** Another may be made from then on. */
  until: number;
}

export interface Answer {
  text: string;
  /** Milliseconds until a newer one can be had; null: this one is of now. */
  againIn: number | null;
}

/**
 * Answers that read the whole run, which is seconds of work for a large one: many requests at once share
 * one, and the next is made when the last has paid for itself. What is shown meanwhile says when to ask again.
 * They are made one after the other: side by side they would take as long, and the memory of all of them.
 */
export class KeptAnswers {
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();
  readonly #making = new Map<string, Promise<string>>();
  /** Ends with the last that was begun. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async of(key: string, make: () => Promise<string>): Promise<Answer> {
    const kept = this.#kept.get(key);
    const left = kept === undefined ? 0 : kept.until - this.#now();
    if (kept !== undefined && left > 0) return { text: kept.text, againIn: Math.ceil(left) };
    const making = this.#making.get(key) ?? this.#make(key, make);
    return { text: await making, againIn: null };
  }

  /** After a change through this server: its page asks for what became of it. */
  forget(): void {
    this.#kept.clear();
    this.#making.clear();
  }

  #make(key: string, make: () => Promise<string>): Promise<string> {
    let begin = 0;
    const made = this.#turn.then(() => {
      begin = this.#now();
      return make();
    });
    this.#turn = made.catch(() => {}); // the request has the error
    const making = made.then(
      (text) => {
        if (this.#making.get(key) !== making) return text; // something was changed meanwhile
        this.#making.delete(key);
        this.#keep(key, text, this.#now() - begin);
        return text;
      },
      (error: unknown) => {
        if (this.#making.get(key) === making) this.#making.delete(key);
        throw error;
      },
    );
    this.#making.set(key, making);
    return making;
  }

  #keep(key: string, text: string, cost: number): void {
    this.#kept.delete(key);
    if (cost < LEAST_MS) return;
    const until = this.#now() + Math.min(cost / SHARE, OLDEST_MS);
    setBounded(this.#kept, key, { text, until }, MOST);
  }
}
