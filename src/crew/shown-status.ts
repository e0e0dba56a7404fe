import { growingPause } from "../base/growing-pause.ts";
import type { Member } from "./manifest.ts";
import type { MemberContext } from "./ports.ts";
import type { MemberState, MemberStatus } from "./status.ts";

/** As long as the disk is full. */
const RETRY_MS = { first: 1_000, longest: 60_000 };
/** A stream may say what it uses a thousand times a second. */
const SPENT_EVERY_MS = 1_000;

type Surroundings = Pick<MemberContext, "machine" | "files" | "timers">;

/** What a member is and does, and its file: anybody can read that while its run is under way. */
export class ShownStatus {
  readonly now: MemberStatus;
  readonly #key: string;
  readonly #context: Surroundings;
  readonly #trouble: (message: string) => void;
  #isLate = false;
  /** Writes in a row that have failed. */
  #failures = 0;
  #cancelRetry: () => void = () => {};
  /** When dollars of a run were last written, by the time since boot. */
  #spentAt = Number.NEGATIVE_INFINITY;
  #cancelSpent: (() => void) | null = null;

  constructor(
    member: Member,
    key: string,
    context: Surroundings,
    trouble: (message: string) => void,
  ) {
    this.#key = key;
    this.#context = context;
    this.#trouble = trouble;
    const before = this.#before();
    this.now = {
      name: member.name,
      state: "waiting",
      since: iso(context.machine.clock.now()),
      run: null,
      outcome: before?.outcome ?? null,
      note: "",
      last_run: before?.last_run ?? null,
      next_tick: null,
      streak: count(before?.streak),
      crashes: 0,
      lifecycle: before?.lifecycle ?? null,
      saved: count(before?.saved),
      // With what a run had spent whose supervisor was killed; the next write forgets that it was one.
      cost_today: count(before?.cost_today) + count(before?.run_usd),
      day: before?.day ?? "",
      ...(member.budgetUsdDay === null ? {} : { budget_usd_day: member.budgetUsdDay }),
      thought: before?.thought ?? null,
      engine: member.engine,
      mode: member.mode,
    };
  }

  show(state: MemberState, note: string): void {
    this.#change(state, note);
    this.#write();
  }

  /**
   * As soon as what can be done at once is done: for what is changed again in a moment, mostly. To replace
   * a file is the dearest part of a tick.
   */
  showSoon(state: MemberState, note: string): void {
    this.#change(state, note);
    this.#isLate = true;
    setImmediate(() => {
      if (this.#isLate) this.#write();
    });
  }

  /** Dollars of the run that goes on: whoever comes after us must know them, even if we are killed. */
  showSpent(usd: number): void {
    this.costToday(); // it is today that they count for, as at the run's end
    this.now.run_usd = usd;
    if (this.#cancelSpent !== null) return;
    const passed = this.#uptimeMs() - this.#spentAt;
    if (passed >= SPENT_EVERY_MS) this.#writeSpent();
    else {
      const { timers } = this.#context;
      this.#cancelSpent = timers.after(SPENT_EVERY_MS - passed, () => this.#writeSpent());
    }
  }

  #writeSpent(): void {
    this.#spentAt = this.#uptimeMs();
    this.#write();
  }

  /** The run is over. `usd`: its bill; null: it has none, and what is known of it counts. */
  settle(usd: number | null): void {
    this.now.cost_today = this.costToday() + (usd ?? this.now.run_usd ?? 0);
    delete this.now.run_usd;
  }

  #uptimeMs(): number {
    return Math.round(this.#context.machine.clock.uptime() * 1000);
  }

  #change(state: MemberState, note: string): void {
    const { now } = this;
    if (now.state !== state) now.since = iso(this.#context.machine.clock.now());
    now.state = state;
    now.note = note;
    if (state !== "waiting" && state !== "backing_off" && state !== "held") now.next_tick = null;
  }

  /** Nothing is written after that: what could not be written is not tried again. */
  close(): void {
    this.#isLate = false;
    this.#cancelTimers();
  }

  #cancelTimers(): void {
    this.#cancelRetry();
    this.#cancelSpent?.();
    this.#cancelSpent = null;
  }

  #write(): void {
    const { files, timers } = this.#context;
    this.#isLate = false;
    this.#cancelTimers();
    try {
      files.writeStatus(this.#key, this.now);
      this.#failures = 0;
    } catch (error) {
      // Its clock goes on; only what is shown of it is late, and that is told once.
      if (this.#failures === 0) this.#trouble((error as Error).message);
      const pause = growingPause(++this.#failures, RETRY_MS);
      this.#cancelRetry = timers.after(pause, () => this.#write());
    }
  }

  /** Dollars on this UTC day. */
  costToday(): number {
    const day = iso(this.#context.machine.clock.now()).slice(0, 10);
    if (this.now.day !== day) {
      this.now.day = day;
      this.now.cost_today = 0;
    }
    return this.now.cost_today;
  }

  #before(): MemberStatus | null {
    try {
      return this.#context.files.status(this.#key);
    } catch (error) {
      // It begins anew: what it counted is lost, and nothing else.
      this.#trouble((error as Error).message);
      return null;
    }
  }
}

/** Of a file that anybody may have edited. */
function count(value: unknown): number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : 0;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
