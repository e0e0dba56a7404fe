import { join } from "node:path";
import type { ClaimTree } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { closingFor } from "../engines/accounts/account-policy.ts";
import type { Accounts } from "../engines/accounts/accounts.ts";
import type { EngineSettings } from "../engines/config-engine.ts";
import type { PriceTable } from "../engines/costs/prices.ts";
import type { Engine, EngineRequest, Step } from "../engines/engine.ts";
import { type ModelOutcome, runModel } from "../engines/run-model.ts";
import type { LogPort } from "../engines/session-logs.ts";
import { isTransient } from "../platform/machine-retry.ts";
import type { Timers } from "../platform/processes/children.ts";
import type { Finished, Handlers } from "../platform/processes/handlers.ts";
import type { Member } from "./manifest.ts";
import type { Prepared, RunEnd, RunHooks, Runner } from "./ports.ts";
import { type CrewLine, questionFileOf } from "./status.ts";
import { StepFeed, type StepsFile } from "./steps-file.ts";
import { isNoWork } from "./tick.ts";

/** Runs that are real: a def is read, an engine is started, and its end is judged. */
export interface EngineRunnerHost {
  handlers: Handlers;
  engine(name: Engine["name"]): Promise<Engine>;
  accounts: Accounts;
  prepare(member: Member): Prepared;
  /** Throws INVALID when there is no such folder. */
  cwdOf(member: Member): string;
  /** The file in which a command of its own reports its steps. */
  openSteps(member: Member): StepsFile;
  timers: Timers;
  /** Files that a vendor's program writes about its session. */
  followLogs: LogPort["follow"];
  env: Readonly<Record<string, string>>;
  self(): { host: string; boot: string };
  newMark(): string;
  now(): number;
}

export interface RunnerSettings {
  wallClockMs: number;
  steps: number;
  killAfterMs: number;
  logBytes: number;
  prices: PriceTable;
  /** `[engines.NAME]` of viv.toml. */
  defaults: ReadonlyMap<Engine["name"], EngineSettings>;
  state: string;
}

export const SEED_LIMITS = { wallClockMs: 15 * 60_000, steps: 60 } as const;
const RUN_IF_MS = 60_000;
const RUN_IF_LOG_BYTES = 64 * 1024;
/** A model prints a few kilobytes in a second. A program that prints without end is slowed down. */
const PACE = { bytes: 256 * 1024, everyMs: 100 };

export function engineRunner(host: EngineRunnerHost, settings: RunnerSettings): Runner {
  return {
    prepare: (member) => {
      host.cwdOf(member); // it throws for one that is not there
      return host.prepare(member);
    },
    isDue: async (member, hooks) => isDue(host, settings, member, hooks),
    heldBy: (member, costToday) => heldBy(host, member, costToday),
    run: (prepared, hooks) => run(host, settings, prepared, hooks),
  };
}

async function isDue(
  host: EngineRunnerHost,
  settings: RunnerSettings,
  member: Member,
  { signal, onProcess }: Parameters<Runner["isDue"]>[1],
): Promise<{ due: boolean; note: string }> {
  const cwd = host.cwdOf(member);
  const tree = newTree(host);
  onProcess(tree);
  const running = host.handlers.start({
    ...{ argv: ["/bin/sh", "-c", member.runIf ?? "true"], cwd, stdin: "" },
    ...{ env: envOf(host, settings, member, null), claim: tree.claim },
    logPath: join(settings.state, `run-if-${member.name}.log`),
    ...{ logBytes: RUN_IF_LOG_BYTES, timeoutMs: RUN_IF_MS },
    killAfterMs: settings.killAfterMs,
    pace: PACE,
  });
  if (running.ref) onProcess({ ...tree, ...running.ref });
  const onAbort = () => void running.stop("stopped", true);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  const { exit, cause, tail, error } = await running.finished;
  signal.removeEventListener("abort", onAbort);
  signal.throwIfAborted();
  const said = tail.trim().split("\n").at(-1) ?? "";
  // What cannot be asked does not cost money: no tick, and the reason is told.
  if (cause === "timed_out") return { due: false, note: "its RUN-IF took longer than a minute" };
  return { due: exit === 0, note: error ?? said };
}

