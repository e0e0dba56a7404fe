import { isVivError } from "../base/errors.ts";
import { growingPause } from "../base/growing-pause.ts";
import {
  type Attempt,
  type AttemptEnd,
  afterEvent,
  type Dance,
  type DanceEvent,
  hasKilled,
} from "./dance.ts";
import { type Ending, execute } from "./execute.ts";
import { askedIn, Interrogation, rememberTree } from "./interrogation.ts";
import { Naps } from "./naps.ts";
import type { WardenEvent, WardenHost, WardenSettings } from "./ports.ts";
import { attemptsBefore, type SeedState } from "./seed-dance.ts";
import type { Look, Suspect } from "./suspects/suspect.ts";
import { takenOver } from "./take-over.ts";
import type { Unasked } from "./warrant.ts";
import { workSince } from "./work.ts";

/** What a dance asks of its pool. */
export interface Pool {
  /** Takes a place among the executions for each agent of it, or says that there is none now. */
  mayExecute(dance: Dance): boolean;
  /** Gives it back, and says whether anybody was ended. */
  executed(dance: Dance, hasKilled: boolean): void;
  /** Why it holds; null when it does not. */
  pause(): { since: string; why: string } | null;
  /** Tells everybody that this execution is held, then calls back. */
  announce(dance: Dance, told: () => void): void;
}

/** What is written because it was asked is no work. */
const RETRY_MS = { first: 1_000, longest: 30_000 };
const SETTLES_WITHIN_MS = 2_000;

export type DanceEnd = "over" | "released" | "stopped";

/** One dog with one warrant. Everything is written before it is done, so any step may be the last. */
export class Dancer {
  readonly dance: Dance;
  readonly #host: WardenHost;
  readonly #settings: WardenSettings;
  readonly #pool: Pool;
  readonly #tell: (event: WardenEvent) => void;
  readonly #notes: Interrogation;
  #suspect: Suspect | null = null;
  #wish: "withdrawn" | "released" | "stopped" | null = null;
  readonly #naps: Naps;
  /** The pause that was seen to by this process. */
  #heldSince: string | null = null;
  #isOver = false;
  /** It may have been signalled before a restart. */
  readonly #wasExecuting: boolean;

  constructor(
    dance: Dance,
    host: WardenHost,
    settings: WardenSettings,
    pool: Pool,
    tell: (event: WardenEvent) => void,
  ) {
    this.dance = dance;
    this.#host = host;
    this.#settings = settings;
    this.#pool = pool;
    this.#tell = tell;
    this.#notes = new Interrogation(dance, settings.timeoutsMs.length);
    this.#naps = new Naps(host.timers);
    this.#wasExecuting = dance.state === "executing";
  }

