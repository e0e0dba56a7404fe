import type { Span } from "./spans.ts";

export interface LaneSpan {
  task: string;
  from: string;
  /** Null: it still runs. */
  to: string | null;
  outcome: string | null;
  attempt: number;
  /** It failed, and the task was, or will be, tried again. */
  again: boolean;
  /** So many attempts, too short to be shown apart. */
  count: number;
}

export interface Bucket {
  at: string;
  proven: number;
  done: number;
  failed: number;
  other: number;
}

/** The outcome as the page shows it: proven work apart from done. */
export function shownOutcome({ outcome, isProven }: Pick<Span, "outcome" | "isProven">) {
  return outcome === "done" && isProven ? "proven" : outcome;
}

/** Of about so many spans a lane is still readable; a page draws a pixel for the rest. */
const MOST_OF_LANE = 400;
/** Spans nearer to each other than this part of the period look like one. */
const PARTS = 800;

/** As the task is now: of one that is done, or may still be, no failure is the last word. */
function isTriedAgain({ entry, outcome, attempt }: Omit<Span, "isProven">): boolean {
  if (!FAILED.includes(outcome ?? "") || entry.column === null) return false;
  return entry.column !== "failed" || attempt < entry.attempt;
}

type Shown = Pick<Span, "from" | "to" | "outcome" | "attempt"> & { task: string; again: boolean };

/** By worker. In a lane with very many, neighbours that ended alike are one. */
export class Lanes {
  readonly #all = new Map<string, Shown[]>();
  readonly #since: number;
  readonly #until: number;

  constructor(since: number, until: number) {
    this.#since = since;
    this.#until = until;
  }

  add(span: Span): void {
    const { worker, from, to, attempt } = span;
    const shown = {
      ...{ task: span.entry.id, from, to, outcome: shownOutcome(span), attempt },
      again: isTriedAgain(span),
    };
    const lane = this.#all.get(worker);
    if (lane) lane.push(shown);
    else this.#all.set(worker, [shown]);
  }

  /** The first to begin comes first. */
  list(): { name: string; spans: LaneSpan[] }[] {
    const gap = (this.#until - this.#since) / PARTS;
    const lanes = [...this.#all].map(([name, spans]) => ({
      name,
      spans: (spans.length > MOST_OF_LANE ? joined(spans, gap) : spans.map(alone)).map(dated),
    }));
    return lanes.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

type Joined = Shown & { count: number };

function alone(span: Shown): Joined {
  return { ...span, count: 1 };
}

function joined(spans: readonly Shown[], gap: number): Joined[] {
  const result: Joined[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    const isNear =
      last !== undefined &&
      last.to !== null &&
      span.to !== null &&
      last.outcome === span.outcome &&
      last.again === span.again &&
      span.from - last.to < gap &&
      span.to - last.from < 20 * gap;
    if (!isNear) result.push(alone(span));
    else {
      last.to = Math.max(last.to ?? 0, span.to ?? 0);
      last.count++;
    }
  }
  return result;
}

function dated({ from, to, ...rest }: Joined): LaneSpan {
  const at = (time: number) => new Date(time).toISOString();
  return { ...rest, from: at(from), to: to === null ? null : at(to) };
}

/** Steps that a person reads easily, in seconds; then whole days. */
const STEPS = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];
const DAY = 86_400;
const MOST_BUCKETS = 72;

/** Ends of attempts in equal parts of the period, on round times. */
export class Buckets {
  readonly #step: number;
  readonly #first: number;
  readonly #all: Bucket[] = [];

  constructor(since: number, until: number) {
    const least = (until - since) / 1000 / MOST_BUCKETS;
    const step = STEPS.find((one) => one >= least) ?? Math.ceil(least / DAY) * DAY;
    this.#step = step * 1000;
    this.#first = Math.floor(since / this.#step) * this.#step;
    for (let at = this.#first; at <= until; at += this.#step) {
      const none = { proven: 0, done: 0, failed: 0, other: 0 };
      this.#all.push({ at: new Date(at).toISOString(), ...none });
    }
  }

  add(span: Span): void {
    const { to, outcome, isProven } = span;
    const bucket = to === null ? undefined : this.#all[Math.floor((to - this.#first) / this.#step)];
    if (bucket === undefined) return;
    if (outcome === "done") bucket[isProven ? "proven" : "done"]++;
    else if (FAILED.includes(outcome ?? "") && !isTriedAgain(span)) bucket.failed++;
    else bucket.other++;
  }

  list(): Bucket[] {
    return this.#all;
  }
}

const FAILED = ["failed", "unproven", "timed_out"];