function heldBy(
  { accounts, now }: EngineRunnerHost,
  member: Member,
  costToday: number,
): { note: string; until: number | null } | null {
  if (member.budgetUsdDay !== null && costToday >= member.budgetUsdDay) {
    const midnight = (Math.floor(now() / 86_400_000) + 1) * 86_400_000;
    const note = `its $${member.budgetUsdDay} of today are used up`;
    return { note, until: midnight };
  }
  const account = accountOf(member);
  const state = account === null ? null : accounts.read(account);
  if (state === null || state.state === "open") return null;
  const note = `its account ${account} is ${state.state}${state.message ? `: ${state.message}` : ""}`;
  return { note, until: state.until === null ? null : Date.parse(state.until) };
}

/** Vendors share a rate limit; a command of one's own has none that we know of. */
function accountOf({ engine }: Member): string | null {
  return engine === "exec" || engine === "script" ? null : engine;
}

async function run(
  host: EngineRunnerHost,
  settings: RunnerSettings,
  { member }: Prepared,
  hooks: RunHooks,
): Promise<RunEnd> {
  const engine = await host.engine(member.engine);
  await host.handlers.ready?.();
  const began = host.now();
  const request = requestFor(host, settings, member, hooks);
  let stopRun: (why: string, atOnce?: boolean) => void = () => {};
  let log: (text: string) => void = () => {};
  const steps = stepsOf(host, member, hooks);
  const onAbort = () => stopRun("stopped by hand");
  hooks.signal.addEventListener("abort", onAbort);
  try {
    const outcome = await runModel({
      engine,
      request,
      afresh: () => request,
      budget: {
        limits: {
          attempt: { turns: settings.steps },
          ...(member.budgetUsdDay === null ? {} : { day: { usd: member.budgetUsdDay } }),
        },
        before: { day: { usd: hooks.costToday, tokens: 0 } },
        prices: settings.prices,
        look: async () => ({ before: { day: { usd: hooks.costToday, tokens: 0 } } }),
      },
      execute: (argv, stdin, more) => {
        const tree = newTree(host);
        hooks.onProcess(tree);
        const running = host.handlers.start({
          ...{ argv, stdin, cwd: request.cwd, claim: tree.claim, logPath: hooks.logPath },
          env: { ...envOf(host, settings, member, hooks.lifecycle), ...more.env, ...steps?.env },
          isSecret: more.isSecret,
          ...{ onStdout: more.onStdout, onStderr: more.onStderr },
          timeoutMs: settings.wallClockMs,
          ...{ logBytes: settings.logBytes, killAfterMs: settings.killAfterMs, pace: PACE },
        });
        if (running.ref) hooks.onProcess({ ...tree, ...running.ref });
        stopRun = (why, atOnce) => void running.stop(why, atOnce);
        log = (text) => running.note(text);
        if (hooks.signal.aborted) stopRun("stopped by hand");
        return running.finished;
      },
      // Without grace: each second may cost.
      stop: (why) => stopRun(why, true),
      log: (text) => log(text),
      onStep: (step) => {
        const line = lineOf(step, member.name, host.now());
        if (line) hooks.onLine(line);
      },
      onSession: () => {},
      onUsed: (_, usd) => hooks.onSpent(usd),
      logs: { follow: host.followLogs, env: host.env },
      now: host.now,
    });
    return await judge(host, member, outcome, began);
  } finally {
    hooks.signal.removeEventListener("abort", onAbort);
    steps?.end();
  }
}

/** Only of a command of one's own: the others tell their steps on stdout. */
function stepsOf(
  host: EngineRunnerHost,
  member: Member,
  { onLine, warn }: RunHooks,
): { env: Record<string, string>; end(): void } | null {
  if (member.engine !== "exec") return null;
  try {
    const file = host.openSteps(member);
    const feed = new StepFeed(file, host.timers, {
      onStep: (step) => {
        onLine({ ...step, ts: Math.floor(host.now() / 1000), agent: member.name });
      },
      warn,
    });
    return { env: { VIV_STEPS: file.path }, end: () => feed.end() };
  } catch (error) {
    warn(`its steps cannot be told: ${(error as Error).message}`);
    return null;
  }
}

/** Noted before the start: a later supervisor finds by its mark what has no pid yet. */
function newTree(host: EngineRunnerHost): ClaimTree {
  return { ...host.self(), pid: 0, started: "0", claim: host.newMark() };
}

