import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { ClaimTree } from "../base/clock.ts";
import { VivError } from "../base/errors.ts";
import { closingFor } from "../engines/accounts/account-policy.ts";
import type { EngineSettings } from "../engines/config-engine.ts";
import type { PriceTable } from "../engines/costs/prices.ts";
import type { Engine, EngineRequest, Step } from "../engines/engine.ts";
import { type ModelOutcome, runModel } from "../engines/run-model.ts";
import { isTransient } from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import type { CrewPorts, Prepared, RunEnd, RunHooks, Runner } from "./crew-ports.ts";
import type { Member } from "./manifest.ts";
import { type CrewLine, questionFileOf, type TickOutcome } from "./member-status.ts";
import { StepFeed } from "./steps-file.ts";
import { noWorkIn } from "./tick.ts";

type RunnerPorts = Pick<
  CrewPorts,
  | "machine"
  | "timers"
  | "handlers"
  | "accounts"
  | "engine"
  | "followLogs"
  | "newMark"
  | "whyNotInstalled"
>;

export interface RunnerOptions {
  prepare(member: Member): Prepared;
  /** Throws INVALID when there is no such folder. */
  cwdOf(member: Member): string;
  stepsPath(member: Member): string;
  env: Readonly<Record<string, string>>;
  prices: PriceTable;
  /** `[engines.NAME]` of viv.toml. */
  defaults: ReadonlyMap<Engine["name"], EngineSettings>;
  state: string;
}

/** The seed's limits of a run. */
const WALL_CLOCK_MS = 15 * 60_000;
const STEPS = 60;
const KILL_AFTER_MS = 5_000;
const LOG_BYTES = 2 * 1024 * 1024;
const RUN_IF_MS = 60_000;
const RUN_IF_LOG_BYTES = 64 * 1024;
/** A model prints a few kilobytes in a second. A program that prints without end is slowed down. */
const PACE = { bytes: 256 * 1024, everyMs: 100 };
const TRY_AGAIN_MS = 30_000;

const NO_SETTINGS: EngineSettings = {
  ...{ binary: null, flags: [], permission: null, url: null, api: null, keyEnv: null },
  ...{ contextTokens: null, scenario: null },
};

export class EngineRunner implements Runner {
  readonly #ports: RunnerPorts;
  readonly #options: RunnerOptions;

