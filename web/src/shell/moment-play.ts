/**
 * Which moment is shown. They can come several at a time; each stays long enough to be read, then the
 * next one follows, so that the caption is a few seconds behind at most.
 *
 * - following: goes on by itself, from the first one that this tab has not shown
 * - a person went back: stays until they are at the newest again
 */
export interface Play {
  /** Of the list; -1: none yet. */
  index: number;
  /** When it came into view, in ms. */
  since: number;
  isFollowing: boolean;
}

export const STAY_MS = 2_500;
export const BEGIN: Play = { index: -1, since: 0, isFollowing: true };

/** Where a page begins: after the one that it has shown last; with the end of a tour that is over. */
export function startOf(all: readonly { n: number; key: string }[], shown: number): number {
  if (all.at(-1)?.key === "seen") return all.length - 1;
  const next = all.findIndex(({ n }) => n >= shown);
  return next === -1 ? all.length - 1 : next;
}

/** The next state, and in how many ms to ask again; null: not before another moment comes. */
export function follow(play: Play, count: number, now: number): { play: Play; in: number | null } {
  if (count === 0 || !play.isFollowing) return { play, in: null };
  if (play.index >= count - 1) return { play, in: null };
  const left = play.since + STAY_MS - now;
  if (left > 0) return { play, in: left };
  const next = { ...play, index: play.index + 1, since: now };
  return { play: next, in: next.index < count - 1 ? STAY_MS : null };
}

/** By the arrows. */
export function step(play: Play, by: number, count: number, now: number): Play {
  const index = Math.min(Math.max(play.index + by, 0), count - 1);
  return { index, since: now, isFollowing: index === count - 1 };
}
