import { basename, resolve } from "node:path";
import { parseDuration } from "../base/duration.ts";
import { isVivError, messageOf, VivError } from "../base/errors.ts";
import { fingerprint } from "../base/fingerprint.ts";
import { canonicalJson, isRecord, parseExactly } from "../base/json.ts";
import type { Config } from "../base/section.ts";
import type { EngineRoute } from "../engines/config-engine.ts";
import type { Limit } from "../engines/costs/budget.ts";
import type { PriceTable } from "../engines/costs/prices.ts";
import type { SharedBudget } from "../engines/costs/shared-budget.ts";
import type { GateRequest, Release } from "../gate/gate.ts";
import {
  isMachineError,
  isTransient,
  MachineRetry,
  type Sleep,
  Unrecorded,
} from "../platform/machine-retry.ts";
import type { Finished } from "../platform/processes/handlers.ts";
import { isHandedIn } from "../queue/proof-state.ts";
import type { Claim, Store } from "../queue/store.ts";
import { priorityOf, type Task } from "../queue/task.ts";
import type { Route } from "./config-route.ts";
import { type AttemptEnd, Ending, reportOf, said } from "./ending.ts";
import type { WorkerHost } from "./host.ts";
import { attemptWithModel } from "./model-attempt.ts";
import { type AttemptContext, atHome, type Place, placeFor } from "./place.ts";
import { prove } from "./proof.ts";
import { makeReady } from "./ready.ts";
import { Runner } from "./runner.ts";

/**
 * One attempt, from the claim to its end:
 *   1. the place to work in (workspace, evidence of the last attempt, environment, sandbox)
 *   2. the handler, until its whole process tree is gone
 *   3. the proof, in the same place
 *   4. the end: one call of the store, which decides where the task goes
 * An error on the way fails this task, never the worker; after an error of the machine the step is
 * tried again (see MachineRetry).
 */
export interface AttemptSettings {
  killAfterMs: number;
  logBytes: number;
  /** A time limit for routes that have none. */
  timeoutMs?: number;
  /** The most bytes that are kept of what set-ups made. */
  setupBytes?: number;
  prices: PriceTable;
  budget: { run: Limit; day: Limit };
  /** Checked before and while a model runs. */
  sharedBudget: SharedBudget;
  /** Takes a slot of the machine's gate, before an engine is started. */
  slot?: (request: Omit<GateRequest, "name">) => Promise<Release>;
  /** Called when nothing of an attempt runs any more and only its end has to be recorded. */
  onIdle?: (claim: Claim) => void;
  /** A step failed, and is tried again. */
  onError?: (claim: Claim, error: unknown) => void;
  /** Waits between two tries. */
  pause?: Sleep;
  /** The viv.toml, for where a branch begins, and for what runs beside a worker. */
  config?: Config;
}

/** A route with the handler's path resolved and its environment put together. */
export interface ReadyRoute extends Omit<Route, "env"> {
  folder: string;
  /** What the route itself sets of it, as `NAME=VALUE`. */
  setEnv?: readonly string[];
  env: Readonly<Record<string, string>>;
}

export const DEFAULT_LOG_BYTES = 10 * 1024 * 1024;
export const DEFAULT_SETUP_BYTES = 5e9;

/** sysexits.h: EX_TEMPFAIL. */
const TRY_LATER = 75;

export class Attempt {
  readonly claim: Claim;
  readonly #id: string;
  readonly #context: AttemptContext;
  readonly #settings: AttemptSettings;
  readonly #artifacts: WorkerHost["artifacts"];
  readonly #retry: MachineRetry;
  readonly #runner: Runner;
  readonly #ending: Ending;
  #head: string | undefined;
  #workspace: string | null = null;
  #onUnproven: () => Promise<void> = async () => {};