  constructor(ports: RunnerPorts, options: RunnerOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  prepare(member: Member): Prepared {
    this.#assertInstalled(member, this.#options.cwdOf(member)); // which throws for a missing one
    return this.#options.prepare(member);
  }

  /** Of the vendors' engines: the others are part of viv, or a shell. */
  #assertInstalled({ engine }: Member, cwd: string): void {
    if (engine === "exec" || engine === "llm" || engine === "script") return;
    const binary = this.#options.defaults.get(engine)?.binary ?? engine;
    const why = this.#ports.whyNotInstalled(binary.includes("/") ? resolve(cwd, binary) : binary);
    if (why === null) return;
    const places = (this.#options.env.PATH ?? "").split(delimiter).filter(isAbsolute);
    const paths = binary.includes("/") ? [binary] : places.map((place) => join(place, binary));
    const message = `its engine ${engine} cannot start: ${why} ([engines.${engine}] in viv.toml)`;
    throw new VivError("INVALID", message, { paths });
  }

  async isDue(
    member: Member,
    { signal, onProcess }: Pick<RunHooks, "signal" | "onProcess">,
  ): Promise<{ due: boolean; note: string }> {
    const cwd = this.#options.cwdOf(member);
    const tree = this.#newTree();
    onProcess(tree);
    const running = this.#ports.handlers.start({
      ...{ argv: ["/bin/sh", "-c", member.runIf ?? "true"], cwd, stdin: "" },
      ...{ env: this.#env(member, null), claim: tree.claim, pace: PACE },
      logPath: join(this.#options.state, `run-if-${member.name}.log`),
      ...{ logBytes: RUN_IF_LOG_BYTES, timeoutMs: RUN_IF_MS, killAfterMs: KILL_AFTER_MS },
    });
    if (running.ref) onProcess({ ...tree, ...running.ref });
    const onAbort = () => void running.stop("stopped", true);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const { exit, cause, tail, error } = await running.finished;
    signal.removeEventListener("abort", onAbort);
    signal.throwIfAborted();
    // Without an answer there is no tick, which could cost money; the note has the reason.
    if (cause === "timed_out") return { due: false, note: "its RUN-IF took longer than a minute" };
    return { due: exit === 0, note: error ?? tail.trim().split("\n").at(-1) ?? "" };
  }

  heldBy(member: Member, costToday: number): { note: string; until: number | null } | null {
    if (member.budgetUsdDay !== null && costToday >= member.budgetUsdDay) {
      const midnight = (Math.floor(this.#now() / 86_400_000) + 1) * 86_400_000;
      return { note: `its $${member.budgetUsdDay} of today are used up`, until: midnight };
    }
    const account = accountOf(member);
    const state = account === null ? null : this.#ports.accounts.read(account);
    if (state === null || state.state === "open") return null;
    const why = state.message ? `: ${state.message}` : "";
    return { note: `its account ${account} is ${state.state}${why}`, until: timeOf(state.until) };
  }

  async run({ member }: Prepared, hooks: RunHooks): Promise<RunEnd> {
    const { handlers, followLogs: follow } = this.#ports;
    const { env, prices, state } = this.#options;
    const engine = await this.#ports.engine(member.engine, state);
    await handlers.ready?.();
    const began = this.#now();
    const request = this.#request(member, hooks.prompt);
    let stopRun: (why: string, atOnce?: boolean) => void = () => {};
    let log: (text: string) => void = () => {};
    const steps = this.#openSteps(member, hooks);
    const onAbort = () => stopRun("stopped by hand");
    hooks.signal.addEventListener("abort", onAbort);
    const before = { day: { usd: hooks.costToday, tokens: 0 } };
    const day = member.budgetUsdDay === null ? {} : { day: { usd: member.budgetUsdDay } };
    try {
      const outcome = await runModel({
        engine,
        request,
        afresh: () => request,
        budget: {
          limits: { attempt: { turns: STEPS }, ...day },
          ...{ before, prices, look: async () => ({ before }) },
        },
        execute: (argv, stdin, more) => {
          const tree = this.#newTree();
          hooks.onProcess(tree);
          const running = handlers.start({
            ...{ argv, stdin, cwd: request.cwd, claim: tree.claim, logPath: hooks.logPath },
            env: { ...this.#env(member, hooks.lifecycle), ...more.env, ...steps?.env },
            isSecret: more.isSecret,
            ...{ onStdout: more.onStdout, onStderr: more.onStderr, timeoutMs: WALL_CLOCK_MS },
            ...{ logBytes: LOG_BYTES, killAfterMs: KILL_AFTER_MS, pace: PACE },
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
          const line = this.#lineOf(step, member.name);
          if (line) hooks.onLine(line);
        },
        onSession: () => {},
        onUsed: (_, usd) => hooks.onSpent(usd),
        logs: { follow, env },
        now: () => this.#now(),
      });
      return await this.#judge(member, outcome, began);
    } finally {
      hooks.signal.removeEventListener("abort", onAbort);
      steps?.feed.end();
    }
  }

  /** Only for a command: the other engines print their steps. */
  #openSteps(member: Member, { onLine, warn }: RunHooks) {
    if (member.engine !== "exec") return null;
    const path = this.#options.stepsPath(member);
    try {
      const feed = new StepFeed(path, this.#ports.timers, {
        onStep: (step) => onLine({ ...step, ts: this.#seconds(), agent: member.name }),
        warn,
      });
      return { feed, env: { VIV_STEPS: path } };
    } catch (error) {
      warn(`its steps cannot be recorded: ${(error as Error).message}`);
      return null;
    }
  }

  #now(): number {
    return this.#ports.machine.clock.now();
  }

  #seconds(): number {
    return Math.floor(this.#now() / 1000);
  }

  /** Recorded before the start: by its mark, a later supervisor finds a process that has no pid yet. */
  #newTree(): ClaimTree {
    const { host, boot } = this.#ports.machine.self();
    return { host, boot, pid: 0, started: "0", claim: this.#ports.newMark() };
  }

  #request(member: Member, prompt: string): EngineRequest {
    const settings = this.#options.defaults.get(member.engine) ?? NO_SETTINGS;
    const { command, model, mode } = member;
    const request = { prompt, cwd: this.#options.cwdOf(member), model, resume: null, turns: STEPS };
    if (member.engine !== "exec") return { ...request, mode, settings };
    if (command === null) {
      throw new VivError("INVALID", "the engine exec needs a command: give the member a :COMMAND:");
    }
    // The author of a command decides; the prompt and VIV_MODE name the mode.
    const shell = { ...settings, binary: "/bin/sh", flags: ["-c", command] };
    return { ...request, mode: "edit", settings: shell };
  }

  #env(member: Member, lifecycle: string | null): Record<string, string> {
    const { VIV_STEPS: _, ...env } = this.#options.env; // of a run that we are part of
    const { state } = this.#options;
    return {
      ...env,
      VIV_AGENT: member.name,
      VIV_MODE: member.mode,
      VIV_CREW_STATE: state,
      VIV_QUESTION: join(state, questionFileOf(member.name)),
      VIV_LIFECYCLE: lifecycle ?? "",
    };
  }

  #lineOf(step: Step, agent: string): CrewLine | null {
    const ts = this.#seconds();
    if (step.kind === "tool") {
      return { tool: step.tool ?? "", target: step.target ?? "", ts, agent };
    }
    const text = step.text?.trim() ?? "";
    return text === "" ? null : { thought: text, ts, agent };
  }

  /** In this order: a stop or limit counts before the engine's own report. */
  async #judge(
    member: Member,
    { end, finished, result, bill: { usd } }: ModelOutcome,
    began: number,
  ): Promise<RunEnd> {
    const ended = (outcome: TickOutcome, note: string): RunEnd => ({
      ...{ kind: "ended", outcome, note: note.slice(0, 500), usd },
    });
    const account = accountOf(member);
    if (end.kind === "unpaid") return { kind: "held", note: end.note, until: null, usd };
    if (end.kind === "limited") {
      const closing = closingFor(result.outcome, end.note);
      const by = { run: "", worker: member.name, task: "" };
      const { until } =
        account === null
          ? closing
          : await this.#ports.accounts.close(account, { ...closing, by, began });
      return { kind: "held", note: end.note, until: timeOf(until), usd };
    }
    if (finished.cause === "timed_out") return ended("killed", "its time was up");
    if (finished.cause === "stopped" && end.kind === "ended") {
      return ended("killed", finished.why ?? "it was stopped");
    }
    if (finished.cause === "unstartable" && isTransient({ code: finished.code })) {
      // An error of the machine: no crash of the member, which would park it at the fifth.
      const until = this.#now() + TRY_AGAIN_MS;
      return { kind: "held", note: finished.error ?? "", until, usd };
    }
    if (isCrash(finished)) {
      return ended("crashed", finished.error ?? `ended by ${finished.signal ?? "something"}`);
    }
    if (end.kind === "proceed") {
      if (account !== null) await this.#ports.accounts.succeeded(account, began);
      const idle = noWorkIn(result.text);
      if (idle !== null) return ended("no_work", idle);
      return ended("done", result.text.trim().split("\n")[0] ?? "");
    }
    return ended("failed", end.kind === "failed" ? end.report.note : "it was cut off");
  }
}

/** Vendors share a rate limit; commands have none that we know of. */
function accountOf({ engine }: Member): string | null {
  return engine === "exec" || engine === "script" ? null : engine;
}

function timeOf(iso: string | null): number | null {
  return iso === null ? null : Date.parse(iso);
}

/** Ended by a signal that is not ours, without an exit status. */
function isCrash({ cause, exit, signal }: Finished): boolean {
  return cause === "unstartable" || (cause === "exit" && exit === null && signal !== null);
}
