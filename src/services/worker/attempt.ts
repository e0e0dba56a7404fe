import { basename, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Shown } from "../../engines/engine.ts";
import type { Finished, RunningHandler } from "../../host/handlers.ts";
import { isAttempt } from "../../model/attempt.ts";
import type { Route } from "../../model/config.ts";
import type { EngineRoute, Money } from "../../model/config-engine.ts";
import { formatTook, parseDuration } from "../../model/duration.ts";
import { isVivError, VivError } from "../../model/errors.ts";
import { canonicalJson } from "../../model/json.ts";
import { isName } from "../../model/names.ts";
import type { PriceTable } from "../../model/prices.ts";
import type { Proof } from "../../model/proof.ts";
import { priorityOf } from "../../model/task.ts";
import { wasteFoot } from "../../model/waste.ts";
import { fingerprint, tellingLines } from "../../policy/fingerprint.ts";
import type { Claim, Ended, FailureReport, Store } from "../../store/store.ts";
import type { GateRequest, Release } from "../gate.ts";
import type { Spending } from "../spending.ts";
import { handlerEnv } from "./handler-env.ts";
import type { WorkerHost } from "./host.ts";
import { runModel } from "./run-model.ts";

/**
 * One attempt, from the claim to its end:
 *   1. the place to work in (workspace, evidence of the attempt before, environment, sandbox)
 *   2. the handler, until its whole process tree is gone
 *   3. the proof, in the same place
 *   4. the end: one call of the store, which decides where the task goes
 * Whatever goes wrong on the way is this task's failure, never the worker's.
 */
export interface AttemptSettings {
  killAfterMs: number;
  logBytes: number;
  /** A time limit for routes that have none. */
  timeoutMs?: number;
  /** What model runs cost, and what they may. */
  prices: PriceTable;
  budget: { run: Money; day: Money };
  /** Asked before and while a model runs. */
  spending: Spending;
  /** What an engine needs before it is started: a slot of the machine's gate. */
  slot?: (request: Omit<GateRequest, "name">) => Promise<Release>;
  /** Called when nothing of an attempt runs any more and only its end has to be recorded. */
  onIdle?: (claim: Claim) => void;
  /** Its end cannot be recorded for now. */
  onTrouble?: (claim: Claim, error: unknown) => void;
}

/** A route as the worker uses it: the handler's path is resolved, its environment is put together. */
export interface ReadyRoute extends Omit<Route, "env"> {
  folder: string;
  env: Readonly<Record<string, string>>;
}

export type AttemptEnd =
  | { kind: "ended"; outcome: string; ended: Ended; note?: string }
  | { kind: "lost" };

const FIRST_DELAY_MS = 500;
const DONE_WHEN_TIMEOUT_MS = 10 * 60_000;
/** The machine has not enough of something just now: no fault of the task, and tried again later. */
const MAY_PASS = ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"];
/** sysexits.h: EX_TEMPFAIL. */
const TRY_LATER = 75;

export interface Place {
  cwd: string;
  workspace: string | null;
  env: Record<string, string>;
  branch?: string;
  /** What a sandbox shows of the user's home in the engine's own. */
  shows?: readonly Shown[];
}

interface Execution {
  stdin: string;
  /** Its log is the trace of the attempt. */
  isTrace?: boolean;
  logPath: string;
  timeoutMs: number | undefined;
  reads?: readonly string[];
  isSecret?: boolean;
  onStdout?: (chunk: Buffer) => void;
  onStderr?: (chunk: Buffer) => void;
  stdoutPath?: string;
  noise?: string | null;
}

export class Attempt {
  readonly claim: Claim;
  readonly route: ReadyRoute;
  readonly #store: Store;
  readonly #host: WorkerHost;
  readonly #settings: AttemptSettings;
  #running: RunningHandler | null = null;
  #stopped: string | null = null;
  readonly #stopping = new AbortController();
  #head: string | undefined;
  #onUnproven: () => Promise<void> = async () => {};

  constructor(
    claim: Claim,
    route: ReadyRoute,
    store: Store,
    host: WorkerHost,
    settings: AttemptSettings,
  ) {
    this.claim = claim;
    this.route = route;
    this.#store = store;
    this.#host = host;
    this.#settings = settings;
  }

