import type { LedgerLine } from "../../queue/ledger.ts";
import { larger, largerByModel } from "./bill.ts";
import type { Spent } from "./budget.ts";
import { type Amount, addTokens, NO_TOKENS, type Tokens, totalTokens, usedOn } from "./usage.ts";

/**
 * Adds up the ledger: the spending of model runs, and the tasks that they proved.
 *
 * An attempt counts with its `usage` line or with the sum of its `step` lines, whichever is more: while it
 * runs, or when it crashed, it has only steps. It counts on the day of its last line, and a day in the future
 * counts today as well: no wrong clock gives a budget back. A task is proven when an attempt ends in done/,
 * or a person approves it; that attempt's worker, agent and models get the credit. Tasks without a model run
 * are left out.
 *
 * Memory does not grow with the ledger, except for a line per row. Attempts that have ended are kept
 * apart for a while, because a late line may still change them (a worker that was taken for dead, an
 * end that is void); then they are added to the sums and forgotten.
 */
export const DIMENSIONS = ["type", "model", "worker", "agent", "day", "task"] as const;
export type Dimension = (typeof DIMENSIONS)[number];
/** Null: unknown. */
export type Key = string | null;

/** After so many later ends no further line about an attempt is expected. */
const KEPT = 1000;

interface Attempt {
  task: string;
  type: Key;
  worker: Key;
  agent: Key;
  day: string;
  steps: AmountSum;
  /** By its `usage` lines. */
  total: Amount[];
  /** They lack a part, which could not be read. */
  isPartial: boolean;
  /** When it was proven. */
  proven: string | null;
  isAdded: boolean;
}

export interface AttemptId {
  task?: string;
  token?: string;
}

type Rows = Map<Key, Spending>;
/** `run` has one row: the total. */
type Sums = Map<Dimension | "run", Rows>;

export class LedgerTotals {
  readonly #sums: Sums;
  readonly #open = new Map<string, Attempt>();
  readonly #ended = new Map<string, Attempt>();
  /** By task: the attempt that a person has to judge. */
  readonly #review = new Map<string, Attempt>();
  /** By task: the keys of the attempt that proved it, until it lands. */
  readonly #proven: Map<string, Keys> | null;
  readonly #landed: Keys[] = [];

  /**
   * The dimensions that `rows` can return: rows for each task take memory for each task, and so do
   * landings.
   */
  constructor(by: readonly Dimension[], more: { landed?: boolean } = {}) {
    this.#sums = new Map((["run", ...by] as const).map((one) => [one, new Map()]));
    this.#proven = more.landed ? new Map() : null;
  }

  /** `written`: the line was written between these days, if known; its own clock may be wrong. */
  add(line: LedgerLine, written?: Written): void {
    const { event, task } = line;
    if (task === undefined) return;
    if (event === "step" || event === "usage") this.#spend(line, dayWithin(dayOf(line), written));
    else if (event === "ended") this.#end(line);
    else if (event === "void") this.#undo(line);
    else if (event === "approved") this.#approve(line);
    else if (event === "landed") this.#land(line);
    else if (event === "reworked") this.#rework(task);
    else if (event === "rejected" || event === "cancelled") this.#review.delete(task);
  }

  /** Of all attempts. */
  total(): Spending {
    return this.#withLatest("run").get(null) ?? noSpending();
  }

  rows(by: Dimension): ReadonlyMap<Key, Spending> {
    return this.#withLatest(by);
  }

