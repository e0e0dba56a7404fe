/** Many executions in a short time are more likely a mistake of ours than so many dead agents. */
export interface BreakerSettings {
  /** That many are let through within the window. */
  executions: number;
  withinMs: number;
}

/** When an execution ended: by the clock, and how long ago that is by the machine's uptime, if that is known. */
export interface ExecutionEnd {
  at: number;
  agoMs?: number;
}

/** Whether one more may begin. Those under way are `running`. A clock that was set makes nobody forgotten. */
export function mayExecute(
  { executions, withinMs }: BreakerSettings,
  ends: readonly ExecutionEnd[],
  running: number,
  now: number,
  resumedAt: number,
): boolean {
  const since = resumedAt > now ? 0 : resumedAt;
  const recent = ends.filter(
    ({ at, agoMs = Number.POSITIVE_INFINITY }) =>
      at > since && (at > now - withinMs || agoMs < withinMs),
  );
  return recent.length + running < executions;
}
