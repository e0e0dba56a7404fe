import type { Claim } from "../../queue/store.ts";
import type { Step } from "../step.ts";
import type { Bill } from "./bill.ts";
import { isAsked } from "./price.ts";
import type { DollarSource } from "./prices.ts";
import { type ModelUsage, type Tokens, totalTokens } from "./usage.ts";

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
    ...(tool ? { tool } : {}),
    ...(target ? { target } : {}),
    ...(text ? { text } : {}),
    ...(usage ? { model: usage.model, tokens: tokensOf(usage) } : {}),
    ...(isBegun ? { begun: true } : {}),
    ...(many === undefined ? {} : { of: many }),
    ...priced,
  };
}

/** For the session: dollars that we made up ourselves are made up again. */
export function unpricedLines({ lines }: Bill): ModelUsage[] {
  return lines.map(({ source, ...line }) => ({
    ...line,
    usd: source === "reported" ? line.usd : null,
  }));
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
    ...(account ? { account } : {}),
    ...(session ? { session } : {}),
    ...(isOther ? { asked } : {}),
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
    ...(bill.isUnreadable ? { unreadable: true } : {}),
  };
}

function of({ task, worker, token, attempt }: Of) {
  return { task: task.task_id, worker, token, attempt };
}

function tokensOf({ input, output, cacheRead, cacheWrite }: Tokens) {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite };
}
