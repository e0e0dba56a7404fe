/** Many executions in a short time are more likely a mistake of ours than so many dead agents. */
export interface BreakerSettings {
  /** That many agents are let through within the window. */
  executions: number;
  withinMs: number;
}

/** When an execution ended: by the clock, and how long ago that is by the machine's uptime, if that is known. */
export interface ExecutionEnd {
  at: number;
  agoMs?: number;
  /** How many agents it ended. */
  agents?: number;
}

/** An execution that is to begin: of how many agents, and whether a person has let it go on after it was held. */
export interface NextExecution {
  agents: number;
  isReleased: boolean;
}

/**
 * Whether one more may begin. Those under way are `running` agents. A clock that was set makes nobody
 * forgotten. One that is larger than the whole breaker goes alone, after a person has looked at it.
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
