import { isVivError, messageOf, VivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import { type Breaker, newBreaker } from "./breaker.ts";
import { agentsIn, type Dance, hasKilled } from "./dance.ts";
import { RETRY_MS } from "./dance-run.ts";
import { Dancer, type Pool } from "./dancer.ts";
import { finishDance } from "./finish-dance.ts";
import { wardenCommand } from "./folder.ts";
import { notifier } from "./notifier.ts";
import type { Pause } from "./warden-files.ts";
import type { WardenEvent, WardenHost, WardenSettings } from "./warden-host.ts";
import { OpenTargets, targetKey, type Warrant } from "./warrant.ts";

/** Between passes without a notification. */
const SLOW_PASS_MS = 5_000;
/** A script may not write its file in one go. */
const HALF_WRITTEN_MS = 2_000;
/** After an unexpected error. */
const RESTART_MS = 30_000;
const BREAKER = "breaker";
const MARKERS_KEPT_MS = 24 * 3_600_000;

/**
 * The pool: takes warrants in the order in which they were filed, one dog each, and keeps the
 * breaker. `run()` until `stop()`; dances that are under way then, or at a kill, go on at the next start.
 */
export class Warden {
  readonly #settings: WardenSettings;
  readonly #host: WardenHost;
  readonly #emit: (event: WardenEvent) => void;
  readonly #dancers = new Map<string, { dancer: Dancer; over: Promise<void> }>();
  #isOurs: (() => boolean) | null = null;
  #breaker: Breaker;
  readonly #notifier: ReturnType<typeof notifier>;
  #pause: Pause | null = null;
  /** Warrants that wait, and of which an event was emitted. */
  #queued: ReadonlySet<string> = new Set();
  /** Warrants that are being put back into the queue: they are not left over from their dance. */
  readonly #returning = new Set<string>();
  #isStopping = false;
  #turning: Promise<void> | null = null;
  #isTurnWanted = false;
  #cancelTimer: (() => void) | null = null;
  readonly #cancels = new Set<() => void>();
  #end: (() => void) | null = null;
  #failure: { error: unknown } | null = null;

  constructor(settings: WardenSettings, host: WardenHost, emit: (event: WardenEvent) => void) {
    this.#settings = settings;
    this.#host = host;
    this.#emit = emit;
    this.#breaker = newBreaker(settings.breaker, host.machine.clock, []);
    this.#notifier = notifier(host, emit);
  }

  async run(): Promise<void> {
    const { files, machine } = this.#host;
    this.#isOurs = await files.take();
    if (this.#isOurs === null) {
      const other = files.warden();
      const holder = other ? ` (pid ${other.pid} on ${other.host})` : "";
      throw new VivError("LOCKED", `another warden${holder} has ${files.folder}.`);
    }
    const now = machine.clock.now();
    const self = machine.self();
    const { pool, timeoutsMs, breaker } = this.#settings;
    const since = new Date(now).toISOString();
    const state = { ...self, since, pool, timeouts_ms: [...timeoutsMs] };
    files.writeWarden({ ...state, state: "up" });
    files.removeOldMarkers(now - MARKERS_KEPT_MS);
    const before = files.receipts(now - breaker.withinMs).filter(hasKilled);
    const ends = before.map((one) => ({ at: Date.parse(one.ended_at), agents: agentsIn(one) }));
    this.#breaker = newBreaker(breaker, machine.clock, ends);
    this.#emit({ kind: "up", pid: self.pid, pool, state: files.folder });
    for (const name of files.badDances()) {
      this.#warn(`active/${name} cannot be read as a dance; it is left alone`);
    }
    this.#notifier.start();
    const unwatch = files.watch(() => this.#turn());
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    this.#turn();
    if (!this.#isStopping) await ended;
    unwatch();
    await this.#turning;
    this.#cancelTimer?.();
    for (const { dancer } of this.#dancers.values()) dancer.request("stopped");
    await Promise.all([...this.#dancers.values()].map(({ over }) => over));
    await this.#notifier.stop();
    for (const cancel of this.#cancels) cancel();
    if (this.#failure !== null) throw this.#failure.error;
    files.writeWarden({ ...state, state: "stopped" });
    this.#emit({ kind: "stopped" });
  }

  /** Dances stay as they are, on disk: the next start goes on with them. */
  stop(): void {
    this.#isStopping = true;
    this.#end?.();
  }

  /** One pass over everything, and another if something happened meanwhile. */
  #turn(): void {
    this.#isTurnWanted = true;
    this.#turning ??= this.#turns()
      .catch((error: unknown) => {
        this.#failure = { error };
        this.stop();
      })
      .finally(() => {
        this.#turning = null;
      });
  }

  async #turns(): Promise<void> {
    while (this.#isTurnWanted && !this.#isStopping) {
      this.#isTurnWanted = false;
      this.#cancelTimer?.();
      try {
        await this.#pass();
      } catch (error) {
        if (isLasting(error)) throw error;
        this.#warn(messageOf(error));
      }
      this.#cancelTimer = this.#host.timers.after(SLOW_PASS_MS, () => this.#turn());
      await Promise.resolve();
    }
  }

  async #pass(): Promise<void> {
    if (this.#isOurs?.() === false) {
      // Without its folder another warden may be at work, on the same suspects.
      const message = `${this.#host.files.folder} was removed under this warden, so it stops.`;
      throw new VivError("WRONG_STATE", message);
    }
    this.#readPause();
    this.#adopt();
    await this.#readRequests();
    await this.#takeWarrants();
  }

  #readPause(): void {
    const before = this.#pause;
    this.#pause = this.#host.files.paused();
    if (this.#pause?.since === before?.since) return;
    this.#emit(this.#pause === null ? { kind: "resumed" } : this.#pausedBy(this.#pause));
    for (const { dancer } of this.#dancers.values()) dancer.wake();
  }

  /** Dances of an earlier warden, and those that were begun by hand. */
  #adopt(): void {
    for (const dance of this.#host.files.dances()) {
      if (this.#dancers.has(dance.id)) continue;
      const { id: dog, state, seed, warrant } = dance;
      this.#emit({ kind: "resumes", dog, target: warrant.target, state: seed ?? state });
      this.#start(dance);
    }
  }

  async #readRequests(): Promise<void> {
    const { files } = this.#host;
    const { withdrawals, releases, answers } = files.requests();
    const dancing = new Set<string>();
    for (const { dancer } of this.#dancers.values()) {
      const { warrant, attempts } = dancer.dance;
      dancing.add(warrant.id);
      if (attempts.some(({ nonce }) => answers.includes(nonce))) dancer.wake();
      if (withdrawals.includes(warrant.id)) dancer.request("withdrawn");
    }
    for (const dog of releases) {
      const found = this.#dancers.get(dog);
      if (found && found.dancer.dance.state !== "executing") found.dancer.request("released");
      else files.forgetRelease(dog);
    }
    for (const id of withdrawals.filter((one) => !dancing.has(one))) {
      await files.withdrawQueued(id);
      files.forgetWithdrawal(id);
    }
  }

  async #takeWarrants(): Promise<void> {
    const { files, machine } = this.#host;
    const { warrants, bad } = files.queued();
    for (const { name, why, at } of bad) {
      if (Math.abs(machine.clock.now() - at) < HALF_WRITTEN_MS) continue;
      files.reject(name, why);
      this.#emit({ kind: "rejected", name, why });
    }
    const { pool, tmuxSocket } = this.#settings;
    const open = new OpenTargets([], tmuxSocket);
    const waiting = new Set<string>();
    // Begun after all are judged: while one is awaited, queue and dances may change.
    const next: Warrant[] = [];
    const dancing = new Map<string, Warrant>();
    for (const { dancer } of this.#dancers.values()) {
      open.add({ ...dancer.dance.warrant, bound: dancer.dance.bound });
      dancing.set(dancer.dance.warrant.id, dancer.dance.warrant);
    }
    for (const warrant of warrants) {
      if (this.#returning.has(warrant.id)) continue;
      const begun = dancing.get(warrant.id);
      if (begun && targetKey(begun, tmuxSocket) === targetKey(warrant, tmuxSocket)) {
        files.dropQueued(warrant.id);
        continue;
      }
      const other = begun?.id ?? open.same(warrant);
      if (other !== undefined) {
        this.#rejectSecond(warrant, other);
        continue;
      }
      open.add(warrant);
      const hasRoom = this.#dancers.size + next.length < pool;
      if (this.#pause === null && hasRoom) {
        next.push(warrant);
        continue;
      }
      const { id, target } = warrant;
      const why = this.#pause === null ? "pool exhausted" : "pool paused";
      if (!this.#queued.has(id)) this.#emit({ kind: "queued", warrant: id, target, why });
      waiting.add(id);
    }
    this.#reportWithdrawn(warrants);
    this.#queued = waiting;
    for (const warrant of next) {
      if (this.#pause === null && !this.#isStopping) await this.#begin(warrant);
    }
  }

  /** Reported warrants that were withdrawn before a dog took them. */
  #reportWithdrawn(left: readonly Warrant[]): void {
    for (const id of this.#queued) {
      if (left.some((one) => one.id === id)) continue;
      const { target } = this.#host.files.withdrawn(id) ?? {};
      if (target !== undefined) this.#emit({ kind: "withdrawn", warrant: id, target });
    }
  }

  #rejectSecond({ id, target }: Warrant, other: string): void {
    const why =
      id === other
        ? `${id} is in a dance already, for another target than ${target}`
        : `there is an open warrant for ${target} already: ${other}`;
    const name = this.#host.files.fileOf(id);
    this.#host.files.reject(name, why);
    this.#emit({ kind: "rejected", name, why });
  }

  async #begin(warrant: Warrant): Promise<void> {
    const { files, machine } = this.#host;
    const now = machine.clock.now();
    const dance = newDance(files.newDog(now), warrant, now);
    if (!(await files.begin(dance))) return; // withdrawn just now
    const { id, target, reason } = warrant;
    this.#emit({ kind: "begins", dog: dance.id, target, warrant: id, reason });
    this.#start(dance);
  }

  #start(dance: Dance): void {
    if (dance.state === "executing") this.#breaker.resume(agentsIn(dance));
    const dancer = new Dancer(this.#pool, dance, this.#host, this.#settings, this.#emit);
    const over = this.#follow(dancer).catch((error: unknown) => {
      // A bug, or a failing machine: after a while it goes on from disk, as after a restart.
      this.#warn(`${dance.id}: ${messageOf(error)}`);
      if (dancer.dance.state === "executing") this.#breaker.end(agentsIn(dancer.dance), false);
      const cancel = this.#host.timers.after(RESTART_MS, () => {
        this.#cancels.delete(cancel);
        this.#dancers.delete(dance.id);
        this.#turn();
      });
      this.#cancels.add(cancel);
    });
    this.#dancers.set(dance.id, { dancer, over });
  }

  async #follow(dancer: Dancer): Promise<void> {
    const { dance } = dancer;
    const end = await dancer.run();
    const { id, target } = dance.warrant;
    if (end === "released") {
      this.#returning.add(id);
      try {
        await this.#retry(async () => {
          await this.#host.files.giveBack(dance, this.#host.machine.clock.now());
          this.#dancers.delete(dance.id);
        });
      } finally {
        this.#returning.delete(id);
      }
      this.#emit({ kind: "released", warrant: id, target });
    }
    if (end === "over") {
      await this.#retry(async () => {
        const receipt = await finishDance(dance, this.#host);
        if (receipt === null)
          throw new VivError("WRONG_STATE", `${dance.id} is over without outcome.`);
        const { verdict, why } = receipt;
        this.#emit({ kind: "verdict", dog: dance.id, target, verdict, why });
        if (receipt.told.length === 0) this.#notifier.verdict(receipt);
      });
    }
    if (end !== "stopped") {
      this.#dancers.delete(dance.id);
      this.#turn();
    }
  }

  /** With a full disk it waits; when the warden is stopped, the next start does it. */
  async #retry(act: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await act();
      } catch (error) {
        if (isLasting(error) || this.#isStopping) throw error;
        this.#warn(messageOf(error));
      }
      const pause = growingPause(tries, RETRY_MS);
      await new Promise<void>((resolve) => this.#host.timers.after(pause, resolve));
    }
  }

  #mayExecute(dance: Dance): boolean {
    const { files, machine } = this.#host;
    if (this.#isOurs?.() === false) return false;
    if (this.#pause !== null || files.paused() !== null) return false;
    const resumedAt = files.resumedAt();
    const agents = agentsIn(dance);
    const isReleased = dance.held !== undefined && Date.parse(dance.held.since) <= resumedAt;
    if (this.#breaker.mayBegin({ agents, isReleased }, resumedAt)) return true;
    const since = new Date(machine.clock.now()).toISOString();
    const why = this.#breaker.why(dance.warrant.target, agents);
    this.#pause = { since, by: BREAKER, why };
    this.#emit(this.#pausedBy(this.#pause));
    try {
      files.pause(this.#pause);
    } catch (error) {
      if (!isVivError(error)) throw error;
      this.#warn(error.message); // the next look would resume it: then the breaker counts again
    }
    return false;
  }

  readonly #pool: Pool = {
    mayExecute: (dance) => this.#mayExecute(dance),
    isRevoked: () => {
      if (this.#isOurs?.() === false) return true;
      const pause = this.#host.files.paused();
      return pause !== null && pause.by !== BREAKER; // the breaker counts this execution already
    },
    executed: (dance, hasKilled) => this.#breaker.end(agentsIn(dance), hasKilled),
    pause: () => this.#pause ?? this.#host.files.paused(),
    announce: ({ id: dog, warrant }, notified) => {
      const pause = this.#pause ?? this.#host.files.paused();
      if (pause === null) return; // resumed just now: it goes on
      const todo = wardenCommand("resume", this.#host.files.folder);
      this.#notifier.held({ event: "held", dog, warrant, ...pause, todo }, notified);
    },
  };

  #pausedBy({ by, why }: Pause): WardenEvent {
    const todo = wardenCommand("resume", this.#host.files.folder);
    return { kind: "paused", why: `by ${by}: ${why}; to go on: ${todo}` };
  }

  #warn(what: string): void {
    this.#emit({ kind: "trouble", what });
  }
}

/** A retry does not help. */
function isLasting(error: unknown): boolean {
  return !isVivError(error) || error.code === "WRONG_STATE";
}

export function newDance(dog: string, warrant: Warrant, now: number): Dance {
  return {
    ...{ id: dog, warrant, state: "interrogating", attempt: 1 },
    started_at: new Date(now).toISOString(),
    ...{ last_message_at: null, next_timeout: null, deadline: null, bound: warrant.bound },
    ...{ attempts: [], screen_before: [], screen_last: [], files: {}, tree: [], outcome: null },
  };
}
