import { counted } from "../base/text.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import { LineSplitter } from "../platform/processes/line-splitter.ts";
import type { FailureReport } from "../queue/store.ts";
import { endOfWaiting, Patience } from "./accounts/patience.ts";
import type { Bill } from "./costs/bill.ts";
import type { BudgetVerdict } from "./costs/budget.ts";
import { BudgetStop, type RunBudget } from "./costs/budget-stop.ts";
import { type DollarSource, impute } from "./costs/prices.ts";
import { addTokens, type ModelUsage, NO_TOKENS } from "./costs/usage.ts";
import type { Engine, EngineRequest, EngineResult, Step, Waiting } from "./engine.ts";
import { type LogPort, sessionFeed } from "./session-logs.ts";

/**
 * One run of a model for an attempt or a tick: from the prompt to its bill. Processes, files and the
 * ledger come in as functions.
 *
 * How it ends:
 *   proceed   the engine reports that it is done: on to the proof
 *   failed    it counts as an attempt; `final`: no further one would help
 *   limited   its account is closed, or the vendor does not answer: it does not count
 *   unpaid    the budget of the run or the day is used up: it does not count, and the task waits
 *   ended     from outside: a time-out or a stop, which the caller handles
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
  /** The same without a session to resume: the whole prompt. */
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
      /** See Engine. */
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
  /** The files of a vendor's program about its session. */
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
  const limit = new StepLimit();
  const onStep = (step: Step) => {
    const recorded = limit.take(step);
    if (recorded) {
      const line = renderStep(recorded);
      if (line !== "") run.log(line);
      run.onStep(recorded, recorded.usage ? impute(recorded.usage, prices, asked) : null);
    }
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
    onStep({ kind: "notice", text: "the session to resume is gone: a new one begins" });
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

const MOST_STEPS = 2_000;
const STEPS_IN_ONE = 100;

/** Limits the records of a run: after many steps only their usage is recorded, a hundred steps in one. */
class StepLimit {
  #steps = 0;
  readonly #sums = new Map<string, { of: number; usage: ModelUsage }>();

  /** The step to record; null: none. */
  take(step: Step): Step | null {
    this.#steps++;
    if (this.#steps <= MOST_STEPS) return step;
    const { usage, isBegun, of } = step;
    if (this.#steps === MOST_STEPS + 1) {
      const text = `more than ${MOST_STEPS} steps: from here on only their usage is recorded`;
      return { kind: "notice", text, usage, isBegun, of };
    }
    return usage ? this.#sum(usage) : null;
  }

  #sum(usage: ModelUsage): Step | null {
    const before = this.#sums.get(usage.model);
    const tokens = addTokens(usage, before?.usage ?? NO_TOKENS);
    const usd = before ? sumOf(before.usage.usd, usage.usd) : usage.usd;
    const sum = { of: (before?.of ?? 0) + 1, usage: { ...usage, ...tokens, usd } };
    if (sum.of < STEPS_IN_ONE) {
      this.#sums.set(usage.model, sum);
      return null;
    }
    this.#sums.delete(usage.model);
    return { kind: "notice", ...sum };
  }
}

function sumOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** Some engines take a limit of turns. For the others a call of a tool is a turn. */
function countsTurns({ name }: Engine): boolean {
  return name === "claude" || name === "llm";
}

/** A tool's result may hold a whole file; a longer line is not worth its memory. */
const LONGEST_LINE_BYTES = 16 * 1024 * 1024;
const LONGEST_ERROR_BYTES = 64 * 1024;

async function runOnce(
  run: ModelRun,
  request: EngineRequest,
  onStep: (step: Step) => void,
  budget: BudgetStop,
): Promise<{ finished: Finished; result: EngineResult }> {
  const { engine, logs } = run;
  const command = engine.command(request);
  const reader = engine.reader(request);
  let isBlind = false;
  const emit = (steps: readonly Step[]) => {
    for (const step of steps) {
      onStep(step);
      if (step.kind === "tool") feed?.onTool();
      if (isBlind || !feed?.isMissing) continue;
      isBlind = true;
      budget.countBlind(
        `the usage of ${engine.name} cannot be read while it runs: its session file was not found, so no budget can be held; take the budget off the route, or let its home be where the route's HOME says`,
      );
    }
  };
  let session: string | null = null;
  const lines = new LineSplitter(LONGEST_LINE_BYTES, {
    line: (text) => {
      emit(reader.line(text));
      if (reader.session === null || reader.session === session) return;
      session = reader.session;
      run.onSession(session);
      feed?.onSession(session);
    },
    tooLong: (bytes) =>
      emit([{ kind: "notice", text: `a line of ${counted(bytes, "byte")} was skipped` }]),
  });
  const errors = new LineSplitter(LONGEST_ERROR_BYTES, {
    line: (text) => reader.stderr?.(text),
    tooLong: () => {}, // it is in the log
  });
  budget.isRunOver = () => reader.isOver ?? false;
  const onLogLine = (text: string, isPast: boolean) => emit(reader.logLine?.(text, isPast) ?? []);
  const feed = logs && sessionFeed(engine, request, logs, onLogLine);
  let gaveUp: Waiting | null = null;
  const patience = new Patience((waiting, why) => {
    gaveUp = waiting;
    run.log(`! ended, because it would only wait: ${why}\n`);
    run.stop(why);
  }, run.now);
  const heed = () => patience.heed(reader.waitsFor ?? null);
  await feed?.begin();
  try {
    const finished = await run.execute(command.argv, command.stdin, {
      env: command.env ?? {},
      reads: command.reads ?? [],
      isSecret: command.isSecret ?? false,
      noise: engine.noise ?? null,
      onStdout: (chunk) => {
        // Cutting lines that are not read is the dearest part of an endless stream.
        if (!reader.isFull) lines.push(chunk);
        heed();
      },
      onStderr: (chunk) => {
        if (reader.stderr) errors.push(chunk);
        heed();
      },
    });
    await feed?.end();
    lines.close();
    errors.close();
    const { exit, signal, tail, cause, error } = finished;
    const wasEnded = cause === "timed_out" || cause === "stopped";
    const result = reader.end({ exit, signal, stderr: error ?? tail, wasEnded });
    // A time-out while it waited is not its fault either.
    const waited = reader.waitsFor ?? gaveUp;
    const isOurs = gaveUp !== null || cause === "timed_out";
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
  "a budget is set, but the usage of this run could not be read; take the budget off the route, or use an engine that reports its usage";

/** The order matters: an end from outside comes before the engine's report. */
function judge(finished: Finished, { outcome }: EngineResult, budget: BudgetStop): ModelEnd {
  const { over, isBlind } = budget;
  const isOwnEnd = finished.cause === "exit";
  // A run that was done before its last step was counted has done the work: a note, not a failure.
  const isOurEnd = over !== undefined && finished.cause === "stopped";
  if (over && !((isOwnEnd || isOurEnd) && outcome.kind === "done")) return endOver(over);
  if (isBlind && finished.cause === "timed_out") return failed(`its time was up; ${BLIND}`, true);
  if (!(isOwnEnd || isOurEnd) || finished.survivors.length > 0) return { kind: "ended" };
  switch (outcome.kind) {
    case "rate_limited":
    case "unavailable":
      return { kind: "limited", note: outcome.message };
    case "unauthorized":
    case "quota":
      return { kind: "limited", note: `${outcome.message}; ${outcome.todo}` };
    case "refused":
      return failed(outcome.message, true);
    case "done":
      return isBlind ? failed(BLIND, true) : { kind: "proceed", note: over?.text };
    default:
      return failed(isBlind ? `${outcome.message}; ${BLIND}` : outcome.message, isBlind);
  }
}

function failed(note: string, final: boolean): ModelEnd {
  return { kind: "failed", report: { outcome: "failed", note, final } };
}

/** Another attempt has a budget of its own; the budgets of the run and the day concern all tasks. */
function endOver({ which, text, level }: BudgetVerdict): ModelEnd {
  if (level !== "blind" && (which === "run" || which === "day")) {
    return { kind: "unpaid", note: text };
  }
  return failed(text, which !== "attempt" || level === "blind");
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
