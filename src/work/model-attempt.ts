import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isVivError } from "../base/errors.ts";
import { closingFor } from "../engines/accounts/account-policy.ts";
import { pickModel } from "../engines/accounts/tier.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import type { Limits } from "../engines/costs/budget.ts";
import { type ModelUsage, stepLine, usageLine } from "../engines/costs/usage.ts";
import type { Engine, EngineRequest, EngineResult } from "../engines/engine.ts";
import { keyVariable } from "../engines/named.ts";
import { type ModelOutcome, type ModelRun, notRun, runModel } from "../engines/run-model.ts";
import { parseTemplate, render } from "../engines/template.ts";
import { isMachineError } from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import { type HistoryRecord, isAttempt } from "../queue/attempt.ts";
import type { FailureReport } from "../queue/store.ts";
import type { OpenAttempt } from "./artifacts.ts";
import type { AttemptSettings } from "./attempt.ts";
import type { WorkerHost } from "./host.ts";
import { settleAbandoned, usedAfter } from "./killed-attempt-bill.ts";
import type { AttemptContext, Place } from "./place.ts";

/**
 * An attempt with an engine: its model, prompt and budget; then the run; then the record of it: the session,
 * the usage, and the state of the account.
 */
export interface ModelAttempt
  extends Omit<AttemptContext, "route">,
    Pick<ModelRun, "execute" | "stop" | "log"> {
  route: EngineRoute;
  place: Place;
  settings: AttemptSettings;
  /** That of viv.toml. */
  folder: string;
  /** It runs in a sandbox. */
  isConfined: boolean;
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
  const { claim, route, host, settings, retry } = attempt;
  const { sharedBudget, budget } = settings;
  const limits = { attempt: route.budget, task: route.taskBudget, ...budget };
  try {
    const engine = await host.engine(route.name);
    const refused = await retry.briefly(() => sharedBudget.reserve(claim, limits));
    if (refused !== null) return { end: { kind: "released", note: refused.text }, ...notRun("") };
    try {
      return await runReserved(attempt, engine, limits);
    } finally {
      // If it cannot be written: the reservation ends with the attempt.
      await sharedBudget.release(claim).catch(() => {});
    }
  } catch (error) {
    if (!isVivError(error, "INVALID") || isMachineError(error)) throw error;
    // A field that the task does not have, an unknown tier: the next attempt would fail as well.
    const report = { outcome: "failed" as const, note: error.message, final: true };
    return { end: { kind: "failed", report }, ...notRun("") };
  }
}

