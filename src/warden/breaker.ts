import type { Clock } from "../base/clock.ts";
import type { WardenConfig } from "./config.ts";

type BreakerSettings = WardenConfig["breaker"];

interface ExecutionEnd {
  /** By the clock. */
  at: number;
  /** By the machine's uptime, if it ended since the warden is up. */
  agoMs?: number;
  /** How many agents it ended. */
  agents?: number;
}

interface NextExecution {
  agents: number;
  /** A person has resumed the pool after this execution was held. */
  isReleased: boolean;
}

/**
 * Whether one more may begin, beside `running` agents that are being executed. No execution is forgotten
 * because the clock was set. One of more agents than the limit goes alone, after a person has looked at it.
 */
export function mayExecute(
  { executions, withinMs }: BreakerSettings,
  ends: readonly ExecutionEnd[],
  running: number,
  now: number,
  resumedAt: number,
  { agents, isReleased }: NextExecution = { agents: 1, isReleased: false },
): boolean {
  const since = resumedAt > now ? 0 : resumedAt;
  const recent = ends.filter(
    ({ at, agoMs = Number.POSITIVE_INFINITY }) =>
      at > since && (at > now - withinMs || agoMs < withinMs),
  );
  const ended = recent.reduce((sum, one) => sum + (one.agents ?? 1), running);
  return ended + agents <= executions || (ended === 0 && isReleased);
}

/**
 * Counts the executions of this pool, under way and ended. Many in a short time are more likely a
 * mistake of the warden than so many dead agents.
 */
export class Breaker {
  readonly #settings: BreakerSettings;
  readonly #clock: Clock;
  readonly #ends: { at: number; uptime?: number; agents: number }[];
  #running = 0;

  constructor(
    settings: BreakerSettings,
    clock: Clock,
    before: readonly { at: number; agents: number }[],
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#ends = [...before];
  }

  /** Takes a place for each agent; false when there is none now. */
  mayBegin(next: NextExecution, resumedAt: number): boolean {
    const [now, uptime] = [this.#clock.now(), this.#clock.uptime()];
    const ends = this.#ends.map(({ at, agents, uptime: then }) => ({
      ...{ at, agents, agoMs: then === undefined ? undefined : (uptime - then) * 1000 },
    }));
    if (!mayExecute(this.#settings, ends, this.#running, now, resumedAt, next)) return false;
    this.#running += next.agents;
    return true;
  }

  /** One that was under way when the warden was started. */
  resume(agents: number): void {
    this.#running += agents;
  }

  end(agents: number, hasKilled: boolean): void {
    this.#running -= agents;
    if (!hasKilled) return;
    this.#ends.push({ at: this.#clock.now(), uptime: this.#clock.uptime(), agents });
  }

  /** Why `mayBegin` was false. */
  why(target: string, agents: number): string {
    const { executions, withinMs } = this.#settings;
    const seconds = Math.round(withinMs / 1000);
    return agents > executions
      ? `${target} has ${agents} agents, and the breaker lets ${executions} be ended within ${seconds} s`
      : `${executions} executions within ${seconds} s; look at the epitaphs`;
  }
}
