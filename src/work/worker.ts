import { isVivError, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { ClosedTypes } from "../engines/accounts/closed-types.ts";
import type { EngineSlots } from "../engines/engine-slots.ts";
import type { Release } from "../gate/gate.ts";
import { MachineRetry, pause } from "../platform/machine-retry.ts";
import { Reaper } from "../queue/reaper.ts";
import type { Claim, ClaimRequest, ReapReport, Registration, Store } from "../queue/store.ts";
import { Attempt, type AttemptEnd, type AttemptSettings, type ReadyRoute } from "./attempt.ts";
import { isDrained } from "./drained.ts";
import type { WorkerHost } from "./host.ts";

/**
 * A worker claims tasks and runs an attempt for each, several at a time if it may. Modes:
 *   standing   until `stop`
 *   maxTasks   until so many attempts were made
 *   drain      until nothing is left that it could do, now or by waiting
 * `stop`: it claims nothing more and finishes what runs, at most for the grace. `stopNow`: it ends what
 * runs and releases it at once, and leaves what cannot be recorded.
 */
export interface WorkerOptions extends AttemptSettings {
  worker: string;
  /** A name for each slot, where a layout allows one claim per name. */
  slotNames?: readonly string[];
  /** Null: any type that has a route. */
  types: readonly string[] | null;
  routeFor(type: string): ReadyRoute | undefined;
  concurrency: number;
  maxTasks?: number;
  /** swarm-lib's count: each task and each empty poll is one. */
  maxLooks?: number;
  drain?: boolean;
  graceMs?: number;
  /** How long to sleep at most before looking again without having been woken. */
  pollMs: number;
  heartbeatMs: number;
  reapEveryMs: number;
  reviewLimit?: number;
  /** Asked before each claim: what must be left alone while its account is closed. */
  closedTypes?: () => ClosedTypes;
  /** Where attempts with an engine get their slots of the machine's gate. */
  slots?: EngineSlots;
  /** Done before each claim: what `closedTypes` must know. */
  beforeClaim?: () => Promise<void>;
  /** What dead workers held was taken back. */
  onReaped?: (report: ReapReport) => void;
  /** No more than so many at a time: the budget has room for them. */
  mostAtOnce?: () => number;
  onEvent?: (event: WorkerEvent) => void;
}

export type WorkerEvent =
  | { kind: "started"; worker: string; types: readonly string[] | null }
  | { kind: "claimed"; claim: Claim }
  | { kind: "ended"; claim: Claim; end: AttemptEnd; durationMs: number }
  | { kind: "trouble"; error: unknown; claim?: Claim }
  /** Why it leaves some types alone, when that changes. No reasons: none any more. */
  | { kind: "held"; reasons: readonly string[] }
  /** A result that was made by hand was looked at. */
  | { kind: "proven"; result: ProvenResult }
  | { kind: "stopping"; running: number };

/** Of a layout in which work can be done by hand: what came of the proof. */
export interface ProvenResult {
  id: string;
  /** The worker that was last seen with the task. */
  snake: string | null;
  end: AttemptEnd;
  /** The new name of a result that was not borne out. */
  unproven?: string;
}

export interface WorkerReport {
  attempts: number;
  done: number;
  /** Attempts that ended in another way. */
  other: number;
}

const LOOK_AFTER_CLAIMS_MS = 2_000;

export class Worker {
  readonly #store: Store;
  readonly #host: WorkerHost;
  readonly #options: WorkerOptions;
  readonly #settings: AttemptSettings;
  readonly #running = new Map<string, Attempt>();
  /** Those of them whose handlers run; the others are only being recorded. */
  readonly #busy = new Set<string>();
  readonly #report: WorkerReport = { attempts: 0, done: 0, other: 0 };
  #looks = 0;
  #held = "";
  /** The slot in hand when it last claimed. */
  #offered: Release | undefined;
  /** Claims in a row that went wrong. */
  #failedClaims = 0;
  #isStopping = false;
  #wake: () => void = () => {};
  #grace: NodeJS.Timeout | undefined;

  constructor(store: Store, host: WorkerHost, options: WorkerOptions) {
    this.#store = store;
    this.#host = host;
    this.#options = options;
    const onIdle = (claim: Claim) => {
      this.#busy.delete(keyOf(claim));
      this.#wake();
    };
    // With a limit for review, what was recorded last decides whether there may be a next one.
    const early = options.reviewLimit === undefined ? { onIdle } : {};
    const onError = (claim: Claim, error: unknown) => {
      this.#emit({ kind: "trouble", error, claim });
    };
    const { slots } = options;
    const slot = slots ? { slot: slots.take } : {};
    this.#settings = { ...options, ...early, ...slot, onError };
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#emit({ kind: "stopping", running: this.#running.size });
    const { graceMs } = this.#options;
    if (graceMs !== undefined) {
      this.#grace = setTimeout(() => this.#endRunning(), Math.min(graceMs, 2 ** 31 - 1));
    }
    this.#wake();
  }

  stopNow(): void {
    this.stop();
    this.#endRunning();
    for (const attempt of this.#running.values()) attempt.leave();
  }

  #endRunning(): void {
    for (const attempt of this.#running.values()) attempt.stop("the worker was stopped");
  }

  /** Works until its mode is fulfilled or it is stopped, and what it began has ended. */
  async run(): Promise<WorkerReport> {
    const beside = this.#host.beside?.(this.#store, this.#host, this.#options);
    beside?.start();
    try {
      return await this.#work();
    } finally {
      await beside?.stop();
    }
  }

  async #work(): Promise<WorkerReport> {
    const { worker, types, heartbeatMs, reapEveryMs } = this.#options;
    const reaper = new Reaper(this.#store, {
      everyMs: reapEveryMs,
      onError: (error) => this.#emit({ kind: "trouble", error }),
      onReaped: this.#options.onReaped,
    });
    const held: Registration[] = [];
    try {
      for (const name of this.#options.slotNames ?? [worker]) {
        const onMissedBeat = () => reaper.doubt();
        const options = { types: types ?? undefined, heartbeatMs, onMissedBeat };
        held.push(await this.#store.register(name, options));
      }
    } catch (error) {
      for (const registration of held) await registration.release();
      throw error;
    }
    reaper.start();
    const rounds = setInterval(() => void this.#lookAfterClaims(), LOOK_AFTER_CLAIMS_MS);
    for (const name of this.#options.slotNames ?? [worker]) {
      this.#emit({ kind: "started", worker: name, types });
    }
    try {
      await this.#emitLimits();
      while (!this.#isStopping && !this.#isFulfilled) {
        const claims = await this.#claim();
        for (const claim of claims) this.#begin(claim);
        this.#looks += Math.max(1, claims.length);
        if (claims.length === 0 && (await this.#isDrained())) break;
        if (claims.length === 0 || this.#free === 0) await this.#sleep();
      }
      this.#options.slots?.leave();
      while (this.#running.size > 0) await this.#someEnd();
    } finally {
      this.#options.slots?.leave();
      clearTimeout(this.#grace);
      clearInterval(rounds);
      await reaper.stop();
      for (const registration of held) await registration.release();
    }
    return this.#report;
  }

  /** A process that could not be ended here is reported before anything is started. */
  async #emitLimits(): Promise<void> {
    const problem = await this.#host.handlers?.ready?.();
    if (problem) this.#emit({ kind: "trouble", error: new VivError("UNSUPPORTED", problem) });
  }

  get #free(): number {
    const { concurrency, maxTasks = Number.POSITIVE_INFINITY } = this.#options;
    const left = maxTasks - this.#report.attempts - this.#running.size;
    const slots = this.#options.slotNames
      ? this.#idleNames.length
      : Math.min(concurrency - this.#busy.size, 2 * concurrency - this.#running.size);
    return Math.max(0, Math.min(slots, left));
  }

  /** At a time no more than there are slots for, since each of them may need one. */
  get #most(): number {
    const { slots, mostAtOnce } = this.#options;
    const room = slots?.room() || Number.POSITIVE_INFINITY;
    return Math.min(this.#free, room, mostAtOnce?.() ?? Number.POSITIVE_INFINITY);
  }

  get #isFulfilled(): boolean {
    const { maxTasks = Number.POSITIVE_INFINITY, maxLooks = Number.POSITIVE_INFINITY } =
      this.#options;
    return this.#report.attempts >= maxTasks || this.#looks >= maxLooks;
  }

  /** Asked only when a claim found nothing: it looks at more than a claim does. */
  async #isDrained(): Promise<boolean> {
    const { drain, types, reviewLimit } = this.#options;
    if (!drain || this.#running.size > 0 || this.#failedClaims > 0) return false;
    const closed = this.#options.closedTypes?.();
    const waitsForPeople = closed?.waitsForPeople;
    return isDrained(this.#store, types, { reviewLimit, waitsForPeople });
  }

  async #claim(): Promise<Claim[]> {
    const { worker, reviewLimit } = this.#options;
    if (this.#free === 0) return [];
    try {
      await this.#options.beforeClaim?.();
      this.#offered = this.#options.slots?.inHand();
      const closed = this.#options.closedTypes?.();
      if (closed) this.#emitHeld(closed.reasons);
      if (closed?.all) return [];
      const claims = await this.#claimFor(worker, { ...this.#wanted(closed), reviewLimit });
      this.#failedClaims = 0;
      return claims;
    } catch (error) {
      // A full disk, a run that is not there for a moment: it may pass.
      this.#emit({ kind: "trouble", error });
      if (isVivError(error, "RUN_NOT_FOUND") || isVivError(error, "INVALID")) throw error;
      this.#failedClaims++;
      return [];
    }
  }

  async #claimFor(worker: string, request: Omit<ClaimRequest, "worker">): Promise<Claim[]> {
    if (this.#options.slotNames === undefined) {
      return this.#store.claim({ ...request, worker, max: this.#most });
    }
    const claims: Claim[] = [];
    const most = this.#most;
    for (const name of this.#idleNames) {
      if (claims.length >= most) break;
      // Nothing for one name does not mean nothing for the next: it may have choked on what is there.
      claims.push(...(await this.#store.claim({ ...request, worker: name, max: 1 })));
    }
    return claims;
  }

  get #idleNames(): string[] {
    const busy = new Set([...this.#running.values()].map(({ claim }) => claim.worker));
    return (this.#options.slotNames ?? []).filter((name) => !busy.has(name));
  }

  #emitHeld(reasons: readonly string[]): void {
    const text = reasons.map((reason) => reason.replace(/ \(in [^)]*\)/, "")).join("\n");
    if (text === this.#held) return;
    this.#held = text;
    this.#emit({ kind: "held", reasons });
  }

  #wanted(closed: ClosedTypes | undefined): Pick<ClaimRequest, "types" | "exceptTypes"> {
    const types = closed?.only ?? this.#options.types;
    return {
      types: types ?? undefined,
      exceptTypes: closed && closed.types.length > 0 ? closed.types : undefined,
    };
  }

  #begin(claim: Claim): void {
    const route = this.#options.routeFor(claim.task.task_type);
    const begun = performance.now();
    this.#emit({ kind: "claimed", claim });
    if (route === undefined) {
      // Only a type that is claimed without asking for it can come here: give it back.
      const onError = (error: unknown) => this.#emit({ kind: "trouble", error, claim });
      const retry = new MachineRetry(onError, this.#options.pause);
      retry
        .untilDone(() => this.#store.release({ ...claim, id: claim.task.task_id }))
        .catch(onError);
      return;
    }
    const key = keyOf(claim);
    const attempt = new Attempt(claim, route, this.#store, this.#host, this.#settings);
    this.#running.set(key, attempt);
    this.#busy.add(key);
    attempt
      .run()
      .then((end) => {
        if (end.kind === "ended" && end.outcome === "done") this.#report.done++;
        else this.#report.other++;
        this.#emit({ kind: "ended", claim, end, durationMs: performance.now() - begun });
      })
      .catch((error) => {
        this.#report.other++;
        this.#emit({ kind: "trouble", error, claim });
      })
      .finally(() => {
        this.#report.attempts++;
        this.#running.delete(key);
        this.#busy.delete(key);
        this.#wake();
      });
  }

  /**
   * A handler whose task was cancelled on another host, or taken away by hand, must not go on beside
   * the next one. What it ended itself (`viv complete`) it may finish in peace.
   */
  async #lookAfterClaims(): Promise<void> {
    for (const key of [...this.#busy]) {
      const attempt = this.#running.get(key);
      if (attempt === undefined) continue;
      const { task, worker } = attempt.claim;
      const view = await this.#store.show(task.task_id).catch(() => undefined);
      if (view === undefined) continue; // could not be read: no reason to end anything
      const isOurs = view?.state === "claimed" && view.worker === worker;
      const isOver = view?.state === "done" || view?.state === "review";
      if (!isOurs && !isOver && this.#busy.has(key)) attempt.stop("the claim is gone");
    }
  }

  /** Until there may be work, an attempt has ended, or `stop` is called. */
  async #sleep(): Promise<void> {
    const { pollMs, reviewLimit } = this.#options;
    if (this.#isStopping) return;
    const { slots } = this.#options;
    if (this.#free === 0) {
      slots?.leave();
      return this.#someEnd();
    }
    if (slots?.inHand() !== this.#offered) return; // it came too late for the last claim
    slots?.giveBack();
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    // There is work that cannot be claimed: waking at once would be a busy loop.
    if (this.#failedClaims > 0) {
      const ms = growingPause(this.#failedClaims, { first: 1_000, longest: 30_000 });
      return pause(ms, woken.signal);
    }
    const closed = this.#options.closedTypes?.();
    if (closed) await this.#standInLine(closed, () => woken.abort());
    const timeoutMs = Math.min(pollMs, closed?.nextOpenMs ?? pollMs);
    if (closed?.all) return pause(timeoutMs, woken.signal);
    try {
      await this.#store.waitForWork({
        timeoutMs,
        worker: this.#idleNames[0] ?? this.#options.worker,
        signal: woken.signal,
        ...this.#wanted(closed),
        reviewLimit,
      });
    } catch (error) {
      this.#emit({ kind: "trouble", error });
      await pause(1_000, woken.signal);
    }
  }

  /**
   * While the gate is full nothing with an engine is claimed. A worker that came only when it is not would
   * always find others in line before it: so it queues as well, if there is something to claim.
   */
  async #standInLine(closed: ClosedTypes, onSlot: () => void): Promise<void> {
    const { slots, types } = this.#options;
    if (slots === undefined || slots.room() !== 0) return;
    try {
      for await (const { type } of this.#store.list({
        states: ["pending"],
        types: types ?? undefined,
      })) {
        if (type === null || !closed.waitsAtGate(type)) continue;
        return slots.standInLine(onSlot);
      }
    } catch (error) {
      this.#emit({ kind: "trouble", error });
    }
  }

  async #someEnd(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #emit(event: WorkerEvent): void {
    this.#options.onEvent?.(event);
  }
}

function keyOf({ token, task }: Claim): string {
  return `${token} ${task.task_id}`;
}