function requestFor(
  host: EngineRunnerHost,
  settings: RunnerSettings,
  member: Member,
  { prompt }: RunHooks,
): EngineRequest {
  const defaults = settings.defaults.get(member.engine) ?? NO_SETTINGS;
  const isExec = member.engine === "exec";
  if (isExec && member.command === null) {
    throw new VivError("INVALID", "the engine exec needs a command: give the member a :COMMAND:");
  }
  return {
    prompt,
    cwd: host.cwdOf(member),
    model: member.model,
    // A command is what its author wrote; the prompt and VIV_MODE tell it the mode.
    mode: isExec ? "edit" : member.mode,
    resume: null,
    turns: settings.steps,
    settings: isExec
      ? { ...defaults, binary: "/bin/sh", flags: ["-c", member.command ?? ""] }
      : defaults,
  };
}

const NO_SETTINGS: EngineSettings = {
  ...{ binary: null, flags: [], permission: null, url: null, api: null, keyEnv: null },
  ...{ contextTokens: null, scenario: null },
};

function envOf(
  host: EngineRunnerHost,
  settings: RunnerSettings,
  member: Member,
  lifecycle: string | null,
): Record<string, string> {
  const { VIV_STEPS: _, ...env } = host.env; // of a run that we are part of
  return {
    ...env,
    VIV_AGENT: member.name,
    VIV_MODE: member.mode,
    VIV_CREW_STATE: settings.state,
    VIV_QUESTION: join(settings.state, questionFileOf(member.name)),
    VIV_LIFECYCLE: lifecycle ?? "",
  };
}

function lineOf(step: Step, agent: string, now: number): CrewLine | null {
  const ts = Math.floor(now / 1000);
  if (step.kind === "tool") return { tool: step.tool ?? "", target: step.target ?? "", ts, agent };
  const text = step.text?.trim() ?? "";
  return text === "" ? null : { thought: text, ts, agent };
}

const TRY_AGAIN_MS = 30_000;

/** The order matters: what was done to the run comes before what the engine reports. */
async function judge(
  { accounts, now }: EngineRunnerHost,
  member: Member,
  { end, finished, result, bill }: ModelOutcome,
  began: number,
): Promise<RunEnd> {
  const { usd } = bill;
  const ended = (outcome: Extract<RunEnd, { kind: "ended" }>["outcome"], note: string): RunEnd => ({
    ...{ kind: "ended", outcome, note: note.slice(0, 500), usd },
  });
  if (end.kind === "unpaid") return { kind: "held", note: end.note, until: null, usd };
  if (end.kind === "limited")
    return { ...(await closed(accounts, member, result.outcome, end.note, began)), usd };
  if (finished.cause === "timed_out") return ended("killed", "its time was up");
  if (finished.cause === "stopped" && end.kind === "ended") {
    return ended("killed", finished.why ?? "it was stopped");
  }
  if (finished.cause === "unstartable" && isTransient({ code: finished.code })) {
    // An error of the machine: no crash of the member, which would park it at the fifth.
    return { kind: "held", note: finished.error ?? "", until: now() + TRY_AGAIN_MS, usd };
  }
  if (isCrash(finished)) {
    return ended("crashed", finished.error ?? `ended by ${finished.signal ?? "something"}`);
  }
  if (end.kind === "proceed") {
    const account = accountOf(member);
    if (account !== null) await accounts.succeeded(account, began);
    const note = result.text.trim().split("\n")[0] ?? "";
    return ended(isNoWork(result.text) ? "no_work" : "done", note);
  }
  return ended("failed", end.kind === "failed" ? end.report.note : "it was cut off");
}

/** Ended by a signal that is not ours, without an exit status. */
function isCrash({ cause, exit, signal }: Finished): boolean {
  return cause === "unstartable" || (cause === "exit" && exit === null && signal !== null);
}

async function closed(
  accounts: Accounts,
  member: Member,
  said: ModelOutcome["result"]["outcome"],
  note: string,
  began: number,
): Promise<{ kind: "held"; note: string; until: number | null }> {
  const account = accountOf(member);
  const closing = closingFor(said, note);
  const { until } = closing;
  if (account === null) {
    return { kind: "held", note, until: until === null ? null : Date.parse(until) };
  }
  const state = await accounts.close(account, {
    ...closing,
    by: { run: "", worker: member.name, task: "" },
    began,
  });
  return { kind: "held", note, until: state.until === null ? null : Date.parse(state.until) };
}
