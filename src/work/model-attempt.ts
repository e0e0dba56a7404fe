import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isVivError } from "../base/errors.ts";
import { closingFor } from "../engines/accounts/account-policy.ts";
import { pickModel } from "../engines/accounts/tier.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import type { Limits } from "../engines/costs/budget.ts";
import { type ModelUsage, type SessionUsed, stepLine, usageLine } from "../engines/costs/usage.ts";
import type { Engine, EngineRequest, EngineResult } from "../engines/engine.ts";
import { keyVariable } from "../engines/named.ts";
import { type ModelOutcome, type ModelRun, notRun, runModel } from "../engines/run-model.ts";
import { parseTemplate, render } from "../engines/template.ts";
import { isMachineError, type MachineRetry } from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import { type HistoryRecord, isAttempt } from "../queue/attempt.ts";
import type { Claim, FailureReport, Store } from "../queue/store.ts";
import type { OpenAttempt } from "./artifacts.ts";
import type { AttemptSettings, Place } from "./attempt.ts";
import type { WorkerHost } from "./host.ts";
import { settleAbandoned } from "./killed-attempt-bill.ts";

/**
 * An attempt with an engine: its model, prompt and budget; then the run; then what is kept of it: the session,
 * the usage, and the state of the account.
 */
export interface ModelAttempt {
  claim: Claim;
  route: EngineRoute;
  place: Place;
  host: WorkerHost;
  store: Store;
  settings: AttemptSettings;
  retry: MachineRetry;
  /** That of viv.toml. */
  folder: string;
  /** A sandbox is around it. */
  isConfined: boolean;
  execute: ModelRun["execute"];
  stop: ModelRun["stop"];
  log: ModelRun["log"];
}

export type ModelAttemptEnd =
  | { kind: "proceed"; note?: string }
  | { kind: "ended" }
  | { kind: "released"; note: string }
  | { kind: "limited"; note: string; retryAt?: string }
  | { kind: "failed"; report: FailureReport & { outcome: "failed"; note: string } };

export interface ModelAttemptResult {
  end: ModelAttemptEnd;
  finished: Finished;
  result: EngineResult;
}

export async function attemptWithModel(attempt: ModelAttempt): Promise<ModelAttemptResult> {
  try {
    return await run(attempt);
  } catch (error) {
    if (!isVivError(error, "INVALID") || isMachineError(error)) throw error;
    // A field that the task does not have, an unknown tier: the next attempt would fail as well.
    const report = { outcome: "failed" as const, note: error.message, final: true };
    return { end: { kind: "failed", report }, ...notRun("") };
  }
}

async function run(attempt: ModelAttempt): Promise<ModelAttemptResult> {
  const { claim, route, host, settings } = attempt;
  const engine = await host.engine(route.name);
  const limits = limitsOf(route, settings);
  const { sharedBudget } = settings;
  const refused = await attempt.retry.briefly(() => sharedBudget.reserve(claim, limits));
  if (refused !== null) return { end: { kind: "released", note: refused.text }, ...notRun("") };
  try {
    return await runReserved(attempt, engine, limits);
  } finally {
    // What cannot be written now is over with the attempt's end.
    await sharedBudget.release(claim).catch(() => {});
  }
}

async function runReserved(
  attempt: ModelAttempt,
  engine: Engine,
  limits: Limits,
): Promise<ModelAttemptResult> {
  const { claim, host, store, settings, retry } = attempt;
  const { sharedBudget } = settings;
  await retry
    .briefly(() => settleKilled(attempt))
    .catch((error) => settings.onError?.(claim, error));
  const request = await retry.briefly(() => requestFor(attempt));
  const open: OpenAttempt = {
    ...{ token: claim.token, attempt: claim.attempt, worker: claim.worker },
    ...{ resume: request.resume, logs: {} },
    resumeUsed: request.resumeUsed,
  };
  const look = atMostEvery(LOOK_EVERY_MS, () => sharedBudget.look(claim, limits));
  const began = Date.now();
  let known: string | null = null;
  let saved = Number.NEGATIVE_INFINITY;
  const outcome = await runModel({
    engine,
    request,
    afresh: () => {
      const { resumeUsed: _, ...rest } = request;
      return { ...rest, resume: null, prompt: promptFor(attempt) };
    },
    budget: {
      limits,
      before: (await retry.briefly(look)).before,
      prices: settings.prices,
      look,
    },
    execute: attempt.execute,
    stop: attempt.stop,
    log: attempt.log,
    // A step that cannot be recorded (a full disk) is no reason to end the run.
    onStep: (step, priced) => void store.append(stepLine(claim, step, priced)).catch(() => {}),
    onSession: (session) => {
      known = session;
      saveSoon(attempt, request, session, { open });
    },
    onUsed: (used) => {
      const at = performance.now();
      if (known === null || at - saved < SAVE_EVERY_MS) return;
      saved = at;
      saveSoon(attempt, request, known, { used, open });
    },
    logs: {
      ...{ follow: host.followLogs, env: attempt.place.env },
      onBegin: (position) => {
        open.logs = position;
      },
    },
    now: Date.now,
  });
  await remember(attempt, request, outcome);
  const { finished, result } = outcome;
  return { end: await afterwardsIfPossible(attempt, outcome, began), finished, result };
}

