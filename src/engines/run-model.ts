import type { Finished } from "../platform/processes/handlers.ts";
import type { FailureReport } from "../queue/store.ts";
import { endOfWaiting, Patience } from "./accounts/patience.ts";
import type { EngineRoute } from "./config-engine.ts";
import { Bill, type BillLine } from "./costs/bill.ts";
import { Budget, type BudgetVerdict, type SpentBefore } from "./costs/budget.ts";
import type { Money } from "./costs/money.ts";
import { type DollarSource, dearerThanAsked, impute } from "./costs/prices.ts";
import type { Held } from "./costs/reserve-policy.ts";
import { addTokens, type ModelUsage, NO_TOKENS, totalTokens } from "./costs/usage.ts";
import type { Engine, EngineRequest, EngineResult, Step, Waiting } from "./engine.ts";
import { EngineOutput, type OnStep } from "./engine-output.ts";
import { type LogPort, SessionFeed } from "./session-logs.ts";

/**
 * The model's part of an attempt: from the prompt to what it used. What it needs of the attempt
 * (processes, files, the ledger) comes in as functions, so that it can be tried without any.
 *
 * Modes of its end:
 *   proceed   it says that it is done: on to the proof
 *   failed    it counts as an attempt; `final`: no further one would help
 *   limited   its account is closed, or the vendor does not answer: it does not count
 *   unpaid    the budget of the run or the day is used up: it does not count, and the task waits
 *   ended     from outside: its time was up, or it was stopped; the attempt knows what to do
 */
export type ModelEnd =
  | { kind: "proceed"; note?: string }
  | { kind: "failed"; report: FailureReport & { outcome: "failed"; note: string } }
  | { kind: "limited"; note: string }
  | { kind: "unpaid"; note: string }
  | { kind: "ended" };

export interface ModelRun {
  engine: Engine;
  route: EngineRoute;
  request: EngineRequest;
  /** The same without the session, told everything. */
  afresh(): EngineRequest;
  money: Money;
  /** Runs a command as the attempt runs its handler. */
  execute(
    argv: readonly string[],
    stdin: string,
    more: {
      env: Record<string, string>;
      reads: readonly string[];
      isSecret: boolean;
      /** How lines of stdout begin that are not worth keeping. */
      noise: string | null;
      onStdout: (chunk: Buffer) => void;
      onStderr: (chunk: Buffer) => void;
    },
  ): Promise<Finished>;
  /** Ends what `execute` runs. */
  stop(why: string): void;
  /** A line for the task's log. */
  log(text: string): void;
  tell(step: Step, priced: { usd: number; source: DollarSource } | null): void;
  onSession(session: string): void;
  /**
   * What the run has used so far, by its steps, and the dollars that are known of it: for an attempt that
   * nobody sees the end of. Only here are they known: a long prompt has another price than its sum.
   */
  onUsed?(used: readonly ModelUsage[], usd: number): void;
  /** The files that a vendor's program keeps about its session. */
  logs?: LogPort;
  /** Asked again and again while it runs: others work on the same run, and there may be no room for a step. */
  look(): Promise<{ before: SpentBefore; held?: Pick<Held, "which" | "text"> | null }>;
  now(): number;
}

export interface ModelOutcome {
  end: ModelEnd;
  finished: Finished;
  result: EngineResult;
  bill: Bill;
}

