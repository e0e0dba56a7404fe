import type { Member } from "../../model/crew-manifest.ts";
import type { MemberState, MemberStatus, TickOutcome } from "../../model/crew-status.ts";
import { isVivError } from "../../model/errors.ts";
import {
  BREATHER_MS,
  firstDelay,
  lastRunFrom,
  MOST_CRASHES,
  nextDelay,
} from "../../policy/tick.ts";
import type { MemberContext, Prepared, RunEnd } from "./ports.ts";

/**
 * One standing agent: its clock, its state files, and one tick after the other. The singleton and every
 * member of a crew are instances of this, and know nothing of each other; only the gate does.
 *
 * A tick: what it is about is read (def, lifecycle); RUN-IF; the gate; the time of this run is written; the
 * engine runs; its outcome decides about the lifecycle and the next tick. Whatever happens, the slot is given
 * back and another tick is scheduled, unless the member is parked.
 */
export interface Pace {
  graceMs: number;
  staggerMs: number;
}

/** How long a member is held when nobody knows until when. */
const LOOK_AGAIN_MS = 60_000;

export class CrewMember {
  readonly name: string;
  #member: Member;
  /** "" for the singleton: its files have no suffix. */
  readonly #key: string;
  readonly #context: MemberContext;
  readonly #status: MemberStatus;
  #cancelTimer: () => void = () => {};
  #running: Promise<TickOutcome | null> | null = null;
  #abort = new AbortController();
  #isStopped = false;

  constructor(member: Member, key: string, context: MemberContext) {
    this.name = member.name;
    this.#member = member;
    this.#key = key;
    this.#context = context;
    const before = context.files.status(key);
    const now = context.machine.clock.now();
    this.#status = {
      name: member.name,
      state: "waiting",
      since: iso(now),
      run: null,
      outcome: before?.outcome ?? null,
      note: "",
      last_run: before?.last_run ?? null,
      next_tick: null,
      streak: before?.streak ?? 0,
      crashes: 0,
      lifecycle: before?.lifecycle ?? null,
      saved: before?.saved ?? 0,
      cost_today: before?.cost_today ?? 0,
      day: before?.day ?? "",
      thought: before?.thought ?? null,
      engine: member.engine,
      mode: member.mode,
    };
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  get state(): MemberState {
    return this.#status.state;
  }

