import type { Clock } from "../base/clock.ts";
import { counted } from "../base/text.ts";
import type { WardenConfig } from "./config.ts";

interface NextExecution {
  agents: number;
  /** A person has resumed the pool after this execution was held. */
  isReleased: boolean;
}

export type Breaker = ReturnType<typeof newBreaker>;

/**
 * Counts the executions of this pool, under way and ended (`ends`: before this start). Many in a short
 * time are more likely a mistake of the warden than so many dead agents.
 */
export function newBreaker(
  { executions, withinMs }: WardenConfig["breaker"],
  clock: Clock,
  ends: readonly { at: number; agents: number; uptime?: number }[],
) {
  let running = 0;
  const ended = [...ends];

  /** Those that ended lately, by the clock or by the uptime: a clock that was set hides none. */
  const recent = (resumedAt: number) => {
    const [now, uptime] = [clock.now(), clock.uptime()];
    const since = resumedAt > now ? 0 : resumedAt;
    return ended.filter(({ at, uptime: then = Number.NEGATIVE_INFINITY }) => {
      const isRecent = at > now - withinMs || (uptime - then) * 1000 < withinMs;
      return at > since && isRecent;
    });
  };

  return {
    /**
     * Takes a place for each agent; false when there is none now. An execution of more agents than the
     * limit goes alone, after a person has looked at it.
     */
    mayBegin: ({ agents, isReleased }: NextExecution, resumedAt: number): boolean => {
      const counted = recent(resumedAt).reduce((sum, one) => sum + one.agents, running);
      const may = counted + agents <= executions || (counted === 0 && isReleased);
      if (may) running += agents;
      return may;
    },
    /** One that was under way when the warden was started. */
    resume: (agents: number) => {
      running += agents;
    },
    end: (agents: number, hasKilled: boolean) => {
      running -= agents;
      if (hasKilled) ended.push({ at: clock.now(), uptime: clock.uptime(), agents });
    },
    /** Why `mayBegin` was false. */
    why: (target: string, agents: number): string => {
      const seconds = Math.round(withinMs / 1000);
      return agents > executions
        ? `${target} has ${counted(agents, "agent")}, and the breaker lets ${executions} be ended within ${seconds} s`
        : `${counted(executions, "execution")} within ${seconds} s; look at the epitaphs`;
    },
  };
}
