/** Beyond so many, a lane is too low to be read. */
export const MOST_LANES = 64;

/** A part of the time. `isLive`: its end is now, and moves on. */
export interface TimeWindow {
  from: number;
  to: number;
  isLive: boolean;
}

/** Up to a little after now, so that now has its line: of the strip and of the lanes below it. */
export function withRoom({ from, to }: { from: number; to: number }): { from: number; to: number } {
  return { from, to: to + (to - from) * 0.02 };
}

/** Shorter ones show nothing. */
const LEAST_MS = 60_000;

/** Inside the whole, and not too short; one that reaches the end goes on with the time. */
export function clampWindow(wanted: TimeWindow, whole: { from: number; to: number }): TimeWindow {
  const size = Math.min(Math.max(wanted.to - wanted.from, LEAST_MS), whole.to - whole.from);
  const from = Math.max(whole.from, Math.min(wanted.from, whole.to - size));
  const isLive = from + size >= whole.to - size * 0.01;
  return { from, to: from + size, isLive };
}
