import { isVivError } from "../base/errors.ts";
import { type Dance, hasKilled } from "./dance.ts";
import type { DanceRequest, DanceRun } from "./dance-run.ts";
import { type Ending, execute } from "./execute.ts";
import { ask, awaitAnswer, lookInterval, lost, newAttempt, signOfLife } from "./interrogate.ts";
import { questionOf } from "./question.ts";
import { attemptsBefore, type SeedState, takeOver } from "./seed-dance.ts";
import type { Suspect } from "./suspects/suspect.ts";

/** What a dance asks of its pool. */
export interface Pool {
  /** Takes a place among the executions for each agent of it; false when there is none now. */
  mayExecute(dance: Dance): boolean;
  /** What `mayExecute` allowed must not be: a person has paused the pool since, or the folder is not ours any more. */
  isRevoked(): boolean;
  /** Gives it back, and tells whether any process was ended. */
  executed(dance: Dance, hasKilled: boolean): void;
  /** Why it holds; null when it does not. */
  pause(): { since: string; why: string } | null;
  /** Notifies the requester that this execution is held, then calls back. */
  announce(dance: Dance, notified: () => void): void;
}

export type DanceEnd = "over" | "released" | "stopped";

/** One dog with one warrant. Everything is written before it is done, so any step may be the last. */
export class Dancer {
  readonly dance: Dance;
  readonly #run: DanceRun;
  readonly #pool: Pool;
  #suspect: Suspect | null = null;
  /** The pause that this process has announced. */
  #heldSince: string | null = null;
  #isOver = false;
  /** It may have been signalled before a restart. */
  readonly #wasExecuting: boolean;

  constructor(run: DanceRun, pool: Pool) {
    this.dance = run.dance;
    this.#run = run;
    this.#pool = pool;
    this.#wasExecuting = run.dance.state === "executing";
  }

  request(what: DanceRequest): void {
    this.#run.request(what);
  }

  /** Something may have changed: its screen, or the pool. */
  wake(): void {
    this.#run.sleeper.wake();
  }

