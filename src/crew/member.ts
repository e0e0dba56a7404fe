import type { ClaimTree } from "../base/clock.ts";
import { isVivError, messageOf, VivError } from "../base/errors.ts";
import { counted } from "../base/text.ts";
import { stepEntryOf } from "./crew-ledger.ts";
import type { MemberContext, Prepared, RunEnd } from "./crew-ports.ts";
import type { Member } from "./manifest.ts";
import type { CrewLine, MemberState, TickOutcome } from "./member-status.ts";
import { iso, StatusWriter } from "./status-writer.ts";
import {
  BREATHER_MS,
  firstDelay,
  isBackingOff,
  lastRunFrom,
  MOST_BAD_ENDS,
  nextDelay,
} from "./tick.ts";

export interface Pace {
  graceMs: number;
  staggerMs: number;
}

/** The first thoughts of a run are logged as they come; later ones this often. */
const LOGGED_AT_ONCE = 60;
const LOG_EVERY_MS = 200;
/** A held member looks again at least this often. */
const LOOK_AGAIN_MS = 60_000;
const BAD_ENDS: Partial<Record<TickOutcome, string>> = {
  crashed: "crashed",
  killed: "was killed",
};

/**
 * One standing agent: its clock, its state files, and one tick after the other. The singleton and
 * every member of a crew are instances of this, and share only the gate.
 *
 * A tick: read def and lifecycle; RUN-IF; the gate; write the time of this run; run the engine; its
 * outcome decides about the lifecycle and the next tick. On every path the slot is given back and
 * another tick is scheduled, unless the member is parked, paused or stopped.
 */
export class CrewMember {
  readonly name: string;
  #member: Member;
  /** "" for the singleton: its files have no suffix. */
  readonly #key: string;
  readonly #context: MemberContext;
  readonly #status: StatusWriter;
  #cancelTimer: () => void = () => {};
  #ticking: Promise<TickOutcome | null> | null = null;
  #abort = new AbortController();
  /** The run may finish; before it a tick is called off. */
  #isInRun = false;
  #isStopped = false;
  /** The files that a person may correct while it is parked, and their stamp. */
  #parkedOver: { files: string[]; stamp: string } | null = null;
  /** Ticks since its last run that its RUN-IF has saved. */
  #savedInRow = 0;
  /** Of this run, and when the last was logged, by the time since boot. */
  #thoughts = 0;
  #loggedAt = 0;

  constructor(member: Member, key: string, context: MemberContext) {
    this.name = member.name;
    this.#member = member;
    this.#key = key;
    this.#context = context;
    this.#status = new StatusWriter(member, key, context, (message) => this.#warn(message));
  }

  get isInRun(): boolean {
    return this.#isInRun;
  }

  get state(): MemberState {
    return this.#status.now.state;
  }

  get note(): string {
    return this.#status.now.note;
  }