export async function runModel(context: ModelRun): Promise<ModelOutcome> {
  const { money, now } = context;
  const day = () => new Date(now()).toISOString().slice(0, 10);
  const budget = new Budget(money.limits, money.before, day());
  const { model: asked } = context.request;
  const bill = new Bill(money.prices, asked);
  /** By the steps: for a run that dies before it tells the whole. */
  let stepped = new Bill(money.prices, asked);
  let over: BudgetVerdict | undefined;
  /** That there is no room for its next step: it is ended then, unless it has just said its last word. */
  let ahead: { end(): void; timer: NodeJS.Timeout } | undefined;
  const live: Live = { isOver: () => false };
  const heedAhead = ({ which, text }: Pick<Held, "which" | "text">) => {
    const verdict: BudgetVerdict = { level: "over", which, unit: "usd", share: 1, text };
    const end = () => live.isOver() || heed([verdict]);
    ahead ??= { end, timer: setTimeout(end, LAST_WORD_MS) };
  };
  const heed = (verdicts: readonly BudgetVerdict[]) => {
    for (const verdict of verdicts) {
      const text = verdict.text;
      context.log(`! ${text}\n`);
      context.tell({ kind: "notice", text }, null);
      if (verdict.level === "warn" || over !== undefined) continue;
      over = verdict;
      context.stop(text);
    }
  };
  const named = new Set<string>();
  const compare = (model: string) => {
    if (named.has(model)) return;
    named.add(model);
    const text = dearerThanAsked(model, asked, money.prices);
    if (text === null) return;
    context.log(`! ${text}\n`);
    context.tell({ kind: "notice", text }, null);
  };
  const many = new Sum();
  const onStep = (step: Step, isOneOfMany = false) => {
    const priced = step.usage ? impute(step.usage, money.prices, asked) : null;
    const line = renderStep(step);
    if (line !== "") context.log(line);
    const told = isOneOfMany ? many.add(step) : step;
    if (told) context.tell(told, told.usage ? impute(told.usage, money.prices, asked) : null);
    const turns = countsTurns(context.engine) || step.kind !== "tool" ? 0 : 1;
    if (!step.usage && turns === 0) return;
    if (step.usage) {
      compare(step.usage.model);
      stepped.add([step.usage]);
      context.onUsed?.(stepped.lines.map(unpriced), (bill.usd ?? 0) + (stepped.usd ?? 0));
    }
    if (step.usage) ahead?.end(); // it has made one more
    const { model = "" } = step.usage ?? {};
    const tokens = step.usage ? totalTokens(step.usage) : 0;
    heed(budget.spend({ usd: priced?.usd ?? null, tokens, turns, model }, day()));
    const hear = ({ before, held }: Awaited<ReturnType<typeof context.look>>) => {
      heed(budget.hearOthers(before, day()));
      // An answer that has begun is what was reserved.
      if (held && !step.isBegun && over === undefined) heedAhead(held);
    };
    if (step.usage) context.look().then(hear, () => {}); // else at the next step
  };

  const begin = budget.spend(undefined, day()).find(({ level }) => level === "over");
  if (begin) return notBegun(begin, bill);

  let request = context.request;
  const count = ({ usage, outcome }: EngineResult) => {
    if (usage === null && outcome.kind === "session_lost") return; // it did not even begin
    const isAll = usage !== null || stepped.lines.length === 0;
    bill.add(isAll ? usage : stepped.lines.map(unpriced), stepped);
    stepped = new Bill(money.prices, asked);
  };
  const blind = () => {
    const text = `what ${context.engine.name} uses while it runs cannot be read: its session file was not found, so no budget can be held; take the budget off the route, or let its home be where the route's HOME says`;
    heed([{ level: "blind", which: "attempt", unit: "usd", text }]);
  };
  const hasLimits = Object.values(money.limits).some((limit) => limit?.usd ?? limit?.tokens);
  const onBlind = hasLimits ? blind : () => {};
  const left = () => ({ ...request, ...budgetOf(budget) });
  let ran = await runOnce(context, left(), onStep, onBlind, live);
  count(ran.result);
  if (ran.result.outcome.kind === "session_lost" && request.resume !== null && over === undefined) {
    onStep({ kind: "notice", text: "the session to go on with is gone: it begins anew" });
    request = context.afresh();
    ran = await runOnce(context, left(), onStep, onBlind, live);
    count(ran.result);
  }
  clearTimeout(ahead?.timer);
  for (const { model } of bill.lines) compare(model);
  heed(over ? [] : budget.settle(bill.parts, day()));
  const end = judge(ran.finished, ran.result, { over, isBlind: hasLimits && bill.isUnreadable });
  return { ...ran, end, bill };
}

/** Between what an answer used and that it was the last one a vendor's program says nothing for so long. */
const LAST_WORD_MS = 50;

/** The run that is under way. */
interface Live {
  isOver(): boolean;
}

/** Our own prices are left out: it is imputed again. */
function unpriced({ source, ...line }: BillLine): ModelUsage {
  return { ...line, usd: source === "reported" ? line.usd : null };
}

function budgetOf(budget: Budget): Pick<EngineRequest, "budgetUsd" | "isBudgeted"> {
  const left = budget.leftUsd();
  return { isBudgeted: budget.countsUsage, ...(left === null ? {} : { budgetUsd: left }) };
}

const TOLD_AT_ONCE = 100;

/** What many steps have used, told as one. */
class Sum {
  readonly #byModel = new Map<string, { count: number; usage: ModelUsage }>();

  add(step: Step): Step | null {
    const { usage } = step;
    if (usage === undefined) return null;
    const before = this.#byModel.get(usage.model);
    const usd = before ? sumOf(before.usage.usd, usage.usd) : usage.usd;
    const sum = { ...usage, ...addTokens(usage, before?.usage ?? NO_TOKENS), usd };
    const count = (before?.count ?? 0) + 1;
    if (count < TOLD_AT_ONCE) this.#byModel.set(usage.model, { count, usage: sum });
    else this.#byModel.delete(usage.model);
    return count < TOLD_AT_ONCE ? null : { kind: "notice", usage: sum, of: count };
  }
}

function sumOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** Whom we tell how many turns there are. For the others, a tool that they call is a turn. */
function countsTurns({ name }: Engine): boolean {
  return name === "claude" || name === "llm";
}