  async run(): Promise<DanceEnd> {
    try {
      for (;;) {
        const { requested } = this.#run;
        if (requested === "stopped") return "stopped";
        const { state } = this.dance;
        if (state === "pardoned" || state === "complete" || state === "failed") return "over";
        if (state === "executing") await this.#execute();
        else if (requested === "withdrawn") await this.#withdraw();
        else if (requested === "released") {
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

  /** What the seed left: what is over is cleaned up; else only what we asked ourselves is ended. */
  async #takeOver(seed: SeedState): Promise<void> {
    const { dance } = this;
    const { timeoutsMs } = this.#run.settings;
    const found = await this.#run.host.suspects.find(dance.warrant);
    const look = found.is === "there" ? await found.suspect.look() : found;
    if (found.is === "there") found.suspect.close();
    const taken = takeOver(seed, look, dance.attempt, timeoutsMs);
    delete dance.seed;
    if ("ending" in taken) {
      await this.#end(taken.ending);
    } else {
      dance.attempt = taken.attempt;
      dance.attempts = attemptsBefore(taken.attempt, timeoutsMs);
      if (look.is === "there") dance.screen_before = look.screen.slice(-200);
      await this.#run.pass("silent");
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
      if (look.is !== "there") return this.#end(lost(this.#run, look));
      this.#run.watch.start(look);
      this.#rememberTree(suspect);
      attempt = newAttempt(this.#run);
      const programs = await suspect.programs?.();
      if (programs !== undefined) attempt.standing = programs;
      dance.attempts.push(attempt);
      // From here on it may have been typed.
      if (!(await this.#run.save())) return;
    }
    if ((attempt.began_at ?? attempt.asked_at) === null) {
      const asked = await ask(this.#run, suspect, attempt);
      if (asked !== "asked") return asked === null ? undefined : this.#end(asked);
    }
    if (attempt.ended !== "waiting") {
      const waited = await awaitAnswer(this.#run, suspect, attempt);
      if (waited !== "over") return waited === null ? undefined : this.#end(waited);
    }
    attempt.ended_at = this.#run.now();
    await this.#run.pass(attempt.ended === "answered" ? "answered" : "timed_out");
  }

  async #evaluate(): Promise<void> {
    const { dance } = this;
    const run = this.#run;
    const suspect = await this.#find();
    if (suspect === null) return;
    const attempt = dance.attempts[dance.attempt - 1];
    const look = await suspect.look();
    if (look.is !== "there") return this.#end(lost(run, look));
    const isAnswered = attempt !== undefined && run.watch.record(look, attempt, run.clock());
    this.#rememberTree(suspect);
    if (attempt && (isAnswered || attempt.ended === "answered")) {
      attempt.ended = "answered";
      const why = `it answered in attempt ${attempt.number}`;
      return this.#end({ event: "alive", verdict: "pardoned", why, look });
    }
    const alive = attempt && (await signOfLife(run, suspect, attempt, look));
    if (attempt && alive) {
      attempt.ended = alive.ended;
      return this.#end({ event: "alive", verdict: "pardoned", why: alive.why, look });
    }
    if (run.requested !== null) return;
    if (attempt) attempt.ended = "silent";
    if (dance.attempt < run.settings.timeoutsMs.length) return this.#askAgain();
    const isAsked = attempt !== undefined && attempt.asked_at !== null && !attempt.unasked;
    if (!isAsked && run.ifUnasked() === "spare") {
      const hint = "it was watched, and left alone; to end it all the same: --unasked execute";
      const why = `not_asked: ${attempt?.unasked ?? "it could not be asked"}; ${hint}`;
      return this.#end({ event: "unknown", verdict: "failed", why, look });
    }
    if (this.#pool.mayExecute(dance)) return this.#beginExecution();
    return this.#hold(suspect);
  }

  async #askAgain(): Promise<void> {
    this.dance.attempt++;
    this.#run.clearDeadline();
    if (!(await this.#run.pass("silent"))) this.dance.attempt--;
  }

  /** The breaker is open: until a person resumes the pool, it may still answer, or work. */
  async #hold(suspect: Suspect): Promise<void> {
    if (!(await this.#announceHold())) return;
    suspect.watch(() => this.wake());
    await this.#run.sleeper.sleep(lookInterval(Number.POSITIVE_INFINITY));
  }

  /** Once for each pause: after a restart only if no requester was notified before. */
  async #announceHold(): Promise<boolean> {
    const { dance } = this;
    const pause = this.#pool.pause();
    if (pause === null || this.#heldSince === pause.since) return true;
    this.#heldSince = pause.since;
    const why = `the pool is paused (${pause.why}); a person must say: viv warden resume`;
    this.#run.emit({ kind: "holds", dog: dance.id, target: dance.warrant.target, why });
    if (dance.held?.since === pause.since && dance.held.told_at !== null) return true;
    dance.held = { since: pause.since, why: pause.why, told_at: null };
    if (!(await this.#run.save())) return false;
    this.#pool.announce(dance, () => {
      if (this.#isOver || dance.held?.since !== pause.since) return;
      dance.held.told_at = this.#run.now();
      this.#run.host.files.save(dance);
    });
    return true;
  }

  async #beginExecution(): Promise<void> {
    const { dance } = this;
    this.#run.clearDeadline();
    let isSaved = false;
    try {
      isSaved = await this.#saveForExecution();
    } finally {
      if (!isSaved) this.#pool.executed(dance, false);
    }
    // By the time it can be saved it may have answered, so it is looked at again.
    if (!isSaved) return this.#run.sleeper.sleep(1_000);
    const { id: dog, warrant, tree } = dance;
    this.#run.emit({ kind: "executes", dog, target: warrant.target, processes: tree.length });
    // At once, even if the warden is stopped now: the next one would take it for signalled.
    return this.#execute();
  }

  /** Once: an execution must not follow a look of long ago, because a disk was full meanwhile. */
  async #saveForExecution(): Promise<boolean> {
    // The lock may be waited for, so this is asked again under it.
    const isStillMeant = () => this.#run.requested === null && !this.#pool.isRevoked();
    try {
      return await this.#run.host.files.saveForExecution(this.dance, isStillMeant);
    } catch (error) {
      if (!isVivError(error)) throw error;
      this.#run.warn(error);
      return false;
    }
  }

  async #execute(): Promise<void> {
    const { host, settings } = this.#run;
    const { ending, suspect } = await execute({
      ...{ dance: this.dance, host, killAfterMs: settings.killAfterMs },
      ...{ suspect: this.#suspect, wasExecuting: this.#wasExecuting },
      hasAnswered: (look, attempt) => this.#run.watch.record(look, attempt, this.#run.clock()),
      sparesWaiting: this.#run.ifUnasked() === "spare",
    });
    this.#suspect = suspect;
    await this.#end(ending);
    this.#pool.executed(this.dance, hasKilled(ending));
  }

  /** What belongs to it now joins what was seen before: a process that left the tree stays known. */
  #rememberTree(suspect: Suspect): void {
    const { dance } = this;
    const known = new Map(dance.tree.map((one) => [`${one.pid} ${one.started}`, one]));
    for (const one of suspect.tree(dance.tree)) known.set(`${one.pid} ${one.started}`, one);
    dance.tree = [...known.values()];
    dance.tree_boot = this.#run.host.machine.bootId();
  }

  /** Null when the dance went another way. */
  async #find(): Promise<Suspect | null> {
    if (this.#suspect !== null) return this.#suspect;
    const { dance } = this;
    const bound = dance.bound ?? dance.warrant.bound;
    const found = await this.#run.host.suspects.find({ ...dance.warrant, bound });
    if (found.is !== "there") {
      await this.#end(lost(this.#run, found));
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
    if (attempt) attempt.ended_at ??= this.#run.now();
    await this.#takeBack();
    dance.outcome = {
      ...{ verdict, why, ended_at: this.#run.now(), exit, survivors },
      evidence: this.#run.watch.bursts().map(({ at, source, what }) => `${at} ${source}: ${what}`),
      screen_after: look?.is === "there" ? look.screen : dance.screen_last,
    };
    if (!(await this.#run.pass(event))) dance.outcome = null;
  }

  /** An unread question must not be read by what comes after the suspect: a shell, a person's program. */
  async #takeBack(): Promise<void> {
    const { attempts } = this.dance;
    const asked = attempts.filter(({ ended }) => ended !== "answered" && ended !== "replied");
    const questions = asked.map((one) => questionOf(this.dance, one, attempts.length));
    const suspect = questions.length > 0 ? await this.#toTakeBackFrom() : null;
    await suspect?.takeBack?.(questions);
  }

  /** After a restart it may not have been looked for yet. */
  async #toTakeBackFrom(): Promise<Suspect | null> {
    const { bound, warrant } = this.dance;
    if (this.#suspect !== null || bound === null) return this.#suspect;
    const found = await this.#run.host.suspects.find({ ...warrant, bound });
    if (found.is === "there") this.#suspect = found.suspect;
    return this.#suspect;
  }
}