async function runReserved(
  attempt: ModelAttempt,
  engine: Engine,
  limits: Limits,
): Promise<ModelAttemptResult> {
  const { claim, host, store, settings, retry } = attempt;
  const { sharedBudget } = settings;
  const onError = (error: unknown) => settings.onError?.(claim, error);
  await retry.briefly(() => settleKilled(attempt)).catch(onError);
  const request = await retry.briefly(() => requestFor(attempt));
  const { token, attempt: number, worker } = claim;
  const { resume, resumeUsed } = request;
  const open: OpenAttempt = { token, attempt: number, worker, resume, resumeUsed, logs: {} };
  /** While it runs. A save that fails now is made up for at the end. */
  const save = (session: string, used?: readonly ModelUsage[]) => {
    try {
      saveSession(attempt, request, session, { used, open });
    } catch (error) {
      onError(error);
    }
  };
  const look = atMostEvery(LOOK_EVERY_MS, () => sharedBudget.look(claim, limits));
  const began = Date.now();
  let known: string | null = null;
  let saved = Number.NEGATIVE_INFINITY;
  const outcome = await runModel({
    engine,
    request,
    afresh: () => {
      return { ...request, resumeUsed: undefined, resume: null, prompt: promptFor(attempt) };
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
    // The run goes on if a step cannot be recorded (a full disk).
    onStep: (step, priced) => void store.append(stepLine(claim, step, priced)).catch(() => {}),
    onSession: (session) => {
      known = session;
      save(session);
    },
    onUsed: (used) => {
      const at = performance.now();
      if (known === null || at - saved < SAVE_EVERY_MS) return;
      saved = at;
      save(known, used);
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

/** The work counts even if the account's file cannot be written (a full disk). */
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
    const note = "note" in outcome.end ? outcome.end.note : "";
    const { until } = closingFor(outcome.result.outcome, "");
    return { kind: "limited", note, retryAt: until ?? undefined };
  }
}

/** Opens or closes the account, as the end of the run demands; and what follows for the attempt. */
async function afterwards(
  attempt: ModelAttempt,
  { end, result: { outcome: said } }: ModelOutcome,
  began: number,
): Promise<ModelAttemptEnd> {
  const { id, claim, route, host, store } = attempt;
  const { account } = route;
  const { accounts } = host;
  if (end.kind === "ended" || end.kind === "failed") return end;
  if (end.kind === "unpaid") return { kind: "released", note: end.note };
  if (end.kind === "proceed") {
    if (account === null) return end;
    const { state: before } = accounts.read(account);
    await accounts.succeeded(account, began);
    const isOpened = before !== "open" && accounts.read(account).state === "open";
    if (isOpened) await tell(attempt, { event: "account_opened", account });
    return end;
  }
  const { note } = end;
  const closing = closingFor(said, note);
  const { until } = closing;
  if (account === null) {
    if ("until" in said) return { kind: "limited", note, retryAt: until ?? undefined };
    return { kind: "failed", report: { outcome: "failed", note, final: true } };
  }
  const by = { run: store.location, worker: claim.worker, task: id };
  const state = await accounts.close(account, { ...closing, by, began });
  if (state.state !== "open") {
    const { reason, until } = state;
    await tell(attempt, { event: "account_closed", account, reason, until });
  }
  // An account that waits for a person: the task goes back, and is not claimed meanwhile.
  if (state.state !== "closed") return { kind: "released", note };
  // The account's own time holds it back: a person may open the account sooner.
  return { kind: "limited", note, retryAt: new Date(Date.now() + 1_000).toISOString() };
}

/** In the run's ledger: the account's own file has no history. A gap there is no reason to fail. */
async function tell(
  { id, claim: { worker }, store, settings, claim }: ModelAttempt,
  line: { event: "account_closed" | "account_opened"; account: string; [key: string]: unknown },
): Promise<void> {
  try {
    await store.append({ task: id, worker, ...line });
  } catch (error) {
    settings.onError?.(claim, error);
  }
}

async function requestFor(attempt: ModelAttempt): Promise<EngineRequest> {
  const { claim, id, route, place, host, store } = attempt;
  const isRetry = claim.attempt > 1;
  const history = isRetry ? ((await store.show(id))?.history ?? []) : [];
  const { model } = pickModel({
    tiers: route.tiers,
    model: route.model,
    tierHint: claim.task.tier_hint ?? null,
    unproven: unprovenIn(history),
    escalateAfter: route.escalateAfter,
  });
  const session = isRetry && route.resume ? host.artifacts.readSession(id) : null;
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

/** Also those before a retry or a rejection: the task is as hard as before. */
export function unprovenIn(history: readonly HistoryRecord[]): number {
  return history.filter((record) => isAttempt(record) && record.outcome === "unproven").length;
}

/** For our own loop only. */
function own({ route: { settings }, host, id }: ModelAttempt) {
  const name = keyVariable(settings);
  const key = host.env[name];
  return {
    sessionDir: host.artifacts.sessionsOf(id),
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

/** The session has the task already; it lacks the reason why its work did not count. */
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

/** `used`: by this attempt so far; `open`: while it is not over. */
function saveSession(
  { id, route, host }: ModelAttempt,
  { model, resume, resumeUsed }: EngineRequest,
  session: string,
  more: { used?: readonly ModelUsage[]; sessionTotal?: ModelUsage[]; open?: OpenAttempt },
): void {
  const before = session === resume ? resumeUsed : undefined;
  const used = usedAfter(before, more.used ?? [], more.sessionTotal);
  host.artifacts.writeSession(id, { engine: route.name, session, model, used, open: more.open });
}

async function settleKilled(attempt: ModelAttempt): Promise<void> {
  const { id, claim, route, place, host, store, settings } = attempt;
  const of = { id, type: claim.task.task_type, route, prices: settings.prices, env: place.env };
  await settleAbandoned(of, host, store, (token) => token !== claim.token);
}

async function remember(
  attempt: ModelAttempt,
  request: EngineRequest,
  { result, bill }: ModelOutcome,
): Promise<void> {
  const { claim, route, store } = attempt;
  const { session, sessionTotal } = result;
  // Before the session is saved: after a crash in between, the next attempt settles the bill, once.
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