  constructor(
    claim: Claim,
    route: ReadyRoute,
    store: Store,
    host: WorkerHost,
    settings: AttemptSettings,
  ) {
    const { worker, token, task } = claim;
    const { onIdle, onError, pause, config } = settings;
    this.claim = claim;
    this.#id = task.task_id;
    this.#retry = new MachineRetry((error) => onError?.(claim, error), pause);
    const ref = { id: this.#id, worker, token };
    this.#context = { claim, id: this.#id, ref, route, store, host, config, retry: this.#retry };
    this.#settings = settings;
    this.#artifacts = host.artifacts;
    this.#runner = new Runner(this.#context, settings);
    this.#ending = new Ending(this.#context, onIdle && (() => onIdle(claim)));
  }

  /** Ends the running program with its whole tree and releases the task. An end in progress goes on. */
  stop(why: string): void {
    this.#runner.stop(why);
  }

  /** An end that could not be recorded is tried once more, and then given up. */
  leave(): void {
    this.#retry.leave();
  }

  run(): Promise<AttemptEnd> {
    return this.#logged(async () => {
      const { engine } = this.#context.route;
      if (await this.#isHandedIn()) {
        return this.#prove(await this.#retry.briefly(() => placeFor(this.#context)));
      }
      if (engine) return this.#withSlot(engine);
      return this.#inPlace(async (place) => this.#conclude(place, await this.#handle(place)));
    });
  }

  /** In a workspace that is ready. */
  async #inPlace(act: (place: Place) => Promise<AttemptEnd>): Promise<AttemptEnd> {
    const place = await this.#retry.briefly(() => placeFor(this.#context));
    this.#workspace = place.workspace;
    const { setupBytes = DEFAULT_SETUP_BYTES } = this.#settings;
    const ready = await makeReady(this.#context, this.#runner, this.#ending, place, setupBytes);
    return "end" in ready ? ready.end : act(ready.place);
  }

  /** Was the work done by an earlier claim, and only its proof is missing? */
  async #isHandedIn(): Promise<boolean> {
    if (this.claim.attempt === 1) return false;
    const view = await this.#retry.briefly(() => this.#context.store.show(this.#id));
    return isHandedIn(view?.history ?? []);
  }

  /** The slot is requested at once, so that it is taken before more is claimed. */
  async #withSlot(engine: EngineRoute): Promise<AttemptEnd> {
    const request = { priority: priorityOf(this.claim.task), signal: this.#retry.stopping };
    let release: Release | undefined;
    try {
      release = await this.#retry.briefly(() => this.#settings.slot?.(request));
    } catch (error) {
      return this.#notBegun(messageOf(error));
    }
    try {
      return await this.#inPlace((place) => this.#model(place, engine, release));
    } finally {
      release?.();
    }
  }

  /** Only the proof, of work that was done by hand. `onUnproven` is called before a failed end. */
  proveOnly(onUnproven: () => Promise<void>): Promise<AttemptEnd> {
    this.#onUnproven = onUnproven;
    return this.#logged(() => this.#inPlace((place) => this.#prove(place)));
  }

  async #logged(act: () => Promise<AttemptEnd>): Promise<AttemptEnd> {
    const begun = performance.now();
    let end: AttemptEnd;
    try {
      end = await act();
    } catch (error) {
      end = await this.#afterError(error);
    }
    this.#endLog(end, (performance.now() - begun) / 1000);
    await this.#measure();
    return end;
  }

  /** The end is recorded; how much its workspace takes is an estimate at any time. */
  async #measure(): Promise<void> {
    if (this.#workspace === null) return;
    try {
      await (await this.#context.host.workspaceUse()).measure(this.#id);
    } catch {
      // The next attempt measures it, or the next worker.
    }
  }

  #afterError(error: unknown): AttemptEnd | Promise<AttemptEnd> {
    if (isVivError(error, "CLAIM_LOST")) return { kind: "lost" };
    // Not recorded as a failure: the work has not failed.
    if (error instanceof Unrecorded) throw "outcome" in error.details ? error : unwritten(error);
    const note = messageOf(error);
    if (!isMachineError(error)) return this.#ending.failed({ outcome: "failed", note });
    return this.#notBegun(note);
  }

  /** The machine failed before the work began: no fault of the task. */
  #notBegun(note: string): Promise<AttemptEnd> {
    const { stopped } = this.#runner;
    if (stopped !== null) return this.#ending.released(stopped);
    return this.#ending.failed({ outcome: "rate_limited", note });
  }

  #endLog(end: AttemptEnd, seconds: number): void {
    if (this.#head === undefined) return;
    const { outcome, note } = end.kind === "lost" ? { outcome: "lost", note: undefined } : end;
    try {
      this.#artifacts.endLog?.(this.#id, { outcome, seconds, note });
    } catch {
      // The ledger has the end as well.
    }
  }

  async #handle(place: Place): Promise<Finished> {
    await this.#retry.briefly(() => this.#beginLog());
    return this.#runner.execute(place, this.#context.route.handler, {
      stdin: `${canonicalJson(await this.#exactTask())}\n`,
      head: this.#head,
      logPath: this.#artifacts.logOf(this.#id),
      timeoutMs: this.#timeoutMs(),
    });
  }

  /** With the payload's numbers as they stand in the task's file, where there are any. */
  async #exactTask(): Promise<Task> {
    const { task } = this.claim;
    const payload = JSON.stringify(task.payload) ?? "";
    if (!/[:[,]-?\d/.test(payload)) return task;
    try {
      const exact = parseExactly((await this.#context.store.source(this.#id)) ?? "");
      const isSame = isRecord(exact) && exact.task_id === task.task_id && isRecord(exact.payload);
      return isSame ? { ...task, payload: exact.payload as Task["payload"] } : task;
    } catch {
      return task; // not JSON, as food
    }
  }

  #beginLog(): void {
    const { attempt, worker } = this.claim;
    try {
      this.#head = this.#artifacts.beginLog?.({ id: this.#id, attempt, worker });
    } catch (cause) {
      // No fault of the task.
      throw new VivError("READ_ONLY", `no log can be kept: ${messageOf(cause)}`, {}, { cause });
    }
  }

  async #model(bare: Place, engine: EngineRoute, release?: Release): Promise<AttemptEnd> {
    const artifacts = this.#artifacts;
    const { route } = this.#context;
    const place = await this.#retry.briefly(() => atHome(this.#context, bare, engine));
    const before = await this.#retry.briefly(() => artifacts.markArtifact(this.#id));
    await this.#retry.briefly(() => this.#beginLog());
    const { end, finished, result } = await attemptWithModel({
      ...this.#context,
      route: engine,
      place,
      settings: this.#settings,
      folder: route.folder,
      isConfined: route.sandbox.length > 0,
      execute: (argv, stdin, { env, ...more }) =>
        this.#runner.execute({ ...place, env: { ...place.env, ...env } }, argv, {
          stdin,
          head: this.#head,
          logPath: artifacts.logOf(this.#id),
          timeoutMs: this.#timeoutMs(),
          stdoutPath: artifacts.streamOf(this.#id),
          ...more,
        }),
      // At once: each second of grace may cost.
      stop: (why) => this.#runner.endNow(why),
      log: (text) => this.#runner.note(text),
    });
    release?.(); // the proof is no model's work
    if (this.#runner.stopped !== null || end.kind === "ended") {
      return this.#conclude(place, finished);
    }
    if (finished.survivors.length > 0) return this.#ending.stuck(finished);
    if (end.kind === "released") return this.#ending.released(end.note);
    if (end.kind === "limited") {
      const { note, retryAt } = end;
      return this.#ending.failed({ outcome: "rate_limited", note, retryAt });
    }
    if (end.kind === "failed") {
      const { exit, signal } = finished;
      const tail = end.report.note;
      const print = fingerprint({ outcome: "failed", exit, signal, tail });
      return this.#ending.failed({ ...end.report, fingerprint: print }, finished);
    }
    if (result.text !== "") {
      const text = `${result.text.trimEnd()}\n`;
      await this.#retry.untilDone(() => artifacts.writeArtifact(this.#id, text, before));
    }
    return this.#prove(place, end.note);
  }

  #timeoutMs(): number | undefined {
    const own = this.claim.task.timeout;
    if (own !== undefined) return parseDuration(own, "timeout");
    return this.#context.route.timeoutMs ?? this.#settings.timeoutMs;
  }

  async #conclude(place: Place, finished: Finished): Promise<AttemptEnd> {
    const ending = this.#ending;
    const { cause, exit, error = "", code } = finished;
    if (finished.survivors.length > 0) return ending.stuck(finished);
    if (cause === "stopped") return ending.released(finished.why ?? "the worker stops");
    if (cause === "unstartable") {
      if (isTransient({ code })) return ending.failed({ outcome: "rate_limited", note: error });
      return ending.failed({ outcome: "failed", note: error, final: true });
    }
    if (cause === "timed_out") return ending.failed(reportOf("timed_out", finished), finished);
    if (exit === TRY_LATER) {
      return ending.failed({ outcome: "rate_limited", note: said("try again later", finished) });
    }
    if (exit !== 0) return ending.failed(reportOf("failed", finished), finished);
    return this.#prove(place);
  }

  #prove(place: Place, note?: string): Promise<AttemptEnd> {
    return prove(this.#context, this.#runner, this.#ending, { place, note }, this.#onUnproven);
  }
}

function unwritten(error: Unrecorded): Unrecorded {
  const message = `it ran, but its result could not be written: ${error.message.replace(/\.$/, "")}; it stays claimed until it is reaped, and is begun anew then.`;
  return new Unrecorded(error.code, message, {}, { cause: error.cause });
}

/** `./x.sh` is relative to the file that names it; a plain name is searched in PATH. */
export function resolveHandler(argv: readonly string[], folder: string): string[] {
  const [program = "", ...rest] = argv;
  return [basename(program) === program ? program : resolve(folder, program), ...rest];
}
