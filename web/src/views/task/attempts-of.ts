import { type Decision, withDecisions } from "../../../../src/base/decisions.ts";

/** What became of each attempt, from a task's history and its lines of the ledger. */

type Line = Record<string, unknown>;

export interface Tokens {
  input: number;
  output: number;
  cached: number;
}

export interface Spent {
  usd: number | null;
  tokens: Tokens;
}

export interface Attempt {
  number: number;
  worker: string;
  /** Null: it still runs. */
  outcome: string | null;
  began: string | null;
  ended: string | null;
  note: string;
  model: string;
  spent: Spent;
  isProven: boolean;
  receipt: string | null;
}

interface HistoryLine {
  attempt?: number;
  worker?: string;
  outcome?: string;
  at: string;
  by?: string;
  note?: string;
  proof?: string;
  receipt?: string;
  retried?: true;
}

export function attemptsOf(
  history: readonly HistoryLine[],
  ledger: readonly Line[],
  held: { worker?: string; since: string } | null,
): Attempt[] {
  const spent = spentByAttempt(ledger);
  const claims = new Map<number, Line>();
  for (const line of ledger) {
    if (line.event === "claimed" && typeof line.attempt === "number")
      claims.set(line.attempt, line);
  }
  const attempts: Attempt[] = history.filter(isEnd).map((one) => ({
    ...{ number: one.attempt ?? 0, worker: one.worker ?? "", outcome: one.outcome ?? null },
    ...{ began: text(claims.get(one.attempt ?? 0)?.at), ended: one.at ?? null },
    ...{ note: one.note ?? "", isProven: one.proof === "passed", receipt: one.receipt ?? null },
    ...(spent.get(one.attempt ?? 0) ?? nothing()),
  }));
  if (held !== null) {
    const last = Math.max(0, ...claims.keys(), ...attempts.map(({ number }) => number));
    const number = attempts.some((one) => one.number === last) ? last + 1 : Math.max(1, last);
    attempts.push({
      ...{ number, worker: held.worker ?? "", outcome: null, began: held.since, ended: null },
      ...{ note: "", isProven: false, receipt: null },
      ...(spent.get(number) ?? nothing()),
    });
  }
  return attempts;
}

/** With what was decided between them: what is asked of the next, and why. */
export function rowsOf(
  history: readonly HistoryLine[],
  ledger: readonly Line[],
  attempts: readonly Attempt[],
): (Attempt | Decision)[] {
  let next = 0;
  const known = history.filter((one) => one.retried || isEnd(one));
  const rows = withDecisions(known, ledger).flatMap((one) =>
    "text" in one ? one : (attempts[next++] ?? []),
  );
  return [...rows, ...attempts.slice(next)];
}

const isEnd = ({ attempt, outcome }: HistoryLine) => attempt !== undefined && outcome !== undefined;

function nothing(): { spent: Spent; model: string } {
  return { spent: { usd: null, tokens: { input: 0, output: 0, cached: 0 } }, model: "" };
}

/** Of an attempt's `usage` and the sum of its steps, the larger counts. */
function spentByAttempt(ledger: readonly Line[]): Map<number, { spent: Spent; model: string }> {
  const steps = new Map<number, { spent: Spent; model: string }>();
  const totals = new Map<number, { spent: Spent; model: string }>();
  for (const line of ledger) {
    const number = line.attempt;
    if (typeof number !== "number") continue;
    if (line.event === "step") {
      const sum = steps.get(number) ?? nothing();
      add(sum, line.tokens as Line | undefined, line.usd, line.model);
      steps.set(number, sum);
    }
    if (line.event === "usage") {
      const sum = totals.get(number) ?? nothing();
      const models = Array.isArray(line.models) ? (line.models as Line[]) : [];
      for (const one of models) add(sum, one, one.usd, one.model);
      if (typeof line.usd === "number") sum.spent.usd = Math.max(sum.spent.usd ?? 0, line.usd);
      sum.model = [line.engine, sum.model].filter(Boolean).join(" ");
      totals.set(number, sum);
    }
  }
  const all = new Map(steps);
  for (const [number, total] of totals) {
    const sum = steps.get(number);
    const isLess = sum !== undefined && (sum.spent.usd ?? 0) > (total.spent.usd ?? 0);
    all.set(number, isLess ? { ...sum, model: total.model } : total);
  }
  return all;
}

function add(
  sum: { spent: Spent; model: string },
  tokens: Line | undefined,
  usd: unknown,
  model: unknown,
): void {
  const { spent } = sum;
  if (typeof usd === "number") spent.usd = (spent.usd ?? 0) + usd;
  spent.tokens.input += number(tokens?.input) + number(tokens?.cache_write);
  spent.tokens.output += number(tokens?.output);
  spent.tokens.cached += number(tokens?.cache_read);
  if (typeof model === "string" && !sum.model.split(", ").includes(model)) {
    sum.model = sum.model === "" ? model : `${sum.model}, ${model}`;
  }
}

export function sumOf(attempts: readonly Attempt[]): Spent {
  const sum = nothing().spent;
  for (const { spent } of attempts) {
    if (spent.usd !== null) sum.usd = (sum.usd ?? 0) + spent.usd;
    sum.tokens.input += spent.tokens.input;
    sum.tokens.output += spent.tokens.output;
    sum.tokens.cached += spent.tokens.cached;
  }
  return sum;
}

const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