  /** The spending without this attempt: of its task, in the run, and on a day. */
  withoutAttempt(id: AttemptId, day: string): Record<"task" | "run" | "day", Spent> {
    const own = this.#find(id);
    const sum = (rows: Iterable<Spending | undefined>, counts: (one: Attempt) => boolean) => {
      const spent = noSpending();
      for (const row of rows) if (row) addSpending(spent, row);
      for (const one of this.#latest()) {
        if (one !== own && counts(one)) addSpending(spent, spendingOf(one));
      }
      return spentIn(spent);
    };
    const days = [...(this.#sums.get("day") ?? [])].filter(([key]) => key !== null && key >= day);
    const daily = days.map(([, row]) => row);
    return {
      task: sum([this.#sums.get("task")?.get(id.task ?? "")], (one) => one.task === id.task),
      run: sum([this.#sums.get("run")?.get(null)], () => true),
      day: sum(daily, (one) => one.day >= day),
    };
  }

  /** By this attempt, which runs or has ended of late. */
  spentBy(id: AttemptId): Spent {
    const attempt = this.#find(id);
    return spentIn(attempt ? spendingOf(attempt) : noSpending());
  }

  #spend(line: LedgerLine, day: string): void {
    const attempt = this.#find(line) ?? this.#begin(line, day);
    if (day > attempt.day) attempt.day = day;
    attempt.type ??= text(line.type);
    attempt.agent ??= text(line.agent);
    if (line.event === "step") {
      for (const used of usedOn(line)) attempt.steps.add(used);
      return;
    }
    const sum = new AmountSum();
    for (const used of usedOn(line)) sum.add(used);
    attempt.total = larger(sum.list, attempt.total);
    if (line.unreadable === true) attempt.isPartial = true;
  }

  #begin(line: LedgerLine, day: string): Attempt {
    const attempt: Attempt = {
      task: line.task ?? "",
      type: null,
      worker: text(line.worker),
      agent: null,
      day,
      steps: new AmountSum(),
      total: [],
      isPartial: false,
      proven: null,
      isAdded: false,
    };
    this.#open.set(keyOf(line), attempt);
    return attempt;
  }

  #end(line: LedgerLine): void {
    const key = keyOf(line);
    const attempt = this.#find(line);
    if (attempt === undefined) return;
    if (line.outcome === "done" && line.to === "done") this.#prove(attempt, line);
    if (line.outcome === "done" && line.to === "review") this.#review.set(attempt.task, attempt);
    this.#open.delete(key);
    this.#ended.set(key, attempt);
    if (this.#ended.size <= KEPT) return;
    const [oldest, old] = this.#ended.entries().next().value as [string, Attempt];
    this.#ended.delete(oldest);
    addAttempt(this.#sums, old);
    old.isAdded = true;
  }

  /** The end did not count. */
  #undo(line: LedgerLine): void {
    const attempt = this.#ended.get(keyOf(line));
    if (attempt === undefined || line.outcome !== "done") return;
    attempt.proven = null;
    if (this.#review.get(attempt.task) === attempt) this.#review.delete(attempt.task);
  }

  #approve(line: LedgerLine): void {
    const attempt = this.#review.get(line.task ?? "");
    if (attempt === undefined) return;
    this.#review.delete(attempt.task);
    this.#prove(attempt, line);
    if (attempt.isAdded) addProof(this.#sums, attempt);
  }

  #prove(attempt: Attempt, line: LedgerLine): void {
    attempt.proven = dayOf(line);
    const { task, type, worker, agent } = attempt;
    const day = attempt.proven;
    this.#proven?.set(task, {
      task,
      type,
      worker,
      agent,
      day,
      models: [...modelsOf(attempt).keys()],
    });
  }

  /** Its proof did not hold after the merge. One from long ago stays counted. */
  #rework(task: string): void {
    this.#proven?.delete(task);
    for (const one of this.#ended.values()) if (one.task === task) one.proven = null;
  }

  /** On the day when it landed, with the keys of the attempt that proved it; a task lands once. */
  #land(line: LedgerLine): void {
    const keys = this.#proven?.get(line.task ?? "");
    if (keys === undefined) return;
    this.#proven?.delete(keys.task);
    this.#landed.push({ ...keys, day: dayOf(line) });
  }

  #find(id: AttemptId): Attempt | undefined {
    return this.#open.get(keyOf(id)) ?? this.#ended.get(keyOf(id));
  }

