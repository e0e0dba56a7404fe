import { isRecord } from "../../base/json.ts";
import type { LedgerLine } from "../../queue/ledger.ts";
import type { Claim } from "../../queue/store.ts";
import type { Step } from "../engine.ts";
import type { Bill } from "./bill.ts";
import { type DollarSource, isAsked } from "./prices.ts";

/** Tokens as the vendor counts them; cached ones are not in `input`. */
export interface Tokens {
  input: number;
  output: number;
  /** Read from the vendor's cache, at a lower price. */
  cacheRead: number;
  /** Written to it, at a higher one. */
  cacheWrite: number;
}

export const NO_TOKENS: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export interface ModelUsage extends Tokens {
  /** As the vendor names it. */
  model: string;
  /** Dollars as the vendor reports them; null when it reports none. */
  usd: number | null;
  /** Of one answer: the tokens of its prompt, which may decide its price. */
  prompt?: number;
}

/**
 * The usage of a vendor's session over the attempts that continued it. Some vendors report the session's
 * total: this is the part that earlier attempts have counted.
 */
export interface SessionUsed {
  /** As the vendor last reported it. */
  total: ModelUsage[];
  /** By later runs that ended before they reported a total: the sum of their steps. */
  since: ModelUsage[];
}

/** The usage of one model, with its dollars: null without a price. */
export interface Amount<Model = string | null> extends Tokens {
  model: Model;
  usd: number | null;
  source: DollarSource | null;
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}

export function totalTokens({ input, output, cacheRead, cacheWrite }: Tokens): number {
  return input + output + cacheRead + cacheWrite;
}

/** Tokens as the ledger and `viv costs --json` have them. */
export function tokensOnLine({ input, output, cacheRead, cacheWrite }: Tokens) {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}

type Of = Pick<Claim, "worker" | "token" | "attempt"> & {
  task: Pick<Claim["task"], "task_id" | "task_type">;
};

function of({ task, worker, token, attempt }: Of) {
  return { task: task.task_id, worker, token, attempt, type: task.task_type };
}

/** One step of a model run, with its usage since the last one. Without `usd`: there is no price. */
export function stepLine(
  claim: Claim,
  step: Step,
  priced: { usd: number; source: DollarSource } | null,
) {
  const { kind, tool, target, text, usage, isBegun, of: many } = step;
  return {
    event: "step" as const,
    ...of(claim),
    kind,
    tool: tool || undefined,
    target: target || undefined,
    text: text || undefined,
    model: usage?.model,
    tokens: usage && tokensOnLine(usage),
    /** The answer goes on: the attempt's next step has the rest. */
    begun: isBegun || undefined,
    /** The sum of so many steps. */
    of: many,
    ...priced,
  };
}

/** The usage of an attempt in all: it counts instead of the sum of the attempt's steps. */
export function usageLine(
  claim: Of,
  bill: Bill,
  more: {
    engine: string;
    account: string | null;
    session: string | null;
    said: string;
    /** The model as the route names it. */
    asked: string | null;
  },
) {
  const { lines } = bill;
  const { engine, account, session, said, asked } = more;
  const isOther = asked !== null && lines.some(({ model }) => !isAsked(model, asked));
  return {
    event: "usage" as const,
    ...of(claim),
    engine,
    account: account || undefined,
    session: session || undefined,
    asked: isOther ? asked : undefined,
    models: lines.map((line) => ({
      model: line.model,
      ...tokensOnLine(line),
      usd: line.usd,
      source: line.source,
    })),
    /** As far as it has a price. */
    usd: bill.usd ?? 0,
    tokens: lines.reduce((sum, line) => sum + totalTokens(line), 0),
    /** How it ended, by the engine. */
    said,
    /** A part could not be read: steps beyond this total count as well. */
    unreadable: bill.isUnreadable || undefined,
  };
}

/** The usage on a `step` or `usage` line. A line is only text: what makes no sense is left out. */
export function usedOn(line: LedgerLine): Amount[] {
  if (line.event === "usage") {
    const models: unknown = line.models;
    const records = Array.isArray(models) ? models.filter(isRecord) : [];
    return records.flatMap((entry) => readAmount(entry, entry));
  }
  if (line.event !== "step" || !isRecord(line.tokens)) return [];
  return readAmount(line, line.tokens);
}

/** Not copied: a report reads a hundred thousand of them. */
function readAmount(of: Record<string, unknown>, tokens: Record<string, unknown>): Amount[] {
  const usd = amountIn(of.usd);
  const amount: Amount = {
    model: typeof of.model === "string" && of.model !== "" ? of.model : null,
    input: amountIn(tokens.input) ?? 0,
    output: amountIn(tokens.output) ?? 0,
    cacheRead: amountIn(tokens.cache_read) ?? 0,
    cacheWrite: amountIn(tokens.cache_write) ?? 0,
    usd,
    source: usd === null ? null : of.source === "reported" ? "reported" : "imputed",
  };
  return usd === null && totalTokens(amount) === 0 ? [] : [amount];
}

/** A finite number from zero; null for anything else. */
export function amountIn(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}