  /** `place`: among the members that start together. */
  start(pace: Pace, place = this.#member.index): void {
    // Now, and not when its turn comes: that may be in an hour.
    if (!this.#isParkedAtOnce()) this.#schedule(this.#firstDelay(pace, place), "first");
  }

  #isParkedAtOnce(): boolean {
    if (this.#member.problem !== null || this.#context.files.isPaused(this.#key)) return false;
    try {
      this.#prepare();
      return false;
    } catch (error) {
      // Other errors may have passed when its turn comes.
      if (!isVivError(error, "INVALID")) return false;
      this.#park(messageOf(error), pathsIn(error));
      return true;
    }
  }

  /** Its tick, from the files as they are now. Throws INVALID for mistakes that park it. */
  #prepare(): Prepared {
    const { runner, ranFiles } = this.#context;
    const prepared = runner.prepare(this.#member);
    const problem = ranFiles.take(this.#key, prepared.lifecycle?.states ?? []);
    if (problem !== null) throw new VivError("INVALID", problem);
    return prepared;
  }

  /** New settings count from the next tick on; a change of its entry unparks a member. */
  update(member: Member): void {
    const before = this.#member;
    const baseBefore = this.#baseMs;
    this.#member = member;
    this.#status.now.engine = member.engine;
    this.#status.now.mode = member.mode;
    if (this.#ticking || this.#isStopped || isSameEntry(before, member)) return;
    if (this.state === "parked") this.#unpark();
    else if (this.state === "paused") return;
    else if (member.problem !== null) this.#park(member.problem);
    else if (this.#isParkedAtOnce()) return;
    else if (this.state === "waiting" && this.#baseMs !== baseBefore) {
      this.#schedule(this.#firstDelay(), "changed");
    }
  }

  /** Unparks it when a file that it is parked over has changed. */
  lookAgain(): void {
    if (this.state !== "parked" || this.#parkedOver === null || this.#ticking) return;
    const { files, stamp } = this.#parkedOver;
    if (this.#context.stampOf(files) !== stamp) this.#unpark();
  }

  /** Resolves when it waits for no turn any more; a run that is under way may finish. */
  async pause(): Promise<void> {
    this.#context.files.setPaused(this.#key, true);
    if (this.#isStopped) return;
    if (this.#ticking) {
      this.#callOff();
      if (!this.#isInRun) await this.#ticking;
    } else {
      this.#cancelTimer();
      this.#status.show("paused", "by hand");
    }
  }

  resume(): void {
    this.#context.files.setPaused(this.#key, false);
    if (!this.#ticking && !this.#isStopped) this.#unpark("resumed");
  }

  /** One tick now, regardless of its clock; joins a current one. Rejects for a member with a problem. */
  async tickNow(): Promise<TickOutcome | null> {
    if (this.#isStopped) return null;
    const { problem } = this.#member;
    if (problem !== null) throw new VivError("WRONG_STATE", `${this.name} is parked: ${problem}`);
    // A RUN-IF check is no tick: the requested one comes after it.
    if (this.state === "checking") await this.#ticking;
    if (this.#isStopped) return null;
    this.#cancelTimer();
    return this.#tick(true);
  }

  /** A run that is under way may finish. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    this.#callOff();
    await this.#ticking;
    this.#status.show("stopped", "");
    this.#status.close();
    this.#context.ranFiles.release(this.#key);
  }

  async stopNow(): Promise<void> {
    this.#isStopped = true;
    this.#abort.abort();
    await this.stop();
  }

  #callOff(): void {
    if (!this.#isInRun) this.#abort.abort();
  }

  #unpark(why = "changed"): void {
    this.#status.now.crashes = 0;
    this.#schedule(this.#firstDelay(), why);
  }

  #firstDelay({ graceMs, staggerMs }: Pace = { graceMs: 0, staggerMs: 0 }, index = 0): number {
    const { files, machine } = this.#context;
    const now = machine.clock.now();
    let sinceLastRunMs: number | null = null;
    try {
      const { at, problem } = lastRunFrom(files.lastRun(this.#key), now);
      if (problem) this.#warn(problem);
      if (at !== null) sinceLastRunMs = now - at;
    } catch (error) {
      this.#warn(`its last run cannot be read: ${messageOf(error)}`);
    }
    return firstDelay({ graceMs, intervalMs: this.#baseMs, sinceLastRunMs, index, staggerMs });
  }

  get #baseMs(): number {
    return this.#member.isContinuous ? BREATHER_MS : this.#member.intervalMs;
  }

  #schedule(delayMs: number, why: string, state: MemberState = "waiting", note = ""): void {
    if (this.#isStopped) return;
    this.#cancelTimer();
    this.#parkedOver = null;
    const { files, machine, timers, emit } = this.#context;
    const { problem } = this.#member;
    if (problem !== null) this.#park(problem);
    else if (files.isPaused(this.#key)) this.#status.show("paused", "by hand");
    else {
      this.#status.now.next_tick = iso(machine.clock.now() + delayMs);
      this.#status.show(state, note);
      this.#cancelTimer = timers.after(delayMs, () => void this.#tick(false));
      emit({ kind: "next", name: this.name, after_ms: Math.round(delayMs), why });
    }
  }

  #tick(isForced: boolean): Promise<TickOutcome | null> {
    this.#ticking ??= this.#tickOnce(isForced)
      .catch((error): null => {
        this.#afterError(error);
        return null;
      })
      .finally(() => {
        this.#ticking = null;
      });
    return this.#ticking;
  }

  async #tickOnce(isForced: boolean): Promise<TickOutcome | null> {
    if (this.#abort.signal.aborted) this.#abort = new AbortController();
    const { signal } = this.#abort;
    const { runner, machine, files } = this.#context;
    const member = this.#member;
    this.#status.now.next_tick = null;
    const prepared = this.#prepare();
    const { lifecycle } = prepared;
    this.#status.now.lifecycle = lifecycle?.state ?? null;
    if (lifecycle && !isForced) {
      const ran = Number(files.ran(this.#key, lifecycle.state) ?? Number.NaN);
      if (lifecycle.isClosed(Number.isFinite(ran) ? ran : null, machine.clock.now())) {
        this.#schedule(this.#baseMs, "its lifecycle rests");
        return null;
      }
    }
    const held = runner.heldBy(member, this.#status.costToday());
    if (held !== null) return this.#hold(held);
    if (member.runIf !== null && !isForced) {
      this.#status.show("checking", "");
      const onProcess = (tree: ClaimTree) => this.#showProcess(tree, "checking");
      const { due, note } = await runner.isDue(member, { signal, onProcess });
      this.#status.now.run = null;
      if (!due) return this.#saveTick(note);
    }
    const release = await this.#enterGate(member, signal);
    try {
      signal.throwIfAborted();
      this.#isInRun = true;
      return await this.#run(prepared, signal);
    } finally {
      this.#isInRun = false;
      release();
    }
  }

  /** With a free slot it is not shown as queued: that would be a needless write. */
  async #enterGate(member: Member, signal: AbortSignal): Promise<() => void> {
    const { gate } = this.#context;
    if (gate === null) return () => {};
    const entering = gate.acquire({ name: this.name, priority: member.priority, signal });
    let isDecided = false;
    const decided = () => {
      isDecided = true;
    };
    entering.then(decided, decided);
    for (let i = 0; i < 8 && !isDecided; i++) await null;
    if (!isDecided) this.#status.show("queued", "");
    return entering;
  }

  async #run(prepared: Prepared, signal: AbortSignal): Promise<TickOutcome | null> {
    const { files, machine, runner, emit } = this.#context;
    const { lifecycle } = prepared;
    const began = machine.clock.now();
    const begun = machine.clock.uptime();
    this.#thoughts = 0;
    files.writeLastRun(this.#key, began);
    if (lifecycle) files.writeRan(this.#key, lifecycle.state, began);
    this.#status.now.last_run = iso(began);
    this.#status.now.thought = null;
    this.#status.showSoon("running", "");
    if (this.#savedInRow > 0) {
      const { saved } = this.#status.now;
      emit({ kind: "due", name: this.name, meanwhile: this.#savedInRow, saved });
      this.#savedInRow = 0;
    }
    emit({ kind: "runs", name: this.name, lifecycle: lifecycle?.state ?? null });
    const end = await runner.run(prepared, {
      prompt: prepared.prompt(),
      logPath: files.newLog(this.#key, began),
      costToday: this.#status.costToday(),
      lifecycle: lifecycle?.state ?? null,
      signal,
      onProcess: (tree) => this.#showProcess(tree, "running"),
      onLine: (line) => this.#onLine(line),
      onSpent: (usd) => this.#status.showSpent(usd),
      warn: (message) => this.#warn(message),
    });
    this.#status.now.run = null;
    return this.#conclude(prepared, end, (machine.clock.uptime() - begun) * 1000);
  }

  #showProcess(tree: ClaimTree, state: MemberState): void {
    this.#status.now.run = tree;
    this.#status.show(state, "");
  }

  #onLine(line: CrewLine): void {
    if (!("thought" in line)) {
      this.#append(line);
      return;
    }
    this.#status.now.thought = line.thought;
    // A talkative run is throttled: the others have their ticks to make.
    const now = this.#context.machine.clock.uptime() * 1000;
    if (this.#thoughts >= LOGGED_AT_ONCE && now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#thoughts++;
    this.#loggedAt = now;
    this.#append(line);
    this.#status.show("running", "");
  }

  #conclude(prepared: Prepared, end: RunEnd, tookMs: number): TickOutcome | null {
    const { machine, emit } = this.#context;
    const status = this.#status.now;
    this.#status.settle(end.usd);
    const seconds = Math.round(tookMs) / 1000;
    const { note, usd } = end;
    const ts = Math.floor(machine.clock.now() / 1000);
    const line = { ts, agent: this.name, seconds, usd, note };
    if (end.kind === "held") {
      if (usd !== null) this.#append({ run: "killed", ...line });
      return this.#hold(end);
    }
    const { outcome } = end;
    this.#append({ run: outcome, ...line });
    emit({ kind: "ran", name: this.name, outcome, seconds, note, usd });
    this.#moveOn(prepared, outcome);
    status.outcome = outcome;
    status.streak = outcome === "no_work" ? status.streak + 1 : 0;
    status.crashes = outcome === "done" || outcome === "no_work" ? 0 : status.crashes + 1;
    const { streak, crashes } = status;
    if (crashes >= MOST_BAD_ENDS && !this.#isStopped) {
      const why = `it ${BAD_ENDS[outcome] ?? "failed"} ${counted(crashes, "time")} in a row: ${note}`;
      this.#park(`${why}; correct that, then: viv crew resume ${this.name}`);
      return outcome;
    }
    const { isContinuous } = this.#member;
    const ended = { outcome, baseMs: this.#baseMs, streak, crashes, tookMs, isContinuous };
    const state = isBackingOff(ended) ? "backing_off" : "waiting";
    this.#schedule(nextDelay(ended), outcome, state, note);
    return outcome;
  }

  #moveOn({ lifecycle }: Prepared, outcome: TickOutcome): void {
    if (lifecycle === null) return;
    try {
      this.#context.files.writePosition(this.#key, lifecycle.after(outcome));
    } catch (error) {
      // That state runs once more.
      this.#warn(`its lifecycle stays where it was: ${messageOf(error)}`);
    }
  }

  #saveTick(note: string): null {
    const { now } = this.#status;
    now.saved++;
    if (this.#savedInRow++ === 0) {
      this.#context.emit({ kind: "saved", name: this.name, saved: now.saved, note });
    }
    this.#schedule(this.#baseMs, "run-if says no", "waiting", note);
    return null;
  }

  #hold({ note, until }: { note: string; until: number | null }): null {
    const { machine, emit } = this.#context;
    const now = machine.clock.now();
    // It looks once a minute, and reports it once.
    if (this.state !== "held" || this.note !== note) {
      emit({ kind: "held", name: this.name, note, until: until === null ? null : iso(until) });
    }
    const delay = until === null ? LOOK_AGAIN_MS : Math.max(1_000, until - now);
    this.#schedule(Math.min(delay, LOOK_AGAIN_MS), "held", "held", note);
    return null;
  }

  #park(note: string, more: readonly string[] = []): void {
    const { def, lifecycle, workdir } = this.#member;
    this.#cancelTimer();
    const files = [def, lifecycle, workdir, ...more].flatMap((one) => one ?? []);
    this.#parkedOver = { files, stamp: this.#context.stampOf(files) };
    this.#status.show("parked", note);
    this.#context.emit({ kind: "parked", name: this.name, note });
  }

  /** No error of a tick may stop the clock, nor stay hidden. */
  #afterError(error: unknown): void {
    this.#status.now.run = null;
    this.#status.settle(null);
    if (this.#isStopped) return;
    const message = messageOf(error);
    if (this.#abort.signal.aborted) this.#schedule(this.#firstDelay(), "called off");
    else if (isVivError(error, "INVALID")) this.#park(message, pathsIn(error));
    else {
      this.#warn(message);
      this.#schedule(this.#baseMs, "trouble", "waiting", message);
    }
  }

  #append(line: CrewLine): void {
    try {
      this.#context.files.append(line);
      const step = stepEntryOf(line);
      if (step !== null) this.#context.files.record(this.#context.machine.clock.now(), step);
    } catch (error) {
      // A gap in the feed does not end a run.
      this.#warn(messageOf(error));
    }
  }

  #warn(message: string): void {
    this.#context.emit({ kind: "trouble", name: this.name, message });
  }
}

/** Its place in the manifest does not count. */
export function isSameEntry(a: Member, b: Member): boolean {
  const place = { line: 0, index: 0 };
  return JSON.stringify({ ...a, ...place }) === JSON.stringify({ ...b, ...place });
}

/** The files that may appear or be corrected. */
function pathsIn({ details }: VivError): string[] {
  const { path, paths = path } = details ?? {};
  return [paths].flat().filter((one) => typeof one === "string");
}
