import type { LedgerLine } from "../../queue/ledger.ts";
import type { Spent } from "./budget.ts";
import { sumOf } from "./reserve-policy.ts";
import { totalTokens } from "./usage.ts";
import { usedOn } from "./usage-line.ts";

/** Where a line ends. Only lines of one file have an order. */
export interface Place {
  file: string;
  offset: number;
}

export interface Reservation extends Place {
  task: string;
  token: string;
  type: string;
  /** What the attempt may spend in all, and what it said so before. */
  total: Spent;
  before: Spent;
}

export interface Other {
  of: Reservation;
  isLater: boolean;
  total: Spent;
}

type Own = { task: string; token: string };

/** The reservations in the ledger: `reserved` lines, until their attempt ends. */
export class Reservations {
  readonly #standing = new Map<string, Reservation>();

  hear(line: LedgerLine, { file, offset }: Place): void {
    const { event, task, token } = line;
    if (task === undefined) return;
    if (event === "cancelled") {
      for (const one of this.standing) if (one.task === task) this.forget(one);
    }
    if (token === undefined) return;
    const own = { task, token };
    if (event === "ended") this.forget(own);
    if (event !== "reserved") return;
    const total = { usd: amount(line.usd), tokens: amount(line.tokens) };
    if (total.usd === 0 && total.tokens === 0) {
      this.forget(own);
      return;
    }
    const before = this.of(own)?.total ?? { usd: 0, tokens: 0 };
    const type = typeof line.type === "string" ? line.type : "";
    this.#standing.set(keyOf(own), { ...own, type, total, before, file, offset });
  }

  /** It is over, whether or not a line says so. */
  forget(own: Own): void {
    this.#standing.delete(keyOf(own));
  }

  get standing(): Reservation[] {
    return [...this.#standing.values()];
  }

  of(own: Own): Reservation | undefined {
    return this.#standing.get(keyOf(own));
  }

  /**
   * What each of the others may spend in all. `mine`: as far as it was written before that line. Two attempts
   * that ask at once both write a line, then look: the first in the file has it, and the second sees that.
   */
  others(own: Own, mine?: Place): Other[] {
    return this.standing
      .filter((one) => keyOf(one) !== keyOf(own))
      .map((of) => {
        const isLater = mine !== undefined && of.file === mine.file && of.offset > mine.offset;
        return { of, isLater, total: isLater ? of.before : of.total };
      });
  }
}

/** So many are remembered of a type: one that was dear for once is forgotten one day. */
const STEPS = 100;
const ATTEMPTS = 20;

/** What steps and attempts have cost, by the type of their task. */
export class Sizes {
  readonly #steps = new Map<string, Spent[]>();
  readonly #attempts = new Map<string, Spent[]>();
  /** Attempts that run: what they have spent, and the part of it that belongs to an answer under way. */
  readonly #running = new Map<string, { type: string; spent: Spent; begun: Spent }>();

  hear(line: LedgerLine): void {
    const { event, task = "", token = "" } = line;
    const key = keyOf({ task, token });
    if (event === "ended") {
      const ended = this.#running.get(key);
      this.#running.delete(key);
      // One that was cut short says nothing about what it takes.
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
    if (meant.length === 0) return null;
    const most = (unit: keyof Spent) => meant.reduce((max, size) => Math.max(max, size[unit]), 0);
    return { usd: most("usd"), tokens: most("tokens") };
  }

  /** What an attempt at the dearest of these types took, on average; null when none has ended. */
  attempt(isMeant: (type: string) => boolean): Spent | null {
    const means = [...this.#attempts].flatMap(([type, sizes]) => {
      const { usd, tokens } = sumOf(sizes);
      return isMeant(type) ? [{ usd: usd / sizes.length, tokens: tokens / sizes.length }] : [];
    });
    if (means.length === 0) return null;
    const most = (unit: keyof Spent) => Math.max(...means.map((mean) => mean[unit]));
    return { usd: most("usd"), tokens: Math.ceil(most("tokens")) };
  }
}

function remember(sizes: Map<string, Spent[]>, type: string, size: Spent, most: number): void {
  const list = sizes.get(type) ?? [];
  list.push(size);
  if (list.length > most) list.shift();
  sizes.set(type, list);
}

const NOTHING: Spent = { usd: 0, tokens: 0 };

function keyOf({ task, token }: Own): string {
  return `${task} ${token}`;
}

function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
