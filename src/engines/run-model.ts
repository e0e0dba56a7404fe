import type { Finished } from "../platform/processes/handlers.ts";
import type { FailureReport } from "../queue/store.ts";
import { endOfWaiting, Patience } from "./accounts/patience.ts";
import type { Bill } from "./costs/bill.ts";
import type { BudgetVerdict } from "./costs/budget.ts";
import { BudgetStop, type RunBudget } from "./costs/budget-stop.ts";
import { type DollarSource, impute } from "./costs/prices.ts";
import { addTokens, type ModelUsage, NO_TOKENS } from "./costs/usage.ts";
import type { Engine, EngineRequest, EngineResult, Step, Waiting } from "./engine.ts";
import { EngineOutput, type OnStep } from "./engine-output.ts";
import { type LogPort, SessionFeed } from "./session-logs.ts";

/**
 * One run of a model for an attempt or a tick: from the prompt to what it used. Processes, files and
 * the ledger come in as functions.
 *
 * How it ends:
 *   proceed   the engine reports that it is done: on to the proof
 *   failed    it counts as an attempt; `final`: no further one would help
 *   limited   its account is closed, or the vendor does not answer: it does not count
 *   unpaid    the budget of the run or the day is used up: it does not count, and the task waits
 *   ended     from outside: its time was up, or it was stopped; the caller knows what to do
 */
export type ModelEnd =
  | { kind: "proceed"; note?: string }
  | { kind: "failed"; report: FailureReport & { outcome: "failed"; note: string } }
  | { kind: "limited"; note: string }
  | { kind: "unpaid"; note: string }
  | { kind: "ended" };

export interface ModelRun {
  engine: Engine;
  request: EngineRequest;
  /** The same without a session to go on with: the whole prompt. */
  afresh(): EngineRequest;
  budget: RunBudget;
  /** Runs a command in the caller's workspace, within its time limit, until its process tree is gone. */
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
  /** Ends the command that `execute` runs. */
  stop(why: string): void;
  /** A line for the log. */
  log(text: string): void;
  onStep(step: Step, priced: { usd: number; source: DollarSource } | null): void;
  onSession(session: string): void;
  /** See BudgetStopPorts. */
  onUsed?(used: readonly ModelUsage[], usd: number): void;
  /** The files that a vendor's program keeps about its session. */
  logs?: LogPort;
  now(): number;
}

export interface ModelOutcome {
  end: ModelEnd;
  finished: Finished;
  result: EngineResult;
  bill: Bill;
}

export async function runModel(run: ModelRun): Promise<ModelOutcome> {
  const { engine, onUsed, now } = run;
  const { model: asked } = run.request;
  const { prices } = run.budget;
  const notice = (text: string) => {
    run.log(`! ${text}\n`);
    run.onStep({ kind: "notice", text }, null);
  };
  const stop = (why: string) => run.stop(why);
  const budget = new BudgetStop(run.budget, asked, { stop, notice, onUsed, now });
  const many = new StepSum();
  const onStep = (step: Step, isOneOfMany = false) => {
    const line = renderStep(step);
    if (line !== "") run.log(line);
    const one = isOneOfMany ? many.add(step) : step;
    if (one) run.onStep(one, one.usage ? impute(one.usage, prices, asked) : null);
    budget.count(step, countsTurns(engine) || step.kind !== "tool" ? 0 : 1);
  };
  const usedUpBefore = budget.usedUpBefore();
  if (usedUpBefore) {
    return { end: endOver(usedUpBefore), ...notRun(usedUpBefore.text), bill: budget.bill };
  }
  const runWith = async (request: EngineRequest) => {
    const ran = await runOnce(run, { ...request, ...budget.left }, onStep, budget);
    budget.endRun(ran.result);
    return ran;
  };
  let ran = await runWith(run.request);
  const isLost = ran.result.outcome.kind === "session_lost" && run.request.resume !== null;
  if (isLost && budget.over === undefined) {
    onStep({ kind: "notice", text: "the session to go on with is gone: it begins anew" });
    ran = await runWith(run.afresh());
  }
  budget.endAttempt();
  return { ...ran, end: judge(ran.finished, ran.result, budget), bill: budget.bill };
}

/** A step as a line of the log; "" for one that only reports usage. */
function renderStep({ kind, tool, target, text }: Step): string {
  if (kind === "tool") return `▸ ${[tool, target ?? text].filter(Boolean).join(" ")}\n`;
  if (text === undefined || text === "") return "";
  const lines = text.trimEnd().split("\n");
  const mark = { text: "", thought: "… ", notice: "! " }[kind];
  return lines.map((line) => `${mark}${line}\n`).join("");
}

const STEPS_IN_ONE = 100;