  *#latest(): Generator<Attempt> {
    yield* this.#ended.values();
    yield* this.#open.values();
  }

  /** Of one dimension: there may be a row for each task. */
  #withLatest(by: Dimension | "run"): Rows {
    const rows: Rows = new Map();
    for (const [key, sum] of this.#sums.get(by) ?? []) rows.set(key, { ...sum });
    if (!this.#sums.has(by)) return rows;
    const one: Sums = new Map([[by, rows]]);
    for (const attempt of this.#latest()) addAttempt(one, attempt);
    for (const landing of this.#landed) addLanding(one, landing);
    return rows;
  }
}

function addAttempt(sums: Sums, attempt: Attempt): void {
  const whole = spendingOf(attempt);
  for (const [by, rows] of sums) {
    const parts = by === "model" ? modelsOf(attempt) : new Map([[keyIn(by, attempt), whole]]);
    for (const [key, sum] of parts) addSpending(rowOf(rows, key), { ...sum, attempts: 1 });
  }
  if (attempt.proven !== null) addProof(sums, attempt);
}

/** On the day when it was proven. */
function addProof(sums: Sums, attempt: Attempt): void {
  const proof = { ...attempt, day: attempt.proven };
  for (const [by, rows] of sums) {
    const keys = by === "model" ? modelsOf(attempt).keys() : [keyIn(by, proof)];
    for (const key of keys) rowOf(rows, key).proven++;
  }
}

interface Keys {
  task: string;
  type: Key;
  worker: Key;
  agent: Key;
  day: string;
  models: Key[];
}

function addLanding(sums: Sums, one: Keys): void {
  for (const [by, rows] of sums) {
    const keys = by === "model" ? one.models : [keyIn(by, one)];
    for (const key of keys) rowOf(rows, key).landed++;
  }
}

type InRow = Record<Exclude<Dimension, "model">, Key>;

function keyIn(by: keyof InRow | "run", attempt: InRow): Key {
  return by === "run" ? null : attempt[by];
}

function usedBy({ total, steps, isPartial }: Attempt): Amount[] {
  return isPartial ? largerByModel(total, steps.list) : larger(total, steps.list);
}

function spendingOf(attempt: Attempt): Spending {
  const spent = noSpending();
  for (const used of usedBy(attempt)) addUsed(spent, used);
  return spent;
}

/** An attempt without a model has a row all the same. */
function modelsOf(attempt: Attempt): Rows {
  const models: Rows = new Map();
  for (const used of usedBy(attempt)) addUsed(rowOf(models, used.model), used);
  return models.size > 0 ? models : new Map([[null, noSpending()]]);
}

/** By model and by the source of the dollars; usage without a price is kept apart. */
class AmountSum {
  readonly #sums = new Map<string, Amount>();

  add(used: Amount): void {
    // No source has a space in it.
    const key = used.model === null ? `${used.source}` : `${used.source} ${used.model}`;
    const sum = this.#sums.get(key);
    if (sum === undefined) {
      this.#sums.set(key, { ...used });
      return;
    }
    sum.input += used.input;
    sum.output += used.output;
    sum.cacheRead += used.cacheRead;
    sum.cacheWrite += used.cacheWrite;
    if (used.usd !== null) sum.usd = used.usd + (sum.usd ?? 0);
  }

  get list(): Amount[] {
    return [...this.#sums.values()];
  }
}

function rowOf(rows: Rows, key: Key): Spending {
  const row = rows.get(key) ?? noSpending();
  rows.set(key, row);
  return row;
}

export function keyOf({ task, token }: AttemptId): string {
  return `${task} ${token}`;
}

/** Days, like 2026-11-15. */
interface Written {
  from: string;
  to: string;
}

function dayWithin(day: string, { from, to }: Written = { from: day, to: day }): string {
  if (day < from) return from;
  return day > to ? to : day;
}

function dayOf({ at }: LedgerLine): string {
  return String(at).slice(0, 10);
}

function text(value: unknown): Key {
  return typeof value === "string" && value !== "" ? value : null;
}

export interface Spending {
  tokens: Tokens;
  /** Dollars, by their source. */
  reported: number;
  imputed: number;
  /** Tokens without a price. */
  unpriced: number;
  attempts: number;
  /** Tasks whose result was proven. */
  proven: number;
  /** Of those, the ones whose work is in its target branch. */
  landed: number;
}

function noSpending(): Spending {
  return {
    tokens: NO_TOKENS,
    reported: 0,
    imputed: 0,
    unpriced: 0,
    attempts: 0,
    proven: 0,
    landed: 0,
  };
}

function spentIn(sum: Spending): Spent {
  return { usd: dollarsOf(sum), tokens: totalTokens(sum.tokens) };
}

export function dollarsOf({ reported, imputed }: Spending): number {
  return reported + imputed;
}

function addUsed(sum: Spending, used: Amount): void {
  sum.tokens = addTokens(sum.tokens, used);
  if (used.usd === null) sum.unpriced += totalTokens(used);
  else if (used.source === "reported") sum.reported += used.usd;
  else sum.imputed += used.usd;
}

function addSpending(sum: Spending, more: Spending): void {
  sum.tokens = addTokens(sum.tokens, more.tokens);
  sum.reported += more.reported;
  sum.imputed += more.imputed;
  sum.unpriced += more.unpriced;
  sum.attempts += more.attempts;
  sum.proven += more.proven;
  sum.landed += more.landed;
}
