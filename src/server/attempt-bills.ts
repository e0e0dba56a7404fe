import { setBounded } from "../base/bounded-map.ts";
import { isRecord } from "../base/json.ts";
import type { Entry } from "../ledger/line.ts";

const TOKENS = ["input", "output", "cache_read", "cache_write"] as const;
export const KINDS = ["usd", ...TOKENS] as const;
export type Kind = (typeof KINDS)[number];
type Amounts = Partial<Record<Kind, number>>;
type ByModel = Map<string, Amounts>;

interface Bill {
  engine: string;
  /** Given to `count` already. */
  counted: ByModel;
  steps: ByModel;
  /** Its usage lines lack a part: then the larger counts for each model by itself. */
  isPartial: boolean;
}

/** Attempts that are heard of no more are forgotten at last. */
const MOST_OPEN = 50_000;
/** After so many later ends no further line about an attempt is expected, as in `viv costs`. */
const KEPT = 1_000;
/** Sums of dollars are off by less. */
const DUST = 1e-9;

/**
 * What model runs have used, each of it once, as `viv costs` counts it: by an attempt's `usage` line, or by
 * its `step` lines, whichever is more. Steps name no engine, and a count cannot be taken back, so what only
 * the steps know is given out when the attempt has ended; until then it is `running`.
 */
export class AttemptBills {
  readonly #open = new Map<string, Bill>();
  readonly #ended = new Map<string, Bill>();
  readonly #count: (engine: string, model: string, kind: Kind, amount: number) => void;

  constructor(count: (engine: string, model: string, kind: Kind, amount: number) => void) {
    this.#count = count;
  }

  /** Dollars of attempts that have not ended. */
  get running(): number {
    let sum = 0;
    for (const bill of this.#open.values()) sum += Math.max(0, missing(bill, bill.steps, "usd"));
    return sum;
  }

  add(key: string, line: Entry): void {
    if (line.event === "step") {
      if (!isRecord(line.tokens)) return;
      addTo(this.#billOf(key).steps, line.model, { ...amountsIn(line.tokens), ...usdOf(line) });
    } else if (line.event === "usage") {
      const bill = this.#billOf(key);
      bill.engine = wordOf(line.engine);
      bill.isPartial ||= line.unreadable === true;
      const used: ByModel = new Map();
      for (const one of Array.isArray(line.models) ? line.models.filter(isRecord) : []) {
        addTo(used, one.model, { ...amountsIn(one), ...usdOf(one) });
      }
      this.#grow(bill, used);
    } else if (line.event === "ended") this.#end(key);
  }

  #billOf(key: string): Bill {
    const known = this.#open.get(key) ?? this.#ended.get(key);
    if (known !== undefined) return known;
    const bill: Bill = {
      engine: wordOf(undefined),
      counted: new Map(),
      steps: new Map(),
      isPartial: false,
    };
    setBounded(this.#open, key, bill, MOST_OPEN);
    return bill;
  }

  #end(key: string): void {
    const bill = this.#open.get(key);
    if (bill === undefined) return;
    this.#open.delete(key);
    this.#grow(bill, bill.steps);
    bill.steps = new Map();
    setBounded(this.#ended, key, bill, KEPT);
  }

  /** Counts what these amounts have beyond the counted ones; never more than in all. */
  #grow(bill: Bill, used: ByModel): void {
    for (const kind of KINDS) {
      let left = missing(bill, used, kind);
      for (const [model, amounts] of used) {
        const more = (amounts[kind] ?? 0) - (bill.counted.get(model)?.[kind] ?? 0);
        const part = Math.min(left, Math.max(0, more));
        if (part <= DUST) continue;
        left -= part;
        addTo(bill.counted, model, { [kind]: part });
        this.#count(bill.engine, model, kind, part);
      }
    }
  }
}

function missing({ counted, isPartial }: Bill, used: ByModel, kind: Kind): number {
  if (!isPartial) return sumOf(used, kind) - sumOf(counted, kind);
  const of = (all: ByModel, model: string) => all.get(model)?.[kind] ?? 0;
  let sum = 0;
  for (const model of used.keys()) sum += Math.max(0, of(used, model) - of(counted, model));
  return sum;
}

function sumOf(all: ByModel, kind: Kind): number {
  let sum = 0;
  for (const amounts of all.values()) sum += amounts[kind] ?? 0;
  return sum;
}

function addTo(all: ByModel, model: unknown, more: Amounts): void {
  const name = wordOf(model);
  const before = all.get(name) ?? {};
  for (const kind of KINDS) {
    if (more[kind] !== undefined) before[kind] = (before[kind] ?? 0) + more[kind];
  }
  all.set(name, before);
}

function amountsIn(of: Record<string, unknown>): Amounts {
  return Object.fromEntries(TOKENS.map((kind) => [kind, amountOf(of[kind])]));
}

function usdOf({ usd }: Record<string, unknown>): Amounts {
  return { usd: amountOf(usd) };
}

/** A label of others, short. */
export function wordOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? value.slice(0, 80) : "unknown";
}

function amountOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}