/** The usage of many steps, as one step. */
class StepSum {
  readonly #byModel = new Map<string, { count: number; usage: ModelUsage }>();

  add({ usage }: Step): Step | null {
    if (usage === undefined) return null;
    const before = this.#byModel.get(usage.model);
    const usd = before ? sumOf(before.usage.usd, usage.usd) : usage.usd;
    const sum = { ...usage, ...addTokens(usage, before?.usage ?? NO_TOKENS), usd };
    const count = (before?.count ?? 0) + 1;
    if (count < STEPS_IN_ONE) this.#byModel.set(usage.model, { count, usage: sum });
    else this.#byModel.delete(usage.model);
    return count < STEPS_IN_ONE ? null : { kind: "notice", usage: sum, of: count };
  }
}

function sumOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** Some engines take a limit of turns. For the others a call of a tool is a turn. */
function countsTurns({ name }: Engine): boolean {
  return name === "claude" || name === "llm";
}

async function runOnce(
  run: ModelRun,
  request: EngineRequest,
  onStep: OnStep,
  budget: BudgetStop,
): Promise<{ finished: Finished; result: EngineResult }> {
  const { engine, logs } = run;
  const command = engine.command(request);
  let isBlind = false;
  const output = new EngineOutput(
    engine,
    request,
    (step, isOneOfMany) => {
      onStep(step, isOneOfMany);
      if (step.kind === "tool") feed?.onTool();
      if (isBlind || !feed?.isMissing) return;
      isBlind = true;
      budget.countBlind(
        `the usage of ${engine.name} cannot be read while it runs: its session file was not found, so no budget can be held; take the budget off the route, or let its home be where the route's HOME says`,
      );
    },
    (session) => {
      run.onSession(session);
      feed?.onSession(session);
    },
  );
  budget.isRunOver = () => output.isOver;
  const feed = logs && new SessionFeed(engine, request, logs, output.onLogLine);
  let gaveUp: Waiting | null = null;
  const patience = new Patience((waiting, why) => {
    gaveUp = waiting;
    run.log(`! ended, because it would only wait: ${why}\n`);
    run.stop(why);
  }, run.now);
  const heeding = (read: (chunk: Buffer) => void) => (chunk: Buffer) => {
    read(chunk);
    patience.heed(output.waitsFor);
  };
  await feed?.begin();
  try {
    const finished = await run.execute(command.argv, command.stdin, {
      env: command.env ?? {},
      reads: command.reads ?? [],
      isSecret: command.isSecret ?? false,
      noise: engine.noise ?? null,
      onStdout: heeding(output.onStdout),
      onStderr: heeding(output.onStderr),
    });
    await feed?.end();
    const result = output.end(finished);
    // A time-out while it waited is not its fault either.
    const waited = output.waitsFor ?? gaveUp;
    const isOurs = gaveUp !== null || finished.cause === "timed_out";
    if (waited === null || !isOurs || result.outcome.kind === "done") return { finished, result };
    return {
      finished: { ...finished, cause: "exit" },
      result: { ...result, outcome: endOfWaiting(waited, run.now()) },
    };
  } finally {
    patience.end();
    feed?.close();
  }
}

/** Another attempt would spend as much, unseen. */
const BLIND =
  "a budget is set, but what this run used could not be read; take the budget off the route, or use an engine that tells what it uses";

/** The order matters: what was done to the run comes before what the engine reports. */
function judge(finished: Finished, { outcome }: EngineResult, budget: BudgetStop): ModelEnd {
  const failed = (note: string, final = false): ModelEnd => ({
    kind: "failed",
    report: { outcome: "failed", note, final },
  });
  const { over, isBlind } = budget;
  const isOwnEnd = finished.cause === "exit";
  // A run that was done before its last step was counted has done the work: a note, not a failure.
  const isOurEnd = over !== undefined && finished.cause === "stopped";
  if (over && !((isOwnEnd || isOurEnd) && outcome.kind === "done")) return endOver(over);
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
  return { kind: "proceed", note: over?.text };
}

/** Another attempt has a budget of its own; another task is not to blame for what the run has spent. */
function endOver({ which, text, level }: BudgetVerdict): ModelEnd {
  if (level !== "blind" && (which === "run" || which === "day")) {
    return { kind: "unpaid", note: text };
  }
  const final = which !== "attempt" || level === "blind";
  return { kind: "failed", report: { outcome: "failed", note: text, final } };
}

/** Of a run that never began. */
export function notRun(message: string): { finished: Finished; result: EngineResult } {
  return {
    finished: {
      ...{ cause: "exit", exit: null, signal: null, durationMs: 0, tail: "", dropped: 0 },
      survivors: [],
    },
    result: {
      ...{ outcome: { kind: "failed", message }, text: "", session: null, usage: [] },
      unknown: 0,
    },
  };
}
