/** Many executions in a short time are more likely a mistake of ours than so many dead agents. */
export interface BreakerSettings {
  /** That many are let through within the window. */
  executions: number;
  withinMs: number;
}

/** Whether one more may begin. `ends` are the times of executions; those under way are `running`. */
export function mayExecute(
  { executions, withinMs }: BreakerSettings,
  ends: readonly number[],
  running: number,
  now: number,
  resumedAt: number,
): boolean {
  const recent = ends.filter((end) => end > resumedAt && end > now - withinMs);
  return recent.length + running < executions;
}