  get #id(): string {
    return this.claim.task.task_id;
  }

  get #ref() {
    return { id: this.#id, worker: this.claim.worker, token: this.claim.token };
  }

  /** Ends what runs, with its whole tree; the task is released. */
  stop(why: string): void {
    this.#stopped ??= why;
    this.#stopping.abort();
    void this.#running?.stop(why);
  }

  run(): Promise<AttemptEnd> {
    return this.#traced(async () => {
      if (this.route.engine) return this.#withSlot(this.route.engine);
      const place = await this.#prepare();
      return this.#conclude(place, await this.#handle(place));
    });
  }

  /** The slot is asked for at once: who claims more must see that it is taken. */
  async #withSlot(engine: EngineRoute): Promise<AttemptEnd> {
    let release: Release | undefined;
    try {
      const priority = priorityOf(this.claim.task);
      release = await this.#settings.slot?.({ priority, signal: this.#stopping.signal });
    } catch (error) {
      if (this.#stopped !== null) return this.#released(this.#stopped);
      // The gate cannot be used: no fault of the task.
      return this.#failed({ outcome: "rate_limited", note: sentence(error) });
    }
    try {
      return await this.#model(await this.#prepare(), engine, release);
    } finally {
      release?.();
    }
  }

  /** Only the proof: somebody else says that the work is done. */
  proveOnly(onUnproven: () => Promise<void>): Promise<AttemptEnd> {
    this.#onUnproven = onUnproven;
    return this.#traced(async () => this.#prove(await this.#prepare()));
  }

  async #traced(act: () => Promise<AttemptEnd>): Promise<AttemptEnd> {
    const begun = performance.now();
    let end: AttemptEnd;
    try {
      end = await act();
    } catch (error) {
      if (isVivError(error, "CLAIM_LOST")) end = { kind: "lost" };
      else if (isVivError(error, "READ_ONLY")) {
        end = await this.#failed({ outcome: "rate_limited", note: sentence(error) });
      } else end = await this.#failed({ outcome: "failed", note: sentence(error) });
    }
    this.#endLog(end, (performance.now() - begun) / 1000);
    return end;
  }

  #endLog(end: AttemptEnd, seconds: number): void {
    if (this.#head === undefined) return;
    const outcome = end.kind === "lost" ? "lost" : end.outcome;
    const note = end.kind === "lost" ? undefined : end.note;
    try {
      this.#host.evidence.endLog?.(
        this.#id,
        wasteFoot({ outcome, seconds, ...(note ? { note } : {}) }),
      );
    } catch {
      // A trace without its last line is still a trace; the ledger has how it ended.
    }
  }

  // 1.
  async #prepare(): Promise<Place> {
    const { task, worker, attempt } = this.claim;
    const { evidence } = this.#host;
    const workspace = this.route.workspace === "none" ? null : await this.#openWorkspace();
    const env = handlerEnv(this.route.env, {
      runDir: this.#store.location,
      id: task.task_id,
      type: task.task_type,
      worker,
      attempt,
      artifact: this.#isConfined
        ? evidence.artifactInside(this.#id)
        : evidence.artifactOf(this.#id),
      log: evidence.logOf(this.#id),
      workspace: workspace?.path ?? "",
      evidence: attempt > 1 ? evidence.newestBefore(this.#id, attempt) : "",
      note: attempt > 1 ? await this.#lastWord() : "",
      ...(this.#store.pit ? { food: this.#store.pit.claimPath(worker, task.task_id) } : {}),
    });
    return {
      cwd: workspace?.path ?? (this.#store.pit ? this.#store.location : this.#host.cwd),
      workspace: workspace?.path ?? null,
      env,
      ...(workspace?.branch ? { branch: workspace.branch } : {}),
    };
  }

  #openWorkspace(): ReturnType<WorkerHost["openWorkspace"]> {
    const { workspace, repository, base, folder } = this.route;
    return this.#host.openWorkspace({
      kind: workspace,
      root: join(this.#store.location, "workspaces"),
      id: this.#id,
      ...(repository ? { repository: resolve(folder, repository) } : {}),
      ...(base ? { base } : {}),
    });
  }

  /** What a person said when sending the task back. */
  async #lastWord(): Promise<string> {
    const history = (await this.#store.show(this.#id))?.history ?? [];
    for (const record of history.toReversed()) if (!isAttempt(record)) return record.note ?? "";
    return "";
  }

  // 2.
  async #handle(place: Place): Promise<Finished> {
    this.#beginLog();
    return this.#execute(place, this.route.handler, {
      stdin: `${canonicalJson(this.claim.task)}\n`,
      isTrace: true,
      logPath: this.#host.evidence.logOf(this.#id),
      timeoutMs: this.#timeoutMs(),
    });
  }

  #beginLog(): void {
    const { attempt, worker } = this.claim;
    try {
      this.#head = this.#host.evidence.beginLog?.({ id: this.#id, attempt, worker }).head;
    } catch (cause) {
      // Trouble of the pit, and no fault of the food.
      throw new VivError("READ_ONLY", `no trace can be kept: ${sentence(cause)}`, {}, { cause });
    }
  }

  /** The same with an engine: what the model did decides what follows. */
  async #model(bare: Place, engine: EngineRoute, release?: Release): Promise<AttemptEnd> {
    const { evidence } = this.#host;
    const place = await this.#atHome(bare, engine);
    const before = evidence.markArtifact(this.#id);
    this.#beginLog();
    const { end, finished, result } = await runModel({
      claim: this.claim,
      route: engine,
      place,
      host: this.#host,
      store: this.#store,
      settings: this.#settings,
      folder: this.route.folder,
      isConfined: this.#isConfined,
      execute: (argv, stdin, more) =>
        this.#execute({ ...place, env: { ...place.env, ...more.env } }, argv, {
          stdin,
          isTrace: true,
          logPath: evidence.logOf(this.#id),
          timeoutMs: this.#timeoutMs(),
          reads: more.reads,
          isSecret: more.isSecret,
          onStdout: more.onStdout,
          onStderr: more.onStderr,
          stdoutPath: evidence.streamOf(this.#id),
          noise: more.noise,
        }),
      // At once: who is asked first may go on spending for as long as it takes to answer.
      stop: (why) => void this.#running?.stop(why, true),
      log: (text) => this.#running?.note(text),
    });
    release?.(); // the proof is no model's work
    if (this.#stopped !== null || end.kind === "ended") return this.#conclude(place, finished);
    if (finished.survivors.length > 0) return this.#stuck(finished);
    if (end.kind === "released") return this.#released(end.note);
    if (end.kind === "limited") {
      const { note, retryAt } = end;
      return this.#failed({ outcome: "rate_limited", note, ...(retryAt ? { retryAt } : {}) });
    }
    if (end.kind === "failed") {
      const { exit, signal } = finished;
      const tail = end.report.note;
      const print = fingerprint({ outcome: "failed", exit, signal, tail });
      return this.#failed({ ...end.report, fingerprint: print }, finished);
    }
    if (result.text !== "") {
      evidence.writeArtifact(this.#id, `${result.text.trimEnd()}\n`, before);
    }
    return this.#prove(place, end.note);
  }

  /** In a sandbox, an engine that keeps its state in the user's home has one of its own. */
  async #atHome(place: Place, { name }: EngineRoute): Promise<Place> {
    if (!this.#isConfined) return place;
    const { evidence } = this.#host;
    const { home: homeOf } = await this.#host.engine(name);
    if (homeOf === undefined) return place;
    const home = homeOf(evidence.sessionsOf(this.#id), place.env);
    evidence.makeFolders(this.#id, home.folders);
    return { ...place, env: { ...place.env, ...home.env }, shows: home.shows };
  }

  #timeoutMs(): number | undefined {
    const own = this.claim.task.timeout;
    if (own !== undefined) return parseDuration(own, "timeout");
    return this.route.timeoutMs ?? this.#settings.timeoutMs;
  }

  async #execute(place: Place, argv: readonly string[], how: Execution): Promise<Finished> {
    const { handlers } = this.#host;
    const command = this.#isConfined ? await this.#confined(place, argv, how.reads) : argv;
    // Asked to stop while it was being prepared: then it is not started at all.
    if (this.#stopped !== null) return notStarted(this.#stopped);
    const claim = `${this.#id}.${this.claim.token}@${this.#store.location}`;
    // Before it starts, so that from its first moment others can find it by its mark, whatever
    // becomes of us; and again with its number, which also finds what lost the mark.
    await this.#store.noteProcess(this.#ref, { pid: 0, started: "0", claim });
    const running = handlers.start({
      argv: command,
      cwd: place.cwd,
      env: place.env,
      stdin: how.stdin,
      claim,
      logPath: how.logPath,
      logBytes: this.#settings.logBytes,
      ...(how.timeoutMs === undefined ? {} : { timeoutMs: how.timeoutMs }),
      ...(how.isSecret ? { isSecret: true } : {}),
      ...(how.onStdout ? { onStdout: how.onStdout } : {}),
      ...(how.onStderr ? { onStderr: how.onStderr } : {}),
      ...(how.stdoutPath ? { stdoutPath: how.stdoutPath } : {}),
      ...(how.noise ? { noise: how.noise } : {}),
      killAfterMs: this.#settings.killAfterMs,
    });
    this.#running = running;
    if (this.#head !== undefined && how.isTrace) running.note(`${this.#head}\n`);
    try {
      if (running.ref !== null) {
        const { pid, started } = running.ref;
        await this.#store.noteProcess(this.#ref, { pid, started, claim });
      }
    } catch (error) {
      // Without the note nobody else could end this tree: then it must not run.
      await running.stop("the claim is gone");
      throw error;
    } finally {
      if (this.#stopped !== null) void running.stop(this.#stopped);
    }
    const finished = await running.finished;
    this.#running = null;
    if (this.#isConfined) this.#host.evidence.leave(this.#id);
    // What could not be ended stays noted: `viv retry` waits for it.
    if (finished.survivors.length === 0) {
      await this.#store.forgetProcess(this.#id, this.claim.token);
    }
    return finished;
  }

  get #isConfined(): boolean {
    return this.route.sandbox.length > 0;
  }

  /** Of the run it sees its own files, the task, and what those before it have made. */
  #confined(place: Place, argv: readonly string[], more: readonly string[] = []) {
    const { task } = this.claim;
    const { writes, reads } = this.#host.evidence.enter(this.#id, task.depends_on.filter(isName));
    const { VIV_FOOD: food } = place.env;
    return this.#host.sandboxed(argv, {
      restrictions: this.route.sandbox,
      runDir: this.#store.location,
      workspace: place.workspace,
      artifacts: writes,
      hidden: [],
      reads: [...reads, ...(food ? [food] : []), ...more],
      ...(place.shows ? { shows: place.shows } : {}),
      cwd: place.cwd,
    });
  }

  // 3. and 4.
  async #conclude(place: Place, finished: Finished): Promise<AttemptEnd> {
    const { cause, exit } = finished;
    if (finished.survivors.length > 0) return this.#stuck(finished);
    if (cause === "stopped") return this.#released(finished.why ?? "the worker stops");
    if (cause === "unstartable" && MAY_PASS.includes(finished.code ?? "")) {
      return this.#failed({ outcome: "rate_limited", note: finished.error ?? "" });
    }
    if (cause === "unstartable") {
      return this.#failed({ outcome: "failed", note: finished.error ?? "", final: true });
    }
    if (cause === "timed_out") return this.#failed(this.#report("timed_out", finished), finished);
    if (exit === TRY_LATER) {
      return this.#failed({ outcome: "rate_limited", note: said("try again later", finished) });
    }
    if (exit !== 0) return this.#failed(this.#report("failed", finished), finished);
    return this.#prove(place);
  }

  async #prove(place: Place, note?: string): Promise<AttemptEnd> {
    const command = (await this.#doneWhen()) ?? this.route.doneWhen;
    if (command !== undefined && command !== null) {
      const finished = await this.#execute(place, ["/bin/sh", "-c", command], {
        stdin: "",
        logPath: this.#host.evidence.proofLogOf(this.#id),
        timeoutMs: this.route.doneWhenTimeoutMs ?? DONE_WHEN_TIMEOUT_MS,
      });
      if (finished.survivors.length > 0) return this.#stuck(finished);
      if (finished.cause === "stopped") return this.#released(finished.why ?? "the worker stops");
      const proof = this.#proofOf(command, finished);
      this.#host.evidence.writeProof(this.#id, proof);
      if (finished.exit !== 0) {
        await this.#onUnproven();
        return this.#failed(this.#report("unproven", finished), finished, proof);
      }
    }
    if (place.branch !== undefined && place.workspace !== null) {
      const { task_id, task_type } = this.claim.task;
      await this.#host.commitWorkspace(place.workspace, `${task_type}: ${task_id}`);
    }
    const how = { ...(this.route.review ? { review: true } : {}), ...(note ? { note } : {}) };
    const complete = () => this.#store.complete(this.#ref, { inBackground: true, ...how });
    return this.#end("done", complete, note);
  }

  /** In a pit, food may still have been being written when it was claimed: what counts is there now. */
  async #doneWhen(): Promise<string | undefined> {
    const { done_when: known } = this.claim.task;
    if (this.#store.pit === null) return known;
    return (await this.#store.pit.readClaimed(this.claim.worker, this.#id))?.done_when ?? known;
  }

  #proofOf(command: string, finished: Finished): Proof {
    return {
      attempt: this.claim.attempt,
      command,
      exit: finished.exit,
      signal: finished.signal,
      timed_out: finished.cause === "timed_out",
      duration_ms: Math.round(finished.durationMs),
      at: new Date().toISOString(),
      output: finished.error ?? finished.tail,
      dropped: finished.dropped,
    };
  }

  #report(
    outcome: "failed" | "unproven" | "timed_out",
    finished: Finished,
  ): FailureReport & { outcome: string; note: string } {
    const { exit, signal, tail } = finished;
    return {
      outcome,
      note: said(describe(finished), finished),
      fingerprint: fingerprint({ outcome, exit, signal, tail }),
    };
  }

  async #failed(
    report: FailureReport & { outcome: string; note: string },
    finished?: Finished,
    proof?: Proof,
  ): Promise<AttemptEnd> {
    const { maxAttempts, backoffMs } = this.route;
    if (finished) this.#keepEvidence(report, proof);
    return this.#end(
      report.outcome,
      () =>
        this.#store.fail(this.#ref, {
          ...report,
          ...(maxAttempts === undefined ? {} : { maxAttempts }),
          ...(backoffMs === undefined ? {} : { backoffMs }),
        }),
      report.note,
    );
  }

  /** For people and for the next attempt. That it cannot be kept must not hide what it is about. */
  #keepEvidence(report: { outcome: string; note: string }, proof: Proof | undefined): void {
    const { evidence } = this.#host;
    const { attempt, worker } = this.claim;
    const { outcome, note } = report;
    const log = proof ? evidence.proofLogOf(this.#id) : evidence.logOf(this.#id);
    const at = new Date().toISOString();
    try {
      const what = { attempt, worker, outcome, note, at, ...(proof ? { proof } : {}) };
      evidence.keep(this.#id, what, log);
    } catch (error) {
      report.note = `${note} (its evidence could not be kept: ${sentence(error)})`;
    }
  }

  #released(why: string): Promise<AttemptEnd> {
    return this.#end("released", () => this.#store.release(this.#ref, { note: why }), why);
  }

  /** Somebody would have to share the workspace with what will not die: better nobody gets it. */
  #stuck({ survivors }: Finished): Promise<AttemptEnd> {
    const note = `its processes ${survivors.join(", ")} cannot be ended; end them, then: viv retry ${this.#id}`;
    return this.#failed({ outcome: "failed", note, final: true });
  }

  /**
   * The work is done and only its record is missing. Whatever keeps us from writing it (a full disk,
   * too many open files) is waited for: a claim that nobody works on and nobody gives up would stay
   * where it is for as long as this worker lives.
   */
  async #end(outcome: string, act: () => Promise<Ended>, note?: string): Promise<AttemptEnd> {
    if (this.#settings.onIdle) {
      this.#settings.onIdle(this.claim);
      await setImmediate(); // so that the next handler starts first, and runs meanwhile
    }
    for (let delay = FIRST_DELAY_MS; ; delay = Math.min(30_000, 2 * delay)) {
      try {
        const ended = await act();
        return { kind: "ended", outcome, ended, ...(note ? { note } : {}) };
      } catch (error) {
        if (isVivError(error, "CLAIM_LOST")) return { kind: "lost" };
        if (this.#stopped !== null || isVivError(error, "RUN_NOT_FOUND")) throw error;
        if (delay === FIRST_DELAY_MS) this.#settings.onTrouble?.(this.claim, error);
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
  }
}

function notStarted(why: string): Finished {
  return {
    cause: "stopped",
    why,
    exit: null,
    signal: null,
    durationMs: 0,
    tail: "",
    dropped: 0,
    survivors: [],
  };
}

/** The limit, and not how long it ran: ending it may have taken its time as well. */
function describe({ exit, signal, error, cause, limitMs }: Finished): string {
  if (cause === "timed_out") return `not finished after ${formatTook(limitMs ?? 0)}`;
  return error ?? (signal ? `ended by ${signal}` : `exit ${exit}`);
}

/** The note of a failure: how it ended and its last words. */
function said(how: string, finished: Finished): string {
  const [last] = tellingLines(finished.tail, 1);
  return (last === undefined ? how : `${how}: ${last}`).slice(0, 500);
}

function sentence(error: unknown): string {
  return error instanceof VivError || error instanceof Error ? error.message : String(error);
}

/** `./x.sh` is beside the file that names it; a plain name is looked for in PATH. */
export function resolveHandler(argv: readonly string[], folder: string): string[] {
  const [program = "", ...rest] = argv;
  return [basename(program) === program ? program : resolve(folder, program), ...rest];
}
