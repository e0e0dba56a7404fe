import { isVivError } from "../base/errors.ts";
import { nameOf } from "../platform/processes/end-processes.ts";
import { type Dance, type DanceState, hasKilled } from "./dance.ts";
import { DanceRun } from "./dance-run.ts";
import {
  ask,
  awaitAnswer,
  type Ending,
  execute,
  type LastLook,
  lastLook,
  lookInterval,
  lost,
  newAttempt,
  signOfLife,
} from "./dance-steps.ts";
import { wardenCommand } from "./folder.ts";
import { questionOf } from "./question.ts";
import { attemptsBefore, takeOver } from "./seed-dance.ts";
import type { Suspect } from "./suspects/suspect.ts";

/** What a dance asks of its pool. */
export interface Pool {
  /** Takes a place among the executions for each of its agents; false when there is none now. */
  mayExecute(dance: Dance): boolean;
  /** Revokes `mayExecute`: a person has paused the pool since, or the folder is not ours any more. */
  isRevoked(): boolean;
  /** Gives the places back. */
  executed(dance: Dance, hasKilled: boolean): void;
  /** Null when the pool is not paused. */
  pause(): { since: string; why: string } | null;
  /** Notifies the requester that this execution is held, then calls back. */
  announce(dance: Dance, notified: () => void): void;
}

export type DanceEnd = "over" | "released" | "stopped";

/** After an error between the decision and the first signal. */
const LOOK_AGAIN_MS = 10_000;

/** One dog with one warrant. Every step is written before it is done, so any may be the last. */
export class Dancer extends DanceRun {
  readonly #pool: Pool;
  #suspect: Suspect | null = null;
  /** The pause that this process has announced. */
  #heldSince: string | null = null;
  #isOver = false;
  /** An error came before the first signal: a pause of the pool since the decision counts. */
  #isDelayed = false;
  /** It may have been signalled before a restart. */
  readonly #isResumed: boolean;

  constructor(pool: Pool, ...given: ConstructorParameters<typeof DanceRun>) {
    super(...given);
    this.#pool = pool;
    this.#isResumed = this.dance.state === "executing";
  }

  async run(): Promise<DanceEnd> {
    try {
      for (;;) {
        const { requested } = this;
        if (requested === "stopped") return "stopped";
        const { state, seed } = this.dance;
        if (state === "pardoned" || state === "complete" || state === "failed") return "over";
        if (state === "executing") await this.#execute();
        else if (requested === "withdrawn") {
          const { id: warrant, target } = this.dance.warrant;
          this.emit({ kind: "withdrawn", warrant, target });
          const why = "its warrant was withdrawn";
          await this.#end({ event: "withdrawn", verdict: "pardoned", why });
        } else if (requested === "released") {
          await this.#takeBack();
          return "released";
        } else if (seed !== undefined) await this.#takeOver(seed);
        else if (state === "evaluating") await this.#evaluate();
        else await this.#interrogate();
      }
    } finally {
      this.#isOver = true;
      this.#suspect?.close();
      this.#suspect = null;
    }
  }

