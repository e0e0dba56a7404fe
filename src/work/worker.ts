import { isVivError, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import type { ClosedTypes } from "../engines/accounts/closed-types.ts";
import type { Release } from "../gate/gate.ts";
import { MachineRetry, pause } from "../platform/machine-retry.ts";
import { pauseLine, workerPauseLine } from "../queue/pause-line.ts";
import { Reaper } from "../queue/reaper.ts";
import type { Claim, ClaimRequest, Registration, Store } from "../queue/store.ts";
import { Attempt, type AttemptSettings, type ReadyRoute } from "./attempt.ts";
import { isDrained } from "./drained.ts";
import type { WorkerHost } from "./host.ts";
import { heartbeatNote } from "./remark.ts";
import type { Beside, WorkerEvent, WorkerOptions, WorkerReport } from "./worker-options.ts";

const CHECK_CLAIMS_EVERY_MS = 2_000;

/**
 * A worker claims tasks and runs an attempt for each, up to `concurrency` at a time. Modes:
 *   standing   until `stop`
 *   maxTasks   until so many attempts were made
 *   drain      until nothing is left that it could do, now or by waiting
 * `stop` ends claiming and waits for running attempts, at most for the grace. `stopNow` ends and
 * releases them at once, and gives up ends that cannot be recorded.
 */
export class Worker {
  readonly #store: Store;
  readonly #host: WorkerHost;
  #options: WorkerOptions;
  #settings: AttemptSettings;
  readonly #running = new Map<string, Pick<Attempt, "claim" | "stop" | "leave">>();
  /** Those of them whose handlers run; of the others only the end is being recorded. */
  readonly #busy = new Set<string>();
  readonly #report: WorkerReport = { attempts: 0, done: 0, review: 0, other: 0 };
  readonly #registrations: Registration[] = [];
  /** At the last look. */
  readonly #pausedNames = new Set<string>();
  #isPaused = false;
  #held = "";
  #remark = "";
  /** The slot in hand at the last claim. */
  #offered: Release | undefined;
  /** Claims in a row that failed. */
  #failedClaims = 0;
  #isStopping = false;
  #gone: VivError | undefined;
  #wake: () => void = () => {};
  #grace: NodeJS.Timeout | undefined;
  #beside: Beside | undefined;

  constructor(store: Store, host: WorkerHost, options: WorkerOptions) {
    this.#store = store;
    this.#host = host;
    this.#options = options;
    this.#settings = this.#settingsOf(options);
  }

  #settingsOf(options: WorkerOptions): AttemptSettings {
    const onIdle = (claim: Claim) => {
      this.#busy.delete(keyOf(claim));
      this.#wake();
    };
    return {
      ...options,
      // With a review limit, the end must be recorded before the next claim.
      onIdle: options.reviewLimit === undefined ? onIdle : undefined,
      slot: options.slots?.take,
      onError: (claim, error) => this.#emitError(error, claim),
    };
  }

  /** Other settings, from the next claim on: running attempts keep theirs. */
  update(options: WorkerOptions): void {
    const { types } = this.#options;
    this.#options = options;
    this.#settings = this.#settingsOf(options);
    if (types?.join() !== options.types?.join()) {
      for (const registration of this.#registrations) registration.take(options.types);
    }
    this.#beside?.update?.();
    this.#wake();
  }

  /** A sentence that the heartbeats carry until it is taken back with "". */
  remark(text: string): void {
    if (text === this.#remark) return;
    this.#remark = text;
    this.#noteTasks({ atOnce: true });
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

  /** Works until its mode is fulfilled or it is stopped, and all its attempts have ended. */
  async run(): Promise<WorkerReport> {
    // Its routes and its viv.toml are those of the moment, also after an update.
    const now = () => this.#options;
    const options: WorkerOptions = {
      ...now(),
      routeFor: (type) => now().routeFor(type),
      get config() {
        return now().config;
      },
    };
    this.#beside = await this.#host.beside?.(this.#store, this.#host, options);
    try {
      return await this.#work();
    } finally {
      await this.#beside?.stop();
    }
  }

  async #work(): Promise<WorkerReport> {
    const { types, heartbeatMs, reapEveryMs, onReaped, slots } = this.#options;
    const names = this.#names;
    const onError = (error: unknown) => this.#emitError(error);
    const reaper = new Reaper(this.#store, { everyMs: reapEveryMs, onError, onReaped });
    const held = this.#registrations;
    let claimCheck: NodeJS.Timeout | undefined;
    try {
      for (const name of names) {
        const onMissedBeat = () => reaper.doubt();
        const options = { types: types ?? undefined, heartbeatMs, onMissedBeat };
        held.push(await this.#store.register(name, options));
      }
      reaper.start();
      claimCheck = setInterval(() => void this.#checkClaims(), CHECK_CLAIMS_EVERY_MS);
      for (const name of names) this.#emit({ kind: "started", worker: name, types });
      // Processes that could not be ended here are reported before any is started.
      const problem = await this.#host.handlers?.ready?.();
      if (problem) this.#emitError(new VivError("UNSUPPORTED", problem));
      while (!this.#isStopping && !this.#isFulfilled) {
        const claims = await this.#claim();
        for (const claim of claims) {
          await this.#earlierEnd(claim);
          this.#begin(claim);
        }
        if (claims.length === 0 && (await this.#isDrained())) break;
        if (claims.length === 0 || this.#free === 0) await this.#sleep();
      }
      slots?.leave();
      while (this.#running.size > 0) await this.#someEnd();
      if (this.#gone !== undefined) throw this.#gone;
      if (!this.#isStopping) await this.#beside?.settle?.();
    } finally {
      slots?.leave();
      clearTimeout(this.#grace);
      clearInterval(claimCheck);
      await reaper.stop();
      for (const registration of held) await registration.release();
    }
    return this.#report;
  }

  get #free(): number {
    const { concurrency, maxTasks = Number.POSITIVE_INFINITY } = this.#options;
    const left = maxTasks - this.#report.attempts - this.#running.size;
    const slots = this.#options.slotNames
      ? this.#idleNames.length
      : Math.min(concurrency - this.#busy.size, 2 * concurrency - this.#running.size);
    return Math.max(0, Math.min(slots, left));
  }

  /** No more than the gate has slots for, since each claim may need one. */
  get #most(): number {
    const { slots, mostAtOnce } = this.#options;
    const room = slots?.room() || Number.POSITIVE_INFINITY;
    return Math.min(this.#free, room, mostAtOnce?.() ?? Number.POSITIVE_INFINITY);
  }

  get #isFulfilled(): boolean {
    return this.#report.attempts >= (this.#options.maxTasks ?? Number.POSITIVE_INFINITY);
  }

  /** Called only when a claim found nothing: it reads more than a claim does. */
  async #isDrained(): Promise<boolean> {
    const { drain, types, reviewLimit, closedTypes } = this.#options;
    if (!drain || this.#running.size > 0 || this.#failedClaims > 0) return false;
    const waitsForPeople = closedTypes?.().waitsForPeople;
    // As with a paused run: what is left waits for a person. The reason was told as `held`.
    if (this.#isPaused && this.#pausedNames.size > 0) return true;
    const look = () => isDrained(this.#store, types, { reviewLimit, waitsForPeople });
    const isOver = await look();
    if (!isOver || this.#beside?.settle === undefined) return isOver;
    await this.#beside.settle(); // it may send tasks back
    return look();
  }

  async #claim(): Promise<Claim[]> {
    const { worker, reviewLimit, beforeClaim, slots, closedTypes, slotNames } = this.#options;
    if (this.#free === 0) return [];
    try {
      await beforeClaim?.();
      this.#offered = slots?.inHand();
      const closed = closedTypes?.();
      const pauses = await this.#pauses();
      this.#emitHeld([...(closed?.reasons ?? []), ...pauses]);
      if (closed?.all || this.#isPaused) return [];
      const most = this.#most;
      const request = { ...this.#wanted(closed), reviewLimit };
      const claims: Claim[] = [];
      if (slotNames === undefined) {
        claims.push(...(await this.#store.claim({ ...request, worker, max: most })));
      } else {
        // Nothing for one name does not mean nothing for the next: the first may have choked on it.
        for (const name of this.#claimingNames) {
          if (claims.length >= most) break;
          claims.push(...(await this.#store.claim({ ...request, worker: name, max: 1 })));
        }
      }
      this.#failedClaims = 0;
      return claims;
    } catch (error) {
      // A full disk, a run that is unreachable for a moment: it may pass.
      this.#emitError(error);
      if (isVivError(error, "INVALID")) throw error;
      if (isVivError(error, "RUN_NOT_FOUND") && this.#failedClaims > 0) {
        // Still gone at the second look, so it was removed: its handlers end too, and there is
        // nothing to record their ends in.
        this.#gone = error;
        this.stopNow();
      }
      this.#failedClaims++;
      return [];
    }
  }

  /** Of the run, and of those names that are paused by themselves. */
  async #pauses(): Promise<string[]> {
    const paused = await this.#store.paused();
    const lines = paused === null ? [] : [`the run is ${pauseLine(paused)}`];
    this.#pausedNames.clear();
    for (const name of this.#names) {
      const own = await this.#store.paused(name);
      if (own === null) continue;
      this.#pausedNames.add(name);
      lines.push(workerPauseLine(name, own));
    }
    this.#isPaused = paused !== null || this.#pausedNames.size === this.#names.length;
    return lines;
  }

  get #names(): readonly string[] {
    return this.#options.slotNames ?? [this.#options.worker];
  }

  /** Without a task. A paused one too: or nothing would look whether it is resumed. */
  get #idleNames(): string[] {
    const busy = new Set([...this.#running.values()].map(({ claim }) => claim.worker));
    return (this.#options.slotNames ?? []).filter((name) => !busy.has(name));
  }

  get #claimingNames(): string[] {
    return this.#idleNames.filter((name) => !this.#pausedNames.has(name));
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

  /** The end of its attempt before, here too, is recorded; it is told before the next begins. */
  async #earlierEnd({ task }: Claim): Promise<void> {
    const isSame = ({ claim }: { claim: Claim }) => claim.task.task_id === task.task_id;
    while ([...this.#running.values()].some(isSame)) await this.#someEnd();
  }

  #begin(claim: Claim): void {
    const key = keyOf(claim);
    const route = this.#options.routeFor(claim.task.task_type);
    this.#emit({ kind: "claimed", claim });
    const ended = route === undefined ? this.#giveBack(claim) : this.#attempt(claim, route);
    this.#noteTasks();
    ended
      .catch((error) => this.#emitError(error, claim))
      .finally(() => {
        this.#running.delete(key);
        this.#busy.delete(key);
        this.#noteTasks();
        this.#wake();
      });
  }

  /** The next heartbeats name the tasks at hand, as swarm-lib's do. */
  #noteTasks(when: { atOnce?: boolean } = {}): void {
    const claims = [...this.#running.values()].map(({ claim }) => claim);
    for (const registration of this.#registrations) {
      const own = claims.filter(({ worker }) => worker === registration.worker);
      const tasks = own.map(({ task }) => task.task_id).join(" ");
      registration.note(heartbeatNote(this.#remark, tasks), when);
    }
  }

  async #attempt(claim: Claim, route: ReadyRoute): Promise<void> {
    const attempt = new Attempt(claim, route, this.#store, this.#host, this.#settings);
    const begun = performance.now();
    this.#running.set(keyOf(claim), attempt);
    this.#busy.add(keyOf(claim));
    let kind: "done" | "review" | "other" = "other";
    try {
      const end = await attempt.run();
      if (end.kind === "ended" && end.outcome === "done") {
        kind = end.ended.to === "review" ? "review" : "done";
      }
      this.#emit({ kind: "ended", claim, end, durationMs: performance.now() - begun });
    } finally {
      this.#report.attempts++;
      this.#report[kind]++;
    }
  }

  /** Of a type without a route, which was claimed without being asked for. */
  async #giveBack(claim: Claim): Promise<void> {
    const retry = new MachineRetry((error) => this.#emitError(error, claim), this.#options.pause);
    const leave = () => retry.leave();
    this.#running.set(keyOf(claim), { claim, leave, stop: () => {} });
    const { worker, token, task } = claim;
    await retry.untilDone(() => this.#store.release({ id: task.task_id, worker, token }));
  }

  /**
   * Stops a handler whose task was cancelled on another host or taken away by hand: it must not run
   * beside the next one. A handler that ended its task itself (`viv complete`) may finish.
   */
  async #checkClaims(): Promise<void> {
    for (const key of [...this.#busy]) {
      const attempt = this.#running.get(key);
      if (attempt === undefined) continue;
      const { task, worker } = attempt.claim;
      const view = await this.#store.show(task.task_id).catch(() => undefined);
      if (view === undefined) continue; // unreadable: no reason to end anything
      const isOurs = view?.state === "claimed" && view.worker === worker;
      const isOver = view?.state === "done" || view?.state === "review";
      if (!isOurs && !isOver && this.#busy.has(key)) attempt.stop("the claim is gone");
    }
  }

  /** Until there may be work, an attempt has ended, or `stop` is called. */
  async #sleep(): Promise<void> {
    const { pollMs, reviewLimit, slots } = this.#options;
    if (this.#isStopping) return;
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
    const timeoutMs = Math.min(pollMs, closed?.nextOpenMs ?? pollMs);
    try {
      if (closed) await this.#standInLine(closed, () => woken.abort());
      if (closed?.all) return await pause(timeoutMs, woken.signal);
      await this.#store.waitForWork({
        timeoutMs,
        worker: this.#claimingNames[0] ?? this.#idleNames[0] ?? this.#options.worker,
        signal: woken.signal,
        ...this.#wanted(closed),
        reviewLimit,
      });
    } catch (error) {
      this.#emitError(error);
      await pause(1_000, woken.signal);
    }
  }

  /**
   * While the gate is full, tasks with an engine are not claimed. If there are any, the worker joins
   * the gate's queue: without that, others would always be before it.
   */
  async #standInLine(closed: ClosedTypes, onSlot: () => void): Promise<void> {
    const { slots, types } = this.#options;
    if (slots === undefined || slots.room() !== 0) return;
    const query = { states: ["pending" as const], types: types ?? undefined };
    for await (const { type } of this.#store.list(query)) {
      if (type !== null && closed.waitsAtGate(type)) return slots.standInLine(onSlot);
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

  #emitError(error: unknown, claim?: Claim): void {
    this.#emit({ kind: "trouble", error, claim });
  }
}

function keyOf({ token, task }: Claim): string {
  return `${token} ${task.task_id}`;
}