/** The usage of a session must be known to its next attempt, even if this worker is killed. */
const SAVE_EVERY_MS = 1_000;

/** A stream may report usage a thousand times a second. */
const LOOK_EVERY_MS = 20;

/** One call after that time serves all requests made meanwhile. */
function atMostEvery<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let last = Number.NEGATIVE_INFINITY;
  let next: Promise<T> | undefined;
  const after = async () => {
    await setTimeout(Math.max(0, last + ms - performance.now()));
    next = undefined;
    last = performance.now();
    return ask();
  };
  return () => {
    next ??= after();
    return next;
  };
}

/** That the account's file cannot be written (a full disk) must not undo what was done. */
async function afterwardsIfPossible(
  attempt: ModelAttempt,
  outcome: ModelOutcome,
  began: number,
): Promise<ModelAttemptEnd> {
  try {
    return await afterwards(attempt, outcome, began);
  } catch (error) {
    attempt.settings.onError?.(attempt.claim, error);
    if (outcome.end.kind === "proceed") return outcome.end;
    const { outcome: said } = outcome.result;
    const { until } = closingFor(said, "");
    const note = "note" in outcome.end ? outcome.end.note : "";
    return { kind: "limited", note, retryAt: until ?? undefined };
  }
}

/** What its end says about the account that it used, and what follows for the attempt. */
async function afterwards(
  { claim, route: { account }, host: { accounts }, store }: ModelAttempt,
  { end, result: { outcome: said } }: ModelOutcome,
  began: number,
): Promise<ModelAttemptEnd> {
  if (end.kind === "ended" || end.kind === "failed") return end;
  if (end.kind === "unpaid") return { kind: "released", note: end.note };
  if (end.kind === "proceed") {
    if (account !== null) await accounts.succeeded(account, began);
    return end;
  }
  const { note } = end;
  const closing = closingFor(said, note);
  const { until } = closing;
  if (account === null) {
    if ("until" in said) return { kind: "limited", note, retryAt: until ?? undefined };
    return { kind: "failed", report: { outcome: "failed", note, final: true } };
  }
  const { worker, task } = claim;
  const state = await accounts.close(account, {
    ...closing,
    by: { run: store.location, worker, task: task.task_id },
    began,
  });
  // What waits for a person must not wait for a time: it goes back, and is not claimed meanwhile.
  if (state.state !== "closed") return { kind: "released", note };
  // Its account keeps it back, and no longer than that: a person may open it sooner.
  return { kind: "limited", note, retryAt: new Date(Date.now() + 1_000).toISOString() };
}

function limitsOf(route: EngineRoute, { budget }: AttemptSettings): Limits {
  return { attempt: route.budget, task: route.taskBudget, run: budget.run, day: budget.day };
}

async function requestFor(attempt: ModelAttempt): Promise<EngineRequest> {
  const { claim, route, place, host, store } = attempt;
  const { task } = claim;
  const history = claim.attempt > 1 ? ((await store.show(task.task_id))?.history ?? []) : [];
  const { model } = pickModel({
    tiers: route.tiers,
    model: route.model,
    tierHint: task.tier_hint ?? null,
    unproven: unprovenIn(history),
    escalateAfter: route.escalateAfter,
  });
  const session =
    claim.attempt > 1 && route.resume ? host.artifacts.readSession(task.task_id) : null;
  const resume = session?.engine === route.name ? session.session : null;
  const last = history.findLast(isAttempt);
  return {
    prompt: resume === null ? promptFor(attempt) : goOn(attempt, last?.note ?? ""),
    cwd: place.cwd,
    model,
    mode: route.mode,
    resume,
    turns: route.budget.turns ?? null,
    isConfined: attempt.isConfined,
    settings: route.settings,
    resumeUsed: resume === null ? undefined : session?.used,
    ...(route.name === "llm" ? own(attempt) : {}),
  };
}

