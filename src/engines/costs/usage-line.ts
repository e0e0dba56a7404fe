import type { LedgerLine } from "../../queue/ledger.ts";
import type { Claim } from "../../queue/store.ts";
import type { Step } from "../engine.ts";
import type { Bill } from "./bill.ts";
import { type DollarSource, isAsked } from "./prices.ts";
import { type ModelUsage, type Tokens, totalTokens } from "./usage.ts";

/** Tokens as the ledger writes them. */
export interface TokensOnLine {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

/** What all lines about a model run say: whose it is. */
interface OfAttempt extends LedgerLine {
  task: string;
  /** The task's. */
  type?: string;
  worker: string;
  agent?: string;
  token: string;
  attempt: number;
}

/** One thing that a model run did, as it happened. What it used is what it used since the last. */
export interface StepLine extends OfAttempt {
  event: "step";
  kind: "tool" | "text" | "thought" | "notice";
  tool?: string;
  target?: string;
  text?: string;
  model?: string;
  tokens?: TokensOnLine;
  /** Not there: there is no price for it. */
  usd?: number;
  /** Of these dollars; not there: imputed. */
  source?: DollarSource;
  /** Of an answer which has only begun: the attempt's next one has the rest. */
  begun?: true;
  /** Of so many steps at once. */
  of?: number;
}

/** What an attempt has used in all: it counts instead of the sum of the attempt's steps. */
export interface UsageLine extends OfAttempt {
  event: "usage";
  type: string;
  engine: string;
  account?: string;
  session?: string;
  /** The model that was asked for, when another was used. */
  asked?: string;
  models: (TokensOnLine & { model: string; usd: number | null; source: DollarSource | null })[];
  /** In all, as far as it could be priced. */
  usd: number;
  tokens: number;
  /** Not all could be read: what the steps say beyond it counts as well. */
  unreadable?: true;
}

/** What was used of one model, as a line tells it. */
export interface Used extends Omit<ModelUsage, "model"> {
  /** Null: the line does not say. */
  model: string | null;
  source: DollarSource | null;
}

/** What a `step` or `usage` line says was used. A line is only text: what makes no sense is not there. */
export function usedOn(line: LedgerLine): Used[] {
  if (line.event === "usage") {
    const models: unknown = line.models;
    return Array.isArray(models) ? models.flatMap((entry: unknown) => readUsed(entry)) : [];
  }
  if (line.event !== "step" || !isRecord(line.tokens)) return [];
  const { model, usd, tokens, source } = line;
  return readUsed({ ...tokens, model, usd, source });
}

function readUsed(entry: unknown): Used[] {
  if (!isRecord(entry)) return [];
  const tokens = {
    input: amount(entry.input) ?? 0,
    output: amount(entry.output) ?? 0,
    cacheRead: amount(entry.cache_read) ?? 0,
    cacheWrite: amount(entry.cache_write) ?? 0,
  };
  const usd = amount(entry.usd);
  if (usd === null && totalTokens(tokens) === 0) return [];
  const model = typeof entry.model === "string" && entry.model !== "" ? entry.model : null;
  const source = usd === null ? null : entry.source === "reported" ? "reported" : "imputed";
  return [{ model, ...tokens, usd, source }];
}

function amount(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What the ledger says about a model run: see model/usage-line.ts. */

export function stepLine(
  claim: Claim,
  step: Step,
  priced: { usd: number; source: DollarSource } | null,
) {
  const { kind, tool, target, text, usage, isBegun, of: many } = step;
  return {
    event: "step" as const,
    ...of(claim),
    type: claim.task.task_type,
    kind,
    tool: tool || undefined,
    target: target || undefined,
    text: text || undefined,
    model: usage?.model,
    tokens: usage && tokensOf(usage),
    begun: isBegun || undefined,
    of: many,
    ...priced,
  };
}

type Of = Pick<Claim, "worker" | "token" | "attempt"> & {
  task: Pick<Claim["task"], "task_id" | "task_type">;
};

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
    type: claim.task.task_type,
    engine,
    account: account || undefined,
    session: session || undefined,
    asked: isOther ? asked : undefined,
    models: lines.map((line) => ({
      model: line.model,
      ...tokensOf(line),
      usd: line.usd,
      source: line.source,
    })),
    usd: lines.reduce((sum, { usd }) => sum + (usd ?? 0), 0),
    tokens: lines.reduce((sum, line) => sum + totalTokens(line), 0),
    /** How the engine says that it ended. */
    said,
    unreadable: bill.isUnreadable || undefined,
  };
}

function of({ task, worker, token, attempt }: Of) {
  return { task: task.task_id, worker, token, attempt };
}

function tokensOf({ input, output, cacheRead, cacheWrite }: Tokens) {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}