  start(pace: Pace): void {
    const { problem } = this.#member;
    if (problem !== null) return this.#park(problem);
    if (this.#isPausedByHand()) return this.#show("paused", "by hand");
    this.#schedule(this.#firstDelay(pace), "first");
  }

  /** New settings count from the next tick on; a parked member gets another chance. */
  update(member: Member, pace: Pace): void {
    const wasParked = this.#status.state === "parked";
    const interval = member.intervalMs !== this.#member.intervalMs;
    this.#member = member;
    this.#status.engine = member.engine;
    this.#status.mode = member.mode;
    if (this.isRunning || this.#isStopped) return;
    if (member.problem !== null) return this.#park(member.problem);
    if (wasParked) this.#status.crashes = 0;
    if (wasParked || (interval && this.#status.state === "waiting")) {
      this.#schedule(this.#firstDelay({ ...pace, graceMs: 0, staggerMs: 0 }), "changed");
    }
  }

  pause(): void {
    this.#context.files.setPaused(this.#key, true);
    if (this.isRunning || this.#isStopped) return;
    this.#cancelTimer();
    this.#show("paused", "by hand");
  }

  resume(): void {
    this.#context.files.setPaused(this.#key, false);
    if (this.isRunning || this.#isStopped) return;
    this.#status.crashes = 0;
    const { problem } = this.#member;
    if (problem !== null) return this.#park(problem);
    this.#schedule(this.#firstDelay({ graceMs: 0, staggerMs: 0 }), "resumed");
  }

  /** One tick now, whatever its clock says; joins one that is under way. */
  tickNow(): Promise<TickOutcome | null> {
    this.#cancelTimer();
    return this.#tick(true);
  }

  /** A run that is under way may finish. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    if (this.#status.state === "queued" || this.#status.state === "checking") this.#abort.abort();
    await this.#running;
    this.#show("stopped", "");
  }

  async stopNow(): Promise<void> {
    this.#isStopped = true;
    this.#abort.abort();
    await this.stop();
  }

  #firstDelay({ graceMs, staggerMs }: Pace): number {
    const { files, machine } = this.#context;
    const now = machine.clock.now();
    const { at, problem } = lastRunFrom(files.lastRun(this.#key), now);
    if (problem) this.#trouble(problem);
    return firstDelay({
      graceMs,
      intervalMs: this.#baseMs,
      sinceLastRunMs: at === null ? null : now - at,
      index: this.#member.index,
      staggerMs,
    });
  }

  get #baseMs(): number {
    return this.#member.isContinuous ? BREATHER_MS : this.#member.intervalMs;
  }

  #schedule(delayMs: number, why: string, state: MemberState = "waiting", note = ""): void {
    if (this.#isStopped) return;
    const { machine, timers, tell } = this.#context;
    this.#cancelTimer();
    this.#status.next_tick = iso(machine.clock.now() + delayMs);
    this.#show(state, note);
    this.#cancelTimer = timers.after(delayMs, () => void this.#tick(false));
    tell({ kind: "next", name: this.name, after_ms: Math.round(delayMs), why });
  }

  #tick(isForced: boolean): Promise<TickOutcome | null> {
    this.#running ??= this.#tickOnce(isForced)
      .catch((error): null => {
        this.#afterTrouble(error);
        return null;
      })
      .finally(() => {
        this.#running = null;
      });
    return this.#running;
  }

  async #tickOnce(isForced: boolean): Promise<TickOutcome | null> {
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const { runner, gate, machine, files } = this.#context;
    const member = this.#member;
    this.#status.next_tick = null;
    const prepared = await runner.prepare(member);
    const { lifecycle } = prepared;
    this.#status.lifecycle = lifecycle?.state ?? null;
    if (lifecycle && !isForced) {
      const ran = Number(files.ran(this.#key, lifecycle.state) ?? Number.NaN);
      if (lifecycle.isClosed(Number.isFinite(ran) ? ran : null, machine.clock.now())) {
        this.#schedule(this.#baseMs, "its lifecycle rests");
        return null;
      }
    }
    const held = runner.heldBy(member, this.#costToday());
    if (held !== null) return this.#hold(held.note, held.until);
    if (member.runIf !== null && !isForced) {
      this.#show("checking", "");
      const { due, note } = await runner.isDue(member, signal);
      if (!due) return this.#saveTick(note);
    }
    if (gate) this.#show("queued", "");
    const release = await gate?.acquire({ name: this.name, priority: member.priority, signal });
    try {
      return await this.#run(prepared, signal);
    } finally {
      release?.();
    }
  }

  async #run(prepared: Prepared, signal: AbortSignal): Promise<TickOutcome | null> {
    const { files, machine, runner, tell } = this.#context;
    const { lifecycle } = prepared;
    const began = machine.clock.now();
    const begun = machine.clock.uptime();
    files.writeLastRun(this.#key, began);
    if (lifecycle) files.writeRan(this.#key, lifecycle.state, began);
    this.#status.last_run = iso(began);
    this.#status.thought = null;
    this.#show("running", "");
    tell({ kind: "runs", name: this.name, lifecycle: lifecycle?.state ?? null });
    const end = await runner.run(prepared, {
      prompt: prepared.promptFor(lifecycle),
      logPath: files.newLog(this.#key, began),
      costToday: this.#costToday(),
      lifecycle: lifecycle?.state ?? null,
      signal,
      onProcess: (tree) => {
        this.#status.run = tree;
        this.#show("running", "");
      },
      onLine: (line) => {
        files.append(line);
        if ("thought" in line) {
          this.#status.thought = line.thought;
          this.#show("running", "");
        }
      },
    });
    this.#status.run = null;
    return this.#conclude(prepared, end, (machine.clock.uptime() - begun) * 1000);
  }

  #conclude(prepared: Prepared, end: RunEnd, tookMs: number): TickOutcome | null {
    const { files, machine, tell } = this.#context;
    if (end.usd !== null) this.#status.cost_today = this.#costToday() + end.usd;
    if (end.kind === "held") return this.#hold(end.note, end.until);
    const { outcome, note, usd } = end;
    const seconds = Math.round(tookMs) / 1000;
    const ts = Math.floor(machine.clock.now() / 1000);
    files.append({ run: outcome, ts, agent: this.name, seconds, usd, note });
    tell({ kind: "ran", name: this.name, outcome, seconds, note, usd });
    if (prepared.lifecycle) files.writePosition(this.#key, prepared.lifecycle.after(outcome));
    this.#status.outcome = outcome;
    this.#status.streak = outcome === "no_work" ? this.#status.streak + 1 : 0;
    this.#status.crashes = outcome === "crashed" ? this.#status.crashes + 1 : 0;
    const { streak, crashes } = this.#status;
    if (crashes >= MOST_CRASHES) {
      this.#park(`it crashed ${crashes} times in a row: ${note}`);
      return outcome;
    }
    if (this.#isPausedByHand()) this.#show("paused", "by hand");
    else {
      const baseMs = this.#baseMs;
      const isContinuous = this.#member.isContinuous;
      const delay = nextDelay({ outcome, baseMs, streak, crashes, tookMs, isContinuous });
      const isLate = outcome === "no_work" || outcome === "crashed";
      this.#schedule(delay, outcome, isLate ? "backing_off" : "waiting", note);
    }
    return outcome;
  }

  #saveTick(note: string): null {
    this.#status.saved++;
    this.#context.tell({ kind: "saved", name: this.name, saved: this.#status.saved, note });
    if (this.#isPausedByHand()) this.#show("paused", "by hand");
    else this.#schedule(this.#baseMs, "run-if says no");
    return null;
  }

  #hold(note: string, until: number | null): null {
    const { machine, tell } = this.#context;
    const now = machine.clock.now();
    tell({ kind: "held", name: this.name, note, until: until === null ? null : iso(until) });
    const delay = until === null ? LOOK_AGAIN_MS : Math.max(1_000, until - now);
    this.#schedule(Math.min(delay, LOOK_AGAIN_MS), "held", "held", note);
    return null;
  }

  #park(note: string): void {
    this.#cancelTimer();
    this.#status.next_tick = null;
    this.#show("parked", note);
    this.#context.tell({ kind: "parked", name: this.name, note });
  }

  /** Nothing of a tick that went wrong may stop the clock, nor hide what went wrong. */
  #afterTrouble(error: unknown): void {
    this.#status.run = null;
    if (this.#isStopped || this.#abort.signal.aborted) return;
    const message = error instanceof Error ? error.message : String(error);
    if (isVivError(error, "INVALID")) return this.#park(message);
    this.#trouble(message);
    this.#schedule(this.#baseMs, "trouble", "backing_off", message);
  }

  #costToday(): number {
    const day = iso(this.#context.machine.clock.now()).slice(0, 10);
    if (this.#status.day !== day) {
      this.#status.day = day;
      this.#status.cost_today = 0;
    }
    return this.#status.cost_today;
  }

  #isPausedByHand(): boolean {
    return this.#context.files.isPaused(this.#key);
  }

  #show(state: MemberState, note: string): void {
    const { files, machine } = this.#context;
    if (this.#status.state !== state) this.#status.since = iso(machine.clock.now());
    this.#status.state = state;
    this.#status.note = note;
    if (state !== "waiting" && state !== "backing_off" && state !== "held") {
      this.#status.next_tick = null;
    }
    try {
      files.writeStatus(this.#key, this.#status);
    } catch (error) {
      // Its clock goes on; only what is shown of it is late.
      this.#trouble((error as Error).message);
    }
  }

  #trouble(message: string): void {
    this.#context.tell({ kind: "trouble", name: this.name, message });
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