  async #takeOver(seed: DanceState): Promise<void> {
    const { dance } = this;
    const { timeoutsMs } = this.settings;
    const found = await this.host.suspects.find(dance.warrant);
    const look = found.is === "there" ? await found.suspect.look() : found;
    if (found.is === "there") found.suspect.close();
    const taken = takeOver(seed, look, dance.attempt, timeoutsMs);
    delete dance.seed;
    this.clearDeadline(); // the seed's
    if ("ending" in taken) {
      await this.#end(taken.ending);
    } else {
      dance.attempt = taken.attempt;
      dance.attempts = attemptsBefore(taken.attempt, timeoutsMs);
      if (look.is === "there") dance.screen_before = look.screen.slice(-200);
      await this.pass("silent");
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
      if (look.is !== "there") return this.#end(lost(this, look));
      this.watch.start(look);
      this.#rememberTree(suspect);
      attempt = newAttempt(this);
      attempt.standing = await suspect.programs?.();
      dance.attempts.push(attempt);
      // From here on it may have been typed.
      if (!(await this.save())) return;
    }
    if ((attempt.began_at ?? attempt.asked_at) === null) {
      const asked = await ask(this, suspect, attempt);
      if (asked !== "asked") return asked === null ? undefined : this.#end(asked);
    }
    if (attempt.ended !== "waiting") {
      const waited = await awaitAnswer(this, suspect, attempt);
      if (waited !== "over") return waited === null ? undefined : this.#end(waited);
    }
    attempt.ended_at = this.now();
    await this.pass(attempt.ended === "answered" ? "answered" : "timed_out");
  }

  async #evaluate(): Promise<void> {
    const { dance } = this;
    const suspect = await this.#find();
    if (suspect === null) return;
    const attempt = dance.attempts[dance.attempt - 1];
    const look = await suspect.look();
    if (look.is !== "there") return this.#end(lost(this, look));
    const isAnswered = attempt !== undefined && this.watch.record(look, attempt, this.clock());
    this.#rememberTree(suspect);
    if (attempt && (isAnswered || attempt.ended === "answered")) {
      attempt.ended = "answered";
      const why = `it answered in attempt ${attempt.number}`;
      return this.#end({ event: "alive", verdict: "pardoned", why, look });
    }
    const alive = attempt && (await signOfLife(this, suspect, attempt, look));
    if (attempt && alive) {
      attempt.ended = alive.ended;
      return this.#end({ event: "alive", verdict: "pardoned", why: alive.why, look });
    }
    if (this.requested !== null) return;
    if (attempt) attempt.ended = "silent";
    if (dance.attempt < this.settings.timeoutsMs.length) {
      dance.attempt++;
      this.clearDeadline();
      if (!(await this.pass("silent"))) dance.attempt--;
      return;
    }
    const isAsked = attempt !== undefined && attempt.asked_at !== null && !attempt.unasked;
    if (!isAsked && this.ifUnasked() === "spare") {
      const hint = "it was watched, and left alone; to end it all the same: --unasked execute";
      const why = `not_asked: ${attempt?.unasked ?? "it could not be asked"}; ${hint}`;
      return this.#end({ event: "unknown", verdict: "failed", why, look });
    }
    if (this.#pool.mayExecute(dance)) return this.#beginExecution();
    return this.#hold(suspect);
  }

  /** The breaker is open: until a person resumes the pool, the suspect may still answer, or work. */
  async #hold(suspect: Suspect): Promise<void> {
    if (!(await this.#announceHold())) return;
    suspect.watch(() => this.wake());
    await this.sleeper.sleep(lookInterval(Number.POSITIVE_INFINITY));
  }

  /** Once for each pause: after a restart only if the requester was not notified before. */
  async #announceHold(): Promise<boolean> {
    const { dance } = this;
    const pause = this.#pool.pause();
    if (pause === null || this.#heldSince === pause.since) return true;
    this.#heldSince = pause.since;
    const todo = wardenCommand("resume", this.host.files.folder);
    const why = `the pool is paused (${pause.why}); a person must say: ${todo}`;
    this.emit({ kind: "holds", dog: dance.id, target: dance.warrant.target, why });
    if (dance.held?.since === pause.since && dance.held.told_at !== null) return true;
    dance.held = { since: pause.since, why: pause.why, told_at: null };
    if (!(await this.save())) return false;
    this.#pool.announce(dance, () => {
      if (this.#isOver || dance.held?.since !== pause.since) return;
      dance.held.told_at = this.now();
      this.host.files.save(dance);
    });
    return true;
  }

  async #beginExecution(): Promise<void> {
    const { dance } = this;
    this.clearDeadline();
    let isSaved = false;
    try {
      // Checked under the lock, which may have to be waited for.
      const isStillMeant = () => this.requested === null && !this.#pool.isRevoked();
      isSaved = await this.host.files.saveForExecution(dance, isStillMeant);
    } catch (error) {
      if (!isVivError(error)) throw error;
      this.warn(error);
    } finally {
      if (!isSaved) this.#pool.executed(dance, false);
    }
    // No second try: by the time it can be saved it may have answered, so it is looked at again.
    if (!isSaved) return this.sleeper.sleep(1_000);
    const { id: dog, warrant, tree } = dance;
    this.emit({ kind: "executes", dog, target: warrant.target, processes: tree.length });
    // At once, even if the warden is stopped now: the next one would take it for signalled.
    return this.#execute();
  }

  async #execute(): Promise<void> {
    let last: LastLook;
    try {
      if (this.#isDelayed && this.#pool.isRevoked()) return this.sleeper.pause(LOOK_AGAIN_MS);
      last = await lastLook(this, this.#suspect, this.#isResumed);
    } catch (error) {
      if (this.#isResumed) throw error;
      // Nothing is signalled yet. A restart from disk would take it for signalled.
      this.warn(error as Error);
      this.#isDelayed = true;
      if (this.requested !== "stopped") await this.sleeper.pause(LOOK_AGAIN_MS);
      return;
    }
    this.#suspect = last.suspect;
    const ending = last.reprieve ?? (await execute(this, last, this.#isResumed));
    await this.#end(ending);
    this.#pool.executed(this.dance, hasKilled(ending));
  }

  /** Processes that left the tree stay known. */
  #rememberTree(suspect: Suspect): void {
    const { dance } = this;
    const known = new Map(dance.tree.map((one) => [nameOf(one), one]));
    for (const one of suspect.tree(dance.tree)) known.set(nameOf(one), one);
    dance.tree = [...known.values()];
    dance.tree_boot = this.host.machine.bootId();
  }

  /** Null when the dance ended instead. */
  async #find(): Promise<Suspect | null> {
    if (this.#suspect !== null) return this.#suspect;
    const { dance } = this;
    const bound = dance.bound ?? dance.warrant.bound;
    const found = await this.host.suspects.find({ ...dance.warrant, bound });
    if (found.is !== "there") {
      await this.#end(lost(this, found));
      return null;
    }
    this.#suspect = found.suspect;
    dance.bound = found.suspect.bound;
    return found.suspect;
  }

  async #end({ event, verdict, why, look, exit = [], survivors = [] }: Ending): Promise<void> {
    const { dance } = this;
    const attempt = dance.attempts.at(-1);
    if (attempt && event === "withdrawn") attempt.ended = "withdrawn";
    if (attempt) attempt.ended_at ??= this.now();
    await this.#takeBack();
    dance.outcome = {
      ...{ verdict, why, ended_at: this.now(), exit, survivors },
      evidence: this.watch.bursts().map(({ at, source, what }) => `${at} ${source}: ${what}`),
      screen_after: look?.is === "there" ? look.screen : dance.screen_last,
    };
    if (!(await this.pass(event))) dance.outcome = null;
  }

  /** A later reader of the terminal must not get an unread question: a shell, a person's program. */
  async #takeBack(): Promise<void> {
    const { attempts, bound, warrant } = this.dance;
    const asked = attempts.filter(({ ended }) => ended !== "answered" && ended !== "replied");
    if (asked.length === 0) return;
    if (this.#suspect === null && bound !== null) {
      // After a restart it may not have been looked for yet.
      const found = await this.host.suspects.find({ ...warrant, bound });
      if (found.is === "there") this.#suspect = found.suspect;
    }
    const questions = asked.map((one) => questionOf(this.dance, one, attempts.length));
    await this.#suspect?.takeBack?.(questions);
  }
}