async function runOnce(
  context: ModelRun,
  request: EngineRequest,
  onStep: OnStep,
  onBlind: () => void,
  live: Live,
): Promise<{ finished: Finished; result: EngineResult }> {
  const { engine, logs } = context;
  const command = engine.command(request);
  let isBlind = false;
  const run = new EngineOutput(
    engine,
    request,
    (step, isOneOfMany) => {
      onStep(step, isOneOfMany);
      if (step.kind === "tool") feed?.onTool();
      if (isBlind || !feed?.isMissing) return;
      isBlind = true;
      onBlind();
    },
    (session) => {
      context.onSession(session);
      feed?.onSession(session);
    },
  );
  live.isOver = () => run.isOver;
  const feed = logs && new SessionFeed(engine, request, logs, run.onLogLine);
  let gaveUp: Waiting | null = null;
  const patience = new Patience((waiting, why) => {
    gaveUp = waiting;
    context.log(`! ended, because it would only wait: ${why}\n`);
    context.stop(why);
  }, context.now);
  const heeding = (read: (chunk: Buffer) => void) => (chunk: Buffer) => {
    read(chunk);
    patience.heed(run.waitsFor);
  };
  await feed?.begin();
  try {
    const finished = await context.execute(command.argv, command.stdin, {
      env: command.env ?? {},
      reads: command.reads ?? [],
      isSecret: command.isSecret ?? false,
      noise: engine.noise ?? null,
      onStdout: heeding(run.onStdout),
      onStderr: heeding(run.onStderr),
    });
    await feed?.end();
    const result = run.end(finished);
    // That its time was up while it waited is not its fault either.
    const waited = run.waitsFor ?? gaveUp;
    const isOurs = gaveUp !== null || finished.cause === "timed_out";
    if (waited === null || !isOurs || result.outcome.kind === "done") return { finished, result };
    return {
      finished: { ...finished, cause: "exit" },
      result: { ...result, outcome: endOfWaiting(waited, context.now()) },
    };
  } finally {
    patience.end();
    feed?.close();
  }
}

/** Another attempt would spend as much, and nobody would know. */
const BLIND =
  "a budget is set, but what this run used could not be read; take the budget off the route, or use an engine that tells what it uses";

/** The order matters: what we did to it comes before what it says of itself. */
function judge(
  finished: Finished,
  { outcome }: EngineResult,
  money: { over: BudgetVerdict | undefined; isBlind: boolean },
): ModelEnd {
  const failed = (note: string, final = false): ModelEnd => ({
    kind: "failed",
    report: { outcome: "failed", note, ...(final ? { final } : {}) },
  });
  const { over, isBlind } = money;
  const isOwnEnd = finished.cause === "exit";
  // Whoever was done before the last step was counted has done the work: it is told, not undone.
  const isOurEnd = over !== undefined && finished.cause === "stopped";
  if (over && !((isOwnEnd || isOurEnd) && outcome.kind === "done")) return usedUp(over);
  if (isBlind && finished.cause === "timed_out") return failed(`its time was up; ${BLIND}`, true);
  if (!(isOwnEnd || isOurEnd) || finished.survivors.length > 0) return { kind: "ended" };
  if (outcome.kind === "rate_limited" || outcome.kind === "unavailable") {
    return { kind: "limited", note: outcome.message };
  }
  if (outcome.kind === "unauthorized" || outcome.kind === "quota") {
    return { kind: "limited", note: `${outcome.message}; ${outcome.todo}` };
  }
  if (outcome.kind === "refused") return failed(outcome.message, true);
  if (outcome.kind !== "done") {
    return isBlind ? failed(`${outcome.message}; ${BLIND}`, true) : failed(outcome.message);
  }
  if (isBlind) return failed(BLIND, true);
  return { kind: "proceed", ...(over ? { note: over.text } : {}) };
}

/** Another attempt has a budget of its own; another task is not to blame for what the run has spent. */
function usedUp({ which, text, level }: BudgetVerdict): ModelEnd {
  if (level !== "blind" && (which === "run" || which === "day")) {
    return { kind: "unpaid", note: text };
  }
  const final = which !== "attempt" || level === "blind";
  return { kind: "failed", report: { outcome: "failed", note: text, ...(final ? { final } : {}) } };
}

function notBegun(verdict: BudgetVerdict, bill: Bill): ModelOutcome {
  const finished: Finished = {
    ...{ cause: "exit", exit: null, signal: null, durationMs: 0, tail: "", dropped: 0 },
    survivors: [],
  };
  const result: EngineResult = {
    ...{ outcome: { kind: "failed", message: verdict.text }, text: "", session: null },
    ...{ usage: [], unknown: 0 },
  };
  return { end: usedUp(verdict), finished, result, bill };
}

/** A step as a line of the task's log; "" for one that only says what was used. */
export function renderStep({ kind, tool, target, text }: Step): string {
  if (kind === "tool") return `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}\n`;
  if (text === undefined || text === "") return "";
  const lines = text.trimEnd().split("\n");
  const mark = { text: "", thought: "… ", notice: "! " }[kind];
  return lines.map((line) => `${mark}${line}\n`).join("");
}