/** A retry or a rejection forgets none: a task that goes round again needs no less. */
export function unprovenIn(history: readonly HistoryRecord[]): number {
  return history.filter((record) => isAttempt(record) && record.outcome === "unproven").length;
}

/** What only our own loop takes. */
function own({ route: { settings }, host, claim }: ModelAttempt) {
  const name = keyVariable(settings);
  const key = host.env[name];
  return {
    sessionDir: host.artifacts.sessionsOf(claim.task.task_id),
    keys: key ? { [name]: key } : undefined,
  };
}

function promptFor({ claim, route, place, host, folder }: ModelAttempt): string {
  if (route.prompt === null) return "";
  const path = resolve(folder, route.prompt);
  const template = parseTemplate(host.readText(path), path);
  return render(template, {
    task: claim.task,
    attempt: claim.attempt,
    note: place.env.VIV_NOTE ?? "",
    evidence: evidenceText(host, place),
    artifact: (id) => host.artifacts.readArtifact(id, 101 * 1024),
  });
}

/** The session knows the task: what it does not know is why its work did not count. */
function goOn({ host, place }: ModelAttempt, lastNote: string): string {
  const note = place.env.VIV_NOTE || lastNote;
  const evidence = evidenceText(host, place);
  return [
    "Your last attempt at this task did not count. Go on from where you stopped, and finish it.",
    ...(note ? [`What was said about it: ${note}`] : []),
    ...(evidence ? [`What the check said:\n\n${evidence}`] : []),
  ].join("\n\n");
}

const EVIDENCE_BYTES = 16 * 1024;

function evidenceText(host: WorkerHost, place: Place): string {
  const path = place.env.VIV_EVIDENCE;
  return path ? host.readEnd(path, EVIDENCE_BYTES) : "";
}

/** `used`: by this attempt so far. The vendor's total for the session counts instead, once it is known. */
function saveSession(
  { claim, route, host }: ModelAttempt,
  { model, resume, resumeUsed }: EngineRequest,
  session: string,
  { used = [], sessionTotal, open }: Saved = {},
): void {
  const before = (session === resume && resumeUsed) || { total: [], since: [] };
  const now: SessionUsed = sessionTotal
    ? { total: sessionTotal, since: [] }
    : { total: before.total, since: [...before.since, ...used] };
  const more = { model, used: now, open };
  host.artifacts.writeSession(claim.task.task_id, { engine: route.name, session, ...more });
}

interface Saved {
  used?: readonly ModelUsage[];
  sessionTotal?: ModelUsage[];
  /** It is not over yet. */
  open?: OpenAttempt;
}

/** Of an attempt whose worker was killed the ledger lacks the end: see killed-attempt-bill.ts. */
async function settleKilled(attempt: ModelAttempt): Promise<void> {
  const { claim, route, place, host, store, settings } = attempt;
  const { task_id: id, task_type: type } = claim.task;
  const of = { id, type, route, prices: settings.prices, env: place.env };
  await settleAbandoned(of, host, store, (token) => token !== claim.token);
}

/** While it runs. What cannot be written now is written later, at the end at the latest. */
function saveSoon(...args: Parameters<typeof saveSession>): void {
  try {
    saveSession(...args);
  } catch (error) {
    const [{ settings, claim }] = args;
    settings.onError?.(claim, error);
  }
}

async function remember(
  attempt: ModelAttempt,
  request: EngineRequest,
  { result, bill }: ModelOutcome,
): Promise<void> {
  const { claim, route, store } = attempt;
  const { session, sessionTotal } = result;
  // Before the session is closed: after a crash in between, the next attempt settles the bill, once.
  if (bill.lines.length > 0 || bill.isUnreadable) {
    const said = result.outcome.kind;
    const asked = request.model;
    const more = { engine: route.name, account: route.account, session, said, asked };
    const line = usageLine(claim, bill, more);
    await attempt.retry.untilDone(() => store.append(line));
  }
  if (session !== null) {
    const more = { used: bill.unpriced, sessionTotal };
    await attempt.retry.untilDone(() => saveSession(attempt, request, session, more));
  }
}
