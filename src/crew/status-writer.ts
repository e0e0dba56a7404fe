import { growingPause } from "../base/growing-pause.ts";
import type { MemberContext } from "./crew-ports.ts";
import type { Member } from "./manifest.ts";
import type { MemberState, MemberStatus } from "./member-status.ts";

/** Of a write that failed, such as on a full disk. */
const RETRY_MS = { first: 1_000, longest: 60_000 };
/** An engine may report its usage a thousand times a second. */
const SPENT_EVERY_MS = 1_000;

type Surroundings = Pick<MemberContext, "machine" | "files" | "timers">;

/** The status of one member, and its file `status-NAME.json`, which others read at any time. */
export class StatusWriter {
  readonly now: MemberStatus;
  readonly #key: string;
  readonly #context: Surroundings;
  readonly #warn: (message: string) => void;
  #isLate = false;
  #failures = 0;
  #cancelRetry: () => void = () => {};
  /** When dollars of a run were last written, by the time since boot. */
  #spentAt = Number.NEGATIVE_INFINITY;
  #cancelSpent: (() => void) | null = null;

  constructor(member: Member, key: string, context: Surroundings, warn: (message: string) => void) {
    this.#key = key;
    this.#context = context;
    this.#warn = warn;
    const before = this.#before();
    this.now = {
      ...{
        name: member.name,
        state: "waiting",
        since: iso(context.machine.clock.now()),
        run: null,
      },
      ...{ outcome: before?.outcome ?? null, note: "", last_run: before?.last_run ?? null },
      ...{ next_tick: null, streak: count(before?.streak), crashes: 0 },
      lifecycle: before?.lifecycle ?? null,
      saved: count(before?.saved),
      // With the dollars of a run that was killed with its supervisor; the next write has no run_usd.
      cost_today: count(before?.cost_today) + count(before?.run_usd),
      day: before?.day ?? "",
      budget_usd_day: member.budgetUsdDay ?? undefined,
      ...{ thought: before?.thought ?? null, engine: member.engine, mode: member.mode },
    };
  }

  show(state: MemberState, note: string): void {
    this.#change(state, note);
    this.#write();
  }

  /** Written in the next turn of the loop, with later changes: replacing a file is most of a tick's cost. */
  showSoon(state: MemberState, note: string): void {
    this.#change(state, note);
    this.#isLate = true;
    setImmediate(() => {
      if (this.#isLate) this.#write();
    });
  }

  /** Dollars of the current run: the next supervisor must know them, even if this one is killed. */
  showSpent(usd: number): void {
    this.costToday(); // they count for today, as at the run's end
    this.now.run_usd = usd;
    if (this.#cancelSpent !== null) return;
    const { machine, timers } = this.#context;
    const uptimeMs = () => Math.round(machine.clock.uptime() * 1000);
    const write = () => {
      this.#spentAt = uptimeMs();
      this.#write();
    };
    const passed = uptimeMs() - this.#spentAt;
    if (passed >= SPENT_EVERY_MS) write();
    else this.#cancelSpent = timers.after(SPENT_EVERY_MS - passed, write);
  }

  /** The run is over. `usd`: its bill; null: none, so the last known dollars count. */
  settle(usd: number | null): void {
    this.now.cost_today = this.costToday() + (usd ?? this.now.run_usd ?? 0);
    delete this.now.run_usd;
  }

  #change(state: MemberState, note: string): void {
    const { now } = this;
    if (now.state !== state) now.since = iso(this.#context.machine.clock.now());
    now.state = state;
    now.note = note;
    if (state !== "waiting" && state !== "backing_off" && state !== "held") now.next_tick = null;
  }

  /** No more writes and retries. */
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
      // Its clock goes on; only its file is late, which is reported once.
      if (this.#failures === 0) this.#warn((error as Error).message);
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
      // It begins anew: only its counters are lost.
      this.#warn((error as Error).message);
      return null;
    }
  }
}

/** The file may have been edited by hand. */
function count(value: unknown): number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : 0;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
