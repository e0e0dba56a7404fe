import type { Entry } from "./entry.ts";

/** An attempt: from its claim to its end. Of a hundred thousand, always the same fields. */
export class Span {
  readonly entry: Entry;
  readonly worker: string;
  readonly attempt: number;
  readonly from: number;
  /** Null: it has no end in the ledger. */
  to: number | null = null;
  outcome: string | null = null;
  isProven = false;
  token: string | null;

  constructor(entry: Entry, worker: string, attempt: number, from: number, token: string | null) {
    this.entry = entry;
    this.worker = worker;
    this.attempt = attempt;
    this.from = from;
    this.token = token;
  }
}

/** About a week of a large fleet; older ones are forgotten. */
const MOST_SPANS = 200_000;

/** The attempts of the run, in the order of their claims. */
export class Spans {
  #all: Span[] = [];
  readonly #open = new Map<string, Span>();

  begin(span: Span): void {
    const before = this.#open.get(span.entry.id);
    // The claim before it ended without a line.
    if (before) before.to = Math.max(before.from, span.from);
    this.#open.set(span.entry.id, span);
    this.#all.push(span);
    if (this.#all.length > MOST_SPANS) this.#all = this.#all.slice(MOST_SPANS / 4);
  }

  end(id: string, token: string | null, at: number, outcome: string, isProven: boolean): void {
    const span = this.#open.get(id);
    if (span === undefined || span.token !== token) return;
    this.#open.delete(id);
    span.token = null; // needed no more
    span.to = Math.max(span.from, at);
    span.outcome = outcome;
    span.isProven = isProven;
  }

  /** Those that reach into the period. One without an end runs only while its worker holds the task. */
  *since(since: number, now: number): Generator<Readonly<Span>> {
    for (const span of this.#all) {
      const isLost = span.to === null && !isHeld(span);
      const to = isLost ? endOfLost(span, now) : span.to;
      if ((to ?? now) < since) continue;
      yield isLost ? { ...span, to, outcome: "abandoned" } : span;
    }
  }
}

function isHeld({ entry, worker }: Span): boolean {
  return entry.column === "working" && entry.holder === worker;
}

/** It was moved by hand, or its line comes in a moment. */
function endOfLost({ entry, from }: Span, now: number): number {
  return Math.min(now, Math.max(from, entry.since));
}