  /** Once it executes, or is over, it is too late for the first two. */
  wish(what: "withdrawn" | "released" | "stopped"): void {
    if (this.#wish === "stopped") return;
    this.#wish = what;
    this.poke();
  }

  /** Something is worth a look: its screen, or the pool. */
  poke(): void {
    this.#naps.poke();
  }

  async run(): Promise<DanceEnd> {
    try {
      for (;;) {
        if (this.#wish === "stopped") return "stopped";
        const { state } = this.dance;
        if (state === "pardoned" || state === "complete" || state === "failed") return "over";
        if (state === "executing") await this.#execute();
        else if (this.#wish === "withdrawn") await this.#withdraw();
        else if (this.#wish === "released") {
          await this.#takeBack();
          return "released";
        } else if (this.dance.seed !== undefined) await this.#takeOver(this.dance.seed);
        else if (state === "evaluating") await this.#evaluate();
        else await this.#interrogate();
      }
    } finally {
      this.#isOver = true;
      this.#suspect?.close();
      this.#suspect = null;
    }
  }

  #withdraw(): Promise<void> {
    return this.#end({ event: "withdrawn", verdict: "pardoned", why: "its warrant was withdrawn" });
  }

  /** What the seed left: what is over is cleaned up; else nobody is ended whom we did not ask. */
  async #takeOver(seed: SeedState): Promise<void> {
    const { dance } = this;
    const found = await this.#host.suspects.find(dance.warrant);
    const look = found.is === "there" ? await found.suspect.look() : found;
    if (found.is === "there") found.suspect.close();
    const taken = takenOver(seed, look, dance.attempt, this.#settings.timeoutsMs);
    delete dance.seed;
    if ("ending" in taken) {
      await this.#end(taken.ending);
    } else {
      dance.attempt = taken.attempt;
      dance.attempts = attemptsBefore(taken.attempt, this.#settings.timeoutsMs);
      if (look.is === "there") dance.screen_before = look.screen.slice(-200);
      await this.#pass("silent");
    }
    // Not written: then it is still the seed's.
    if (dance.state === "evaluating") dance.seed = seed;
  }

  async #interrogate(): Promise<void> {
    const { dance } = this;
    const suspect = await this.#find();
    if (suspect === null) return;
    let attempt = dance.attempts[dance.attempt - 1];
    if (attempt === undefined) {
      const look = await suspect.look();
      if (look.is !== "there") return this.#lost(look);
      this.#notes.begin(look);
      this.#rememberTree(suspect);
      attempt = this.#newAttempt();
      const standing = await suspect.stand?.();
      if (standing !== undefined) attempt.standing = standing;
      dance.attempts.push(attempt);
      // From here on it may have been typed.
      if (!(await this.#save())) return;
    }
    const hasBegun = (attempt.began_at ?? attempt.asked_at) !== null;
    if (!hasBegun && !(await this.#ask(suspect, attempt))) return;
    if (attempt.ended !== "waiting" && !(await this.#await(suspect, attempt))) return;
    attempt.ended_at = this.#now();
    await this.#pass(attempt.ended === "answered" ? "answered" : "timed_out");
  }

  #newAttempt(): Attempt {
    const number = this.dance.attempt;
    return {
      ...{ number, nonce: this.#host.newNonce(), asked_at: null, began_at: null, channel: null },
      timeout_ms: this.#settings.timeoutsMs[number - 1] ?? 60_000,
      ...{ arrived: false, submitted: false, bursts: [], ended_at: null, ended: null },
    };
  }

  async #ask(suspect: Suspect, attempt: Attempt): Promise<boolean> {
    const { dance } = this;
    const question = askedIn(dance, attempt, this.#settings.timeoutsMs.length);
    this.#notes.addQuestion(question);
    const asked = await this.#insist(() => suspect.ask(question, attempt.standing));
    if (asked === null) return false;
    if (asked.is === "left") {
      await this.#leave(suspect, asked.why);
      return false;
    }
    if (asked.is === "gone" || asked.is === "unknown") {
      await this.#lost(asked);
      return false;
    }
    const now = this.#now();
    attempt.began_at = now;
    attempt.work = (await suspect.work(Date.parse(now))).processes;
    if (asked.is === "asked") {
      attempt.asked_at = now;
      attempt.channel = asked.channel;
      attempt.arrived = asked.arrived;
      attempt.submitted = asked.submitted;
      if (asked.except !== undefined) attempt.unasked = asked.except;
      dance.last_message_at = now;
    } else {
      attempt.unasked = asked.why;
      if (asked.is === "waits" && this.#unasked() === "spare") attempt.ended = "waiting";
    }
    this.#wait(attempt.timeout_ms);
    if (!(await this.#save())) return false;
    const about = { dog: dance.id, target: dance.warrant.target, attempt: attempt.number };
    if (asked.is === "asked") {
      const { timeout_ms } = attempt;
      this.#tell({ kind: "asked", ...about, timeout_ms, channel: asked.channel });
    } else if (attempt.ended === null) {
      this.#tell({ kind: "watched", ...about, why: asked.why });
    }
    return true;
  }

  /** Its agent has ended. What it left behind is closed only if the warrant says so. */
  async #leave(suspect: Suspect, why: string): Promise<void> {
    const { warrant } = this.dance;
    const isClosed = warrant.close === true && (await suspect.closeShell?.()) === true;
    const hint = isClosed
      ? "the session was closed"
      : "the session was left as it is (--close would close it, --shell would ask the shell)";
    await this.#end({ event: "gone", verdict: "already_dead", why: `${why}; ${hint}` });
  }

  #unasked(): Unasked {
    return this.dance.warrant.unasked ?? this.#settings.unasked;
  }

  #patienceMs(): number {
    return this.dance.warrant.patience_ms ?? this.#settings.patienceMs;
  }

  #wait(ms: number): void {
    const { clock, bootId } = withBoot(this.#host.machine);
    this.dance.next_timeout = new Date(clock.now() + ms).toISOString();
    this.dance.deadline = { boot: bootId, uptime: clock.uptime() + ms / 1000 };
  }

  /** Until it answers or its time is up. False when a wish came in between. */
  async #await(suspect: Suspect, attempt: Attempt): Promise<boolean> {
    suspect.watch(() => this.poke());
    for (;;) {
      const look = await suspect.look();
      if (look.is === "gone") {
        await this.#lost(look);
        return false;
      }
      // One that cannot be told may be tmux being slow; what counts is the look when its time is up.
      if (look.is === "there" && this.#notes.notice(look, attempt, this.#clock())) {
        attempt.ended = "answered";
        return true;
      }
      if (look.is === "there" && look.person !== undefined && this.#unasked() === "spare") {
        attempt.ended = "waiting";
        return true;
      }
      if (this.#wish !== null) return false;
      const left = this.#msLeft(attempt);
      if (left <= 0 && !(await this.#waitsForTurn(look, attempt))) return true;
      await this.#naps.nap(Math.min(this.#msLeft(attempt), slowLook(attempt.timeout_ms)));
      if (this.#wish !== null) return false;
    }
  }

  /** A queued question cannot be answered before the turn ends; that may take as long as `patience`. */
  async #waitsForTurn(look: Look, attempt: Attempt): Promise<boolean> {
    if (look.is !== "there" || look.isQueued !== true || attempt.asked_at === null) return false;
    const waited = this.#clock() - Date.parse(attempt.asked_at);
    const left = this.#patienceMs() - Math.max(0, waited);
    if (left <= 0) return false;
    const { id: dog, warrant } = this.dance;
    const { number, queued } = attempt;
    attempt.queued = true;
    this.#wait(Math.min(left, attempt.timeout_ms));
    if (!(await this.#save())) return false;
    if (!queued) this.#tell({ kind: "turn", dog, target: warrant.target, attempt: number });
    return true;
  }

  #msLeft(attempt: Attempt): number {
    const { clock, bootId } = withBoot(this.#host.machine);
    const { deadline, next_timeout: until } = this.dance;
    const left =
      deadline?.boot === bootId
        ? (deadline.uptime - clock.uptime()) * 1000
        : Date.parse(until ?? "") - clock.now();
    // A clock that was set back must not make it longer than it was meant to be.
    return Math.min(Number.isNaN(left) ? 0 : left, attempt.timeout_ms);
  }

  async #evaluate(): Promise<void> {
    const { dance } = this;
    const suspect = await this.#find();
    if (suspect === null) return;
    const attempt = dance.attempts[dance.attempt - 1];
    const look = await suspect.look();
    if (look.is !== "there") return this.#lost(look);
    const isAnswered = attempt !== undefined && this.#notes.notice(look, attempt, this.#clock());
    this.#rememberTree(suspect);
    if (attempt && (isAnswered || attempt.ended === "answered")) {
      attempt.ended = "answered";
      const why = `it answered in attempt ${attempt.number}`;
      return this.#end({ event: "alive", verdict: "pardoned", why, look });
    }
    const alive = attempt && (await this.#signOfLife(suspect, attempt, look));
    if (attempt && alive) {
      attempt.ended = alive.ended;
      return this.#end({ event: "alive", verdict: "pardoned", why: alive.why, look });
    }
    if (this.#wish !== null) return;
    if (attempt) attempt.ended = "silent";
    if (dance.attempt < this.#settings.timeoutsMs.length) return this.#askAgain();
    const isAsked = attempt !== undefined && attempt.asked_at !== null && !attempt.unasked;
    if (!isAsked && this.#unasked() === "spare") {
      const hint = "it was watched, and left alone; to end it all the same: --unasked execute";
      const why = `not_asked: ${attempt?.unasked ?? "it could not be asked"}; ${hint}`;
      return this.#end({ event: "unknown", verdict: "failed", why, look });
    }
    if (this.#pool.mayExecute(dance)) return this.#beginExecution();
    return this.#hold(suspect);
  }

  /** What besides an answer says that it is not stuck. */
  async #signOfLife(
    suspect: Suspect,
    attempt: Attempt,
    look: Extract<Look, { is: "there" }>,
  ): Promise<{ ended: AttemptEnd; why: string } | null> {
    const { dance } = this;
    if (look.person !== undefined && this.#unasked() === "spare") {
      const why = `needs you: ${dance.warrant.target} ${look.person}`;
      this.#tell({ kind: "needs_you", dog: dance.id, target: dance.warrant.target, why });
      return { ended: "waiting", why };
    }
    if (this.#notes.saysAgain(look)) {
      return { ended: "answered", why: `it answered in attempt ${attempt.number}` };
    }
    const reply = dance.attempts.find((one) => one.reply !== undefined)?.reply;
    if (reply !== undefined) {
      return { ended: "replied", why: `it answered in other words: ${reply}` };
    }
    if (this.#notes.hasProgress()) {
      return { ended: "progress", why: "it did not answer, but it works: its output keeps coming" };
    }
    const work = await this.#workOf(suspect, attempt);
    return work === null
      ? null
      : { ended: "work", why: `it did not answer, but it works: ${work}` };
  }

  /** What its children did since its wait began, or a file that was written since. */
  async #workOf(suspect: Suspect, attempt: Attempt): Promise<string | null> {
    const began = Date.parse(attempt.began_at ?? attempt.asked_at ?? "");
    if (Number.isNaN(began)) return null;
    const { processes, changed } = await suspect.work(began + SETTLES_WITHIN_MS);
    const elapsed = Math.max(0, this.#clock() - began);
    const words = workSince(attempt.work ?? [], processes, elapsed, this.#patienceMs());
    const what = words ?? (changed === null ? null : `it has changed ${changed}`);
    if (what !== null) attempt.bursts.push({ at: this.#now(), source: "work", what });
    return what;
  }

  async #askAgain(): Promise<void> {
    this.dance.attempt++;
    this.dance.next_timeout = null;
    this.dance.deadline = null;
    if (!(await this.#pass("silent"))) this.dance.attempt--;
  }

  /** The breaker is open: until a person says more, it may still answer, or work. */
  async #hold(suspect: Suspect): Promise<void> {
    if (!(await this.#sayHeld())) return;
    suspect.watch(() => this.poke());
    await this.#naps.nap(slowLook(Number.POSITIVE_INFINITY));
  }

  /** Once for each pause: a restart tells only what nobody was told before. */
  async #sayHeld(): Promise<boolean> {
    const { dance } = this;
    const pause = this.#pool.pause();
    if (pause === null || this.#heldSince === pause.since) return true;
    this.#heldSince = pause.since;
    const why = `the pool is paused (${pause.why}); a person must say: viv warden resume`;
    this.#tell({ kind: "holds", dog: dance.id, target: dance.warrant.target, why });
    if (dance.held?.since === pause.since && dance.held.told_at !== null) return true;
    dance.held = { since: pause.since, why: pause.why, told_at: null };
    if (!(await this.#save())) return false;
    this.#pool.announce(dance, () => {
      if (this.#isOver || dance.held?.since !== pause.since) return;
      dance.held.told_at = this.#now();
      this.#host.files.save(dance);
    });
    return true;
  }

  async #beginExecution(): Promise<void> {
    const { dance } = this;
    dance.next_timeout = null;
    dance.deadline = null;
    if (!(await this.#saveForExecution())) {
      this.#pool.executed(dance, false);
      // Whatever it was: by then it may have answered, so it is looked at again.
      return this.#naps.nap(1_000);
    }
    const { id: dog, warrant, tree } = dance;
    this.#tell({ kind: "executes", dog, target: warrant.target, processes: tree.length });
  }

  /** Once: who waits for a disk is not to kill by a look of long ago. */
  async #saveForExecution(): Promise<boolean> {
    try {
      return await this.#host.files.saveForExecution(this.dance);
    } catch (error) {
      if (!isVivError(error)) throw error;
      this.#tell({ kind: "trouble", what: `${this.dance.id}: ${error.message}` });
      return false;
    }
  }

  async #execute(): Promise<void> {
    const { ending, suspect } = await execute({
      ...{ dance: this.dance, host: this.#host, killAfterMs: this.#settings.killAfterMs },
      ...{ suspect: this.#suspect, wasExecuting: this.#wasExecuting },
      hasAnswered: (look, attempt) => this.#notes.notice(look, attempt, this.#clock()),
      sparesWaiting: this.#unasked() === "spare",
    });
    this.#suspect = suspect;
    await this.#end(ending);
    this.#pool.executed(this.dance, hasKilled(ending));
  }

  #rememberTree(suspect: Suspect): void {
    rememberTree(this.dance, suspect);
    this.dance.tree_boot = this.#host.machine.bootId();
  }

  /** Null when the dance went another way. */
  async #find(): Promise<Suspect | null> {
    if (this.#suspect !== null) return this.#suspect;
    const { dance } = this;
    const bound = dance.bound ?? dance.warrant.bound;
    const found = await this.#host.suspects.find({ ...dance.warrant, bound });
    if (found.is !== "there") {
      await this.#lost(found);
      return null;
    }
    this.#suspect = found.suspect;
    dance.bound = found.suspect.bound;
    return found.suspect;
  }

  async #lost(look: Exclude<Look, { is: "there" }>): Promise<void> {
    const attempt = this.dance.attempts.at(-1);
    if (attempt) attempt.ended = look.is;
    const { why } = look;
    if (look.is === "unknown") return this.#end({ event: "unknown", verdict: "failed", why });
    return this.#end({ event: "gone", verdict: "already_dead", why });
  }

  async #end({ event, verdict, why, look, exit = [], survivors = [] }: Ending): Promise<void> {
    const { dance } = this;
    const attempt = dance.attempts.at(-1);
    if (attempt && event === "withdrawn") attempt.ended = "withdrawn";
    if (attempt) attempt.ended_at ??= this.#now();
    await this.#takeBack();
    dance.outcome = {
      ...{ verdict, why, ended_at: this.#now(), exit, survivors },
      evidence: this.#notes.bursts().map(({ at, source, what }) => `${at} ${source}: ${what}`),
      screen_after: look?.is === "there" ? look.screen : dance.screen_last,
    };
    if (!(await this.#pass(event))) dance.outcome = null;
  }

  /** What nothing has read must not be read by whatever comes after it: a shell, a person's program. */
  async #takeBack(): Promise<void> {
    const { attempts } = this.dance;
    const asked = attempts.filter(({ ended }) => ended !== "answered" && ended !== "replied");
    const questions = asked.map((one) => askedIn(this.dance, one, attempts.length));
    const suspect = questions.length > 0 ? await this.#toTakeBackFrom() : null;
    await suspect?.takeBack?.(questions);
  }

  /** After a restart it may not have been looked for yet. */
  async #toTakeBackFrom(): Promise<Suspect | null> {
    const { bound, warrant } = this.dance;
    if (this.#suspect !== null || bound === null) return this.#suspect;
    const found = await this.#host.suspects.find({ ...warrant, bound });
    if (found.is === "there") this.#suspect = found.suspect;
    return this.#suspect;
  }

  /** To the next state, on disk first. False when it could not be written before we were stopped. */
  async #pass(event: DanceEvent): Promise<boolean> {
    const before = this.dance.state;
    this.dance.state = afterEvent(before, event);
    if (await this.#save()) return true;
    this.dance.state = before;
    return false;
  }

  /** Nothing is done that is not written. False when we were stopped before. */
  async #save(): Promise<boolean> {
    const save = () => {
      this.#host.files.save(this.dance);
      return true;
    };
    return (await this.#insist(save)) !== null;
  }

  /** With a full disk it waits. Null when we were stopped meanwhile. */
  async #insist<T>(act: () => T | Promise<T>): Promise<T | null> {
    for (let tries = 1; ; tries++) {
      try {
        return await act();
      } catch (error) {
        if (!isVivError(error)) throw error;
        this.#tell({ kind: "trouble", what: `${this.dance.id}: ${error.message}` });
      }
      if (this.#wish === "stopped") return null;
      await this.#naps.pause(growingPause(tries, RETRY_MS));
    }
  }

  #clock(): number {
    return this.#host.machine.clock.now();
  }

  #now(): string {
    return new Date(this.#clock()).toISOString();
  }
}

function withBoot(machine: WardenHost["machine"]) {
  return { clock: machine.clock, bootId: machine.bootId() };
}

/** Behind the notifications: often enough for its time-out, and seldom enough for twenty dogs. */
function slowLook(timeoutMs: number): number {
  return Math.min(30_000, Math.max(1_000, timeoutMs / 2));
}
