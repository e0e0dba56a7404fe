import type { LedgerLine } from "../../queue/ledger.ts";
import type { Spent } from "./budget.ts";
import { type AttemptId, keyOf } from "./ledger-totals.ts";
import { most, NOTHING, perUnit, sumOf } from "./reserve-policy.ts";
import { amountIn, totalTokens, usedOn } from "./usage.ts";

/** The end of a line. Only lines of one file have an order. */
interface Place {
  file: string;
  offset: number;
}

export interface Reservation extends Place {
  task: string;
  token: string;
  type: string;
  /** What the attempt may spend in all, by its latest line and by the one before. */
  total: Spent;
  before: Spent;
}

export interface Other {
  of: Reservation;
  isLater: boolean;
  total: Spent;
}

/** The reservations in the ledger: `reserved` lines, until their attempt ends. */
export class Reservations {
  readonly #standing = new Map<string, Reservation>();

  add(line: LedgerLine, { file, offset }: Place): void {
    const { event, task, token } = line;
    if (task === undefined) return;
    if (event === "cancelled") {
      for (const one of this.standing) if (one.task === task) this.forget(one);
    }
    if (token === undefined) return;
    const own = { task, token };
    if (event === "ended") this.forget(own);
    if (event !== "reserved") return;
    const total = perUnit((unit) => amountIn(line[unit]) ?? 0);
    const before = this.of(own)?.total ?? NOTHING;
    const type = typeof line.type === "string" ? line.type : "";
    if (total.usd === 0 && total.tokens === 0) this.forget(own);
    else this.#standing.set(keyOf(own), { ...own, type, total, before, file, offset });
  }

  /** It is over, with or without a line about it. */
  forget(own: AttemptId): void {
    this.#standing.delete(keyOf(own));
  }

  get standing(): Reservation[] {
    return [...this.#standing.values()];
  }

  of(own: AttemptId): Reservation | undefined {
    return this.#standing.get(keyOf(own));
  }

  /**
   * The reservations of the others; with `mine`, only as far as written before that line. Two attempts that
   * ask at once both write a line, then read: the first in the file has it, and the second sees that.
   */
  others(own: AttemptId, mine?: Place): Other[] {
    return this.standing
      .filter((one) => keyOf(one) !== keyOf(own))
      .map((of) => {
        const isLater = mine !== undefined && of.file === mine.file && of.offset > mine.offset;
        return { of, isLater, total: isLater ? of.before : of.total };
      });
  }
}

/** How many are remembered of a type, so that an unusually dear one is forgotten. */
const STEPS = 100;
const ATTEMPTS = 20;

/** The costs of steps and attempts, by the type of their task. */
export class Sizes {
  readonly #steps = new Map<string, Spent[]>();
  readonly #attempts = new Map<string, Spent[]>();
  /** Attempts that run: their spending, and the part of it for an answer under way. */
  readonly #running = new Map<string, { type: string; spent: Spent; begun: Spent }>();

  add(line: LedgerLine): void {
    const { event } = line;
    const key = keyOf(line);
    if (event === "ended") {
      const ended = this.#running.get(key);
      this.#running.delete(key);
      // One that was cut short is no measure.
      const isWhole = line.outcome === "done" || line.outcome === "failed";
      if (ended && isWhole) remember(this.#attempts, ended.type, ended.spent, ATTEMPTS);
      return;
    }
    const used = event === "step" ? usedOn(line) : [];
    if (used.length === 0) return;
    const type = typeof line.type === "string" ? line.type : "";
    const now = sumOf(used.map((one) => ({ usd: one.usd ?? 0, tokens: totalTokens(one) })));
    const running = this.#running.get(key) ?? { type, spent: NOTHING, begun: NOTHING };
    const size = sumOf([now, running.begun]);
    const spent = sumOf([now, running.spent]);
    const isBegun = line.begun === true;
    this.#running.set(key, { type, spent, begun: isBegun ? size : NOTHING });
    if (isBegun) return;
    const of = typeof line.of === "number" && line.of >= 1 ? line.of : 1;
    const each = { usd: size.usd / of, tokens: Math.ceil(size.tokens / of) };
    remember(this.#steps, type, each, STEPS);
  }

  knows(type: string): boolean {
    return this.#steps.has(type);
  }

  /** The largest step of these types; null when none is known. */
  step(isMeant: (type: string) => boolean = () => true): Spent | null {
    const meant = [...this.#steps].flatMap(([type, sizes]) => (isMeant(type) ? sizes : []));
    return meant.length === 0 ? null : meant.reduce(most);
  }

  /** The average attempt at the dearest of these types; null when none has ended. */
  attempt(isMeant: (type: string) => boolean): Spent | null {
    const means = [...this.#attempts].flatMap(([type, sizes]) => {
      const { usd, tokens } = sumOf(sizes);
      const mean = { usd: usd / sizes.length, tokens: Math.ceil(tokens / sizes.length) };
      return isMeant(type) ? [mean] : [];
    });
    return means.length === 0 ? null : means.reduce(most);
  }
}

function remember(sizes: Map<string, Spent[]>, type: string, size: Spent, limit: number): void {
  const list = sizes.get(type) ?? [];
  list.push(size);
  if (list.length > limit) list.shift();
  sizes.set(type, list);
}
